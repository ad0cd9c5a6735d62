"""A folder and its ledger that a release left open, verify, execute and undo today."""

import io
import json
import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from ringi.app.api import Workspace, open_workspace, verify_plan
from ringi.approvals.document import TypedAnswer
from ringi.errors import RingiError
from ringi.kernel.places import DATABASE
from ringi.plans.document import PlanStatus
from ringi.policy.spec_kind import SpecKind
from ringi.sessions.document import DecisionPending, QuestionPending, SessionStatus
from ringi.tree.action_spec import ActionSpec
from tests.fakes.people import SeatedPerson
from tests.functional.planning_desk import PlanningDesk
from tests.golden.ledgers import HERE, SESSIONS, STATUSES, make_cut_off, make_ledger
from tests.helpers import SetClock, accept_signers_in, answer, assert_whole

LEDGERS = sorted(HERE.glob("ledger-*"))
CUT_OFF = sorted(HERE.glob("cut-off-*"))
by_ledger = pytest.mark.parametrize("folder", LEDGERS, ids=lambda folder: folder.name)
by_cut_off = pytest.mark.parametrize("folder", CUT_OFF, ids=lambda folder: folder.name)

CARRIED_OUT = [
    "completed",
    "every kind",
    "undone",
    "command",
    "committed",
    "signed",
    "granted",
    "granted again",
    "aborted",
    "in part",
]


class Old:
    """A golden folder, copied to where nobody has seen it, and taken over by `ringi doctor --adopt`."""

    def __init__(self, folder: Path, tmp_path: Path, *, adopt: bool = True) -> None:
        manifest = json.loads((folder / "manifest.json").read_text())
        self.plans: dict[str, str] = manifest["plans"]
        self.sessions: dict[str, str] = manifest["sessions"]
        self.root = tmp_path / "moved here"
        with tarfile.open(fileobj=io.BytesIO((folder / "workspace.tar.gz").read_bytes())) as archive:
            archive.extractall(self.root)  # made by ourselves; Python 3.11.2 knows no filter
        settings = Path(os.environ["XDG_CONFIG_HOME"], "ringi")
        settings.mkdir(mode=0o700)
        for name in ("config.yaml", "allowed_signers"):
            (settings / name).write_bytes((folder / name).read_bytes())
        states = Path(os.environ["XDG_STATE_HOME"], "ringi")
        (states / "as-it-was").mkdir(parents=True, mode=0o700)
        (states / "as-it-was" / DATABASE).write_bytes((folder / DATABASE).read_bytes())
        self._desk = PlanningDesk(self.root)
        self._database = states / "as-it-was" / DATABASE
        if adopt:
            self.adopt()

    def adopt(self) -> None:
        self.ringi("doctor", "--adopt")
        # The list of signers moved with its home.
        accept_signers_in(self.root)

    def ringi(self, *words: str) -> str:
        done = self._desk.run(*words)
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def code(self, *words: str) -> int:
        return self._desk.run(*words).returncode

    def json(self, *words: str) -> Any:
        return json.loads(self.ringi("--json", *words))

    def open(self, clock: SetClock | None = None) -> Workspace:
        return open_workspace(self.root, person=SeatedPerson(), clock=clock, at_once=True)

    def tamper(self, statement: str) -> None:
        """In the tables as they were written, before this version sees them."""
        with closing(sqlite3.connect(self._database)) as database, database:
            assert database.execute(statement).rowcount == 1

    def text(self, name: str) -> str:
        return (self.root / name).read_text()


@pytest.fixture
def old(folder: Path, tmp_path: Path) -> Old:
    return Old(folder, tmp_path)


def test_nothing_tells_where_they_were_made():
    """But for the folder that every golden ledger is made for."""
    assert LEDGERS
    assert CUT_OFF
    for folder in LEDGERS + CUT_OFF:
        texts = [path.read_bytes() for path in folder.iterdir()]
        with tarfile.open(folder / "workspace.tar.gz") as archive:
            members = [archive.extractfile(member) for member in archive if member.isfile()]
            texts += [member.read() for member in members if member]
        whole = b"\n".join(texts).replace(b"/srv/example/home", b"")
        for place in (b"/home/", b"/root", b"/tmp", b"/usr/", b"PRIVATE KEY"):
            assert place not in whole


def test_they_can_be_made_again(tmp_path: Path):
    """With other ids and by another key, so that only their names are the same."""
    for make, like in ((make_ledger, LEDGERS[-1]), (make_cut_off, CUT_OFF[-1])):
        folder = tmp_path / like.name
        make(folder, tmp_path / "example")
        made, kept = (json.loads((each / "manifest.json").read_text()) for each in (folder, like))
        assert {kind: list(names) for kind, names in made.items()} == {
            kind: list(names) for kind, names in kept.items()
        }
        assert {path.name for path in folder.iterdir()} == {path.name for path in like.iterdir()}


# --- reading ---


@pytest.mark.req("PT-2", "PT-10")
@by_ledger
def test_the_ledger_opens_and_holds_together(old: Old):
    with old.open() as workspace:
        assert not workspace.recovered
        assert_whole(workspace)
    old.ringi("log", "--verify")


