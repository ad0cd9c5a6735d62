"""A revision that waits for a person: bound to what they saw, and never approved by time."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.app.integrity import verify
from ringi.approvals.document import RevisionSubject, TypedAnswer
from ringi.config.keys import RevisionConfig
from ringi.engine.document import ModifyAction
from ringi.engine.process import Process, Wait
from ringi.errors import NoChannel, NotFound, RevisionExpired, RunRace, WrongAnswer
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.event import EventKind
from ringi.runs.process.revisions import Revised, accept, decline, revise
from ringi.runs.revision import ReviewedRevision
from ringi.runs.start import ReviewedRun, covering, start_from_file
from tests.fakes.processes import RULES, TWO
from tests.fakes.signing import MadeUpKeys
from tests.helpers import Person, ledger_of, open_scratch, rewire, set_clock
from tests.unit.runs.test_revisions import described, suggestion
from tests.unit.runs.test_run_start import PLAN

KEYS = MadeUpKeys("hers")
SETTINGS = RevisionConfig()


@pytest.fixture
def person() -> Person:
    return Person()


@pytest.fixture
def ws(tmp_path: Path, person: Person) -> Iterator[Workspace]:
    with open_scratch(tmp_path, person=person) as workspace:
        rewire(workspace, signatures=KEYS)
        yield workspace


def proposed(ws: Workspace, change: ModifyAction | None = None) -> str:
    """A run whose process waits with a revision; the run's id."""
    run_id = start_from_file(ws, PLAN, "planning.json").run_id
    waiting = ReviewedRun(ws, run_id)
    waiting.approve(TypedAnswer(waiting.digest, "y"))
    at = Process(process_id=f"{run_id}/S01", run_id=run_id, task="Add a login", plan=TWO)
    found = revise(at, suggestion(change or described("Mend it")), SETTINGS, RULES, ws.clock.now())
    assert isinstance(found, Revised)
    now = ws.clock.now()
    save(ws, replace(at, proposed=found.record, waits=Wait.REVISION, waiting_since=now), 0)
    return run_id


def save(ws: Workspace, process: Process, revision: int) -> None:
    with ws.store.transaction() as transaction:
        transaction.processes.save(process, (), revision)


def reviewed(ws: Workspace, run_id: str, timeout_sec: float = 3_600) -> ReviewedRevision:
    return ReviewedRevision(ws, run_id, timeout_sec)


def process_of(ws: Workspace, run_id: str) -> Process:
    (found,) = ws.store.processes.of(run_id)
    return found


@pytest.mark.req("PP-20")
def test_approved_as_it_was_shown(ws: Workspace):
    run_id = proposed(ws)
    waiting = reviewed(ws, run_id)
    assert waiting.lines == ("- task_2 write: Do task_2", "+ task_2 write: Mend it")
    waiting.approve(TypedAnswer(waiting.digest, "y"))
    process = process_of(ws, run_id)
    assert process.proposed
    assert process.proposed.approved is True
    after = accept(process, SETTINGS)
    assert isinstance(after, Process)
    assert after.plan.task_decomposition
    assert after.plan.task_decomposition.subtasks[1].description == "Mend it"
    given = ws.store.approvals.of(run_id)[-1]
    said = codec.decode_own(given.subject.encode(), RevisionSubject, "it")
    assert (said.process_id, said.difference) == (process.process_id, waiting.lines)
    assert [one.event.event for one in ws.log(run_id)][-1] is EventKind.RUN_REVISION_APPROVED
    # The approval of the run itself is another one, and still counts.
    assert covering(ws, run_id) is not None
    assert verify(ledger_of(ws)) == []
    with pytest.raises(NotFound):
        reviewed(ws, run_id)


