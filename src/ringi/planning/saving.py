"""Saving a session: once, and up to three times more where the store cannot take it (IP-11)."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from ringi.domain.session import LogEntry
from ringi.errors import Busy, SessionRace, StorageFailed
from ringi.planning.logs import shortened, with_paths
from ringi.planning.parts import PlanningParts
from ringi.planning.state import State
from ringi.ports import NewEvent, SessionTransaction, StoredSession

T = TypeVar("T")
_PAUSES_SEC: Final = (0.05, 0.2, 0.8)


def kept(parts: PlanningParts, save: Callable[[SessionTransaction], T]) -> T:
    """All of one transaction, or the error of the last try."""
    for pause in _PAUSES_SEC:
        try:
            with parts.store.transaction() as transaction:
                return save(transaction)
        except SessionRace:
            raise
        except (StorageFailed, Busy):
            parts.sleep(pause)
    with parts.store.transaction() as transaction:
        return save(transaction)


def settled(
    parts: PlanningParts, state: State, logs: Sequence[LogEntry]
) -> tuple[State, tuple[LogEntry, ...]]:
    """As it is to be saved: its time, no more messages than are kept, the paths of its logs."""
    state, older = shortened(parts, state.with_(updated_at=parts.clock.now()))
    entries = (*logs, *older)
    return with_paths(state, entries), entries


def save(
    parts: PlanningParts,
    stored: StoredSession,
    state: State,
    event: NewEvent,
    logs: Sequence[LogEntry] = (),
) -> StoredSession:
    state, entries = settled(parts, state, logs)
    return kept(
        parts,
        lambda transaction: transaction.save_session(stored, state.session, state.facts, event, entries),
    )


def add(parts: PlanningParts, state: State, event: NewEvent) -> StoredSession:
    state, entries = settled(parts, state, ())
    return kept(
        parts, lambda transaction: transaction.add_session(state.session, state.facts, event, entries)
    )
