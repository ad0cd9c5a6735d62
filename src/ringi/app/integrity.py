"""Whether the log, and the plans, sessions and runs it is about, are as they were written.

The chain covers the number of entries in a session's logs, not their text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import msgspec

from ringi.approvals.document import (
    Approval,
    ApprovalRequest,
    RevisionSubject,
    RunApprovalFacts,
    RunSubject,
    SessionSubject,
)
from ringi.approvals.grant_document import Grant
from ringi.approvals.statement import read_predicate_or_none
from ringi.engine.process import RunFeedback
from ringi.errors import RingiError
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.connection import Row, as_bytes, translate_errors
from ringi.ledger.event import FIRST_PREVIOUS, Event, EventKind
from ringi.ledger.subject import SIGNERS, SubjectKind
from ringi.plans.document import PlanDocument, with_state
from ringi.plans.execution import CommandEnd, CommandStart, ExecutionIntent, ExecutionResult
from ringi.plans.rows import ref_of
from ringi.runs.document import Run
from ringi.sessions.document import PlanningSession, SessionFacts
from ringi.sessions.rows import bytes_of_save, ref_of_session
from ringi.tree.action_spec import ActionSpecExt

if TYPE_CHECKING:
    from ringi.app.store import Store

_EVENT_ROWS: Final = "SELECT seq, subject_id, CAST(document AS BLOB), hash FROM events ORDER BY seq"
_LENGTH: Final = "SELECT seq FROM sqlite_sequence WHERE name = 'events'"
_LAST_EVENTS: Final = (
    "SELECT id, last_event FROM plans UNION ALL SELECT id, last_event FROM sessions"
    " UNION ALL SELECT id, last_event FROM runs UNION ALL SELECT id, last_event FROM grants"
)
_GRANTED_BY: Final = "SELECT id, granted_by FROM approvals"
# As bytes: a tampered value need not be text.
_APPROVAL_ROWS: Final = (
    "SELECT id, subject_id, kind, CAST(document AS BLOB), spent_by FROM approvals ORDER BY at"
)
_EXECUTION_ROWS: Final = (
    "SELECT id, plan_id, CAST(intent AS BLOB), CAST(result AS BLOB) FROM executions ORDER BY at"
)
_REQUEST_ROWS: Final = "SELECT id, plan_id, CAST(document AS BLOB) FROM requests ORDER BY at"
_SAVED_PLANS: Final = (
    "SELECT p.id, p.number, p.status, p.version, CAST(p.ref AS BLOB), CAST(p.document AS BLOB),"
    " CAST(s.document AS BLOB) FROM plans p"
    " LEFT JOIN specs s ON s.plan_id = p.id AND s.version = p.version ORDER BY p.number"
)
_COMMAND_ROWS: Final = (
    "SELECT execution_id, spec_id, CAST(started AS BLOB), CAST(ended AS BLOB) FROM commands ORDER BY at"
)
_PLAN_OF_COMMAND: Final = "(SELECT plan_id FROM executions e WHERE e.id = execution_id)"
_GRANT_ROWS: Final = "SELECT id, CAST(document AS BLOB), revoked_at FROM grants ORDER BY at"
_SESSION_ROWS: Final = (
    "SELECT at, id, revision, status, logs, CAST(ref AS BLOB), CAST(document AS BLOB), CAST(facts AS BLOB)"
    " FROM sessions ORDER BY at"
)
_LOG_COUNTS: Final = "SELECT session_id, COUNT(*), MIN(seq), MAX(seq) FROM session_logs GROUP BY session_id"
_RUN_ROWS: Final = "SELECT at, id, revision, CAST(document AS BLOB), CAST(plan AS BLOB) FROM runs ORDER BY at"
_FEEDBACK_ROWS: Final = "SELECT id, run_id, CAST(document AS BLOB) FROM feedback ORDER BY at"
_GRANTS_OF: Final = "SELECT granted_by FROM approvals WHERE subject_id = ?"
# No text in an event can contain it: a quotation mark is escaped there.
_FOLLOWS: Final = '"plan_id":"{subject}","previous":"{hash}"'
_NO_SPECS: Final = codec.canonical(())
"""The specs of a plan that has no row of specs."""

T = TypeVar("T")


def as_written(data: bytes, kind: type[T]) -> T | None:
    """None if the program would not write it like this."""
    try:
        return codec.decode_own(data, kind, "")
    except RingiError:
        return None


class _Saves:
    """What the log says about one session or run."""

    def __init__(self, number: int) -> None:
        self.number = number
        """In the order of the log."""
        self.count = 0
        self.seq = 0
        self.document = ""

    def note(self, event: Event) -> None:
        # Feedback on a run is no save of it.
        self.count += event.event is not EventKind.RUN_FEEDBACK
        self.seq, self.document = event.seq, event.document


class SessionChain:
    def __init__(self, rows: Callable[[str], Iterator[Row]]) -> None:
        self._rows = rows
        self._sessions: dict[str, _Saves] = {}
        self._runs: dict[str, _Saves] = {}
        self._subjects: dict[int, str] = {}
        """The session that each event is about."""
        self._made: dict[str, str] = {}
        """The session of each run, according to the log."""
        self._approved: dict[str, tuple[str, RunApprovalFacts]] = {}
        """The session of each run, the approved instruction, and the hash of the approved planning.json."""

    def note(self, event: Event) -> None:
        kind, name = event.subject
        if kind not in {SubjectKind.SESSION, SubjectKind.RUN}:
            return
        known = self._sessions if kind is SubjectKind.SESSION else self._runs
        known.setdefault(name, _Saves(len(known) + 1)).note(event)
        self._subjects[event.seq] = name
        if event.event is EventKind.RUN_CREATED:
            self._made.setdefault(name, event.reason)

    def approves_session(self, approval: Approval, seq: int, spent_by: object) -> bool:
        """Whether the approval named by event `seq` belongs to its session and made this run."""
        subject = as_written(approval.subject.encode(), SessionSubject)
        run_id, session_id = str(spent_by), approval.subject_id
        if subject is None or subject.session_id != session_id:
            return False
        self._approved[run_id] = (session_id, subject.given)
        return self._subjects.get(seq) == session_id and self._made.get(run_id) == session_id

    def approves_run(self, approval: Approval, seq: int) -> bool:
        """Whether the approval named by event `seq` belongs to its run, which no session became."""
        subject, run_id = as_written(approval.subject.encode(), RunSubject), approval.subject_id
        part = as_written(approval.subject.encode(), RevisionSubject)
        if part is not None:
            return part.run_id == run_id and self._subjects.get(seq) == run_id
        if subject is None or subject.run_id != run_id:
            return False
        self._approved[run_id] = (subject.session_id, subject.given)
        return self._subjects.get(seq) == run_id

    def feedback(self, follows: Callable[[bytes, str], bool]) -> Iterator[Text]:
        """What people said about runs."""
        for row_id, run_id, document in self._rows(_FEEDBACK_ROWS):
            data = as_bytes(document)
            said = as_written(data, RunFeedback)
            right = said is not None and (said.feedback_id, said.run_id) == (row_id, run_id)
            if not follows(data, "feedback") or not right:
                yield Text("run {run}: feedback was changed or put in", run=run_id)

    def breaks(self) -> Iterator[Text]:
        logs = {str(name): tuple(found) for name, *found in self._rows(_LOG_COUNTS)}
        for *listed, document, facts in self._rows(_SESSION_ROWS):
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
        for at, run_id, revision, document, plan in self._rows(_RUN_ROWS):
            data, planned = as_bytes(document), "" if plan is None else codec.digest(as_bytes(plan))
            saves = self._runs.pop(str(run_id), _Saves(0))
            run = as_written(data, Run)
            named = run is not None and run.run_id == run_id
            placed = (at, revision) == (saves.number, saves.count)
            if run is None or codec.digest(data) != saves.document or not (named and placed):
                yield Text("run {run}: it is not what event {seq} says was saved", run=run_id, seq=saves.seq)
            elif run.plan_sha256 != planned:
                yield Text("run {run}: its planning.json was changed", run=run_id)
            elif self._approved.get(run.run_id, _facts_approved(run)) != _facts_approved(run):
                alone = not run.planning_session_id
                yield run_approval_break(run_id) if alone else approval_break(run.planning_session_id)
        for name, saves in self._runs.items():
            yield Text("event {seq}: its run {run} is gone", seq=saves.seq, run=name)


def _session_breaks(listed: list[object], document: bytes, facts: bytes, saves: _Saves) -> Iterator[Text]:
    at, session_id, revision, status, logs, ref = listed
    session = as_written(document, PlanningSession)
    right = codec.digest(bytes_of_save(document, facts, logs)) == saves.document
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


def _facts_approved(run: Run) -> tuple[str, RunApprovalFacts]:
    return run.planning_session_id, RunApprovalFacts(run.instruction, run.plan_sha256, run.forge)


def approval_break(session_id: object) -> Text:
    return Text("planning session {session}: its approval was changed or put in", session=session_id)


def run_approval_break(run_id: object) -> Text:
    return Text("run {run}: its approval was changed or put in", run=run_id)


def _logs_break(session_id: object) -> Text:
    return Text("planning session {session}: log entries were removed or put in", session=session_id)


def verify(ledger: Store, plan_id: str = "") -> list[Text]:
    """Every break, with its place; an empty list means that everything is consistent.

    With a plan, the whole chain of hashes, and only that plan beside it.
    """
    with translate_errors(ledger.folder), ledger.one_moment():
        chain = _Chain(ledger, plan_id)
        return [
            *_rollback_breaks(ledger),
            *chain.breaks(),
            *chain.ends(),
            *chain.documents(),
            *chain.executions(),
            *chain.commands(),
            *chain.approvals(),
            *chain.grants(),
            *(() if plan_id else chain.sessions.breaks()),
            *chain.missing(),
            *chain.requests(),
        ]


class _Chain:
    def __init__(self, ledger: Store, plan_id: str) -> None:
        self._ledger = ledger
        self._only = {plan_id, SIGNERS.id} if plan_id else set[str]()
        """The plan, the grants it was approved by and whose signatures count; empty for everything."""
        if plan_id:
            self._only |= {str(row[0]) for row in self._rows(_GRANTS_OF, plan_id) if row[0]}
        self._numbers: dict[str, int] = {}
        """The plans in order of creation, according to the log."""
        self._documents: dict[str, tuple[int, str, str]] = {}
        self._evidence: dict[str, int] = {}
        self._before: dict[int, str] = {}
        """The hash of the previous event, as each event states it."""
        self._hashes = {FIRST_PREVIOUS: 0}
        self._newest: dict[str, tuple[int, str]] = {}
        """The newest event about each subject, and its hash."""
        self._requested: Counter[tuple[str, str]] = Counter()
        self._revoked: dict[str, str] = {}
        """When each grant was revoked, by its hash."""
        self._last: Counter[str] = Counter()
        self.sessions = SessionChain(self._rows)

    def _rows(self, statement: str, *values: str) -> Iterator[Row]:
        return iter(self._ledger.database.execute(statement, values))

    def _rows_about(self, statement: str, subject: str) -> Iterator[Row]:
        """Those whose column names one of the subjects looked at."""
        if not self._only:
            return self._rows(statement)
        marks = ", ".join("?" * len(self._only))
        return self._rows(statement.replace(" ORDER", f" WHERE {subject} IN ({marks}) ORDER"), *self._only)

    def breaks(self) -> Iterator[Text]:
        previous, expected = FIRST_PREVIOUS, 1
        for number, plan_id, document, hash_ in self._rows(_EVENT_ROWS):
            data, seq = as_bytes(document), number if isinstance(number, int) else 0
            if seq != expected:
                yield Text(
                    "event {seq}: 1 event before it is missing",
                    "event {seq}: {count} events before it are missing",
                    seq=seq,
                    count=seq - expected,
                )
            if codec.digest(data) != hash_:
                yield Text("event {seq}: its text was changed", seq=seq)
            others = self._only and plan_id not in self._only
            if others and _FOLLOWS.format(subject=plan_id, hash=previous).encode() in data:
                pass  # in its place, and about nothing that is looked at
            elif (event := as_written(data, Event)) is None:
                yield Text("event {seq}: it cannot be read", seq=seq)
            else:
                if (event.seq, event.subject.id) != (seq, plan_id):
                    yield Text("event {seq}: event {other} stands in its place", seq=seq, other=event.seq)
                if event.previous != previous:
                    yield Text("event {seq}: it does not follow the event before it", seq=seq)
                if not others:
                    self._note(event)
            self._hashes[str(hash_)] = seq
            self._newest[str(plan_id)] = seq, str(hash_)
            previous, expected = str(hash_), seq + 1
        length = next((row[0] for row in self._rows(_LENGTH)), 0)
        if length != expected - 1:
            yield Text("event {seq}: the log ends here, but it was longer", seq=expected - 1)

    def ends(self) -> Iterator[Text]:
        """Whether each plan, session, run and grant names the newest event about it."""
        for name, hash_ in self._rows(_LAST_EVENTS):
            seq, newest = self._newest.get(str(name), (0, ""))
            if hash_ != newest:
                yield Text("event {seq}: it is not the last one about {subject}", seq=seq, subject=name)

    def _note(self, event: Event) -> None:
        if event.subject.kind is SubjectKind.PLAN:
            self._numbers.setdefault(event.subject_id, len(self._numbers) + 1)
            self._documents[event.subject_id] = (event.seq, event.document, event.at)
        else:
            self.sessions.note(event)
        if event.evidence:
            self._evidence[event.evidence] = event.seq
            self._before[event.seq] = event.previous
        if event.event is EventKind.APPROVAL_REQUESTED:
            self._requested[event.subject_id, event.reason] += 1
        if event.event is EventKind.GRANT_REVOKED:
            self._revoked[event.document] = event.at

    def documents(self) -> Iterator[Text]:
        for *listed, document, specs in self._rows_about(_SAVED_PLANS, "p.id"):
            plan_id, number = str(listed[0]), listed[1]
            data = as_bytes(document)
            seq, expected, at = self._documents.pop(plan_id, (0, "", ""))
            read = as_written(data, PlanDocument)
            if codec.digest(data) != expected or read is None or read.plan.id != plan_id:
                yield Text(
                    "plan p{number}: it is not what event {seq} says was saved", number=number, seq=seq
                )
            elif codec.digest(as_bytes(specs or _NO_SPECS)) != read.specs_sha256:
                yield Text("plan p{number}: its specs were changed", number=number)
            elif not self._ref_agrees(listed, read, as_bytes(specs or _NO_SPECS), at):
                yield Text("plan p{number}: the list does not say what the plan says", number=number)
        for plan_id, (seq, _, _) in self._documents.items():
            yield Text("event {seq}: its plan {plan} is gone", seq=seq, plan=plan_id)

    def _ref_agrees(
        self, listed: Sequence[object], document: PlanDocument, specs: bytes, saved_at: str
    ) -> bool:
        document = with_state(document, action_specs=as_written(specs, tuple[ActionSpecExt, ...]) or ())
        plan_id = document.plan.id
        number = int(str(listed[1])) if self._only else self._numbers.get(plan_id, 0)
        ref = msgspec.json.encode(ref_of(document, number, saved_at))
        return list(listed) == [plan_id, number, str(document.state.status), document.plan.version, ref]

    def executions(self) -> Iterator[Text]:
        """Intents and results, each in the order of the log."""
        for row_id, plan_id, intent, result in self._rows_about(_EXECUTION_ROWS, "plan_id"):
            read = as_written(as_bytes(intent), ExecutionIntent)
            right = read is not None and (read.id, read.plan_id) == (row_id, plan_id)
            right &= self._follows(as_bytes(intent), "intents")
            if result is not None:
                ended = as_written(as_bytes(result), ExecutionResult)
                right &= ended is not None and (ended.execution_id, ended.plan_id) == (row_id, plan_id)
                right &= self._follows(as_bytes(result), "results")
            if not right:
                yield _break_of(plan_id)

    def commands(self) -> Iterator[Text]:
        """Starts in the order of the log. A person may report an end much later, but only after the start."""
        for execution_id, spec_id, started, ended in self._rows_about(_COMMAND_ROWS, _PLAN_OF_COMMAND):
            start = as_written(as_bytes(started), CommandStart)
            key = (execution_id, spec_id)
            right = start is not None and (start.execution_id, start.spec_id) == key
            right &= self._follows(as_bytes(started), "commands")
            if ended is not None:
                end = as_written(as_bytes(ended), CommandEnd)
                right &= end is not None and (end.execution_id, end.spec_id) == key
                right &= self._evidence.pop(codec.digest(as_bytes(ended)), 0) > self._last["commands"]
            if not right:
                yield Text("execution {id}: a command was changed or put in", id=execution_id)

    def approvals(self) -> Iterator[Text]:
        granted = {row[0]: row[1] for row in self._rows(_GRANTED_BY)}
        for row_id, subject_id, kind, document, spent_by in self._rows_about(_APPROVAL_ROWS, "subject_id"):
            data, order = as_bytes(document), f"approvals of a {kind}"
            approval = as_written(data, Approval)
            right = approval is not None and (approval.id, *approval.about) == (row_id, kind, subject_id)
            right &= self._follows(data, order)
            right &= approval is not None and self._agrees(approval, self._last[order])
            right &= approval is not None and (approval.proof.grant or None) == granted[row_id]
            if kind == SubjectKind.SESSION:
                used = approval is not None and self.sessions.approves_session(
                    approval, self._last[order], spent_by
                )
                if not right or not used:
                    yield approval_break(subject_id)
            elif kind == SubjectKind.RUN:
                used = approval is not None and self.sessions.approves_run(approval, self._last[order])
                if not right or not used:
                    yield run_approval_break(subject_id)
            elif kind == SubjectKind.SIGNERS:
                if not right or spent_by is not None:
                    yield Text("the list of signers was changed or put in")
            elif not right or spent_by is not None:
                yield _break_of(subject_id)

    def grants(self) -> Iterator[Text]:
        for row_id, document, revoked_at in self._rows_about(_GRANT_ROWS, "id"):
            data = as_bytes(document)
            grant = as_written(data, Grant)
            right = grant is not None and grant.id == row_id and self._follows(data, "grants")
            right &= grant is not None and self._agrees(grant, self._last["grants"])
            if not right:
                yield Text("standing approval {id}: it was changed or put in", id=row_id)
            if revoked_at != self._revoked.pop(codec.digest(data), None):
                yield Text("standing approval {id}: the log says otherwise of its end", id=row_id)

    def _agrees(self, given: Approval | Grant, seq: int) -> bool:
        """Rewritten history contradicts what was approved and what was signed."""
        proof = given.proof
        right = given.after_event == self._before.get(seq)
        right &= given.digest == codec.digest(given.subject.encode())
        if proof.statement:
            said = read_predicate_or_none(proof.statement)
            signed = codec.digest((proof.grant_subject or given.subject).encode())
            right &= said is not None and (said.digest, said.approver) == (signed, given.approver)
            right &= said is not None and self._hashes.get(said.after_event, seq) < seq
        return right

    def missing(self) -> Iterator[Text]:
        if not self._only:
            yield from self.sessions.feedback(self._follows)
        for seq in self._evidence.values():
            yield Text("event {seq}: the approval, intent or result it speaks of is gone", seq=seq)

    def _follows(self, data: bytes, kind: str) -> bool:
        seq = self._evidence.pop(codec.digest(data), 0)
        right = seq > self._last[kind]
        self._last[kind] = max(seq, self._last[kind])
        return right

    def requests(self) -> Iterator[Text]:
        for row_id, plan_id, document in self._rows_about(_REQUEST_ROWS, "plan_id"):
            request = as_written(as_bytes(document), ApprovalRequest)
            key = (str(plan_id), request.digest if request else "")
            right = request is not None and (request.id, request.subject_id) == (row_id, plan_id)
            if not right or self._requested[key] < 1:
                yield Text("plan {plan}: a request for approval was changed or put in", plan=plan_id)
            self._requested[key] -= 1
        for (plan_id, _), left in self._requested.items():
            if left > 0:
                yield Text("plan {plan}: a request for approval is gone", plan=plan_id)


def _rollback_breaks(ledger: Store) -> Iterator[Text]:
    if (noted := ledger.noted) and ledger.is_behind(noted):
        yield Text("the ledger is an older copy: event {seq} was committed and is not in it", seq=noted.seq)


def _break_of(plan_id: object) -> Text:
    return Text("plan {plan}: an approval, intent or result was changed or put in", plan=plan_id)
