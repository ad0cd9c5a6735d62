"""report.md claims no criterion without evidence, whatever the run; errors.json is there only if needed."""

import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.approvals.forge import ForgeKind, ForgeTerms, Item, ItemKind, Project
from ringi.config.keys import RoleHow
from ringi.engine.instruction import Instruction
from ringi.engine.run_plan import RunPlan, RunRole
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.kernel.text import Text, in_language
from ringi.models.prompt import Severity
from ringi.models.usage import Spent
from ringi.runs.criteria import CriterionVerdict, criteria
from ringi.runs.document import (
    Attempt,
    Evidence,
    Finding,
    Run,
    RunApproval,
    RunFacts,
    StepState,
    StopCode,
    errors_of,
)
from ringi.runs.report import deviations, report
from tests.tables import each
from tests.unit.runs.run_samples import BEFORE, TREE, done, passed, plan_of, run_of, step_of, stopped

ENGLISH = in_language("en")
JUDGES = frozenset([RunRole.REVIEWER, RunRole.QA, RunRole.PLANNER])


def text_of(run: Run, plan: RunPlan | None, facts: RunFacts | None = None, language: str = "en") -> str:
    return report(run, plan, facts or RunFacts(), in_language(language))


def two_steps() -> RunPlan:
    return plan_of(step_of(1, ["AC-01"]), step_of(2, ["AC-01", "AC-02"]))


@pytest.mark.req("RN-12")
def test_a_criterion_is_not_checked_whatever_ran_for_it():
    plan = two_steps()
    run = run_of(plan, done(1, passed()), done(2, passed()), phase=RunPhase.COMPLETED)
    assert [(one.criterion.id, one.verdict, one.lacks) for one in criteria(run, plan)] == [
        ("AC-01", CriterionVerdict.NOT_CHECKED, None),
        ("AC-02", CriterionVerdict.NOT_CHECKED, None),
        ("AC-03", CriterionVerdict.NOT_CHECKED, Text("no step is linked to it")),
    ]
    text = text_of(run, plan)
    assert "## Acceptance criteria: 3, not checked (ran: `make test`, exit code 0)" in text
    assert "### AC-01 — not checked\n" in text
    assert "### AC-03 — not checked\n" in text
    assert "- no step is linked to it\n" in text
    assert "- S01 Step 1 — commit `cccccccccccc`" in text
    assert "  - `make test`: exit code 0 · 1.2 s · output `sha256:abababababababab`\n" in text
    assert f"· `.agent/runs/{run.request_id}/{run.run_id}/logs/" in text


@pytest.mark.req("RN-12")
@each(
    ("state", "why"),
    [
        (StepState(step_id="S01"), "S01 is not done"),
        (done(1, passed(), commit=""), "S01 is not committed"),
        (done(1, passed(code=1)), "`make test` did not pass after S01"),
        (done(1, passed(code=124), evidence=()), "`make test` did not run after S01"),
        (done(1, passed(tree=BEFORE)), "`make test` did not run after S01"),
        (done(1, passed(), passed(code=1)), "`make test` did not pass after S01"),
        (done(1, passed("another")), "`make test` did not run after S01"),
    ],
)
def test_what_is_missing_is_named(state: StepState, why: str):
    plan = plan_of(step_of(1, ["AC-01"]))
    run = run_of(plan, state)
    [first, *_] = criteria(run, plan)
    assert str(first.lacks) == why
    assert f"- {why}\n" in text_of(run, plan)


@pytest.mark.req("RN-12", "RN-8")
def test_a_step_without_commands_and_a_regression_without_end_to_end_test_are_named():
    plan = plan_of(step_of(1, ["AC-01"], commands={}))
    assert str(criteria(run_of(plan, done(1)), plan)[0].lacks) == "no command ran after S01"
    ac = [{"id": f"AC-0{n}", "given": "g", "when": "w", "then": "t", "type": "regression"} for n in (1, 2, 3)]
    context = {"summary": "s", "constraints": [], "acceptance_criteria": ac, "test_instructions": {}}
    gates = {
        "require_clean_worktree": True, "require_work_branch": True, "require_unit_pass": True,
        "require_e2e_for_regression_ac": True, "forbid_gh": True, "max_step_too_large_retries": 1,
    }  # fmt: skip
    plan = plan_of(step_of(1, ["AC-01"]), context=context, gates=gates)
    assert str(criteria(run_of(plan, done(1, passed())), plan)[0].lacks) == "no end-to-end test ran"
    tested = run_of(plan, done(1, passed(), passed("make e2e", kind="e2e")))
    assert criteria(tested, plan)[0].lacks is None


