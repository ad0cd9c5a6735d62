"""What the model does for a session: which files it wants, questions, decision points, a summary."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ringi.engine.call_log import LoggedCall, failure_end, why_it_failed
from ringi.engine.design import Design
from ringi.engine.phases import Phases
from ringi.errors import BadDocument, Busy, ModelFailed, SessionFailed, SessionRace, StorageFailed
from ringi.kernel import codec
from ringi.kernel.telemetry.port import OPERATION, SESSION_ID, WORKFLOW, Value
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import short
from ringi.models.budget import with_material
from ringi.models.prompt import (
    MOST_FILES,
    LanguageModel,
    ModelAnswer,
    ModelProgress,
    NewDecisions,
    NewFiles,
    NewQuestions,
    NewRevision,
    NewSummary,
    NewTargets,
    OnProgress,
    Prompt,
)
from ringi.models.usage import Purpose, TokenUsage
from ringi.project.outline import find_mentioned, pages_of
from ringi.sessions import operations
from ringi.sessions.design import (
    CheckedDesign,
    KnownProject,
    check_design,
    correct_design,
    mark_wrong_parts,
    render_design,
    without_lines,
)
from ringi.sessions.document import OpenCall, SessionStatus, StoredSession, WorkPending
from ringi.sessions.operations import SessionState, pending, repair_position, state_of
from ringi.sessions.prompts import KINDS, prompt_for
from ringi.sessions.save import call_entry, log_path, log_phase, save

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def work(workspace: Workspace, stored: StoredSession, on_progress: OnProgress) -> StoredSession:
    """Works until it is a person's turn; saves each result at once."""
    session_id = stored.session.session_id
    stored = repair(workspace, stored)
    if session_id in workspace.open_calls:
        with workspace.working_on(session_id):
            stored = _count_open_call(workspace, workspace.store.sessions.get(session_id))
    while isinstance(pending(state_of(stored)), WorkPending):
        # First, so that without a model the session stays as it is.
        model = workspace.model()
        with workspace.working_on(session_id):
            # Another process may have done the work while this one waited, or died over it.
            stored = repair(workspace, _count_open_call(workspace, workspace.store.sessions.get(session_id)))
            due = pending(state_of(stored))
            if isinstance(due, WorkPending):
                if not stored.facts.usage.requests:
                    Phases(workspace.telemetry).log_start(short(session_id))
                with workspace.telemetry.spans.root("ringi.plan", session_id, _about(session_id)):
                    stored = _ModelTurn(workspace, stored, model, on_progress).take(due.purpose)
    return stored


def _about(session_id: str) -> dict[str, Value]:
    return {SESSION_ID: session_id, OPERATION: "invoke_workflow", WORKFLOW: "plan"}


def resume(workspace: Workspace, stored: StoredSession) -> StoredSession:
    """Continues in the phase in which it failed, after repairing the session."""
    return _save_changes(workspace, stored, operations.resume(state_of(stored)))


def repair(workspace: Workspace, stored: StoredSession) -> StoredSession:
    return _save_changes(workspace, stored, repair_position(state_of(stored)))


def _count_open_call(workspace: Workspace, stored: StoredSession) -> StoredSession:
    """With a call whose process ended before its answer was saved."""
    session_id = stored.session.session_id
    data = workspace.open_calls.get(session_id)
    if data is None:
        return stored
    with suppress(BadDocument):
        open_ = codec.decode_foreign(data, OpenCall, session_id)
        if open_.counted == stored.facts.usage.requests:
            phase = log_phase(open_.purpose, stored.session.status)
            call = LoggedCall(open_.purpose, open_.model, open_.usage, end="interrupted")
            state = state_of(stored)
            state = add_usage(state, open_.purpose, open_.usage)
            event = NewEvent(EventKind.SESSION_PREPARED, Actor.SYSTEM, "interrupted")
            stored = save(workspace, stored, state, event, [call_entry(workspace, phase, call)])
    workspace.open_calls.pop(session_id, None)
    return stored


def add_usage(state: SessionState, purpose: Purpose, usage: TokenUsage) -> SessionState:
    facts, asked = state.facts, str(purpose)
    by = {**facts.usage_by, asked: facts.usage_by.get(asked, TokenUsage()).plus(usage)}
    return state.with_facts(usage=facts.usage.plus(usage), usage_by=by)


def _save_changes(workspace: Workspace, stored: StoredSession, state: SessionState) -> StoredSession:
    """Saves the session if it changed."""
    if state == state_of(stored):
        return stored
    return save(workspace, stored, state, NewEvent(EventKind.SESSION_RESUMED, Actor.SYSTEM))


