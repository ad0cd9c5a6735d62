"""Planning sessions as tools: an agent passes on what its user says. No tool approves or rejects.

The answers tell the agent what to ask the user, and what not to do for them.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from ringi.errors import BadDocument
from ringi.kernel.document import Document
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.ledger.subject import short
from ringi.mcp import arguments
from ringi.mcp.answers import NextStep
from ringi.mcp.tools import Hints, Tool
from ringi.models.prompt import MOST_DECISIONS, MOST_QUESTIONS, Brought
from ringi.models.usage import Purpose
from ringi.plans.document import title_of
from ringi.sessions.document import (
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    DecisionPoint,
    FailedPending,
    Question,
    QuestionPending,
    SessionRef,
    SessionStatus,
    SessionView,
    WorkPending,
)
from ringi.sessions.view import lines_of

if TYPE_CHECKING:
    from ringi.sessions.tool import PlanningTool

_LISTED: Final = 50


class WaitsFor(StrEnum):
    ANSWER = "answer"
    DECISION = "decision"
    APPROVAL = "approval"
    """By the person, in a terminal of their own; no tool gives it."""
    MODEL = "model"
    """The model is working for this session."""
    AGENT = "agent"
    """You bring what is due: planning_bring."""
    RESUME = "resume"
    """The model failed or was stopped; somebody has to resume it."""
    NOTHING = "nothing"
    """The session is over."""


class Place(Document, frozen=True):
    path: str
    lines: tuple[str, ...]
    """As "10-40"; what stands there you read yourself."""
    tests: tuple[str, ...]
    """The test files beside it."""


class PlanningState(Document, frozen=True, kw_only=True):
    session_id: str
    title: str
    status: SessionStatus
    waits_for: WaitsFor
    question: Question | None = None
    decision: DecisionPoint | None = None
    number: int = 0
    """Which of the questions or decisions it is, from 1."""
    of: int = 0
    summary: str | None = None
    """Markdown; what the person approves or rejects, or has rejected."""
    error: str | None = None
    """Why it failed."""
    run_id: str | None = None
    """Set once it is approved."""
    answers: tuple[Question, ...] = ()
    """If you are next: what your user said so far."""
    decided: tuple[DecisionPoint, ...] = ()
    feedback: tuple[str, ...] = ()
    """Of every reject."""
    context: tuple[Place, ...] = ()
    """What the instruction is likely about, best first."""
    person_types: str
    """What the person types, in a terminal of their own."""
    next_step: str
    model: str
    tokens: int
    cost_usd: float | None
    """None if the price is unknown."""


class SessionList(NextStep, frozen=True):
    session: PlanningState | None
    """The session that was named."""
    open_sessions: tuple[SessionRef, ...]
    """If none was named: those that can be resumed, the newest first."""


def state(view: SessionView, *, working: bool) -> PlanningState:
    return PlanningState(
        session_id=view.session_id,
        title=title_of(view.instruction),
        status=view.status,
        waits_for=waits_for(view, working=working),
        person_types=f"ringi plan --resume {short(view.session_id)}",
        next_step=next_step(view, working=working),
        model=view.model,
        tokens=view.usage.input_tokens + view.usage.output_tokens,
        cost_usd=view.usage.cost_usd,
        context=tuple(Place(file.path, lines_of(file), file.tests) for file in view.found),
        **_pending(view),
    )


def waits_for(view: SessionView, *, working: bool) -> WaitsFor:
    match view.pending:
        case QuestionPending():
            return WaitsFor.ANSWER
        case DecisionPending():
            return WaitsFor.DECISION
        case ApprovalPending():
            return WaitsFor.APPROVAL
        case WorkPending():
            return WaitsFor.MODEL if working else WaitsFor.RESUME
        case AgentPending():
            return WaitsFor.AGENT
        case FailedPending():
            return WaitsFor.RESUME
        case ApprovedSession() | CancelledSession():
            return WaitsFor.NOTHING


def _pending(view: SessionView) -> dict[str, Any]:
    match view.pending:
        case QuestionPending(question, number, of):
            return {"question": question, "number": number, "of": of}
        case DecisionPending(decision, number, of):
            return {"decision": decision, "number": number, "of": of}
        case ApprovalPending(summary):
            return {"summary": summary}
        case FailedPending(error):
            return {"error": error}
        case ApprovedSession(run_id):
            return {"run_id": run_id}
        case AgentPending(_, questions, decisions, feedback, rejected):
            return {
                "answers": tuple(one for one in questions if one.done),
                "decided": tuple(one for one in decisions if one.selected),
                "feedback": feedback,
                "summary": rejected or None,
            }
        case _:
            return {}


def list_sessions(refs: Sequence[SessionRef]) -> SessionList:
    step = "planning_get with the id of one of them" if refs else "planning_start"
    return SessionList(None, tuple(refs[:_LISTED]), next_step=step)


_NEXT: Final = {
    WaitsFor.ANSWER: "Ask your user this, in their language; do not answer for them. Pass on what they say: "
    "planning_answer. If they do not want to answer: planning_answer with skip: true",
    WaitsFor.DECISION: "Show your user all options with their pros and cons; the choice is theirs. Pass it "
    "on, with their reason: planning_decide",
    WaitsFor.APPROVAL: "Show your user the summary. Only they can approve or reject it, no tool does: tell "
    "them to type, in a terminal of their own: ringi plan --resume {session}",
    WaitsFor.MODEL: "The model is still working; planning_get waits for it.",
    WaitsFor.RESUME: "Nothing your user said is lost. Resume: planning_answer with resume: true. If that "
    "fails again, tell your user why; they can also type: ringi plan --resume {session}",
}


_BRING: Final = {
    Purpose.DISCOVERY: "Read the files of `context`, and what else you need. Then planning_bring with your "
    f"findings and with questions: at most {MOST_QUESTIONS} whose answers would change what gets built, "
    "none that the code answers; [] if there are none.",
    Purpose.DESIGN: f"planning_bring with decisions: at most {MOST_DECISIONS} that your user should make, "
    "each with honest pros and cons; [] if there are none. If their answers leave something open, bring "
    "questions instead.",
    Purpose.REVISION: "Your user rejected the design: read `feedback`. planning_bring with decisions: those "
    "to make again (with their id) or to add, and dropped; [] if only the design changes. The others stay.",
    Purpose.REVIEW: "planning_bring with design: what will be built, when it is done, which files change, "
    "how it is tested, what you assume, leave out and do not know; steps only if it needs more than one "
    "commit, each complete in itself: code with its tests, and everything works after it.",
}


def next_step(view: SessionView, *, working: bool) -> str:
    if isinstance(view.pending, AgentPending):
        return _BRING.get(view.pending.purpose, _BRING[Purpose.REVIEW])
    waits = waits_for(view, working=working)
    if waits is WaitsFor.NOTHING:
        return f"The session is {view.status}; nothing is left to do."
    return _NEXT[waits].format(session=short(view.session_id))


def describe_session(view: SessionView, *, working: bool) -> SessionList:
    """The answer of planning_get about the session that was named."""
    found = state(view, working=working)
    return SessionList(found, (), next_step=found.next_step)


def _start(tool: "PlanningTool", given: arguments.PlanningStart) -> SessionView:
    return tool.start(given.instruction, actor=Actor.AI, agent_brings=given.bring)


def _bring(tool: "PlanningTool", given: arguments.PlanningBring) -> SessionView:
    parts = {name: getattr(given, name) for name in Brought.__struct_fields__}
    return tool.bring(given.session_id, Brought(**parts))


def _answer(tool: "PlanningTool", given: arguments.PlanningAnswer) -> SessionView:
    if [bool(given.answer), given.skip, given.resume].count(True) != 1:
        why = Text("exactly one of answer, skip and resume is needed")
        raise BadDocument(what="The arguments of planning_answer", why=why)
    if given.resume:
        return tool.resume(given.session_id)
    if given.skip:
        return tool.skip(given.session_id, question_id=given.question_id, actor=Actor.AI)
    return tool.answer(given.session_id, given.answer, question_id=given.question_id, actor=Actor.AI)


def _decide(tool: "PlanningTool", given: arguments.PlanningDecide) -> SessionView:
    return tool.decide(
        given.session_id, given.option, given.reason, decision_id=given.decision_id, actor=Actor.AI
    )


TOOLS: Final[Mapping[str, Tool]] = {
    "planning_start": Tool(
        "Begin a planning session",
        "From what your user wants done to a design that they approve: a few questions, the design "
        "decisions, a summary. Answers with the first question. All questions are for your user: ask them "
        "one at a time and pass on what they say; never answer for them. No file of the workspace changes. "
        "With bring: true no model is asked: you read the code and bring questions, decisions and the design "
        "yourself (planning_bring).",
        arguments.PlanningStart,
        PlanningState,
        Hints(open_world=True),
        None,
        _start,
    ),
    "planning_bring": Tool(
        "Bring questions, decisions or the design",
        "In a session begun with bring: true, when it waits for you (waits_for: agent): your findings, and "
        "the questions, decisions or design that are due. All of it is checked and saved at once, or none. "
        "The answers, choices and the approval stay with your user, who is shown what you brought as yours.",
        arguments.PlanningBring,
        PlanningState,
        Hints(),
        None,
        _bring,
    ),
    "planning_answer": Tool(
        "Pass on your user's answer",
        "What your user said to the question that is asked now, or skip: true if they do not want to "
        "answer. Answers with what comes next. With resume: true instead, a session that failed or was "
        "stopped resumes. Never answer for your user.",
        arguments.PlanningAnswer,
        PlanningState,
        Hints(open_world=True),
        None,
        _answer,
    ),
    "planning_decide": Tool(
        "Pass on your user's decision",
        "Which option your user chose, and why. Show them all options with their pros and cons first. After "
        "the last decision comes a summary; approving it stays with the person, in a terminal of their "
        "own: no tool approves or rejects it.",
        arguments.PlanningDecide,
        PlanningState,
        Hints(open_world=True),
        None,
        _decide,
    ),
    "planning_get": Tool(
        "See the state of a planning session",
        "The question, decision or summary that waits for your user. While the model works for the session, "
        "waits for it, `seconds` at most. Without session_id: the sessions that can be resumed.",
        arguments.PlanningGet,
        SessionList,
        Hints(read_only=True, idempotent=True),
        None,
    ),
}
