"""Saves a session, with its log and, once a person is to approve it, its planning.json (RN-3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from ringi.engine.call_log import LoggedCall, call_text
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.document import GoalUnderstanding
from ringi.engine.request import next_request_id
from ringi.engine.run_parts import PartsInput, RunWishes
from ringi.engine.run_plan_rules import run_plan_problems
from ringi.engine.run_state import run_id
from ringi.errors import Busy, NotFound, SessionRace, StorageFailed
from ringi.kernel import codec
from ringi.kernel.problems import Level
from ringi.ledger.event import NewEvent
from ringi.models.prompt import QuestionType
from ringi.models.usage import Purpose
from ringi.plans.document import title_of
from ringi.sessions import operations
from ringi.sessions.document import (
    MOST_MESSAGES,
    ConversationMessage,
    LogEntry,
    PlanningSession,
    Role,
    SessionStatus,
    StoredSession,
)
from ringi.sessions.operations import SessionState

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

_PHASES: Final = {
    Purpose.DISCOVERY: SessionStatus.DISCOVERY,
    Purpose.DESIGN: SessionStatus.DESIGN,
    Purpose.REVISION: SessionStatus.DESIGN,
    Purpose.REVIEW: SessionStatus.REVIEW,
    Purpose.TARGETS: SessionStatus.REVIEW,
}
_PATHS: Final = {
    SessionStatus.DISCOVERY: "discovery_log_path",
    SessionStatus.DESIGN: "design_log_path",
    SessionStatus.REVIEW: "review_log_path",
}
_LONGEST_GIST: Final = 160


def log_phase(purpose: Purpose, status: SessionStatus) -> SessionStatus:
    """Which of the three logs a call belongs to, by what was asked, or when."""
    return _PHASES.get(purpose, status)


def call_entry(workspace: Workspace, phase: SessionStatus, call: LoggedCall) -> LogEntry:
    """For the log of this phase."""
    detailed, confidential = workspace.config.logs.detailed, workspace.config.logs.confidential
    now = workspace.clock.now()
    return LogEntry(phase, call_text(call, now, workspace.mask, detailed=detailed, confidential=confidential))


def shorten_history(workspace: Workspace, state: SessionState) -> tuple[SessionState, list[LogEntry]]:
    """The newest messages stay; older ones are summarised and moved to the log (IP-15)."""
    messages = state.session.conversation_history
    older = messages[:-MOST_MESSAGES]
    if not older:
        return state, []
    about = {one.id: one.question for one in state.session.questions}
    about |= {one.id: one.topic for one in state.session.decisions}
    entries = [
        LogEntry(phase, _summarise_older(workspace, [one for one in older if _phase_of(one) is phase], about))
        for phase in dict.fromkeys(map(_phase_of, older))
    ]
    return state.with_session(conversation_history=messages[-MOST_MESSAGES:]), entries


def _phase_of(message: ConversationMessage) -> SessionStatus:
    """Which of the three logs it belongs to."""
    return message.phase if message.phase in _PATHS else SessionStatus.REVIEW


def _summarise_older(
    workspace: Workspace, older: Sequence[ConversationMessage], about: Mapping[str, str]
) -> str:
    counts = Counter(message.role for message in older)
    by = ", ".join(f"{count} by {role}" for role, count in sorted(counts.items()))
    lines = [f"== {workspace.clock.now()} {len(older)} older messages of the conversation ({by})"]
    if workspace.config.logs.confidential:
        return lines[0] + "\n"
    lines += [_gist(message, about) for message in older]
    if workspace.config.logs.detailed:
        lines += [f"{message.created_at} {message.role}: {message.content}" for message in older]
    return workspace.mask("\n".join(lines)) + "\n"


def _gist(message: ConversationMessage, about: Mapping[str, str]) -> str:
    """In a line: what a person said in full, with what it was about; of the model's words the beginning."""
    words = " ".join(message.content.split())
    if message.role is not Role.USER:
        return words if len(words) <= _LONGEST_GIST else f"{words[:_LONGEST_GIST]}…"
    id_, colon, said = words.partition(": ")
    if colon and id_ in about:
        return f"{id_} {about[id_]} → {said}"
    return f"feedback: {words}" if message.phase is SessionStatus.REVIEW else words


def log_path(session_id: str, phase: SessionStatus) -> str:
    """Relative to `.agent/`."""
    return f"logs/{session_id}/{phase}.log"


