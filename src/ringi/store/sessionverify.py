"""Whether planning sessions and runs are as they were written.

The words of the logs are outside the chain, which knows only how many entries there are.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import msgspec

from ringi.domain import codec
from ringi.domain.approval import Approval, SessionSubject
from ringi.domain.events import Event, EventKind
from ringi.domain.run import Run
from ringi.domain.session import PlanningSession, SessionFacts
from ringi.domain.subject import SubjectKind
from ringi.errors import RingiError
from ringi.store import sql
from ringi.store.planrows import Row, as_bytes
from ringi.store.sessionrows import ref_of_session, saved
from ringi.text import Text

T = TypeVar("T")


def as_written(data: bytes, kind: type[T]) -> T | None:
    """None where it is not what the program writes."""
    try:
        return codec.trusted(data, kind, "")
    except RingiError:
        return None


class _Saves:
    """What the log says of one session or run."""

    def __init__(self, number: int) -> None:
        self.number = number
        """In the order in which they came."""
        self.count = 0
        self.seq = 0
        self.document = ""

    def note(self, event: Event) -> None:
        self.count += 1
        self.seq, self.document = event.seq, event.document


class SessionChain:
    def __init__(self, rows: Callable[[str], Iterator[Row]]) -> None:
        self._rows = rows
        self._sessions: dict[str, _Saves] = {}
        self._runs: dict[str, _Saves] = {}
        self._subjects: dict[int, str] = {}
        """The session that each event speaks of."""
        self._made: dict[str, str] = {}
        """By the run: the session, as the log has it."""
        self._approved: dict[str, tuple[str, str]] = {}
        """By the run: the session, and the instruction that was approved."""

    def note(self, event: Event) -> None:
        kind, name = event.subject
        if kind not in {SubjectKind.SESSION, SubjectKind.RUN}:
            return
        known = self._sessions if kind is SubjectKind.SESSION else self._runs
        known.setdefault(name, _Saves(len(known) + 1)).note(event)
        self._subjects[event.seq] = name
        if event.event is EventKind.RUN_CREATED:
            self._made.setdefault(name, event.reason)

    def given(self, approval: Approval, seq: int, spent_by: object) -> bool:
        """Whether the approval that event `seq` speaks of is that of its session, and made this run."""
        subject = as_written(approval.subject.encode(), SessionSubject)
        run_id, session_id = str(spent_by), approval.subject_id
        if subject is None or subject.session_id != session_id or approval.spent_by not in {None, spent_by}:
            return False
        self._approved[run_id] = (session_id, subject.instruction)
        return self._subjects.get(seq) == session_id and self._made.get(run_id) == session_id

    def breaks(self) -> Iterator[Text]:
        logs = {str(name): tuple(found) for name, *found in self._rows(sql.LOG_COUNTS)}
        for *listed, document, facts in self._rows(sql.SESSION_ROWS):
            session_id = str(listed[1])
            saves = self._sessions.pop(session_id, _Saves(0))
            yield from _session_breaks(listed, as_bytes(document), as_bytes(facts), saves)
            count = listed[4]
            if logs.pop(session_id, (0, 1, 0)) != (count, 1, count):
                yield _logs_break(session_id)
        yield from map(_logs_break, logs)
        for session_id, saves in self._sessions.items():
            yield Text(
                "event {seq}: its planning session {session} is gone", seq=saves.seq, session=session_id
            )
        yield from self._run_breaks()

    def _run_breaks(self) -> Iterator[Text]:
        for at, run_id, document in self._rows(sql.RUN_ROWS):
            data = as_bytes(document)
            saves = self._runs.pop(str(run_id), _Saves(0))
            run = as_written(data, Run)
            named = run is not None and run.run_id == run_id
            if run is None or codec.digest(data) != saves.document or not named or at != saves.number:
                yield Text("run {run}: it is not what event {seq} says was saved", run=run_id, seq=saves.seq)
            elif self._approved.get(run.run_id, _given_to(run)) != _given_to(run):
                yield approval_break(run.planning_session_id)
        for name, saves in self._runs.items():
            yield Text("event {seq}: its run {run} is gone", seq=saves.seq, run=name)


def _session_breaks(listed: list[object], document: bytes, facts: bytes, saves: _Saves) -> Iterator[Text]:
    at, session_id, revision, status, logs, ref = listed
    session = as_written(document, PlanningSession)
    right = codec.digest(saved(document, facts, logs)) == saves.document
    right &= as_written(facts, SessionFacts) is not None
    if session is None or session.session_id != session_id or not right:
        yield Text(
            "planning session {session}: it is not what event {seq} says was saved",
            session=session_id,
            seq=saves.seq,
        )
        return
    expected = [saves.number, saves.count, str(session.status), msgspec.json.encode(ref_of_session(session))]
    if [at, revision, status, ref] != expected:
        yield Text(
            "planning session {session}: the list does not say what the session says", session=session_id
        )


def _given_to(run: Run) -> tuple[str, str]:
    return run.planning_session_id, run.instruction


def approval_break(session_id: object) -> Text:
    return Text("planning session {session}: its approval was changed or put in", session=session_id)


def _logs_break(session_id: object) -> Text:
    return Text("planning session {session}: log entries were removed or put in", session=session_id)
