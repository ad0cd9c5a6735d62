"""Errors and answers in words that an agent can act on."""

import jsonschema
import pytest

from ringi import errors
from ringi.kernel.text import Text
from ringi.mcp import answers, render
from ringi.mcp.answers import to_builtins, wait_answer
from ringi.mcp.arguments import output_schema
from ringi.mcp.server import TOOLS
from ringi.mcp.tools import Tool
from ringi.plans.document import Difference, OutcomeKind, PlanAnswer, PlanStatus, SpecDifference
from tests.tables import each


def test_an_error_has_code_message_and_a_hint_for_agents():
    told = render.describe_failure(errors.NotApproved(plan="p7"))
    assert told.error.code == "not_approved"
    assert "plan_request_approval" in told.error.hint
    assert "ringi review p7" in told.error.hint
    assert told.next_step == told.error.hint
    unknown = render.describe_failure(errors.NotFound(what=Text("plan"), name="p9"))
    assert unknown.next_step.endswith("plan_list")
    spec = errors.NotFound(what=Text("spec"), name="s9", see="ringi show p1")
    assert render.describe_failure(spec).next_step.endswith("plan_get_state")


def test_what_only_a_person_can_do_the_agent_hands_on():
    told = render.describe_failure(errors.NoWorkspace(path="/x"))
    assert "ringi init" in told.error.hint
    assert told.next_step == f"Tell your user: {told.error.hint}"


@each("tool", TOOLS.values())
def test_a_failure_and_nothing_else_fits_where_an_answer_is_expected(tool: Tool):
    schema = output_schema(tool.answer)
    jsonschema.validate(to_builtins(render.describe_failure(errors.NotApproved(plan="p7"))), schema)
    for other in ({}, {"next_step": "x"}, {"error": "x", "next_step": "x"}, {"error": {}, "next_step": "x"}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(other, schema)


def test_no_error_names_the_ledgers_place_or_speaks_to_a_terminal():
    places = ("/home/me/state/ringi", "/home/me/state/ringi/0123")
    error = errors.LedgerCorrupt(path="/home/me/state/ringi/0123/ringi.db", why="\x1b]0;x\x07 broken")
    told = str(render.describe_failure(error, places))
    assert "/home/me" not in told
    assert "\x1b" not in told
    assert "\\x1b" in told


@each("kind", list(render._HINTS))
def test_every_hint_belongs_to_an_error_there_is(kind: str):
    codes = {found.code for found in _all(errors.RingiError)}
    assert kind in codes


def _all(root: type[errors.RingiError]) -> list[type[errors.RingiError]]:
    return [root, *(one for kind in root.__subclasses__() for one in _all(kind))]


def answer(status: PlanStatus, outcome: OutcomeKind | None, *, changed: bool = False) -> PlanAnswer:
    parts = (SpecDifference("a.py", Difference.CHANGED, "-x\n+y\n"),) if changed else ()
    return PlanAnswer("id", "p1", 1, status, outcome, changed=parts)


@each(
    ("given", "words", "again"),
    [
        (answer(PlanStatus.PROPOSED, None), "Nobody was asked", False),
        (answer(PlanStatus.PENDING_REVIEW, None), "ringi review p1", True),
        (answer(PlanStatus.PENDING_REVIEW, OutcomeKind.CANCELLED), "without a decision", False),
        (answer(PlanStatus.PENDING_REVIEW, OutcomeKind.CANCELLED, changed=True), "changed parts", True),
        (answer(PlanStatus.PENDING_REVIEW, OutcomeKind.EXPIRED), "too old", False),
        (answer(PlanStatus.PROPOSED, OutcomeKind.DECLINED), "corrected specs", False),
        (answer(PlanStatus.APPROVED, OutcomeKind.APPROVED), "plan_execute", False),
        (answer(PlanStatus.EXECUTING, OutcomeKind.APPROVED), "being carried out", False),
        (answer(PlanStatus.COMPLETED, OutcomeKind.APPROVED), "nothing is left", False),
    ],
)
def test_the_next_step(given: PlanAnswer, words: str, again: bool):
    assert words in answers.next_step(given)
    assert answers.is_undecided(given) is again


@each("status", PlanStatus)
def test_every_status_has_a_next_step(status: PlanStatus):
    assert "plan_" in answers.step_after(status)


def test_a_long_difference_says_that_it_is_cut():
    parts = tuple(SpecDifference(f"{name}.py", Difference.CHANGED, f"+{name}\n" * 30_000) for name in "ab")
    given = PlanAnswer("id", "p1", 2, PlanStatus.PENDING_REVIEW, None, changed=parts)
    whole, cut = wait_answer(given).changed
    assert whole == parts[0]
    assert cut.diff.endswith("(cut here)\n")
    assert len(whole.diff + cut.diff) < 101_000