def with_paths(state: SessionState, entries: Sequence[LogEntry]) -> SessionState:
    """The session lists the path of each non-empty log, relative to `.agent/`."""
    session_id = state.session.session_id
    names = {_PATHS[entry.phase]: log_path(session_id, entry.phase) for entry in entries}
    return state.with_session(**names) if names else state


T = TypeVar("T")
_PAUSES_SEC: Final = (0.05, 0.2, 0.8)


def save_with_retries(workspace: Workspace, save: Callable[[Store], T]) -> T:
    """Saves everything in one transaction; raises the error of the last try."""
    for pause in _PAUSES_SEC:
        try:
            with workspace.store.transaction() as transaction:
                return save(transaction)
        except SessionRace:
            raise
        except (StorageFailed, Busy):
            workspace.sleep(pause)
    with workspace.store.transaction() as transaction:
        return save(transaction)


def prepare_save(
    workspace: Workspace, state: SessionState, logs: Sequence[LogEntry]
) -> tuple[SessionState, tuple[LogEntry, ...]]:
    """Ready to save: with its time, its messages shortened, and the paths of its logs."""
    state, older = shorten_history(workspace, state.with_session(updated_at=workspace.clock.now()))
    entries = (*logs, *older)
    return with_paths(state, entries), entries


def save(
    workspace: Workspace,
    stored: StoredSession,
    state: SessionState,
    event: NewEvent,
    logs: Sequence[LogEntry] = (),
) -> StoredSession:
    state, entries = prepare_save(workspace, state, logs)
    planned = plan_maker(workspace, state)
    return save_with_retries(
        workspace, lambda transaction: transaction.sessions.save(stored, *planned(), event, entries)
    )


def add(workspace: Workspace, state: SessionState, event: NewEvent) -> StoredSession:
    state, entries = prepare_save(workspace, state, ())
    planned = plan_maker(workspace, state)
    return save_with_retries(
        workspace, lambda transaction: transaction.sessions.add(*planned(), event, entries)
    )


_SHOWN: Final = 5


def plan_maker(workspace: Workspace, state: SessionState) -> Callable[[], SessionState]:
    """Gives the state its planning.json if a person is to approve it, else leaves it as it is.

    To be called inside the transaction that saves it: no two sessions get the same request id.
    """
    session = state.session
    due = session.status is SessionStatus.REVIEW and session.design_summary and not state.facts.run_plan
    if not due:
        return lambda: state
    branch = workspace.base_branch()
    return lambda: _add_plan(workspace, state, branch)


def _add_plan(workspace: Workspace, state: SessionState, branch: str) -> SessionState:
    plan = compile_run_plan(_parts_input(state), _names(workspace, state, branch), _wishes(workspace))
    raw = msgspec.json.decode(codec.canonical(plan))
    faults = [one for one in run_plan_problems(raw) if one.level is Level.FAIL]
    if not faults:
        return state.with_facts(run_plan=plan)
    words = "; ".join(f"{one.path}: {one.message}" for one in faults[:_SHOWN])
    return operations.fail(state, f"planning.json: {words}")


def _wishes(workspace: Workspace) -> RunWishes:
    return RunWishes(timeout_sec=workspace.config.checks.timeout_sec)


def _names(workspace: Workspace, state: SessionState, branch: str) -> RunNames:
    now = workspace.clock.now()
    run = run_id(now, workspace.ids())
    if request := state.facts.request:
        return RunNames(request.request_id, run, now, branch, request.path)
    return RunNames(
        _request_of_replaced(workspace, state) or free_request_id(workspace, run[:8]), run, now, branch
    )


def _request_of_replaced(workspace: Workspace, state: SessionState) -> str:
    """The request id of the run that is planned anew."""
    try:
        return workspace.store.runs.get(state.facts.replaces).request_id if state.facts.replaces else ""
    except NotFound:
        return ""


def free_request_id(workspace: Workspace, day: str) -> str:
    return next_request_id(day, {*workspace.requests(), *workspace.store.runs.request_ids(day)})


def _parts_input(state: SessionState) -> PartsInput:
    session, facts = state
    return PartsInput(
        session.instruction,
        goal=GoalUnderstanding(
            main_objective=title_of(session.instruction), constraints=tuple(_constraints(session))
        ),
        design=facts.design,
        project=facts.project,
        language=facts.language,
        request=facts.request.request if facts.request else None,
    )


def _constraints(session: PlanningSession) -> Iterator[str]:
    for question in session.questions:
        if question.type is QuestionType.CONSTRAINT and question.answer is not None:
            yield f"{question.question} → {question.answer}"
