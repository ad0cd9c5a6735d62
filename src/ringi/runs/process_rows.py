"""The processes of tasks, their actions, what people said about them, and what helped after errors."""

from collections.abc import Sequence
from typing import Final

from ringi.engine.process import ActionRecord, Feedback, Process, Recovery, StoredProcess
from ringi.errors import RunRace
from ringi.kernel import codec
from ringi.ledger import subject
from ringi.ledger.connection import Reader, as_bytes
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.events import About, EventLog, text_of
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


class Processes(Reader):
    def stored_process(self, process_id: str) -> StoredProcess | None:
        with self.one_moment():
            found = self._select(_PROCESS, process_id)
            rows = self._select(_RECORDS, process_id) if found else []
        if not found:
            return None
        records = tuple(codec.trusted(as_bytes(row[0]), ActionRecord, "action") for row in rows)
        return StoredProcess(_as_process(found[0][0]), records, int(str(found[0][1])))

    def processes(self, run_id: str = "") -> list[Process]:
        rows = self._select(_PROCESSES_OF, run_id) if run_id else self._select(_PROCESSES)
        return [_as_process(row[0]) for row in rows]

    def actions(self, process_id: str) -> tuple[ActionRecord, ...]:
        stored = self.stored_process(process_id)
        return stored.records if stored else ()

    def feedback(self, run_id: str) -> tuple[Feedback, ...]:
        rows = self._select(_FEEDBACK, run_id)
        return tuple(codec.trusted(as_bytes(row[0]), Feedback, "feedback") for row in rows)

    def recoveries(self, kind: ErrorKind) -> tuple[Recovery, ...]:
        return tuple(
            Recovery(
                kind=kind,
                tool=str(tool),
                strategy=str(strategy),
                helped=int(str(helped)),
                failed=int(str(failed)),
            )
            for tool, strategy, helped, failed in self._select(_RECOVERIES, str(kind))
        )


class ProcessWrites(EventLog):
    def save_process(self, process: Process, records: Sequence[ActionRecord], revision: int) -> None:
        text = text_of(process)
        if revision:
            saved = self._database.execute(_SAVE, (text, process.process_id, revision)).rowcount
        else:
            saved = self._database.execute(_ADD, (process.process_id, process.run_id, text)).rowcount
        if saved != 1:
            raise RunRace(run=process.run_id or process.process_id)
        rows = [(process.process_id, record.number, text_of(record)) for record in records]
        self._database.executemany(_SAVE_RECORD, rows)

    def add_feedback(self, feedback: Feedback) -> None:
        found = self._database.execute(_RUN_TEXT, (feedback.run_id,)).fetchone()
        if found is None:
            raise no_run(feedback.run_id)
        about = About(subject.run(feedback.run_id), str(found[0]))
        actor = Actor.AI if feedback.agent else Actor.USER
        event = NewEvent(EventKind.RUN_FEEDBACK, actor, feedback.feedback_id, feedback)
        hash_ = self._add_event(about, self._clock.now(), event)
        # The run itself is as it was: whoever works on it goes on.
        self._database.execute(_RUN_EVENT, (hash_, feedback.run_id))
        self._database.execute(_ADD_FEEDBACK, (feedback.feedback_id, feedback.run_id, text_of(feedback)))

    def note_recovery(self, kind: ErrorKind, tool: str, strategy: str, *, helped: bool) -> None:
        row = (str(kind), tool, strategy, int(helped), int(not helped))
        self._database.execute(_NOTE_RECOVERY, row)


def _as_process(document: object) -> Process:
    return codec.trusted(as_bytes(document), Process, "process")
