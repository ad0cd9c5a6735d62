"""Saves a session, with the log of what was sent to a model and what came back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

from ringi.engine.call_log import LoggedCall, call_text
from ringi.errors import Busy, SessionRace, StorageFailed
from ringi.ledger.event import NewEvent
from ringi.models.usage import Purpose
from ringi.sessions.document import (
    MOST_MESSAGES,
    ConversationMessage,
    LogEntry,
    Role,
    SessionStatus,
    StoredSession,
)
from ringi.sessions.operations import SessionState
from ringi.sessions.run_plan import planner

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


def shortened(workspace: Workspace, state: SessionState) -> tuple[SessionState, list[LogEntry]]:
    """The newest messages stay; older ones are summarised and moved to the log (IP-15)."""
    messages = state.session.conversation_history
    older = messages[:-MOST_MESSAGES]
    if not older:
        return state, []
    about = {one.id: one.question for one in state.session.questions}
    about |= {one.id: one.topic for one in state.session.decisions}
    entries = [
        LogEntry(phase, _moved(workspace, [one for one in older if _phase_of(one) is phase], about))
        for phase in dict.fromkeys(map(_phase_of, older))
    ]
    return state.with_(conversation_history=messages[-MOST_MESSAGES:]), entries


def _phase_of(message: ConversationMessage) -> SessionStatus:
    """Which of the three logs it belongs to."""
    return message.phase if message.phase in _PATHS else SessionStatus.REVIEW


def _moved(workspace: Workspace, older: Sequence[ConversationMessage], about: Mapping[str, str]) -> str:
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
    return state.with_(**names) if names else state


T = TypeVar("T")
_PAUSES_SEC: Final = (0.05, 0.2, 0.8)


def kept(workspace: Workspace, save: Callable[[Store], T]) -> T:
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


def settled(
    workspace: Workspace, state: SessionState, logs: Sequence[LogEntry]
) -> tuple[SessionState, tuple[LogEntry, ...]]:
    """Ready to save: with its time, its messages shortened, and the paths of its logs."""
    state, older = shortened(workspace, state.with_(updated_at=workspace.clock.now()))
    entries = (*logs, *older)
    return with_paths(state, entries), entries


def save(
    workspace: Workspace,
    stored: StoredSession,
    state: SessionState,
    event: NewEvent,
    logs: Sequence[LogEntry] = (),
) -> StoredSession:
    state, entries = settled(workspace, state, logs)
    planned = planner(workspace, state)
    return kept(workspace, lambda transaction: transaction.sessions.save(stored, *planned(), event, entries))


def add(workspace: Workspace, state: SessionState, event: NewEvent) -> StoredSession:
    state, entries = settled(workspace, state, ())
    planned = planner(workspace, state)
    return kept(workspace, lambda transaction: transaction.sessions.add(*planned(), event, entries))