@pytest.mark.req("PP-20")
def test_bound_to_exactly_this_revision(ws: Workspace, person: Person):
    run_id = proposed(ws)
    waiting = reviewed(ws, run_id)
    run = ws.store.approvals.of(run_id)[-1]
    for answer in (
        TypedAnswer("0" * 64, "y"),
        TypedAnswer(waiting.digest, "n"),
        TypedAnswer(run.digest, "y"),
    ):
        with pytest.raises(WrongAnswer):
            waiting.approve(answer)
    # Another one took its place since.
    stored = ws.store.processes.get(waiting.process.process_id)
    assert stored
    assert stored.process.proposed
    other = revise(stored.process, suggestion(described("Delete it")), SETTINGS, RULES, "")
    assert isinstance(other, Revised)
    save(ws, replace(stored.process, proposed=other.record), stored.revision)
    with pytest.raises(RunRace):
        waiting.approve(TypedAnswer(waiting.digest, "y"))
    with pytest.raises(WrongAnswer):
        reviewed(ws, run_id).approve(TypedAnswer(waiting.digest, "y"))
    assert process_of(ws, run_id).proposed == other.record
    assert len(ws.store.approvals.of(run_id)) == 1
    del person


@pytest.mark.req("PP-20")
def test_an_agent_can_neither_approve_nor_decline(ws: Workspace, person: Person):
    run_id = proposed(ws)
    waiting = reviewed(ws, run_id)
    person.why = Text("an agent is running")
    with pytest.raises(NoChannel):
        waiting.approve(TypedAnswer(waiting.digest, "y"))
    person.agent = lambda: Text("an agent is running")  # type: ignore[method-assign]
    with pytest.raises(NoChannel):
        waiting.decline("I know better")
    assert process_of(ws, run_id) == waiting.process
    assert ws.store.processes.feedback(run_id) == ()
    # A key counts anywhere; only people have it.
    waiting.approve(KEYS.sign("hers", waiting.statement(person.user())))
    assert ws.store.approvals.of(run_id)[-1].proof.kind == "signed"


@pytest.mark.req("PP-20")
def test_declined_with_words_is_feedback(ws: Workspace):
    run_id = proposed(ws)
    reviewed(ws, run_id).decline(" Use the other module ")
    (said,) = ws.store.processes.feedback(run_id)
    assert (said.text, said.who, said.agent, said.source) == (
        "Use the other module",
        "hanako",
        False,
        "review",
    )
    process = process_of(ws, run_id)
    assert process.proposed
    assert process.proposed.approved is False
    events = [one.event.event for one in ws.log(run_id)]
    assert events[-2:] == [EventKind.RUN_REVISION_DECLINED, EventKind.RUN_FEEDBACK]
    assert verify(ledger_of(ws)) == []
    ledger_of(ws).database.execute("UPDATE feedback SET document = replace(document, 'other', 'same')")
    assert any("feedback was changed" in str(one) for one in verify(ledger_of(ws)))
    # It is not proposed again.
    after = decline(process, SETTINGS)
    assert (after.plan, after.waits, after.proposed) == (TWO, None, None)
    assert (after.revised, after.attempts) == (0, 1)
    again = revise(after, suggestion(described("Mend it")), SETTINGS, RULES, "")
    assert not isinstance(again, Revised)


def test_declined_without_words(ws: Workspace):
    run_id = proposed(ws)
    reviewed(ws, run_id).decline("  ")
    assert ws.store.processes.feedback(run_id) == ()
    assert process_of(ws, run_id).proposed


@pytest.mark.req("PP-20")
def test_time_does_not_approve(ws: Workspace):
    clock = set_clock(ws)
    run_id = proposed(ws)
    clock.pass_by(3_599)
    assert not reviewed(ws, run_id).is_expired
    clock.pass_by(2)
    late = reviewed(ws, run_id)
    assert late.is_expired
    with pytest.raises(RevisionExpired):
        late.approve(TypedAnswer(late.digest, "y"))
    with pytest.raises(RevisionExpired):
        late.decline("no")
    assert process_of(ws, run_id).proposed == late.record
    assert len(ws.store.approvals.of(run_id)) == 1


def test_nothing_waits(ws: Workspace):
    run_id = start_from_file(ws, PLAN, "planning.json").run_id
    with pytest.raises(NotFound):
        reviewed(ws, run_id)