def with_context(workspace: Workspace, state: SessionState) -> SessionState:
    """Shows the project as it is now; what was gathered from the same snapshot stays."""
    code, facts = workspace.code, state.facts
    # While files keep changing, nothing is newer than what was gathered.
    if facts.snapshot and code.snapshot() in {facts.snapshot, ""}:
        return state
    gathered = code.gather(state.session.instruction)
    # Nothing is left to ask for.
    read_in = tuple(_ROUNDS) if gathered.whole else facts.read_in
    return state.with_facts(
        context=gathered.context.text,
        project=gathered.project,
        snapshot=gathered.snapshot,
        restless=gathered.restless,
        code=code.read(facts.files) if facts.files else "",
        read_in=read_in,
    )


_ROUNDS: Final = (SessionStatus.DISCOVERY, SessionStatus.DESIGN)
"""When a model may ask for files: before everything else, and again after feedback."""


_AFTER_WORDS: Final = frozenset([Purpose.DESIGN, Purpose.REVISION])
"""What a person's answers and feedback come before."""


def _with_named(workspace: Workspace, state: SessionState) -> SessionState:
    """Shows what answers and feedback name outright: the context was gathered before them."""
    code, facts = workspace.code, state.facts
    answers = [question.answer for question in state.session.questions if question.answer]
    words = "\n".join([*answers, *facts.feedback])
    names = find_mentioned(words)
    if not names:
        return state
    named = pages_of(code.gather(words, tokens=0, limit=MOST_FILES).project.found, names)
    files = tuple(dict.fromkeys([*facts.files, *named]))[:MOST_FILES]
    return state if files == facts.files else state.with_facts(files=files, code=code.read(files))


class NextPrompt(NamedTuple):
    prompt: Prompt
    kind: type[Any]
    """Of the answer."""
    model: str


def next_prompt(workspace: Workspace, state: SessionState) -> NextPrompt | None:
    """What the model would be asked now; None if it is not its turn."""
    state = operations.resume(state)
    due = pending(state)
    if not isinstance(due, WorkPending):
        return None
    model = workspace.model()
    state, purpose = _prepare_call(workspace, state, due.purpose, model)
    return NextPrompt(prompt_for(state, purpose), KINDS[purpose], model.name)


def _prepare_call(
    workspace: Workspace, state: SessionState, purpose: Purpose, model: LanguageModel
) -> tuple[SessionState, Purpose]:
    """With the project as it is now; before anything else a model may say which files it wants."""
    state = with_context(workspace, state)
    if purpose in _AFTER_WORDS and not model.sees_project:
        state = _with_named(workspace, state)
    done = state.facts.read_in
    unread = SessionStatus.DESIGN not in done if purpose is Purpose.REVISION else not done
    return state, Purpose.FILES if unread and not model.sees_project else purpose


