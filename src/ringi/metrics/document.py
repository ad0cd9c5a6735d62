"""The metrics of chapter 16 of the planning process (PP-13, PP-21, PP-26), and how people decide."""

import re
from enum import StrEnum
from typing import Final

import msgspec

from ringi.kernel.document import Document, Versioned

_TARGET: Final = re.compile(r"([<>]?=?)([0-9.]+)(%?)")
_RANGE: Final = re.compile(r"([0-9]+)-([0-9]+)")
_PERCENT: Final = 100


class Unit(StrEnum):
    SHARE = "share"
    """From 0 to 1."""
    NUMBER = "number"
    SECONDS = "seconds"
    TOKENS = "tokens"
    DOLLARS = "USD"


class Basis(StrEnum):
    """What a figure is computed from."""

    TASKS = "tasks"
    PLANS = "plans"
    STEPS = "steps"
    CALLS = "calls"
    TOKENS = "tokens"
    TURNS = "turns"
    """Of models or programs, and sessions that asked a model."""
    REFLECTIONS = "reflections"
    ERRORS = "errors"
    FILES = "files"
    LINES = "lines"
    DECISIONS = "decisions"
    APPROVALS = "approvals"
    HUNKS = "hunks"


class FigureName(StrEnum):
    # How good plans are.
    PLANNING_ACCURACY = "planning_accuracy"
    REVISION_RATE = "revision_rate"
    AVG_REVISIONS = "avg_revisions"
    SUBTASKS_FIT = "subtasks_fit"
    SUBTASKS_SIMPLE = "subtasks_simple"
    SUBTASKS_MEDIUM = "subtasks_medium"
    SUBTASKS_COMPLEX = "subtasks_complex"
    GRANULARITY = "granularity"
    DEPENDENCIES = "dependencies"
    # How long it takes.
    PLANNING_TIME = "planning_time"
    EXECUTION_TIME = "execution_time"
    REFLECTION_TIME = "reflection_time"
    TOTAL_TIME = "total_time"
    GOAL_TIME = "goal_time"
    DECOMPOSITION_TIME = "decomposition_time"
    ACTIONS_TIME = "actions_time"
    SIMPLE_TIME = "simple_time"
    MEDIUM_TIME = "medium_time"
    COMPLEX_TIME = "complex_time"
    PARALLEL_TIME = "parallel_time"
    # What it takes.
    LLM_CALLS = "llm_calls"
    TOKENS_USED = "tokens_used"
    API_COST = "api_cost"
    PLANNING_TOKENS = "planning_tokens"
    REFLECTION_TOKENS = "reflection_tokens"
    TASK_TOKENS = "task_tokens"
    SAVED_CALLS = "saved_calls"
    SAVED_TOKENS = "saved_tokens"
    # What comes out.
    TASK_COMPLETION_RATE = "task_completion_rate"
    FIRST_TRY_SUCCESS_RATE = "first_try_success_rate"
    ERROR_RECOVERY_RATE = "error_recovery_rate"
    SYNTAX_ERRORS = "syntax_errors"
    TEST_COVERAGE = "test_coverage"
    REVIEW_REMARKS = "review_remarks"
    # How people decide.
    DECISION_TIME = "decision_time"
    REJECT_RATE = "reject_rate"
    UNDO_RATE = "undo_rate"
    HUNKS_CHANGED = "hunks_changed"
    STRONG_APPROVALS = "strong_approvals"
    UNSEEN_STEPS = "unseen_steps"


class GroupName(StrEnum):
    PLANNING = "planning"
    TIME = "time"
    RESOURCES = "resources"
    QUALITY = "quality"
    PEOPLE = "people"


class Figure(Document, frozen=True, kw_only=True):
    name: FigureName
    unit: Unit
    value: float | None
    """None: there is no data yet."""
    of: int = msgspec.field(name="from")
    """How many of `basis` it is computed from."""
    basis: Basis
    without: int = 0
    """How many more there are that do not say: the fact was not recorded, or is not known."""
    target: str = ""
    """As configured: 80%, <1.5; or a range, such as 2-5. Empty if there is none."""
    met: bool | None = None
    median: float | None = None
    p90: float | None = None
    parts: dict[str, float] = msgspec.field(default_factory=dict)
    """The same, broken down."""
    measure: str = ""
    """What is measured, in the words of the configuration, if it has its own."""
    calculation: str = ""
    shown_in: str = ""
    """The unit that the configuration names, if it is another one."""
    note: str = ""
    """What there is no data without, or where it comes from."""


class Group(Document, frozen=True):
    name: GroupName
    figures: tuple[Figure, ...]


class AgentFigures(Document, frozen=True, kw_only=True):
    """What became of one agent's plans."""

    agent: str
    plans: int
    approved: int
    rejected: int
    undone: int
    hunks: int
    """Of the plans for which they were counted."""
    dropped: int
    edited: int

    @property
    def share(self) -> float | None:
        """Of its hunks that a person dropped or edited."""
        return min(1.0, (self.dropped + self.edited) / self.hunks) if self.hunks else None


class Reason(Document, frozen=True):
    """Why a person said no, in their own words, masked."""

    at: str
    what: str
    """p7, or the beginning of a session's id."""
    text: str


class TaskFigures(Document, frozen=True, kw_only=True):
    """One task, for plots."""

    task: str
    """The id of its newest run, or of its session or process."""
    began_at: str
    size: str
    """simple, medium or complex."""
    outcome: str
    """completed, cancelled, failed or open."""
    revisions: int
    planning_sec: float
    execution_sec: float
    reflection_sec: float
    calls: int
    input_tokens: int
    output_tokens: int
    material_tokens: int
    dollars: float | None


class Day(Document, frozen=True, kw_only=True):
    """What people decided on one day (UTC)."""

    day: str
    approved: int
    granted: int
    """Of them by standing approvals."""
    rejected: int
    undone: int


class Metrics(Versioned, frozen=True, kw_only=True):
    """`ringi metrics --json`."""

    created_at: str
    since: str = ""
    """Only what began, or was decided, from then on; empty: all of it."""
    events: int
    """How many events of the ledger it was computed from."""
    groups: tuple[Group, ...]
    agents: tuple[AgentFigures, ...] = ()
    reasons: tuple[Reason, ...] = ()
    """The newest first."""
    tasks: tuple[TaskFigures, ...] = ()
    """The newest, oldest first."""
    days: tuple[Day, ...] = ()

    def figure(self, name: FigureName) -> Figure:
        return next(one for group in self.groups for one in group.figures if one.name is name)


def meets(value: float | None, target: str) -> bool | None:
    """None if there is no value or no target. A bare number is the least that is good."""
    if value is None or not target:
        return None
    if found := _RANGE.fullmatch(target):
        return int(found[1]) <= value <= int(found[2])
    if not (found := _TARGET.fullmatch(target)):
        return None
    sign, limit = found[1], float(found[2]) / (_PERCENT if found[3] else 1)
    if sign == "<":
        return value < limit
    if sign == ">":
        return value > limit
    return value <= limit if sign == "<=" else value == limit if sign == "=" else value >= limit
