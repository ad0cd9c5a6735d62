"""The planning session (IP-2, IP-7): from an instruction to a design that a person approved."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Final, NamedTuple

from msgspec import UNSET, Meta, UnsetType

from ringi.approvals.forge import ForgeTerms
from ringi.engine.design import Design
from ringi.engine.request import Request
from ringi.engine.run_plan import RunPlan
from ringi.errors import NewerVersion
from ringi.kernel.document import KNOWN_VERSION, CamelDocument, Machine
from ringi.models.prompt import QuestionType
from ringi.models.usage import Language, Purpose, TokenUsage
from ringi.project.context import FoundFile, ProjectFacts

MOST_REJECTS: Final = 3
"""The third rejection cancels the session."""
MOST_MESSAGES: Final = 100


_Index = Annotated[int, Meta(ge=0)]


class SessionStatus(StrEnum):
    DISCOVERY = "discovery"
    DESIGN = "design"
    REVIEW = "review"
    APPROVED = "approved"
    CANCELLED = "cancelled"
    FAILED = "failed"


_S = SessionStatus
SESSION_TRANSITIONS: Final[Mapping[SessionStatus, frozenset[SessionStatus]]] = {
    _S.DISCOVERY: frozenset([_S.DESIGN, _S.CANCELLED, _S.FAILED]),
    # If the position contradicts the answers: discovery.
    _S.DESIGN: frozenset([_S.REVIEW, _S.DISCOVERY, _S.CANCELLED, _S.FAILED]),
    # Rejected, or without a summary: design.
    _S.REVIEW: frozenset([_S.APPROVED, _S.DESIGN, _S.DISCOVERY, _S.CANCELLED, _S.FAILED]),
    _S.APPROVED: frozenset([_S.CANCELLED, _S.FAILED]),
    _S.CANCELLED: frozenset(),
    # Resumed in the phase in which it failed.
    _S.FAILED: frozenset([_S.DISCOVERY, _S.DESIGN, _S.REVIEW, _S.APPROVED, _S.CANCELLED]),
}
SESSION_MACHINE: Final = Machine("planning session", SESSION_TRANSITIONS)
OPEN_SESSIONS: Final = frozenset([_S.DISCOVERY, _S.DESIGN, _S.REVIEW, _S.FAILED])
"""Those that a person can continue."""


HANDED_ON: Final = frozenset([QuestionType.CLARIFICATION, QuestionType.SCOPE, QuestionType.TECHNICAL])
"""Types whose answers go into the enhanced instruction; the others go into the summary."""


class Question(CamelDocument, frozen=True, kw_only=True):
    id: str
    """q-1, q-2 …"""
    type: QuestionType
    question: str
    context: str | UnsetType = UNSET
    """Why it matters."""
    options: tuple[str, ...] | UnsetType = UNSET
    answer: str | None = None
    """None if it is not answered, or was skipped."""
    answered_at: str | None = None
    """Set if it was answered or skipped."""

    @property
    def done(self) -> bool:
        return self.answered_at is not None

    @property
    def skipped(self) -> bool:
        return self.done and self.answer is None


class Tradeoffs(CamelDocument, frozen=True):
    pros: tuple[str, ...]
    cons: tuple[str, ...]


class DesignOption(CamelDocument, frozen=True, kw_only=True):
    id: str
    """opt-a, opt-b …"""
    name: str
    description: str
    tradeoffs: Tradeoffs
    recommendation: bool | UnsetType = UNSET


class DecisionPoint(CamelDocument, frozen=True, kw_only=True):
    id: str
    """d-1, d-2 …"""
    topic: str
    options: tuple[DesignOption, ...]
    selected_option_id: str | None = None
    rationale: str | None = None
    decided_at: str | None = None

    @property
    def selected(self) -> DesignOption | None:
        return next((option for option in self.options if option.id == self.selected_option_id), None)


class Role(StrEnum):
    USER = "user"
    ASSISTANT = "assistant"
    SYSTEM = "system"


class ConversationMessage(CamelDocument, frozen=True, kw_only=True):
    role: Role
    phase: SessionStatus
    content: str
    created_at: str


class PlanningSession(CamelDocument, frozen=True, kw_only=True):
    """Field by field as in the specification; SessionFacts has the rest."""

    schema_version: Annotated[int, Meta(ge=1)] = 1
    session_id: str
    instruction: str
    status: SessionStatus
    current_question_index: _Index = 0
    """How many questions were answered or skipped."""
    current_decision_index: _Index = 0
    questions: tuple[Question, ...]
    decisions: tuple[DecisionPoint, ...]
    design_summary: str | None
    conversation_history: tuple[ConversationMessage, ...]
    reject_count: _Index = 0
    error_message: str | None = None
    planner_session_id: str | None
    """The run, once it is approved."""
    discovery_log_path: str | None = None
    design_log_path: str | None = None
    review_log_path: str | None = None
    created_at: str
    updated_at: str

    def __post_init__(self) -> None:
        if self.schema_version > KNOWN_VERSION:
            raise NewerVersion(what=type(self).__name__, found=self.schema_version, known=KNOWN_VERSION)


class FromRequest(CamelDocument, frozen=True):
    """The request file that a session began with."""

    request_id: str
    path: str
    """Below the workspace; empty if it is elsewhere."""
    request: Request


class SessionFacts(CamelDocument, frozen=True, kw_only=True):
    """Kept beside the session, because the specification has no field for it."""

    language: Language = "en"
    """Language of the instruction, and so of the questions."""
    model: str = ""
    """The model that answered last."""
    usage: TokenUsage = TokenUsage()
    usage_by: Mapping[str, TokenUsage] = {}
    """The same by what was asked (Purpose)."""
    failed_in: SessionStatus | None = None
    designed: bool = False
    """Decision points were made; there may be none."""
    feedback: tuple[str, ...] = ()
    """The feedback of every rejection."""
    project: ProjectFacts = ProjectFacts()
    context: str = ""
    """What the model is shown of the project, as it was when the snapshot was taken."""
    snapshot: str = ""
    restless: tuple[str, ...] = ()
    """What could not be read, or changed while the context was gathered."""
    design: Design | None = None
    """Of the newest summary."""
    files: tuple[str, ...] = ()
    """What the model asked to read."""
    missing: tuple[str, ...] = ()
    """What it asked for that there is not."""
    code: str = ""
    """The files, as far as they are shown to it."""
    read_in: tuple[SessionStatus, ...] = ()
    """The phases in which it was asked which files it wants."""
    rejected: str = ""
    """The summary that the newest feedback is about."""
    draft: str = ""
    """A summary that waits for other paths or commands."""
    wrong: tuple[str, ...] = ()
    """The paths and commands of the draft that do not exist."""
    run_plan: RunPlan | None = None
    """planning.json of the newest summary: a person approves both at once."""
    request: FromRequest | None = None
    replaces: str = ""
    """The run that is planned anew."""
    agent_brings: bool = False
    """An agent brings questions, decisions and the design; no model is asked."""
    findings: tuple[str, ...] = ()
    """What the agent found, each with its place: its words, unchecked."""
    created_by: str = ""
    """The user who began it."""
    by_model: bool = False
    """It becomes a run in which models have every role."""
    forge: ForgeTerms | None = None
    """What the run does on a forge."""


class Brief(CamelDocument, frozen=True, kw_only=True):
    """The input for questions, decisions and a summary."""

    instruction: str
    language: Language = "en"
    project: ProjectFacts = ProjectFacts()
    questions: tuple[Question, ...] = ()
    decisions: tuple[DecisionPoint, ...] = ()
    feedback: tuple[str, ...] = ()


class SessionRef(CamelDocument, frozen=True, kw_only=True):
    """A session as one line."""

    session_id: str
    title: str
    status: SessionStatus
    questions_done: int
    questions: int
    decisions_done: int
    decisions: int
    created_at: str
    updated_at: str
    error_message: str | None = None


class LogEntry(CamelDocument, frozen=True):
    """A piece of one of the three log files of a session."""

    phase: SessionStatus
    text: str


# What a session is waiting for, as commands and tools report it.


class OpenCall(CamelDocument, frozen=True, kw_only=True):
    """A call of a model whose answer is not saved yet."""

    purpose: Purpose
    model: str
    counted: int
    """The requests of the session before it."""
    usage: TokenUsage
    """So far."""


class QuestionPending(CamelDocument, frozen=True, tag="question", tag_field="kind"):
    question: Question
    number: int
    """From 1."""
    of: int


class DecisionPending(CamelDocument, frozen=True, tag="decision", tag_field="kind"):
    decision: DecisionPoint
    number: int
    of: int


class ApprovalPending(CamelDocument, frozen=True, tag="approval", tag_field="kind"):
    """Only a person approves."""

    summary: str
    rejects_left: int
    """How many rejections are left; the last one cancels the session."""
    run_plan: RunPlan | UnsetType = UNSET
    """How it would be carried out."""
    forge: ForgeTerms | UnsetType = UNSET
    """What it would do on a forge."""


class WorkPending(CamelDocument, frozen=True, tag="work", tag_field="kind"):
    """The model is next."""

    purpose: Purpose


class AgentPending(CamelDocument, frozen=True, tag="agent", tag_field="kind"):
    """The agent that called is next, in place of a model: it brings what is due."""

    purpose: Purpose
    questions: tuple[Question, ...]
    decisions: tuple[DecisionPoint, ...]
    feedback: tuple[str, ...]
    """Of every rejection."""
    rejected: str
    """The summary that the newest feedback is about."""


class FailedPending(CamelDocument, frozen=True, tag="failed", tag_field="kind"):
    """Continues where it failed, once resumed."""

    error: str


class ApprovedSession(CamelDocument, frozen=True, tag="approved", tag_field="kind"):
    run_id: str


class CancelledSession(CamelDocument, frozen=True, tag="cancelled", tag_field="kind"):
    pass


Pending = (
    QuestionPending
    | DecisionPending
    | ApprovalPending
    | WorkPending
    | AgentPending
    | FailedPending
    | ApprovedSession
    | CancelledSession
)


class SessionView(CamelDocument, frozen=True, kw_only=True):
    session_id: str
    instruction: str
    status: SessionStatus
    pending: Pending
    usage: TokenUsage = TokenUsage()
    model: str = ""
    found: tuple[FoundFile, ...] = ()
    """What the instruction is likely about, best first; empty until the project was read."""


class StoredSession(NamedTuple):
    session: PlanningSession
    facts: SessionFacts
    revision: int
    """Counts saves; a save names the revision it read and fails if another came first."""
