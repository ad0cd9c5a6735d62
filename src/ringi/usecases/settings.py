"""What the configuration says to the use cases."""

from typing import NamedTuple


class BesideSettings(NamedTuple):
    """Working beside an agent."""

    carry: tuple[str, ...]
    """Ignored folders that are brought into a copy."""
    checks: tuple[str, ...]
    sandbox: str
    """off, auto or required."""
    writable: tuple[str, ...]
    """Folders outside the copy that the agent may write to in its sandbox."""
    keep_days: int
    """How long the copy of a plan that is not done is kept."""


class DiagnosticCommand(NamedTuple):
    text: str
    trusted: bool = True
    """False for one of the project that no person has trusted."""


class DiagnosticSettings(NamedTuple):
    commands: tuple[DiagnosticCommand, ...]
    """The user's own and the trusted; then those of the project that would count if they were trusted."""
    format: str
    timeout_sec: float


class Settings(NamedTuple):
    beside: BesideSettings
    diagnostics: DiagnosticSettings
    check_timeout_sec: float
