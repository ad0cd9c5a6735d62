"""How a plan stands: the same words for people and agents."""

import msgspec
from msgspec import UNSET

from ringi.plans.document import (
    ExecutionLink,
    Plan,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanState,
    PlanStatus,
)
from ringi.plans.review_view import heading_of
from ringi.plans.view import PlanFacts, plan_lines
from ringi.plans.waiting_view import standing, waiting_lines
from ringi.policy.risk_level import Risk
from tests.tables import each

PLAN = Plan("id", "title", "title", (), "", (), "2026-01-01T00:00:00Z", 1)
REF = PlanRef("id", 1, "title", PlanStatus.PENDING_REVIEW, 1, "", "", "", 1, 1, 1, Risk.LOW)
UNDONE = ExecutionLink("u", "undo", "2026-02-03T04:05:06Z", overall_success=True)


def document_of(**state: object) -> PlanDocument:
    return PlanDocument(plan=PLAN, state=PlanState(**{"status": PlanStatus.PENDING_REVIEW, **state}))


def said(document: PlanDocument, *stale: str) -> list[str]:
    return [str(span.text) for span in standing(document, stale)]


@each(
    ("agent_exit", "words"),
    [
        (UNSET, []),
        (None, ["! the agent was cut off; this is what it had done by then"]),
        (3, ["! the agent ended with exit code 3"]),
    ],
)
def test_how_the_agent_ended(agent_exit, words: list[str]) -> None:
    document = document_of(agent_exit=agent_exit)
    assert said(document) == words
    assert said(document_of(agent_exit=agent_exit, status=PlanStatus.COMPLETED)) == []
    again = msgspec.json.decode(msgspec.json.encode(document), type=PlanDocument)
    assert again.state.agent_exit == agent_exit


def test_a_plan_that_was_undone_says_when() -> None:
    words = ["undone 2026-02-03 04:05: the files are back to before"]
    assert said(document_of(status=PlanStatus.COMPLETED, executions=(UNDONE,))) == words
    failed = msgspec.structs.replace(UNDONE, overall_success=False)
    again = ExecutionLink("e", "execute", "2026-02-04T00:00:00Z", overall_success=True)
    for executions in ((), (failed,), (UNDONE, again)):
        assert said(document_of(executions=executions)) == []


def test_few_of_many_files_are_named() -> None:
    assert said(document_of(), "a", "b", "c", "d") == ["! a, b and 2 more changed since the proposer saw it"]


def test_every_view_says_the_same() -> None:
    document = document_of(agent_exit=3)
    preview = PlanPreview((), (), 0.0, stale=("a",))
    words = said(document, "a")
    for lines in (
        plan_lines(PlanFacts(REF, document, preview)),
        waiting_lines(REF, document, ["a"]),
    ):
        shown = [str(span.text) for line in lines for span in line.spans]
        assert [text for text in shown if text in words] == words
    assert [str(span.text) for span in heading_of(REF, document).standing] == words[:1]