@pytest.mark.req("PT-3", "PT-4")
@by_ledger
def test_every_plan_is_shown_as_it_was_left(old: Old):
    listed = {plan["id"]: plan["status"] for plan in old.json("list")}
    assert {name: listed[plan_id] for name, plan_id in old.plans.items()} == STATUSES
    for plan_id in old.plans.values():
        assert old.json("show", plan_id)["plan"]["id"] == plan_id
        assert old.ringi("show", plan_id, "--diff")
        assert old.ringi("log", plan_id)


@pytest.mark.req("IP-7", "IP-14")
@by_ledger
def test_every_session_and_run_is_shown_as_it_was_left(old: Old):
    status = old.json("status")
    with old.open() as workspace:
        listed = {ref.session_id: str(ref.status) for ref in workspace.planning.list()}
        runs = {
            name: workspace.planning.get(session_id).session.planner_session_id
            for name, session_id in old.sessions.items()
        }
    assert {name: listed[session_id] for name, session_id in old.sessions.items()} == SESSIONS
    assert runs["approved"]
    assert runs["approved signed"]
    shown = json.dumps(status)
    assert runs["approved"] in shown
    assert runs["approved signed"] in shown
    for name in [*old.sessions.values(), *filter(None, runs.values())]:
        assert old.ringi("status", "--session", name)
        assert old.ringi("log", name)


# --- proofs ---


@pytest.mark.req("PT-8", "PT-11")
@by_ledger
def test_everything_that_was_carried_out_is_still_proven(old: Old):
    with old.open() as workspace:
        for name in CARRIED_OUT:
            proven = verify_plan(workspace, old.plans[name])
            assert (proven.proven, proven.problems, proven.forged) == (True, (), ()), name
            assert proven.carried_out
    assert old.ringi("verify", "--all")


@pytest.mark.req("PT-8", "PT-11")
@by_ledger
@pytest.mark.parametrize("name", ["signed", "granted"])
def test_a_signature_counts_only_while_its_key_is_listed(old: Old, name: str):
    Path(os.environ["XDG_CONFIG_HOME"], "ringi", "allowed_signers").write_text("")
    with old.open() as workspace:
        assert not verify_plan(workspace, old.plans[name]).proven
        assert verify_plan(workspace, old.plans["completed"]).proven


TAMPERING = {
    "the word of an event": (
        "UPDATE events SET document = replace(document, 'Please say why.', 'Fine.') "
        "WHERE document LIKE '%Please say why.%'"
    ),
    "an event": "DELETE FROM events WHERE seq = 100",
    "a note": "UPDATE approvals SET document = replace(document, '\"fine\"', '\"good\"') WHERE at = 2",
    "an approval": "DELETE FROM approvals WHERE at = 2",
    "a plan": "UPDATE plans SET document = replace(document, 'Say more', 'Say less') WHERE number = 1",
    "specs": (
        "UPDATE specs SET document = replace(document, 'approved.txt', 'other.txt') "
        "WHERE document LIKE '%approved.txt%'"
    ),
    "a session": (
        "UPDATE sessions SET document = replace(document, 'second language', 'third language') "
        "WHERE document LIKE '%Add a second language%'"
    ),
    "a session's approval": (
        "UPDATE approvals SET document = replace(document, 'hanako', 'taro') "
        "WHERE kind = 'session' AND document LIKE '%SSH SIGNATURE%'"
    ),
    "a run": "UPDATE runs SET document = replace(document, 'Greet several', 'Greet a few') WHERE rowid = 2",
    "a grant": "UPDATE grants SET document = replace(document, 'docs/**', 'src/**') WHERE rowid = 1",
}


@pytest.mark.req("PT-11")
@by_ledger
@pytest.mark.parametrize("what", TAMPERING)
def test_a_ledger_that_somebody_changed_is_red(folder: Path, tmp_path: Path, what: str):
    old = Old(folder, tmp_path, adopt=False)
    old.tamper(TAMPERING[what])
    assert old.code("doctor", "--adopt") == 1
    assert old.code("log", "--verify") == 1


# --- going on ---


@pytest.mark.req("PT-6", "PT-9")
@by_ledger
@pytest.mark.parametrize("name", ["approved", "approved signed"])
def test_an_old_approval_is_enough_to_execute(old: Old, name: str):
    old.ringi("execute", old.plans[name])
    assert old.text("approved.txt" if name == "approved" else "approved-by-key.txt") == "approved\n"
    old.ringi("verify", old.plans[name])
    old.ringi("log", "--verify")


@pytest.mark.req("PT-9")
@by_ledger
@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("stale", 4),
        ("superseded", 4),
        ("declined", 3),
        ("amended", 3),
        ("pending", 3),
        ("proposed", 3),
        ("undone", 6),
    ],
)
def test_nothing_else_is_executed(old: Old, name: str, code: int):
    assert old.code("execute", old.plans[name]) == code
    old.ringi("log", "--verify")


