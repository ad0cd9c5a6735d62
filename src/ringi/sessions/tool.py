"""Planning sessions as calls (IP-2): each call saves before it returns, and none needs a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final
from unicodedata import normalize

from msgspec.structs import replace

from ringi.approvals.document import Approval, ApprovalRequest, Proof, SignedAct
from ringi.approvals.forge import ForgeTerms
from ringi.approvals.proof import compose
from ringi.engine.instruction import language_of
from ringi.errors import BadAnswer, NoChannel, NotAsked, NotFound, SessionOver
from ringi.kernel.text import Text, writable
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import SESSION_PREFIX, short
from ringi.models.prompt import Brought, ModelProgress, NewSummary, OnProgress
from ringi.models.usage import TokenUsage
from ringi.sessions import approve, operations
from ringi.sessions.agent_input import AGENT, bring, read
from ringi.sessions.document import (
    OPEN_SESSIONS,
    AgentPending,
    ApprovalPending,
    DecisionPending,
    FromRequest,
    LogEntry,
    Pending,
    PlanningSession,
    Question,
    QuestionPending,
    SessionFacts,
    SessionRef,
    SessionStatus,
    SessionView,
    StoredSession,
    WorkPending,
)
from ringi.sessions.import_session import import_state, read_session
from ringi.sessions.model import NextPrompt, next_prompt, repair, resume, with_context, work
from ringi.sessions.operations import ENDED, SessionState, pending, state_of
from ringi.sessions.plan_cache import remember_approved
from ringi.sessions.prompts import planner_prompt
from ringi.sessions.save import add, plan_maker, save, with_paths

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.runs.document import Run

CHOSEN_BY_AGENT: Final = "Chosen by the agent"
_WAITING_FOR: Final = {
    "approval": Text("the approval of the summary is"),
    "work": Text("the model is next"),
    "agent": Text("the agent is next"),
    "failed": Text("it failed and can be resumed"),
}


def _quietly(_: ModelProgress) -> None:
    pass


class PlanningTool:
    """A session is given by its id or the beginning of it, with or without `planning-`."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def view(self, session_id: str) -> SessionView:
        return _view(self.get(session_id))

    def find(self, name: str) -> str:
        return self._workspace.store.sessions.find(name)

    def find_run(self, name: str) -> str:
        return self._workspace.store.runs.find(name)

    def run(self, run_id: str) -> Run:
        return self._workspace.store.runs.get(run_id)

    def runs(self) -> list[Run]:
        return self._workspace.store.runs.all()

    def get(self, session_id: str) -> StoredSession:
        return self._workspace.store.sessions.get(self._workspace.store.sessions.find(session_id))

    def list(self, *, open_only: bool = False) -> list[SessionRef]:
        return self._workspace.store.sessions.refs(open_only=open_only)

    def approval(self, session_id: str) -> Approval | None:
        """The approval that covers its run; None until a person approves, and once it is cancelled.

        Raises if the approval does not count any more, or the run is lost.
        """
        return approve.covering(self._workspace, self.get(session_id).session)

    def _begin(self, instruction: str) -> SessionState:
        facts = SessionFacts(language=language_of(instruction), created_by=self._workspace.person.user())
        return operations.begin(self._new_id(), instruction, facts, self._workspace.clock.now())

    def first_prompt(self, instruction: str) -> NextPrompt:
        """What a new session would ask the model first. Nothing is asked or stored."""
        found = next_prompt(self._workspace, self._begin(instruction))
        assert found is not None  # noqa: S101  # a new session begins with the model
        return found

    def next_prompt(self, session_id: str, *, design: bool = False) -> NextPrompt:
        """What the model would be asked now; or for the design, even if other things are due before it.

        Raises NotAsked if it is not its turn, SessionOver.
        """
        stored = self.get(session_id)
        _require_open(stored)
        if design:
            state = with_context(self._workspace, state_of(stored))
            return NextPrompt(planner_prompt(state), NewSummary, stored.facts.model)
        found = next_prompt(self._workspace, state_of(stored))
        if found is None:
            _require(stored, WorkPending, Text("the model"))
            raise AssertionError
        return found

    def _new_id(self) -> str:
        return f"{SESSION_PREFIX}{self._workspace.ids()}"

    def _exists(self, session_id: str) -> bool:
        try:
            self._workspace.store.sessions.get(session_id)
        except NotFound:
            return False
        return True

    def _save(
        self, stored: StoredSession, state: SessionState, kind: EventKind, actor: Actor, reason: str = ""
    ) -> SessionView:
        return _view(save(self._workspace, stored, state, NewEvent(kind, actor, writable(reason))))

    def start(
        self,
        instruction: str,
        *,
        actor: Actor = Actor.USER,
        request: FromRequest | None = None,
        replaces: str = "",
        agent_brings: bool = False,
        by_model: bool = False,
        created_by: str = "",
        forge: ForgeTerms | None = None,
    ) -> SessionView:
        """A new session, saved; the model is next, or an agent in its place: `bring`.

        It may begin with a request, or plan a run anew, which stays its creator's. `created_by`: who asked
        for it, if not the user here. `forge`: what its run does there.
        Raises NotPermitted, BadInstruction, UnknownModel, NoModelKey, NoExtra.
        """
        workspace = self._workspace
        state = self._begin(instruction).with_facts(request=request, replaces=replaces, by_model=by_model)
        state = state.with_facts(forge=forge)
        if replaces:
            created_by = workspace.store.runs.get(replaces).created_by
        if created_by:
            state = state.with_facts(created_by=created_by)
        workspace.permits.require_allowed(state.facts.created_by, workspace.person.user())
        if agent_brings:
            state = with_context(workspace, state).with_facts(agent_brings=True)
        else:
            workspace.model()  # fail before anything is stored
        return _view(add(workspace, state, NewEvent(EventKind.SESSION_STARTED, actor)))

    def bring(
        self,
        session_id: str,
        brought: Brought | Mapping[str, Any],
        who: str = AGENT,
        used: TokenUsage = TokenUsage(),  # noqa: B008  # frozen
    ) -> SessionView:
        """What an agent has found, and the questions, decision points or design that are due, saved at once.

        Checked like a model's answer. Raises BadBrought with everything that is wrong, and saves nothing;
        NotAsked if it is not its turn, SessionOver, SessionRace.
        """
        stored = repair(self._workspace, _require_permitted(self._workspace, self.get(session_id)))
        _require(stored, AgentPending, Text("What an agent brings"))
        due = pending(state_of(stored))
        assert isinstance(due, AgentPending)  # noqa: S101  # for the type checker
        return _view(bring(self._workspace, stored, due, read(brought), who, used))

    def go_on(
        self, session_id: str, on_progress: OnProgress = _quietly, *, instead_of_agent: bool = False
    ) -> SessionView:
        """Lets the model work until a person is needed or the session has ended.

        Does nothing if nothing is due, or an agent is next and the model is not to replace it. Raises
        SessionFailed if the model failed: then the session is saved as failed and can be resumed. Raises Busy
        if another process is working on it.
        """
        stored = _require_permitted(self._workspace, self.get(session_id))
        if instead_of_agent and stored.facts.agent_brings:
            self._workspace.model()  # without a model it stays the agent's
            state = state_of(stored).with_facts(agent_brings=False)
            stored = save(self._workspace, stored, state, NewEvent(EventKind.SESSION_RESUMED, Actor.USER))
        return _view(work(self._workspace, stored, on_progress))

    def answer(
        self,
        session_id: str,
        text: str,
        *,
        question_id: str = "",
        actor: Actor = Actor.USER,
        source: str = "",
    ) -> SessionView:
        """Answers the current question; a number or the words of an option choose that option.

        `source`: where it was given, if not here.

        With `question_id`, raises NotAsked if another question is current. Raises BadAnswer if the answer is
        empty, too long, or a number without an option; SessionOver. The model may be next: `go_on`.
        """
        stored = _require_permitted(self._workspace, self.get(session_id))
        _require(stored, QuestionPending, question_id or Text("an answer"), question_id)
        session = stored.session
        text = _resolve_number(
            session.questions[session.current_question_index], text, short(session.session_id)
        )
        state = operations.answer_question(state_of(stored), text, self._workspace.clock.now())
        return self._save(stored, state, EventKind.SESSION_ANSWERED, actor, source)

    def skip(
        self, session_id: str, *, question_id: str = "", actor: Actor = Actor.USER, source: str = ""
    ) -> SessionView:
        """Leaves the question without an answer; it is not asked again."""
        stored = _require_permitted(self._workspace, self.get(session_id))
        _require(stored, QuestionPending, question_id or Text("a skip"), question_id)
        state = operations.skip_question(state_of(stored), self._workspace.clock.now())
        return self._save(stored, state, EventKind.SESSION_ANSWERED, actor, source)

    def back(self, session_id: str, *, actor: Actor = Actor.USER) -> SessionView:
        """Goes back to the previous question or decision; its answer stays until it is replaced.

        Also resumes a failed session.
        """
        stored = _require_permitted(self._workspace, self.get(session_id))
        _require_open(stored)
        return self._save(stored, operations.go_back(state_of(stored)), EventKind.SESSION_RESUMED, actor)

    def decide(
        self,
        session_id: str,
        option: str,
        rationale: str = "",
        *,
        decision_id: str = "",
        actor: Actor = Actor.USER,
        source: str = "",
    ) -> SessionView:
        """Chooses an option by its id, number, letter or name. Raises BadAnswer, NotAsked.

        A choice that came through an agent says so: the reason is part of what is approved.
        """
        stored = _require_permitted(self._workspace, self.get(session_id))
        if actor is Actor.AI:
            rationale = f"{CHOSEN_BY_AGENT}: {rationale}" if rationale.strip() else CHOSEN_BY_AGENT
        _require(stored, DecisionPending, decision_id or Text("a decision"), decision_id)
        state = operations.decide(state_of(stored), option, rationale, self._workspace.clock.now())
        return self._save(stored, state, EventKind.SESSION_DECIDED, actor, source)

    def request(self, session_id: str) -> ApprovalRequest:
        """What a person is asked to approve now: the instruction for the run."""
        return approve.request(self._workspace, _in_review(self.get(session_id)))

    def statement(self, session_id: str, approver: str) -> str:
        """The bytes that a key signs to approve the session."""
        return compose(self._workspace, SignedAct.APPROVE, self.request(session_id).digest, approver)

    def approve(self, session_id: str, approver: str, proof: Proof) -> SessionView:
        """Creates the run, which waits in phase planning. Typed answers count only if a person sits there."""
        stored = _in_review(_require_permitted(self._workspace, self.get(session_id)))
        now = approve.approve(self._workspace, stored, approver, proof)
        remember_approved(self._workspace, now)
        return _view(now)

    def reject(self, session_id: str, feedback: str, *, source: str = "") -> SessionView:
        """Back to design: decisions are made again with the feedback; the third rejection cancels.

        Like approving, only for a person: raises NoChannel if an agent is at work.
        """
        stored = self.get(session_id)
        _require(stored, ApprovalPending, Text("a rejection"))
        _require_person(stored, self._workspace.person.agent())
        state = operations.reject(state_of(stored), feedback, self._workspace.clock.now())
        return self._save(stored, state, EventKind.SESSION_REJECTED, Actor.USER, source)

    def cancel(self, session_id: str) -> SessionView:
        """Cancels a session in any state; an approved one only as long as its run has not begun.

        Only for a person. Raises NoChannel if it is approved and no person can be asked.
        """
        stored, person = self.get(session_id), self._workspace.person
        if stored.session.status is SessionStatus.CANCELLED:
            _require_open(stored)
        was_approved = stored.session.planner_session_id is not None
        _require_person(stored, person.refusal() if was_approved else person.agent())
        return _view(approve.cancel(self._workspace, stored, Actor.USER))

    def fail(self, session_id: str, why: str) -> SessionView:
        """Stops a session that has not ended, with a reason; `resume` continues it."""
        stored = self.get(session_id)
        state = operations.fail(state_of(stored), self._workspace.mask(why))
        return self._save(stored, state, EventKind.SESSION_FAILED, Actor.SYSTEM)

    def resume(self, session_id: str) -> SessionView:
        """Continues at the exact question or decision, after repairing inconsistencies (IP-14, IP-16).

        A failed session returns to the phase in which it failed. Does nothing if nothing is wrong.
        """
        return _view(resume(self._workspace, _require_permitted(self._workspace, self.get(session_id))))

    def take_in(self, data: bytes, what: str, *, actor: Actor = Actor.USER) -> SessionView:
        """Imports a session from a file; approvals in the file do not count.

        If the id is already in use, the session gets a new one.
        """
        user = self._workspace.person.user()
        self._workspace.permits.require_allowed(user)
        session = read_session(data, what)
        if self._exists(session.session_id):
            session = replace(session, session_id=self._new_id())
        event = NewEvent(EventKind.SESSION_TAKEN_IN, actor, writable(what))
        return _view(add(self._workspace, import_state(session).with_facts(created_by=user), event))

    def restore(self, found: Sequence[tuple[PlanningSession, Sequence[LogEntry]]], reason: str) -> None:
        """Adds sessions that the ledger has lost, in one transaction; approvals in them do not count.

        Raises SessionRace if one of them is there.
        """
        event = NewEvent(EventKind.SESSION_TAKEN_IN, Actor.SYSTEM, reason)
        states = [(with_paths(import_state(session), logs), logs) for session, logs in found]
        planned = [(plan_maker(self._workspace, state), logs) for state, logs in states]
        with self._workspace.store.transaction() as transaction:
            for plan, logs in planned:
                transaction.sessions.add(*plan(), event, logs)


