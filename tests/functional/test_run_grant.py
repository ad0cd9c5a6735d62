"""A run that nobody watches: a signed standing approval lets its steps through, as far as it goes."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ringi.approvals.document import ProofKind
from ringi.approvals.grant_document import GrantScope, count_uses
from ringi.engine.run_state import RunPhase
from ringi.errors import BadGrant, GrantRefused, NoChannel, NotFound, UnlistedKey, WrongAnswer
from ringi.kernel import codec
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.approve import subject_now, use_grant
from ringi.plans.document import PlanStatus
from ringi.plans.verify import verify_plan
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.runs.document import Run, StopCode
from ringi.runs.drive import cancel_run
from ringi.runs.grant import GrantOptions, draft_for_run
from ringi.tree.action_spec import ALL_SPECS
from tests.fakes.people import AgentAtWork, SeatedPerson
from tests.fakes.signing import RealKey
from tests.functional.beside_desk import walled
from tests.functional.desk import Desk
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step, git, project
from tests.helpers import SetClock
from tests.tables import each

DOCS = "echo 'It adds.' >> README.md"
BOTH = by_step(FIX, DOCS)
DAY = 86_400
TWO = a_plan(a_step(1), a_step(2, scope={"target_paths": ["README.md"]}))


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project")


@pytest.fixture
def desk(root: Path) -> RunDesk:
    """A run of two steps that somebody approved."""
    desk = RunDesk(root, implementer=BOTH)
    desk.start(TWO)
    return desk


def waits(run: Run) -> str:
    """Why a person is needed."""
    assert run.phase is RunPhase.NEEDS_INPUT
    assert run.stop
    assert run.stop.reason_code is StopCode.APPROVAL_NEEDED
    return run.stop.message


@pytest.mark.req("RN-5", "RN-11", "RN-12")
@walled
def test_its_steps_need_no_question(desk: RunDesk):
    grant = desk.grant(desk.key())
    main = git(desk.root, "rev-parse", "main")
    run = desk.go()
    assert run.phase is RunPhase.COMPLETED
    assert desk.commits() == ["Step 1", "Step 2"]
    assert [step.grant for step in run.steps] == [grant.id, grant.id]
    assert git(desk.root, "rev-parse", "main") == main
    with desk.open() as workspace:
        for step in run.steps:
            [approval] = workspace.store.approvals.of(step.plan_id)
            assert (approval.approver, approval.proof.kind) == ("person", ProofKind.GRANT)
            assert approval.proof.grant == grant.id
            assert verify_plan(workspace, step.plan_id).problems == ()
        assert workspace.verify_log() == []
    folder = desk.root / ".agent/runs" / run.request_id / run.run_id
    report = (folder / "report.md").read_text()
    assert "Steps that nobody looked at: S01, S02" in report
    assert report.count(f"covered by the standing approval `{grant.id[:8]}` of person") == 2
    assert [step["grant"] for step in json.loads((folder / "stage.json").read_text())["steps"]] == [
        grant.id
    ] * 2


HIGH = by_step(FIX, "echo '[project]' > pyproject.toml")


@pytest.mark.req("RN-5", "RN-11")
@pytest.mark.parametrize(
    ("wanted", "why"),
    [
        ({"globs": ("*.py",)}, "README.md is not among its paths"),
        ({"lines": 2}, "lines needed: 1, left: 0"),
    ],
)
@walled
def test_what_is_beyond_it_waits_with_the_limit_in_words(desk: RunDesk, wanted: dict[str, Any], why: str):
    key = desk.key()
    grant = desk.grant(key, **wanted)
    run = desk.go()
    assert why in waits(run)
    assert desk.commits() == ["Step 1"]
    assert [step.grant for step in run.steps] == [grant.id, ""]
    # The count is that of the ledger, whoever goes on.
    assert why in waits(desk.go())
    done = desk.decide("S02")
    assert (done.phase, [step.grant for step in done.steps]) == (RunPhase.COMPLETED, [grant.id, ""])
    folder = desk.root / ".agent/runs" / run.request_id / run.run_id
    assert "Steps that nobody looked at: S01\n" in (folder / "report.md").read_text()


@pytest.mark.req("RN-5", "PT-8")
@walled
def test_a_revoked_one_ends_at_once(desk: RunDesk):
    grant = desk.grant(desk.key())
    assert desk.go(max_steps=1).steps[0].grant == grant.id
    with desk.open() as workspace:
        workspace.grants.revoke(grant.id[:8])
    assert "was revoked at" in waits(desk.go())
    assert desk.commits() == ["Step 1"]


def covered(desk: RunDesk) -> str:
    """The plan of the first step: approved by a standing approval, and nobody has carried it out."""
    plan_id = desk.plan_of("S01")
    with desk.open() as workspace:
        workspace.of_plan(plan_id).plan.request_approval(plan_id)
        assert workspace.plan.get_state(plan_id).status is PlanStatus.APPROVED
    return plan_id


@pytest.mark.req("RN-5", "PT-8")
@pytest.mark.parametrize("how", ["revoked", "expired", "continued"])
@walled
def test_between_its_approval_and_its_commit(desk: RunDesk, how: str):
    """Whoever approved it was killed, and somebody goes on later."""
    desk.go()
    desk.clock = clock = SetClock()
    grant = desk.grant(desk.key())
    covered(desk)
    if how == "revoked":
        with desk.open() as workspace:
            workspace.grants.revoke(grant.id)
    clock.pass_by(3601 if how == "expired" else 60)
    run = desk.go()
    if how == "continued":
        assert run.phase is RunPhase.COMPLETED
        with desk.open() as workspace:
            [state] = workspace.grants.list()
            assert [use.step_id for use in state.uses] == ["S01", "S02"]
        return
    assert ("was revoked at" if how == "revoked" else "ended at") in waits(run)
    assert not any(step.commit for step in run.steps)


@pytest.mark.req("RN-5", "PT-8")
@walled
def test_an_approval_that_grew_old_is_given_again(desk: RunDesk):
    desk.go()
    desk.clock = clock = SetClock()
    desk.grant(desk.key(), seconds=5 * DAY)
    covered(desk)
    clock.pass_by(2 * DAY)
    assert desk.go().phase is RunPhase.COMPLETED
    with desk.open() as workspace:
        [state] = workspace.grants.list()
    assert [use.step_id for use in state.uses] == ["S01", "S01", "S02"]
    assert [use.step_id for use in count_uses(state.uses)] == ["S01", "S02"]


@pytest.mark.req("RN-5", "PT-8")
@walled
def test_it_is_for_one_run_and_its_plan(desk: RunDesk):
    key = desk.key()
    other = RunDesk(desk.root, implementer=BOTH)
    other.start({**TWO, "run_id": "20260101-000000-ffffff", "work_branch": "aiflow/other"})
    other.grant(key)
    ordinary(desk, key)
    assert waits(desk.go()) == "the result waits for you"
    assert other.go().phase is RunPhase.COMPLETED
    grant = desk.grant(key)
    with desk.open() as workspace:  # the same run with another plan
        stored = workspace.store.runs.get_stored(desk.run_id)
        with workspace.store.transaction() as transaction:
            changed = replace(stored.run, plan_sha256="0" * 64)
            transaction.runs.save(changed, NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM), stored.revision)
        [refused] = workspace.grants.refusals(desk.plan_of("S01"))
    assert refused.details["grant"] == grant.id[:8]
    assert "the run has another plan than the one that was signed" in str(refused)


def ordinary(desk: RunDesk, key: RealKey) -> None:
    """For all that the person proposes."""
    scope = GrantScope("user:person", ("**",), (*SpecKind,)[:6], Risk.MEDIUM, 99, 9999, 99, 9999)
    with desk.open() as workspace:
        subject = workspace.grants.draft(scope, workspace.clock.after(DAY))
        statement = workspace.grants.statement(subject, "person")
        workspace.grants.add(subject, "person", key.sign(statement))
        wide, until = replace(scope, requester=f"run:{desk.run_id}"), workspace.clock.after(DAY)
        with pytest.raises(BadGrant, match="neither with:AGENT nor user:NAME"):
            workspace.grants.draft(wide, until)


@pytest.mark.req("RN-5", "PT-8", "PT-9")
@walled
def test_what_nobody_may_sign_or_nobody_signed(desk: RunDesk):
    key, stranger = desk.key(), RealKey(desk.scripts, "stranger")
    with desk.open() as workspace:
        grants, until = workspace.grants, workspace.clock.after(DAY)
        subject = draft_for_run(workspace, desk.run_id[:-2], GrantOptions(), until)
        with pytest.raises(NoChannel, match="a standing approval needs a signature"):
            grants.add(subject, "person")
        with pytest.raises(UnlistedKey):
            grants.add(subject, "person", stranger.sign(grants.statement(subject, "person")))
        proof = key.sign(grants.statement(subject, "person"))
        wider = replace(subject, scope=replace(subject.scope, lines_total=9999))
        with pytest.raises(WrongAnswer):
            grants.add(wider, "person", proof)
        terms = subject.scope.run
        assert terms
        for unfit in (
            replace(terms, steps=3),
            replace(terms, branch="main"),
            replace(terms, plan_sha256="0" * 64),
            replace(terms, run_id="20260101-000000-0000"),
            replace(terms, dollars=float("nan")),
        ):
            with pytest.raises(BadGrant):
                grants.draft(replace(subject.scope, run=unfit), until)
        with pytest.raises(BadGrant):
            grants.draft(replace(subject.scope, kinds=(SpecKind.RUN,)), until)
        with pytest.raises(BadGrant):
            grants.draft(replace(subject.scope, max_risk=Risk.HIGH), until)
        with pytest.raises(NotFound):
            draft_for_run(workspace, "2099", GrantOptions(), until)
        assert grants.list() == ()
    assert waits(desk.go()) == "the result waits for you"


@pytest.mark.req("RN-5", "PT-8")
@pytest.mark.parametrize("how", ["wider", "for this run"])
@walled
def test_one_that_was_edited_in_the_ledger_covers_nothing(desk: RunDesk, how: str):
    key, other = desk.key(), RunDesk(desk.root, implementer=BOTH)
    other.start({**TWO, "run_id": "20260101-000000-ffffff", "work_branch": "aiflow/other"})
    (other if how == "for this run" else desk).grant(key, lines=1)
    with desk.open() as workspace:
        ledger = workspace.places.state / "ringi.db"
    with closing(sqlite3.connect(ledger)) as database, database:
        [[text]] = database.execute("SELECT document FROM grants")
        text = text.decode() if isinstance(text, bytes) else text
        if how == "wider":
            text = text.replace('lines_total\\":1', 'lines_total\\":9999').replace(
                'lines_per_use\\":1', 'lines_per_use\\":9999'
            )
        for old, new in [(other.run_id, desk.run_id), ("aiflow/other", TWO["work_branch"])]:
            text = text.replace(old, new)
        database.execute("UPDATE grants SET document = ?", (text.encode(),))
    assert "does not cover this: the log does not have it" in waits(desk.go())
    assert not any(step.commit for step in desk.run().steps)


@pytest.mark.req("RN-5", "PT-9")
@walled
def test_an_agent_makes_none_and_uses_none(desk: RunDesk):
    key = desk.key()
    desk.person = AgentAtWork()
    with pytest.raises(NoChannel):
        desk.grant(key)
    desk.person = SeatedPerson()
    desk.grant(key)
    desk.person = AgentAtWork()
    assert "an agent may not use it" in waits(desk.go())
    desk.person = SeatedPerson()
    assert desk.go().phase is RunPhase.COMPLETED


@pytest.mark.req("RN-5", "RN-8")
@walled
def test_hooks_run_only_if_that_was_signed(desk: RunDesk):
    key = desk.key()
    desk.grant(key)
    hook = desk.root / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 0\n")
    hook.chmod(0o755)
    with pytest.raises(BadGrant, match="pre-commit runs with each commit"):
        desk.grant(key)
    assert "the hook pre-commit runs with the commit, outside a sandbox" in waits(desk.go())
    desk.grant(key, hooks=True)
    assert desk.go().phase is RunPhase.COMPLETED


@pytest.mark.req("RN-5", "PT-16")
@walled
def test_without_a_sandbox_somebody_has_to_look(desk: RunDesk):
    key = desk.key()
    desk.grant(key)
    file = Path.home() / ".config/ringi/config.yaml"
    file.write_text(f"{file.read_text()}with: {{sandbox: 'off'}}\n")
    assert "its checks would run code that nobody has looked at" in waits(desk.go())
    with pytest.raises(BadGrant, match=r"need a sandbox: with\.sandbox is off"):
        desk.grant(key)


@pytest.mark.req("RN-9", "RN-10")
@walled
def test_what_a_reviewer_found_waits_for_a_person(root: Path):
    finding = '{"passed": false, "findings": [{"severity": "error", "message": "No."}]}'
    desk = RunDesk(root, implementer=FIX, reviewer=f"echo '{finding}'")
    desk.start(a_plan(a_step(1), limits={"max_autofix_cycles": 0}))
    desk.grant(desk.key())
    assert "the reviewer found an error in it" in waits(desk.go())


@pytest.mark.req("RN-5", "PT-8")
@walled
def test_two_at_once_do_not_share_the_last_step(desk: RunDesk):
    desk.go()
    plans = [desk.plan_of(step_id) for step_id in ("S01", "S02")]
    with desk.open() as workspace:
        for plan_id in plans:
            workspace.of_plan(plan_id).plan.request_approval(plan_id)
    grant = desk.grant(desk.key(), terms={"steps": 1})
    barrier, refused = threading.Barrier(2), list[GrantRefused]()

    def use(plan_id: str) -> None:
        with desk.open() as workspace:
            there = workspace.of_plan(plan_id)
            asked, stored = (
                there.store.approvals.requests(plan_id)[-1],
                there.store.plans.get(plan_id),
            )
            subject = subject_now(there, stored.document, ALL_SPECS, asked.expires_at)
            barrier.wait()
            try:
                use_grant(there, stored, grant, asked, codec.canonical(subject))
            except GrantRefused as error:
                refused.append(error)

    threads = [threading.Thread(target=use, args=(plan_id,)) for plan_id in plans]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 1
    with desk.open() as workspace:
        assert len(workspace.grants.list()[0].uses) == 1
        assert workspace.verify_log() == []


@pytest.mark.req("RN-4", "RN-5", "RN-12")
@walled
def test_signed_with_the_plan_and_nobody_is_asked(desk: RunDesk):
    key, person = str(desk.key().path), Desk(desk.root)
    with desk.open() as workspace:
        cancel_run(workspace, desk.run_id)
    plan = desk.root.parent / "planning.json"
    plan.write_text(json.dumps({**TWO, "run_id": "20260101-000000-cccccc", "work_branch": "aiflow/second"}))
    command = ["run", "--plan", str(plan), "--sign", key, "--unattended", key]
    below = person.process("--json", *command, CLAUDECODE="1")
    assert below.returncode == 3, below.stderr
    assert "ringi grant new --run 20260101-000000-cccccc --sign KEY" in below.stderr
    done = person.process("run", "20260101-000000-cccccc", "--sign", key, "--unattended", key)
    assert done.returncode == 0, done.stderr
    assert "Nobody has looked at S01, S02." in done.stdout
    assert "→ git log -p main..aiflow/second" in done.stdout
    assert desk.commits("aiflow/second") == ["Step 1", "Step 2"]
    [standing] = person.json("grant", "list")
    assert standing["scope"]["run"]["steps"] == 2
    listed = person.run("grant", "list").stdout
    assert "the steps of run 20260101-000000-cccccc, as planned" in listed
    assert "2 of 2 steps · 3 of 200 lines" in listed
    assert person.run("verify", "--all").returncode == 0


@pytest.mark.req("RN-5")
@each(
    ("words", "said"),
    [
        (["--run", "RUN"], "Missing option '--sign'"),
        (["--run", "RUN", "--for", "user:x", "--sign", "KEY"], "Choose one: --for, --run"),
        (["--for", "user:x", "--path", "**", "--hooks", "--sign", "KEY"], "--hooks belongs to --run"),
        (["--path", "**", "--sign", "KEY"], "Say who may ask"),
        (["--for", "user:x", "--sign", "KEY"], "Say which files"),
        (["--run", "20", "--sign", "KEY"], "20"),
    ],
)
def test_what_cannot_be_granted(desk: RunDesk, words: list[str], said: str):
    given = [{"RUN": desk.run_id, "KEY": "/nowhere"}.get(word, word) for word in words]
    done = Desk(desk.root).run("grant", "new", *given)
    assert done.returncode == 2
    assert said in done.stderr
