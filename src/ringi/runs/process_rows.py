"""The processes of tasks, their actions, what people said about them, and what helped after errors."""

from collections.abc import Sequence
from typing import Final

from ringi.engine.process import ActionRecord, Process, RecoveryRecord, RunFeedback, StoredProcess
from ringi.errors import RunRace
from ringi.kernel import codec
from ringi.ledger import subject
from ringi.ledger.connection import as_bytes
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.events import EventFacts, text_of
from ringi.ledger.ledger import Ledger
from ringi.runs.rows import no_run
from ringi.tools.effects import ErrorKind

_PROCESS: Final = "SELECT document, revision FROM processes WHERE id = ?"
_PROCESSES: Final = "SELECT document FROM processes ORDER BY at"
_PROCESSES_OF: Final = "SELECT document FROM processes WHERE run_id = ? ORDER BY at"
_RECORDS: Final = "SELECT document FROM process_actions WHERE process_id = ? ORDER BY number"
_ADD: Final = (
    "INSERT INTO processes (id, at, run_id, revision, document)"
    " VALUES (?, (SELECT COALESCE(MAX(at), 0) + 1 FROM processes), ?, 1, ?) ON CONFLICT (id) DO NOTHING"
)
_SAVE: Final = "UPDATE processes SET revision = revision + 1, document = ? WHERE id = ? AND revision = ?"
_SAVE_RECORD: Final = (
    "INSERT INTO process_actions (process_id, number, document) VALUES (?, ?, ?)"
    " ON CONFLICT (process_id, number) DO UPDATE SET document = excluded.document"
)
_FEEDBACK: Final = "SELECT document FROM feedback WHERE run_id = ? ORDER BY at"
_ADD_FEEDBACK: Final = (
    "INSERT INTO feedback (id, at, run_id, document)"
    " VALUES (?, (SELECT COALESCE(MAX(at), 0) + 1 FROM feedback), ?, ?)"
)
_RUN_TEXT: Final = "SELECT document FROM runs WHERE id = ?"
_RUN_EVENT: Final = "UPDATE runs SET last_event = ? WHERE id = ?"
_RECOVERIES: Final = (
    "SELECT tool, strategy, helped, failed FROM recoveries WHERE kind = ? ORDER BY strategy, tool"
)
_NOTE_RECOVERY: Final = (
    "INSERT INTO recoveries (kind, tool, strategy, helped, failed) VALUES (?, ?, ?, ?, ?)"
    " ON CONFLICT (kind, tool, strategy) DO UPDATE"
    " SET helped = recoveries.helped + excluded.helped, failed = recoveries.failed + excluded.failed"
)


class Processes:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def get(self, process_id: str) -> StoredProcess | None:
        with self._ledger.one_moment():
            found = self._ledger.select(_PROCESS, process_id)
            rows = self._ledger.select(_RECORDS, process_id) if found else []
        if not found:
            return None
        records = tuple(codec.decode_own(as_bytes(row[0]), ActionRecord, "action") for row in rows)
        return StoredProcess(_as_process(found[0][0]), records, int(str(found[0][1])))

    def of(self, run_id: str = "") -> list[Process]:
        """Of a run, or all; in the order they began."""
        rows = self._ledger.select(_PROCESSES_OF, run_id) if run_id else self._ledger.select(_PROCESSES)
        return [_as_process(row[0]) for row in rows]

    def actions(self, process_id: str) -> tuple[ActionRecord, ...]:
        stored = self.get(process_id)
        return stored.records if stored else ()

    def feedback(self, run_id: str) -> tuple[RunFeedback, ...]:
        """In the order it was given."""
        rows = self._ledger.select(_FEEDBACK, run_id)
        return tuple(codec.decode_own(as_bytes(row[0]), RunFeedback, "feedback") for row in rows)

    def recoveries(self, kind: ErrorKind) -> tuple[RecoveryRecord, ...]:
        return tuple(
            RecoveryRecord(
                kind=kind,
                tool=str(tool),
                strategy=str(strategy),
                helped=int(str(helped)),
                failed=int(str(failed)),
            )
            for tool, strategy, helped, failed in self._ledger.select(_RECOVERIES, str(kind))
        )

    def save(self, process: Process, records: Sequence[ActionRecord], revision: int) -> None:
        """With the records that are new or changed; revision 0 is a new one.

        Raises RunRace if it was saved since that revision was read.
        """
        text = text_of(process)
        if revision:
            saved = self._ledger.execute(_SAVE, text, process.process_id, revision).rowcount
        else:
            saved = self._ledger.execute(_ADD, process.process_id, process.run_id, text).rowcount
        if saved != 1:
            raise RunRace(run=process.run_id or process.process_id)
        rows = [(process.process_id, record.number, text_of(record)) for record in records]
        self._ledger.execute_many(_SAVE_RECORD, rows)

    def add_feedback(self, feedback: RunFeedback) -> None:
        """Noted in the log of its run, which stays as it is."""
        found = self._ledger.execute(_RUN_TEXT, feedback.run_id).fetchone()
        if found is None:
            raise no_run(feedback.run_id)
        about = EventFacts(subject.run(feedback.run_id), str(found[0]))
        actor = Actor.AI if feedback.agent else Actor.USER
        event = NewEvent(EventKind.RUN_FEEDBACK, actor, feedback.feedback_id, feedback)
        hash_ = self._ledger.append(about, event)
        # The run itself is as it was, so work on it goes on.
        self._ledger.execute(_RUN_EVENT, hash_, feedback.run_id)
        self._ledger.execute(_ADD_FEEDBACK, feedback.feedback_id, feedback.run_id, text_of(feedback))

    def note_recovery(self, kind: ErrorKind, tool: str, strategy: str, *, helped: bool) -> None:
        row = (str(kind), tool, strategy, int(helped), int(not helped))
        self._ledger.execute(_NOTE_RECOVERY, *row)


def _as_process(document: object) -> Process:
    return codec.decode_own(as_bytes(document), Process, "process")