@pytest.mark.req("RN-12")
def test_a_review_that_changes_nothing_needs_no_commit_but_everything_before_it():
    plan = plan_of(step_of(1, ["AC-01"]), step_of(2, ["AC-02"], role="qa"))
    looked = done(2, passed(tree=BEFORE), commit="", tree=BEFORE)
    assert criteria(run_of(plan, done(1, passed()), looked), plan)[1].lacks is None
    waiting = done(1, passed(), status=StepStatus.PROPOSED, commit="")
    assert (
        str(criteria(run_of(plan, waiting, looked), plan)[1].lacks) == "S02 looked at steps that are not done"
    )


trees = st.sampled_from([TREE, BEFORE])
evidences = st.builds(
    Evidence,
    command=st.sampled_from(["make test", "make e2e", "`odd`"]),
    kind=st.sampled_from(["unit", "e2e"]),
    exit_code=st.sampled_from([0, 1, 124]),
    duration_sec=st.floats(0, 1e5),
    tree=trees,
    output_sha256=st.just("ab" * 32),
    timed_out=st.booleans(),
    doubt=st.sampled_from(["", "it reads files outside"]),
)
states = st.builds(
    StepState,
    step_id=st.just("S01"),
    status=st.sampled_from(StepStatus),
    base_tree=trees,
    tree=trees,
    evidence=st.lists(evidences, max_size=4).map(tuple),
    commit=st.sampled_from(["", "c" * 40]),
    feedback=st.text(max_size=20),
    lines=st.integers(0, 10**6),
    files=st.integers(0, 10**4),
)


@st.composite
def runs(draw: st.DrawFn) -> tuple[Run, RunPlan]:
    count = draw(st.integers(1, 3))
    steps = []
    for number in range(1, count + 1):
        changes: dict[str, Any] = {"role": draw(st.sampled_from(RunRole)).value}
        changes["commands"] = draw(st.sampled_from([{}, {"unit": ["make test"]}, {"e2e": ["make e2e"]}]))
        links = draw(st.lists(st.sampled_from(["AC-01", "AC-02", "AC-03", "AC-99"]), unique=True))
        steps.append(step_of(number, links, **changes))
    plan = plan_of(*steps)
    found = [
        draw(st.one_of(states, st.just(done(1, passed(), passed("make e2e", kind="e2e")))))
        for _ in range(draw(st.integers(0, count)))
    ]
    named = [StepState(**{**{f: getattr(one, f) for f in one.__struct_fields__}, "step_id": f"S{n:02}"})
             for n, one in enumerate(found, 1)]  # fmt: skip
    phase = draw(st.sampled_from(RunPhase))
    stop = draw(st.sampled_from([None, stopped()]))
    return run_of(plan, *named, phase=phase, stop=stop, current_step_index=0), plan


@pytest.mark.req("RN-12")
@given(runs(), st.sampled_from(["en", "ja"]))
@settings(max_examples=300, deadline=None)
def test_no_report_claims_a_criterion(made: tuple[Run, RunPlan], language: str):
    run, plan = made
    text = text_of(run, plan, language=language)
    said = re.findall(r"^### (AC-\d\d) — (.*)$", text, re.MULTILINE)
    words = in_language(language)(Text("not checked"))
    assert said == [(one.id, words) for one in plan.context.acceptance_criteria]
    for one in criteria(run, plan):
        states = [step.state for step in one.steps]
        whole = states and all(state.status is StepStatus.DONE for state in states)
        assert one.lacks is not None or whole, "what is missing is named"


@pytest.mark.req("RN-12")
def test_the_report_names_approvals_roles_costs_and_marks_opinions_as_a_machines():
    plan = two_steps()
    worked = Attempt(
        role=RunRole.IMPLEMENTER, how=RoleHow.COMMAND, who="claude", cycle=0,
        started_at="2026-01-01T10:00:00Z", exit_code=0, problem="the unit tests failed",
        spent=Spent(input_tokens=1200, output_tokens=300, dollars=0.0123, seconds=200),
    )  # fmt: skip
    opinion = Finding(
        role=RunRole.REVIEWER, severity=Severity.WARNING, message="no test\nfor \x1b[31m an empty row",
        path="report.py", line=7, criterion="AC-01",
    )  # fmt: skip
    first = done(1, passed(), attempts=(worked,), findings=(opinion,), lines=900, files=3, plan_version=2)
    facts = RunFacts(
        approvals=(
            RunApproval("", "alice", "2026-01-01T09:00:00Z", "signed", "strong"),
            RunApproval("S01", "alice", "2026-01-01T10:04:00Z", "typed", "weak"),
            RunApproval("S01", "bob", "2026-01-01T10:05:00Z", "review", "medium"),
        ),
        plans={"S01": "p7"},
    )
    text = text_of(run_of(plan, first, StepState(step_id="S02")), plan, facts)
    assert "The plan: approved by alice, 2026-01-01 09:00:00 UTC (signed, strong)" in text
    assert "- approved by alice, 2026-01-01 10:04:00 UTC (typed, weak)" in text
    assert "- approved by bob, 2026-01-01 10:05:00 UTC (a review on the forge, medium strength)" in text
    assert "- plan `p7`" in text
    assert (
        "- implementer: claude · exit code 0 · 3 min 20 s · 1200 tokens in, 300 out, $0.0123 · had to" in text
    )
    opinions = [line for line in text.splitlines() if "an empty row" in line]
    assert opinions == [
        "- a machine's opinion (reviewer, warning): no test for \\x1b[31m an empty row (AC-01 · report.py:7)"
    ]
    assert "- Tokens and cost: 1200 tokens in, 300 out, $0.0123" in text
    assert [str(one) for one in deviations(run_of(plan, first, StepState(step_id="S02")), plan)] == [
        "S01 changed 900 lines; at most 350 were expected",
        "S01 was worked on once more than planned",
        "S01 was changed after it was first proposed",
        "S02 is not done: not begun",
        "AC-01: S02 is not done",
        "AC-02: S02 is not done",
        "AC-03: no step is linked to it",
    ]