class _ModelTurn:
    """One call of a model for a session, from the prompt to the saved result."""

    def __init__(
        self, workspace: Workspace, stored: StoredSession, model: LanguageModel, on_progress: OnProgress
    ) -> None:
        self._workspace = workspace
        self._stored = stored
        self._model = model
        self._on_progress = on_progress

    def take(self, purpose: Purpose) -> StoredSession:
        state = state_of(self._stored)
        if purpose in {Purpose.DESIGN, Purpose.REVISION} and state.facts.designed:
            # They were made already; only the position was lost.
            return _save_changes(self._workspace, self._stored, state.move_to(SessionStatus.DESIGN))
        state, purpose = _prepare_call(self._workspace, state, purpose, self._model)
        prompt, workspace = prompt_for(state, purpose), self._workspace
        phases = Phases(workspace.telemetry)
        with self._keep_failure(purpose), phases.of_session(purpose) as span:
            workspace.within(prompt, self._model.name, state.facts.usage)
            answer = self._model.ask(prompt, KINDS[purpose], workspace.budget, self._report(purpose))
            usage = workspace.priced(answer.model, with_material(answer.usage, prompt))
            phases.log_answer(span, answer.value)
            return self._keep(state, purpose, answer._replace(usage=usage))

    def _report(self, purpose: Purpose) -> OnProgress:
        def report(reported: ModelProgress) -> None:
            known = reported._replace(purpose=purpose, model=self._model.name)
            self._note(known)
            self._on_progress(known)

        report(ModelProgress(0.0, 0))
        return report

    def _note(self, reported: ModelProgress) -> None:
        """What it took so far, in case this process is killed."""
        if reported.purpose is None or not reported.spent.requests:
            return
        session, facts, _ = self._stored
        call = OpenCall(
            purpose=reported.purpose,
            model=reported.model,
            counted=facts.usage.requests,
            usage=reported.spent,
        )
        self._workspace.open_calls[session.session_id] = codec.canonical(call)

    def _keep(self, state: SessionState, purpose: Purpose, answer: ModelAnswer[Any]) -> StoredSession:
        workspace, before = self._workspace, state.facts.model
        state = self._apply(state, answer.value)
        state = add_usage(state, purpose, answer.usage).with_facts(model=answer.model)
        phase = log_phase(purpose, self._stored.session.status)
        call = LoggedCall(purpose, answer.model, answer.usage, answer.exchanges, before)
        event = NewEvent(EventKind.SESSION_PREPARED, Actor.AI, str(purpose))
        stored = save(workspace, self._stored, state, event, [call_entry(workspace, phase, call)])
        workspace.open_calls.pop(stored.session.session_id, None)
        answer.settle(True)
        return stored

    def _apply(self, state: SessionState, value: Any) -> SessionState:
        now = self._workspace.clock.now()
        match value:
            case NewFiles():
                return self._read(state, value)
            case NewQuestions():
                return operations.set_questions(state, value, now)
            case NewDecisions():
                return operations.set_decisions(state, value, now)
            case NewRevision():
                return operations.revise_decisions(state, value, now)
            case NewSummary():
                result = check_design(value, project_of(self._workspace, state))
                if result.wrong:
                    return operations.keep_draft(state, value.summary, *result)
                return apply_summary(state, value.summary, result, now)
            case NewTargets():
                before = CheckedDesign(state.facts.design or Design(), state.facts.wrong)
                result = correct_design(before, value, project_of(self._workspace, state))
                return apply_summary(state, state.facts.draft, result, now)
        raise TypeError(type(value).__name__)

    def _read(self, state: SessionState, found: NewFiles) -> SessionState:
        """With the files it wants, as far as there are such files."""
        code, facts = self._workspace.code, state.facts
        wished = list(dict.fromkeys(path.strip().removeprefix("./") for path in found.paths if path.strip()))
        has = [path for path in wished if code.has(path) or code.has(without_lines(path))]
        files = tuple(dict.fromkeys([*has, *facts.files]))[:MOST_FILES]
        phase = SessionStatus.DESIGN if facts.feedback else SessionStatus.DISCOVERY
        text = code.read(files) if files else ""
        missing = tuple(path for path in wished if path not in has)
        return state.with_facts(files=files, missing=missing, code=text, read_in=(*facts.read_in, phase))

    @contextmanager
    def _keep_failure(self, purpose: Purpose) -> Iterator[None]:
        """Keeps what a call cost that gave no answer, or one that could not be saved."""
        try:
            yield
        except ModelFailed as error:
            self._fail(purpose, error)
        finally:
            with suppress(SessionRace, StorageFailed, Busy):  # the interruption itself is reported
                _count_open_call(self._workspace, self._stored)

    def _fail(self, purpose: Purpose, error: ModelFailed) -> None:
        workspace, state, name = self._workspace, state_of(self._stored), self._model.name
        usage, phase = error.usage or TokenUsage(), log_phase(purpose, state.session.status)
        call = LoggedCall(purpose, name, usage, error.exchanges, state.facts.model, failure_end(error))
        why = why_it_failed(error, workspace.mask)
        state = operations.fail(state, str(why))
        state = add_usage(state, purpose, usage).with_facts(model=name)
        event = NewEvent(EventKind.SESSION_FAILED, Actor.SYSTEM, error.code)
        session_id = save(
            workspace, self._stored, state, event, [call_entry(workspace, phase, call)]
        ).session.session_id
        workspace.open_calls.pop(session_id, None)
        log = f".agent/{log_path(session_id, phase)}"
        raise SessionFailed(session=short(session_id), why=why, log=log) from error


def project_of(workspace: Workspace, state: SessionState) -> KnownProject:
    return KnownProject(workspace.code.has, workspace.has_program, state.facts.project.test_commands)


def apply_summary(state: SessionState, summary: str, result: CheckedDesign, now: str) -> SessionState:
    design = mark_wrong_parts(result, state.facts.language)
    text = render_design(summary, design, state.session.decisions, state.facts)
    return operations.set_summary(state, text, now, design)