def _require_permitted(workspace: Workspace, stored: StoredSession) -> StoredSession:
    """For the user who goes on with it. Raises NotPermitted."""
    workspace.permits.require_allowed(stored.facts.created_by, workspace.person.user())
    return stored


def _view(stored: StoredSession) -> SessionView:
    session, facts = stored.session, stored.facts
    return SessionView(
        session_id=session.session_id,
        instruction=session.instruction,
        status=session.status,
        pending=pending(state_of(stored)),
        usage=facts.usage,
        model=facts.model,
        found=facts.project.found,
    )


def _require_open(stored: StoredSession) -> None:
    session = stored.session
    if session.status not in OPEN_SESSIONS:
        raise SessionOver(session=short(session.session_id), status=ENDED[session.status])


def _in_review(stored: StoredSession) -> StoredSession:
    _require(stored, ApprovalPending, Text("an approval"))
    return stored


def _require_person(stored: StoredSession, why_not: Text | None) -> None:
    if why_not is not None:
        raise NoChannel(why=why_not, command=f"ringi plan --resume {short(stored.session.session_id)}")


def _resolve_number(question: Question, text: str, session: str) -> str:
    """Turns a bare number, however typed, into that option. Raises BadAnswer if there is no such option."""
    words = normalize("NFKC", text.strip())
    options = question.options or ()
    if not options or not (words.isascii() and words.isdigit()) or words in options:
        return text
    number, known = words.lstrip("0"), [str(number) for number in range(1, len(options) + 1)]
    if number in known:
        return number
    why = Text("its options are 1 to {count}; any other number needs a word beside it", count=len(options))
    raise BadAnswer(asked=question.id, why=why, session=session)


def _require(stored: StoredSession, kind: type[Pending], given: str | Text, wanted: str = "") -> None:
    """Raises NotAsked or SessionOver unless this is the current question."""
    _require_open(stored)
    due = pending(state_of(stored))
    if isinstance(due, kind) and wanted in {"", _id_of(due)}:
        return
    named = isinstance(due, QuestionPending | DecisionPending)
    asked = Text("{id} is", id=_id_of(due)) if named else _WAITING_FOR[str(due.__struct_config__.tag)]
    raise NotAsked(given=given, asked=asked, session=short(stored.session.session_id))


def _id_of(due: Pending) -> str:
    match due:
        case QuestionPending():
            return due.question.id
        case DecisionPending():
            return due.decision.id
    return ""
