"""Standing approvals for a run: nothing gets past their limits, and what is within them gets through."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET
from msgspec.structs import replace

from ringi.app.api import Workspace
from ringi.approvals.document import Act, ApprovalSubject, CommitSubject
from ringi.approvals.grant import explain_uncovered, unfit_terms
from ringi.approvals.grant_document import GrantScope, RunTerms, count_uses
from ringi.config.keys import RoleHow
from ringi.engine.run_plan import RunPlan, RunRole
from ringi.engine.run_state import StepStatus
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import StepOf, requester_of_run
from ringi.models.prompt import Severity
from ringi.models.usage import Spent
from ringi.plans.document import Plan, PlanDocument, PlanState, PlanStatus
from ringi.plans.propose import set_specs
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import CHANGING
from ringi.runs.document import Attempt, Finding, Run, StepState
from ringi.tree.action_spec import PlannedChecks
from tests.fakes.signing import MadeUpKeys
from tests.helpers import Person, create, open_scratch, rewire
from tests.tables import each
from tests.unit.runs.run_samples import RUN_ID, TREE, passed, plan_of, run_of, step_of

STEPS = ("S01", "S02", "S03", "S04")
MOST_STEPS, MOST_LINES = 3, 10


def a_plan() -> RunPlan:
    return plan_of(*(step_of(number, ["AC-01"]) for number in range(1, 5)))


def a_run(plan: RunPlan, **changes: Any) -> Run:
    facts = {
        "status": StepStatus.PROPOSED,
        "plan_version": 1,
        "tree": TREE,
        "evidence": (passed(),),
        **changes,
    }
    return run_of(plan, *(StepState(step_id=step_id, **facts) for step_id in STEPS))


def terms_of(run: Run, **changes: Any) -> RunTerms:
    return replace(RunTerms(run.run_id, run.plan_sha256, run.work_branch, MOST_STEPS), **changes)


def scope_of(terms: RunTerms) -> GrantScope:
    return GrantScope(
        requester=requester_of_run(terms.run_id),
        globs=("docs/**",),
        kinds=tuple(sorted(CHANGING)),
        max_risk=Risk.MEDIUM,
        files_per_use=100,
        lines_per_use=MOST_LINES,
        files_total=100,
        lines_total=MOST_LINES,
        run=terms,
    )


class Bureau:
    """A ledger with a run whose steps are plans, and somebody's signature for some of them."""

    def __init__(self, ws: Workspace, keys: MadeUpKeys) -> None:
        self.ws, self.plan = ws, a_plan()
        self.run = a_run(self.plan)
        rewire(ws, signatures=keys, run_id=RUN_ID, prepare=lambda: None)
        with ws.store.transaction() as transaction:
            transaction.runs.add(self.run, NewEvent(EventKind.RUN_CREATED, Actor.USER), self.plan)
        subject = ws.grants.draft(scope_of(terms_of(self.run)), ws.clock.after(3600))
        ws.grants.add(subject, "hanako", keys.sign("hers", ws.grants.statement(subject, "hanako")))
        self.plans = {
            step_id: ws.plan.propose(
                step_id, requester=requester_of_run(RUN_ID), step=StepOf(RUN_ID, step_id)
            )
            for step_id in STEPS
        }

    def made(self, step_id: str, lines: int, number: int) -> PlanStatus:
        """The step as a role made it, or made it again; what the standing approval says to it."""
        ws, plan_id = self.ws, self.plans[step_id]
        spec = create(f"docs/{step_id}.md", f"{number}\n" * lines)
        who = requester_of_run(RUN_ID)
        made = set_specs(ws, plan_id, [spec], basis={}, actor=Actor.AI, requester=who)
        assert not made.problems
        version = ws.plan.get(plan_id).plan.version
        stored = ws.store.runs.get_stored(RUN_ID)
        steps = tuple(
            replace(one, plan_version=version) if one.step_id == step_id else one for one in stored.run.steps
        )
        with ws.store.transaction() as transaction:
            event = NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM)
            transaction.runs.save(replace(stored.run, steps=steps), event, stored.revision)
        ws.plan.request_approval(plan_id)
        return ws.plan.get_state(plan_id).status


@pytest.mark.req("PT-8", "RN-5")
@settings(max_examples=12)
@given(makes=st.lists(st.tuples(st.sampled_from(STEPS), st.integers(1, 6)), max_size=8))
def test_no_sequence_of_steps_gets_past_the_limits(tmp_path_factory: pytest.TempPathFactory, makes):
    with open_scratch(tmp_path_factory.mktemp("run"), person=Person()) as ws:
        bureau, covered = Bureau(ws, MadeUpKeys("hers")), dict[str, int]()
        for number, (step_id, lines) in enumerate(makes):
            others = {name: count for name, count in covered.items() if name != step_id}
            fits = len(others) < MOST_STEPS and sum(others.values()) + lines <= MOST_LINES
            wanted = PlanStatus.APPROVED if fits else PlanStatus.PENDING_REVIEW
            assert bureau.made(step_id, lines, number) is wanted
            if fits:
                covered[step_id] = lines
        [state] = ws.grants.list()
        assert {use.step_id: use.lines for use in count_uses(state.uses)} == covered
        assert ws.verify_log() == []


