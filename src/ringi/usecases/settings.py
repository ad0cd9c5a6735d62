"""The part of the configuration that the use cases need."""

from typing import NamedTuple

from ringi.planning.levels import PlanningSettings


class BesideSettings(NamedTuple):
    """For `ringi with`."""

    carry: tuple[str, ...]
    """Ignored folders to bring into a copy."""
    checks: tuple[str, ...]
    sandbox: str
    """off, auto or required."""
    writable: tuple[str, ...]
    """Folders outside the copy that the agent may write to in its sandbox."""
    copies_days: int
    """How long to keep the copy of an open plan."""
    copies_mb: int
    """How much room copies may take."""


class DiagnosticCommand(NamedTuple):
    text: str
    trusted: bool = True
    """False if it comes from the project and nobody has trusted it."""


class DiagnosticSettings(NamedTuple):
    commands: tuple[DiagnosticCommand, ...]
    """The user's own and the trusted ones first, then the untrusted ones of the project."""
    format: str
    timeout_sec: float


class Settings(NamedTuple):
    beside: BesideSettings
    diagnostics: DiagnosticSettings
    check_timeout_sec: float
    planning: PlanningSettings = PlanningSettings()
