"""A revision of the plan of a step that waits for a person (PP-20): shown, approved or declined.

The step goes on with the answer. Without one in time the revision is dropped.
"""

from __future__ import annotations

from contextlib import suppress
from math import inf
from typing import TYPE_CHECKING

from msgspec.structs import replace

from ringi.approvals.document import ApprovalRequest, Proof, RevisionSubject, SignedAct
from ringi.approvals.kinds import request_of
from ringi.approvals.proof import compose, require_answer
from ringi.approvals.who import actor_at, refuse_agent
from ringi.engine.process import Process, RunFeedback, Wait
from ringi.engine.revise import apply_revision
from ringi.errors import NotFound, RevisionExpired
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.runs.document import Run, StopCode
from ringi.runs.process.revisions import difference, plan_digest
from ringi.runs.start import record_approval

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


class ReviewedRevision:
    """The revision that a run waits for, as last shown to the person."""

    def __init__(self, workspace: Workspace, run_id: str, timeout_sec: float) -> None:
        self._workspace = workspace
        self._timeout_sec = timeout_sec
        self.run_id = run_id
        self.command = f"ringi continue {run_id}"
        self.signing = f"ringi run {run_id} --sign KEY"
        self.look()

    def look(self) -> None:
        """Raises NotFound if none waits."""
        store = self._workspace.store
        waiting = [one for one in store.processes.of(self.run_id) if _waits(one)]
        stored = store.processes.get(waiting[-1].process_id) if waiting else None
        if stored is None or stored.process.proposed is None:
            what = Text("revision that waits for you")
            raise NotFound(what=what, name=self.run_id, see=f"ringi status {self.run_id}")
        self.process, self._revision = stored.process, stored.revision
        self.record = stored.process.proposed
        self.lines = difference(self.process.plan, apply_revision(self.process.plan, self.record.revision))
        run = store.runs.get_stored(self.run_id)
        self._run, self._run_revision = run.run, run.revision
        subject = RevisionSubject(
            workspace=store.workspace_id(),
            run_id=self.run_id,
            process_id=self.process.process_id,
            number=self.record.number,
            before=plan_digest(self.process.plan),
            after=self.record.digest,
            difference=self.lines,
        )
        self.data = codec.canonical(subject)
        self.digest = codec.digest(self.data)

    @property
    def is_expired(self) -> bool:
        return self.process.waiting_since <= self._workspace.clock.after(-self._timeout_sec)

    def request(self) -> ApprovalRequest:
        return request_of(
            subjects.run(self.run_id),
            self.record.number,
            self.data,
            ids=self._workspace.ids,
            requested_at=self.process.waiting_since,
            expires_at=self._workspace.clock.now(),
        )

    def statement(self, approver: str) -> str:
        """The bytes that a key signs to approve it."""
        return compose(self._workspace, SignedAct.APPROVE, self.digest, approver)

    def approve(self, proof: Proof) -> None:
        """Raises RevisionExpired, and RunRace if it changed since it was shown."""
        self._require_time()
        require_answer(self._workspace, proof, self.command, self.signing)
        asked = self.request()
        since = self.process.waiting_since
        with record_approval(self._workspace, asked, self.data, proof, since) as (transaction, approval):
            event = NewEvent(EventKind.RUN_REVISION_APPROVED, Actor.USER, asked.digest, approval)
            transaction.runs.save(self._with_time(), event, self._run_revision)
            transaction.processes.save(self._with_answer(approved=True), (), self._revision)

    def decline(self, words: str) -> None:
        """What should be different is feedback, from which another revision is made.

        Raises NoChannel if an agent does it, and like `approve`.
        """
        person = self._workspace.person
        refuse_agent(person, self.command)
        self._require_time()
        event = NewEvent(EventKind.RUN_REVISION_DECLINED, actor_at(person), words[:200])
        with self._workspace.store.transaction() as transaction:
            transaction.runs.save(self._with_time(), event, self._run_revision)
            transaction.processes.save(self._with_answer(approved=False), (), self._revision)
            if words.strip():
                said = RunFeedback(
                    feedback_id=self._workspace.ids(),
                    run_id=self.run_id,
                    at=self._workspace.clock.now(),
                    who=person.user(),
                    source="review",
                    text=words.strip(),
                )
                transaction.processes.add_feedback(said)

    def _require_time(self) -> None:
        if self.is_expired:
            raise RevisionExpired(run=self.run_id, command=self.command)

    def _with_time(self) -> Run:
        return replace(self._run, updated_at=self._workspace.clock.now())

    def _with_answer(self, *, approved: bool) -> Process:
        return replace(self.process, proposed=replace(self.record, approved=approved))


def waiting_revision(workspace: Workspace, run: Run, timeout_sec: float = inf) -> ReviewedRevision | None:
    """The one that the run has stopped for; None if it has not, or it is answered."""
    if run.stop is None or run.stop.reason_code is not StopCode.REVISION_WAITS:
        return None
    with suppress(NotFound):
        return ReviewedRevision(workspace, run.run_id, timeout_sec)
    return None


def _waits(process: Process) -> bool:
    return (
        process.waits is Wait.REVISION and process.proposed is not None and process.proposed.approved is None
    )