@pytest.mark.req("RN-11")
def test_errors_are_there_only_if_input_is_needed_or_it_failed():
    plan = two_steps()
    for phase in RunPhase:
        found = errors_of(run_of(plan, phase=phase, stop=stopped(StopCode.DIRTY_WORKTREE)))
        assert (found is not None) == (phase in {RunPhase.NEEDS_INPUT, RunPhase.FAILED})
        if found:
            assert (found["reason_code"], found["step_id"], found["next_action"]) == (
                "DIRTY_WORKTREE",
                "S01",
                "ringi continue --retry",
            )
    assert errors_of(run_of(plan, phase=RunPhase.FAILED)) is None


@pytest.mark.req("RN-12")
def test_a_report_says_what_to_do_next_and_no_text_breaks_out_of_it():
    plan = two_steps()
    evil = stopped(detail="1 failed\n```\n# not a heading\n\x1b[2J")
    text = text_of(run_of(plan, phase=RunPhase.FAILED, stop=evil), plan)
    assert "**failed** · `UNIT_TEST_FAILED`" in text
    assert "→ ringi continue --retry\n\n````\n1 failed\n```\n# not a heading\n\\x1b[2J\n````\n" in text
    without_plan = run_of(plan, plan_sha256="", steps=())
    assert text_of(without_plan, None).startswith("# Report: Add --json to the report\n")


def test_a_request_with_the_line_ends_of_a_browser_is_quoted_line_by_line():
    plan = two_steps()
    run = run_of(plan, planning_session_id="planning-1", instruction="Add it\r\n\r\n```\r\nx = 1\r\n```\r\n")
    assert "> Add it\n>\n> ```\n> x = 1\n> ```\n" in text_of(run, plan)


@pytest.mark.req("RN-12", "IP-8")
def test_of_a_session_the_report_says_what_was_asked_answered_and_decided():
    plan = two_steps()
    told = Instruction(
        "Add a login", "- Which part?\n  Answer: the API", "- Where: Table\n  Reason: N/A", "### Goal"
    )
    assert Instruction.read(told.render()) == told
    run = run_of(plan, planning_session_id="planning-1", instruction=told.render())
    text = text_of(run, plan)
    assert "> Add a login\n\n- Which part?\n  → the API\n\n- Where: Table\n\n## Acc" in text


@pytest.mark.req("RN-12")
def test_the_report_is_japanese_if_it_is_asked_for():
    plan = two_steps()
    text = text_of(run_of(plan, done(1, passed()), done(2, passed())), plan, language="ja")
    assert "### AC-01 — 未確認" in text
    assert "Acceptance criteria" not in text


@each(
    ("kind", "item", "page"),
    [
        (ForgeKind.GITHUB, ItemKind.ISSUE, "https://forge/acme/app/issues/7"),
        (ForgeKind.GITHUB, ItemKind.CHANGE, "https://forge/acme/app/pull/7"),
        (ForgeKind.GITLAB, ItemKind.ISSUE, "https://forge/acme/app/-/issues/7"),
        (ForgeKind.GITLAB, ItemKind.CHANGE, "https://forge/acme/app/-/merge_requests/7"),
    ],
)
@pytest.mark.req("RN-12")
def test_the_report_says_where_it_was_asked_for(kind: ForgeKind, item: ItemKind, page: str):
    project = Project(kind, "https://forge", "acme/app")
    terms = ForgeTerms(project=project, remote="origin", remote_url="https://forge/a.git", item=Item(item, 7))
    assert f"- Asked for in: {page}\n" in text_of(run_of(two_steps(), forge=terms), two_steps())
    assert "Asked for in" not in text_of(run_of(two_steps()), two_steps())
