"""The part of the configuration that the use cases need."""

from collections.abc import Mapping
from typing import NamedTuple

from ringi.config.keys import HELP_LABEL
from ringi.engine.levels import PlanningSettings
from ringi.engine.run_plan import RunRole
from ringi.runs.document import RoleHow, RunBudget


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


class RoleSettings(NamedTuple):
    """Who does the work of a role in a run; nobody, unless there is a command, a model or a person."""

    how: RoleHow | None = None
    command: str = ""
    model: str = ""
    timeout_sec: float = 3_600.0
    output_bytes: int = 1_048_576
    max_tokens: int | None = None
    max_dollars: float | None = None
    untrusted: bool = False
    """The project's file names somebody, and nobody has trusted it."""


def as_model(role: RunRole, settings: RoleSettings) -> RoleSettings:
    """For a task: models plan and implement; another role is a model's if it is somebody's at all."""
    if settings.how is None and role not in {RunRole.PLANNER, RunRole.IMPLEMENTER}:
        return settings
    return settings._replace(how=RoleHow.MODEL, command="", untrusted=False)


class RunSettings(NamedTuple):
    roles: Mapping[RunRole, RoleSettings] = {}
    budget: RunBudget = RunBudget()
    prices: Mapping[str, tuple[float, float]] = {}
    """By model: dollars for a million tokens that it reads, and that it writes."""
    never_send: tuple[str, ...] = ()
    """Globs of files that no model is shown."""
    main_branches: tuple[str, ...] = ()
    """Globs of branches that no run commits to."""


class MetricSettings(NamedTuple):
    """Chapter 16 as configured; by the name of the figure."""

    targets: Mapping[str, str] = {}
    measures: Mapping[str, str] = {}
    """The person's own words for what is measured."""
    calculations: Mapping[str, str] = {}
    units: Mapping[str, str] = {}
    breakdowns: Mapping[str, tuple[str, ...]] = {}
    """Which parts are shown, in this order."""
    coverage_report: str = ""
    """A path in the workspace."""


class ForgeSettings(NamedTuple):
    """For GitHub and GitLab."""

    read_all: bool = False
    """Models also read what people without write access say."""
    reviews: bool = True
    """An approving review is an approval."""
    label: str = HELP_LABEL
    """Empty: none is set."""
    comments: bool = True
    poll_sec: float = 60.0


class Settings(NamedTuple):
    beside: BesideSettings
    diagnostics: DiagnosticSettings
    check_timeout_sec: float
    planning: PlanningSettings = PlanningSettings()
    runs: RunSettings = RunSettings()
    metrics: MetricSettings = MetricSettings()
    forge: ForgeSettings = ForgeSettings()
