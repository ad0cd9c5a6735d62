"""The process of a task (PP-4, PP-7): its plan, each action with its result, and how the plan was revised.

One process is one turn of a model at a step of a run, or a task on its own. Its actions are stored apart.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import field

from ringi.engine.document import CompletionDocument, PlanningDocument, PlanRevision, Reflection
from ringi.kernel.document import Document, Machine, OpenDocument
from ringi.kernel.text import Text
from ringi.models.usage import Spent
from ringi.tools.effects import ErrorKind, ToolEffect


class ProcessPhase(StrEnum):
    INITIAL = "initial"
    GOAL_UNDERSTANDING = "goal_understanding"
    TASK_DECOMPOSITION = "task_decomposition"
    ACTION_PLAN = "action_plan"
    WAITING_FOR_CLARIFICATION = "waiting_for_clarification"
    EXECUTION = "execution"
    REFLECTION = "reflection"
    PLAN_REVISION = "plan_revision"
    COMPLETION = "completion"


_P = ProcessPhase
PROCESS_TRANSITIONS: Final[Mapping[ProcessPhase, frozenset[ProcessPhase]]] = {
    _P.INITIAL: frozenset([_P.GOAL_UNDERSTANDING]),
    _P.GOAL_UNDERSTANDING: frozenset([_P.TASK_DECOMPOSITION, _P.WAITING_FOR_CLARIFICATION]),
    _P.TASK_DECOMPOSITION: frozenset([_P.ACTION_PLAN, _P.WAITING_FOR_CLARIFICATION]),
    _P.ACTION_PLAN: frozenset([_P.EXECUTION, _P.WAITING_FOR_CLARIFICATION]),
    # Answered.
    _P.WAITING_FOR_CLARIFICATION: frozenset([_P.GOAL_UNDERSTANDING]),
    # Early, or because a person is needed: completion.
    _P.EXECUTION: frozenset([_P.REFLECTION, _P.COMPLETION]),
    _P.REFLECTION: frozenset([_P.EXECUTION, _P.PLAN_REVISION, _P.COMPLETION]),
    _P.PLAN_REVISION: frozenset([_P.EXECUTION, _P.COMPLETION]),
    # Only if it requires human intervention: what the person says is looked at first.
    _P.COMPLETION: frozenset([_P.REFLECTION]),
}
PROCESS_MACHINE: Final = Machine("process", PROCESS_TRANSITIONS)


# The tools that work in the copy; those of servers are <server>_<tool>.
LIST: Final = "list"
READ: Final = "read"
SEARCH: Final = "search"
WRITE: Final = "write"
PATCH: Final = "patch"
RUN: Final = "run"
BUILT_IN: Final = frozenset([LIST, READ, SEARCH, WRITE, PATCH, RUN])


class RecoveryRecord(Document, frozen=True, kw_only=True):
    """What was tried after a kind of error, and how often it helped (PP-24)."""

    kind: ErrorKind
    tool: str
    strategy: str
    helped: int
    failed: int


class ActionState(StrEnum):
    STARTED = "started"
    """The intent: it has no outcome yet."""
    WAITING = "waiting"
    """For a person, in the plan tool."""
    SUCCESS = "success"
    PARTIAL = "partial"
    FAILURE = "failure"
    SKIPPED = "skipped"


ENDED: Final = frozenset([ActionState.SUCCESS, ActionState.PARTIAL, ActionState.FAILURE, ActionState.SKIPPED])


class ActionRecord(Document, frozen=True, kw_only=True, omit_defaults=True):
    """One call of a tool: first its intent, then its outcome."""

    number: int
    """From 1, in the order in which they were begun."""
    action_id: str
    """task_1_action_1, as the specification names them."""
    task_id: str
    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)
    purpose: str = ""
    expect: str = ""
    """What the result has to contain."""
    effect: ToolEffect = ToolEffect.READS
    state: ActionState = ActionState.STARTED
    result: str = ""
    """Masked, limited."""
    cut: bool = False
    error: ErrorKind | None = None
    message: str = ""
    changed: tuple[str, ...] = ()
    """Files of the copy."""
    tree: str = ""
    """Of the copy after it, if it may have changed."""
    group: int = 0
    """Those of one group ran at once."""
    revised: int = 0
    """How often the plan was revised before it."""
    plan_id: str = ""
    """The plan with the call that waits for a person."""
    started_at: str = ""
    duration_sec: float = 0.0


class RevisionRecord(OpenDocument, frozen=True, kw_only=True, omit_defaults=True):
    """A revision of the plan, and why."""

    number: int
    at: str
    reflection: Reflection
    revision: PlanRevision
    digest: str
    """Of the plan that it made: one that comes again is a loop."""
    before: str = ""
    """The digest of the plan that it revised."""
    by: str = ""
    """rules, the model, or the person whose feedback it is."""
    strategy: str = ""
    """What it tries, in a word that can be remembered: see `RecoveryRecord`."""
    approved: bool | None = None
    """None if no approval is needed."""


class RunFeedback(Document, frozen=True, kw_only=True, omit_defaults=True):
    """What somebody said about a run while it works. It is never an approval."""

    feedback_id: str
    run_id: str
    at: str
    who: str
    agent: bool = False
    """It did not come from a person."""
    source: str = "cli"
    """cli, mcp, api, issue_comment, review."""
    ref: str = ""
    """Where it was said, if it is not to be taken in twice."""
    text: str

    @property
    def quoted(self) -> Text:
        """As the role reads it: an agent is not taken for a person."""
        if self.agent:
            return Text("An agent ({who}), not a person, says: {text}", who=self.who, text=self.text)
        return Text("{who} says: {text}", who=self.who, text=self.text)


class Wait(StrEnum):
    CLARIFICATION = "clarification"
    CALL = "call"
    """A call of an outside tool, in a plan."""
    REVISION = "revision"
    """A revision of the plan that a person has to approve."""
    PERSON = "person"
    """It cannot go on by itself."""


class Process(OpenDocument, frozen=True, kw_only=True, omit_defaults=True):
    process_id: str
    run_id: str = ""
    step_id: str = ""
    task: str
    phase: ProcessPhase = ProcessPhase.INITIAL
    plan: PlanningDocument = PlanningDocument()
    done: tuple[str, ...] = ()
    """Tasks that are done."""
    actions: int = 0
    """How many were begun."""
    failures: int = 0
    """In a row."""
    turns: int = 0
    """Of the model."""
    notes: tuple[str, ...] = ()
    """What the model decided, turn by turn; never shortened."""
    ending: bool = False
    """The tasks at hand are done once the actions that were begun have succeeded."""
    finishing: bool = False
    """And then nothing else is left to do."""
    since: int = 0
    """Actions since the last reflection."""
    hint: str = ""
    """What the last reflection says to the model's next turn."""
    trying: RecoveryRecord | None = None
    """What the last revision tries; the next action shows whether it helps."""
    revisions: tuple[RevisionRecord, ...] = ()
    """The newest; older ones are summarised in `history`."""
    revised: int = 0
    """All of them."""
    attempts: int = 0
    """Those since a person last had a say, which are limited."""
    history: tuple[str, ...] = ()
    heard: tuple[str, ...] = ()
    """Ids of the feedback that was taken into account."""
    tree: str = ""
    """Of the copy, after the last action that may have changed it."""
    waits: Wait | None = None
    waiting_since: str = ""
    proposed: RevisionRecord | None = None
    """The revision that waits for a person."""
    planning: Spent = Spent()
    execution: Spent = Spent()
    reflection: Spent = Spent()
    elapsed_sec: float = 0.0
    completion: CompletionDocument | None = None
    created_at: str = ""
    updated_at: str = ""


class StoredProcess(NamedTuple):
    process: Process
    records: tuple[ActionRecord, ...]
    revision: int
    """Counts saves."""