FOUND = Finding(role=RunRole.REVIEWER, severity=Severity.ERROR, message="no")
REMARK = replace(FOUND, severity=Severity.WARNING)
COST = Attempt(
    role=RunRole.IMPLEMENTER, how=RoleHow.MODEL, who="m", cycle=0, started_at="", spent=Spent(dollars=0.5)
)
HOOKS = ("pre-commit", "commit-msg")


def a_document(version: int, checks: tuple[str, ...]) -> PlanDocument:
    plan = Plan("p", "S01", "S01", (), "", (), "", version)
    state = PlanState(PlanStatus.PENDING_REVIEW, planned_checks=PlannedChecks(after=checks))
    return PlanDocument(plan=plan, state=state, step=StepOf(RUN_ID, "S01"))


def a_subject(branch: str, hooks: tuple[str, ...]) -> ApprovalSubject:
    commit = CommitSubject(branch, "0" * 40, "S01", hooks)
    return ApprovalSubject(
        kind=Act.EXECUTE, workspace="w", plan_id="p", plan_version=1, specs=(), changes=(), expires_at="",
        commit=commit,
    )  # fmt: skip


@pytest.mark.req("PT-8", "RN-5")
@given(
    status=st.sampled_from(StepStatus),
    versions=st.tuples(st.integers(1, 2), st.integers(1, 2)),
    code=st.sampled_from([0, 0, 1]),
    findings=st.sampled_from([(), (REMARK,), (REMARK, FOUND)]),
    attempts=st.integers(0, 3),
    dollars=st.sampled_from([UNSET, 0.0, 1.0, 1.5]),
    hooks=st.tuples(st.sampled_from([(), HOOKS[:1], HOOKS]), st.sampled_from([(), HOOKS[:1], HOOKS])),
    checks=st.sampled_from([(), (), ("make test",)]),
    branches=st.tuples(*[st.sampled_from(["aiflow/x", "aiflow/x", "aiflow/x", "main", "dev"])] * 3),
    same_plan=st.sampled_from([True, True, True, False]),
)
def test_a_step_is_covered_if_and_only_if_nothing_speaks_against_it(
    status, versions, code, findings, attempts, dollars, hooks, checks, branches, same_plan
):
    facts = {"status": status, "plan_version": versions[0], "evidence": (passed(code=code),)}
    run = a_run(a_plan(), findings=findings, attempts=(COST,) * attempts, **facts)
    # Every step costs as much.
    spent = 0.5 * attempts * len(STEPS)
    run = replace(run, work_branch=branches[0], base_branch="dev")
    terms = terms_of(run, dollars=dollars, hooks=hooks[0], branch=branches[1])
    terms = terms if same_plan else replace(terms, plan_sha256="0" * 64)
    covered = (
        explain_uncovered(run, terms, a_document(versions[1], checks), a_subject(branches[2], hooks[1]))
        is None
    )
    assert covered == (
        status is StepStatus.PROPOSED
        and versions[0] == versions[1]
        and code == 0
        and FOUND not in findings
        and (dollars is UNSET or spent <= dollars)
        and {*hooks[1]} <= {*hooks[0]}
        and not checks
        and branches == ("aiflow/x",) * 3
        and same_plan
    )


@pytest.mark.req("PT-8", "RN-5")
@each(
    ("changes", "why"),
    [
        ({}, ""),
        ({"steps": 0}, "steps of the run: 4"),
        ({"steps": 5}, "steps of the run: 4"),
        ({"dollars": -0.01}, "dollars are 0 or more"),
        ({"dollars": float("inf")}, "dollars are 0 or more"),
        ({"dollars": float("nan")}, "dollars are 0 or more"),
        ({"plan_sha256": ""}, "the run has another plan"),
        ({"branch": "main"}, "the branch of the run is"),
    ],
)
def test_what_may_be_signed(changes: dict[str, Any], why: str):
    run = a_run(a_plan())
    terms = terms_of(run, **changes)
    assert str(unfit_terms(run, scope_of(terms), terms) or "").startswith(why)
    assert bool(unfit_terms(run, scope_of(terms), terms)) == bool(why)


def test_the_branch_that_it_begins_with_is_never_covered():
    run = replace(a_run(a_plan()), work_branch="dev", base_branch="dev")
    terms = terms_of(run)
    assert str(unfit_terms(run, scope_of(terms), terms)) == "commits on dev are never covered"