@pytest.mark.req("PT-9")
@by_ledger
def test_what_was_left_over_runs_under_its_approval(old: Old):
    (old.root / "ready").touch()
    old.ringi("execute", old.plans["aborted"])
    with old.open() as workspace:
        assert workspace.plan.get_state(old.plans["aborted"]).status is PlanStatus.COMPLETED
        assert_whole(workspace)


@pytest.mark.req("PT-14")
@by_ledger
def test_what_was_done_is_undone(old: Old):
    before = {
        "completed": ("README.md", "# Greeter\n\nSays hello.\n"),
        "every kind": ("docs/old.md", "old\n"),
        "signed": ("notes.txt", None),
        "granted": ("docs/granted.md", None),
    }
    with old.open() as workspace:
        for name, (path, content) in before.items():
            request, _ = workspace.plan.ask_undo(old.plans[name])
            assert workspace.plan.undo(old.plans[name], "Hanako", answer(request)).overall_success
            assert (old.text(path) if content else (old.root / path).exists()) == (content or False)
        assert (old.root / "run.sh").stat().st_mode & 0o777 == 0o755
        assert not (old.root / "empty").exists()
        assert_whole(workspace)
    old.ringi("verify", "--all")


@pytest.mark.req("PT-8")
@by_ledger
def test_a_standing_approval_covers_until_its_date(old: Old):
    """Its dates are those of the day it was signed."""
    assert old.ringi("grant", "list")
    clock = SetClock()

    def covered(workspace: Workspace) -> str:
        plan_id = workspace.plan.propose("Later", proposer="claude", requester="with:claude")
        spec = ActionSpec(SpecKind.CREATE, f"docs/{plan_id}.md", "covered\n")
        assert workspace.plan.set_action_specs(plan_id, [spec], requester="with:claude").ok
        workspace.plan.ask(plan_id)
        return plan_id

    with old.open(clock) as workspace:
        plan_id = covered(workspace)
        assert workspace.plan.execute(plan_id).overall_success
        assert verify_plan(workspace, plan_id).proven
        used = [len(state.uses) for state in workspace.grants.list()]
        assert sorted(used) == [0, 3]
        clock.pass_by(90 * 86400)
        plan_id = covered(workspace)
        with pytest.raises(RingiError):
            workspace.plan.execute(plan_id)
        assert_whole(workspace)


@pytest.mark.req("IP-14", "IP-16")
@by_ledger
@pytest.mark.parametrize("name", ["discovery", "begun", "design", "review", "failed", "rejected"])
def test_an_open_session_goes_on_to_its_run(old: Old, name: str):
    session_id = old.sessions[name]
    with old.open() as workspace:
        planning = workspace.planning
        planning.resume(session_id)
        view = planning.go_on(session_id)
        while True:
            match view.pending:
                case QuestionPending():
                    planning.answer(session_id, "As before")
                case DecisionPending():
                    planning.decide(session_id, "1")
                case _:
                    break
            view = planning.go_on(session_id)
        assert planning.get(session_id).session.status is SessionStatus.REVIEW
        planning.approve(session_id, "Hanako", TypedAnswer(planning.request(session_id).digest, "y"))
        session = planning.get(session_id).session
        assert (session.status, bool(session.planner_session_id)) == (SessionStatus.APPROVED, True)
        assert_whole(workspace)


@pytest.mark.req("IP-8")
@by_ledger
def test_a_run_that_waits_can_be_cancelled(old: Old):
    with old.open() as workspace:
        workspace.planning.cancel(old.sessions["approved"])
        assert workspace.planning.get(old.sessions["approved"]).session.status is SessionStatus.CANCELLED
        assert_whole(workspace)


# --- what a crash had cut off ---


@pytest.mark.req("PT-12")
@by_cut_off
def test_what_was_cut_off_is_finished_by_the_next_opening(folder: Path, tmp_path: Path):
    old = Old(folder, tmp_path, adopt=False)
    assert (old.text("README.md"), (old.root / "docs/new.md").exists()) == ("# Cut\n", False)
    old.adopt()
    with old.open() as workspace:
        assert workspace.plan.get_state(old.plans["executing"]).status is PlanStatus.COMPLETED
        assert old.text("docs/new.md") == "new\n"
        assert_whole(workspace)
        assert verify_plan(workspace, old.plans["executing"]).proven
        request, _ = workspace.plan.ask_undo(old.plans["executing"])
        assert workspace.plan.undo(old.plans["executing"], "Hanako", answer(request)).overall_success
    assert old.text("README.md") == "# Greeter\n\nSays hello.\n"


@pytest.mark.req("PT-12")
@by_cut_off
def test_a_command_that_nobody_saw_end_is_not_run_again(old: Old):
    (old.root / "begun").unlink()
    assert old.code("execute", old.plans["unknown"]) == 3
    assert not (old.root / "begun").exists()
    with old.open() as workspace:
        workspace.plan.settle(old.plans["unknown"], "s1", done=True)
        workspace.plan.execute(old.plans["unknown"])
        assert workspace.plan.get_state(old.plans["unknown"]).status is PlanStatus.COMPLETED
        assert_whole(workspace)
