"""What only the ledger knows about a line."""

from types import SimpleNamespace
from typing import Any

from ringi.errors import NotFound
from ringi.kernel.text import Text
from ringi.ledger.subject import StepOf
from ringi.provenance.verdict import Evidence, Level, LineVerdict
from ringi.provenance.why import with_ledger
from ringi.sessions.document import DecisionPoint, DesignOption, Tradeoffs

STEP = StepOf("r-1", "S02", "RQ-1")
TOLD = LineVerdict(
    path="app.py",
    line=7,
    text="retry()",
    commit="c0ffee",
    approval=Evidence(level=Level.SIGNED, by="alice", at="2026-01-02T03:04:05.000000Z", step=STEP),
)


def option(id_: str, name: str) -> DesignOption:
    return DesignOption(id=id_, name=name, description="", tradeoffs=Tradeoffs(pros=(), cons=()))


def workspace(session_id: str = "planning-1") -> Any:
    """With one run of two steps, from a session with a decision made and one left open."""
    options = (option("opt-a", "wait longer each time"), option("opt-b", "give up"))
    decisions = (
        DecisionPoint(id="d-1", topic="After a failure", options=options, selected_option_id="opt-a"),
        DecisionPoint(id="d-2", topic="How often", options=options),
    )

    def run(run_id: str) -> Any:
        if run_id != STEP.run_id:
            raise NotFound(what=Text("run"), name=run_id)
        return SimpleNamespace(planning_session_id=session_id, instruction="# Try again\n\nafter errors")

    steps = [SimpleNamespace(step_id=f"S0{n}", title=f"Step {n}") for n in (1, 2)]
    store = SimpleNamespace(
        runs=SimpleNamespace(get=run, plan=lambda _: SimpleNamespace(steps=steps)),
        sessions=SimpleNamespace(get=lambda _: SimpleNamespace(session=SimpleNamespace(decisions=decisions))),
    )
    return SimpleNamespace(store=store)


def test_the_request_the_step_and_what_was_decided() -> None:
    told = with_ledger(TOLD, workspace())
    assert (told.request, told.step) == ("Try again", "Step 2")
    assert told.decisions == ("After a failure: wait longer each time",)


def test_a_run_without_a_session_has_no_decisions() -> None:
    told = with_ledger(TOLD, workspace(session_id=""))
    assert (told.request, told.decisions) == ("Try again", ())


def test_a_run_of_another_ledger_adds_nothing() -> None:
    other = LineVerdict(
        path="app.py",
        line=7,
        text="x",
        commit="c0ffee",
        approval=Evidence(level=Level.SIGNED, by="bob", at="", step=StepOf("r-2", "S01")),
    )
    assert with_ledger(other, workspace()) == other


def test_nothing_to_add_without_a_step() -> None:
    bare = LineVerdict(path="app.py", line=7, text="x")
    assert with_ledger(bare, workspace()) == bare
