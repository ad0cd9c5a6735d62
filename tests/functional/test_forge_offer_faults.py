"""What goes wrong between a run and its forge: it is said, nothing is lost, and the token is nowhere."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.approvals.forge import ForgeKind
from ringi.engine.run_state import RunPhase
from ringi.runs.document import StopCode
from tests.functional.forge_desk import ALIKE, BRANCH, KINDS, ForgeDesk, forge_desk
from tests.functional.run_desk import git

pytestmark = pytest.mark.req("PP-25")
WRITES = r"/(pulls|merge_requests)$"


@pytest.fixture(params=KINDS)
def desk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeDesk]:
    with forge_desk(monkeypatch, request.param) as desk:
        yield desk


alike = pytest.mark.parametrize("desk", ALIKE, indirect=True)


@pytest.fixture
def github(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForgeDesk]:
    with forge_desk(monkeypatch, ForgeKind.GITHUB) as desk:
        yield desk


def stopped(desk: ForgeDesk, code: StopCode, words: str) -> str:
    """What to do next."""
    stop = desk.run().stop
    assert stop is not None
    assert stop.reason_code is code
    assert words in stop.message
    return stop.next_action


@alike
def test_without_a_network_it_waits_here_and_goes_on_later(desk: ForgeDesk):
    desk.begin()
    with desk.forge.away():
        run = desk.go()
    assert run.offer is not None
    assert run.offer.head
    assert not run.offer.pushed
    assert stopped(desk, StopCode.APPROVAL_NEEDED, "cannot be reached") == f"ringi continue {desk.run_id}"
    assert desk.repo.tip(BRANCH) == ""
    run = desk.go()
    assert run.offer is not None
    assert (run.offer.left, desk.repo.tip(BRANCH)) == ("", run.offer.head)
    assert desk.change.open


def test_a_push_that_is_refused(github: ForgeDesk):
    github.begin()
    github.repo.members["ringi"] = "read"
    run = github.go()
    assert run.offer is not None
    assert (run.offer.pushed, run.offer.pushing) == ("", run.offer.head)
    stopped(github, StopCode.APPROVAL_NEEDED, f"could not be pushed to {github.repo.git_url}")
    github.repo.members["ringi"] = "write"
    assert github.go().offer.pushed == github.repo.tip(BRANCH) == run.offer.head


def test_decided_here_without_a_network_and_told_later(github: ForgeDesk):
    github.begin()
    with github.forge.away():
        github.go()
        run = github.decide("S01")
    assert run.phase is RunPhase.COMPLETED
    assert run.offer is not None
    assert (run.offer.told, bool(run.offer.left)) == ("", True)
    shown = github.cli.run("status", github.run_id).stdout
    assert "cannot be reached" in shown
    assert f"→ ringi continue {github.run_id}" in shown
    done = github.cli.run("continue", github.run_id)
    assert done.returncode == 0, done.stdout + done.stderr
    assert github.run().offer.told == "completed"
    assert github.change.head_commit == github.run().steps[-1].commit
    assert github.cli.run("continue", github.run_id).returncode != 0  # it is over


@pytest.mark.parametrize("away", ["deleted", "pushed"])
def test_a_branch_that_somebody_else_changed_is_not_overwritten(github: ForgeDesk, away: str):
    github.begin()
    github.go()
    if away == "deleted":
        github.repo.delete_branch(BRANCH)
        theirs = ""
    else:
        theirs = github.repo.commit(BRANCH, {"theirs.txt": "theirs\n"})
    github.go()
    words = (
        "it was deleted" if away == "deleted" else f"it has commit {theirs[:12]}, which the run did not push"
    )
    assert "ringi cancel" in stopped(github, StopCode.BRANCH_MOVED, words)
    assert github.repo.tip(BRANCH) == theirs
    assert github.cli.run("continue", github.run_id).returncode == 4
    assert github.repo.tip(BRANCH) == theirs


def test_a_branch_of_that_name_that_was_there_before(github: ForgeDesk):
    github.begin()
    theirs = github.repo.commit(BRANCH, {"theirs.txt": "theirs\n"})
    github.go()
    stopped(github, StopCode.BRANCH_MOVED, "there is one already that the run did not push")
    assert github.repo.tip(BRANCH) == theirs
    assert github.repo.changes == {}


@alike
@pytest.mark.parametrize("how", ["closed", "merged"])
def test_a_change_that_is_over_is_not_opened_again(desk: ForgeDesk, how: str):
    desk.begin()
    head = desk.go().offer.head
    if how == "closed":
        desk.repo.close(desk.change)
    else:
        desk.repo.merge(desk.change.number)
    desk.go()
    action = stopped(desk, StopCode.APPROVAL_NEEDED, f"is {how}; nothing is opened a second time")
    assert action.startswith("Decide about the run here: ringi review")
    assert not desk.change.open
    assert desk.repo.tip(BRANCH) == head
    assert len(desk.repo.changes) == 1


@alike
@pytest.mark.parametrize("how", ["author", "base"])
def test_a_change_of_somebody_else_from_the_branch_is_left_alone(desk: ForgeDesk, how: str):
    """Opened between the push and ours: what it shows is not what was approved."""
    desk.begin()
    desk.forge.fault("POST", WRITES, status=401, times=0)
    desk.go()
    desk.forge.faults.clear()
    desk.repo.git("branch", "other", "main")
    login, base, why = ("alice", "main", "alice opened it")
    if how == "base":
        login, base, why = ("ringi", "other", "it goes into other, not into main")
    theirs = desk.repo.open_change(login, BRANCH, base, "Theirs", "Words")
    desk.go()
    action = stopped(desk, StopCode.APPROVAL_NEEDED, why)
    assert action.startswith("Close it there, then: ringi continue")
    assert (theirs.title, theirs.body, theirs.base, theirs.draft) == ("Theirs", "Words", base, False)
    assert (desk.run().offer.number, desk.change) == (0, theirs)
    desk.repo.close(theirs)
    run = desk.go()
    assert run.offer.left == ""
    assert desk.repo.changes[run.offer.number].base == "main"
    desk.cancel()
    desk.offered()
    assert (theirs.title, theirs.comments) == ("Theirs", [])


@alike
def test_a_change_of_somebody_else_is_not_closed_with_the_run(desk: ForgeDesk):
    desk.begin()
    desk.forge.fault("POST", WRITES, status=401, times=0)
    desk.go()
    desk.forge.faults.clear()
    theirs = desk.repo.open_change("alice", BRANCH, "main", "Theirs")
    desk.cancel()
    assert desk.offered().offer.told == "cancelled"
    assert (theirs.open, theirs.comments) == (True, [])


@alike
def test_an_own_change_that_is_no_draft_stays_so(desk: ForgeDesk):
    desk.begin()
    desk.forge.fault("POST", WRITES, status=401, times=0)
    desk.go()
    desk.forge.faults.clear()
    own = desk.repo.open_change("ringi", BRANCH, "main", "Earlier")
    assert desk.go().offer.number == own.number
    assert not own.draft
    assert not own.title.startswith("Draft: ")


@alike
def test_the_base_branch_is_gone(desk: ForgeDesk):
    desk.begin()
    desk.repo.git("update-ref", "refs/heads/other", "refs/heads/main")
    desk.repo.git("symbolic-ref", "HEAD", "refs/heads/other")
    desk.repo.delete_branch("main")
    run = desk.go()
    assert run.offer is not None
    assert (run.offer.pushed, run.offer.number) == (run.offer.head, 0)
    assert stopped(desk, StopCode.APPROVAL_NEEDED, "cannot do that") == f"ringi continue {desk.run_id}"


@alike
def test_a_token_that_is_revoked_in_the_middle(desk: ForgeDesk):
    desk.begin()
    desk.forge.fault("POST", WRITES, status=401, times=0)
    run = desk.go()
    assert run.offer is not None
    assert run.offer.pushed == run.offer.head
    stopped(desk, StopCode.APPROVAL_NEEDED, "refused the token")
    desk.forge.faults.clear()
    assert desk.go().offer.number == desk.change.number
    assert len(desk.repo.changes) == 1


@alike
def test_an_answer_that_is_lost_makes_no_second_one(desk: ForgeDesk):
    desk.begin()
    desk.forge.fault("POST", WRITES, cut="after")
    desk.forge.fault("POST", r"comments$|notes$", cut="after")
    desk.forge.fault("POST", r"/statuses/", cut="after")
    run = desk.go()
    if run.offer.left:
        run = desk.go()
    assert run.offer.left == ""
    assert len(desk.repo.changes) == len(desk.issue.comments) == 1
    assert len(desk.statuses(run.offer.head)) == 1


def test_a_remote_that_leads_elsewhere_now(github: ForgeDesk):
    """Where it goes was approved, also against what a clone says about addresses."""
    github.begin()
    other = github.forge.project("acme/other", members={"ringi": "write"})
    git(github.root, "remote", "set-url", "origin", other.git_url)
    github.go()
    then = stopped(github, StopCode.APPROVAL_NEEDED, "was approved")
    back = f"git remote set-url origin {github.repo.git_url}"
    assert back in then
    git(github.root, *back.split()[1:])
    git(github.root, "config", f"url.{other.git_url}.pushInsteadOf", github.repo.git_url)
    github.go()
    assert (github.repo.tip(BRANCH) == "", other.tip(BRANCH)) == (False, "")


def test_nothing_that_the_repository_names_is_started(github: ForgeDesk, tmp_path: Path):
    log, program = tmp_path / "ran", tmp_path / "program"
    program.write_text(f'#!/bin/sh\necho "$0 $@" >> {log}\n')
    program.chmod(0o755)
    for name in ("core.sshCommand", "core.askPass", "credential.helper", "core.gitProxy", "core.fsmonitor"):
        git(github.root, "config", name, str(program))
    hooks = github.root / ".git/hooks"
    for name in ("pre-push", "pre-commit", "reference-transaction", "post-index-change"):
        (hooks / name).write_text(program.read_text())
        (hooks / name).chmod(0o755)
    git(github.root, "config", "remote.origin.receivepack", str(program))
    if log.exists():
        log.unlink()  # by the git that wrote the settings
    github.begin()
    run = github.go()
    assert github.repo.tip(BRANCH) == run.offer.head
    assert not log.exists() or log.read_text() == ""


def test_the_token_is_in_no_file_no_argument_and_no_output(
    desk: ForgeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Also if the address of the remote has one, as some clones do."""
    argv, real = tmp_path / "argv", _real_git()
    folder = tmp_path / "bin"
    folder.mkdir()
    shim = folder / "git"
    shim.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" >> {argv}\nexec {real} "$@"\n')
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    desk.begin()
    outputs = [desk.cli.run("continue", desk.run_id), desk.cli.run("--json", "status", desk.run_id)]
    assert desk.change.open, outputs[0].stderr
    desk.decide("S01")
    outputs += [desk.cli.run("status", desk.run_id), desk.cli.run("log"), desk.cli.run("report", desk.run_id)]
    assert desk.run().offer.told == "completed"
    told = argv.read_text() + "".join(one.stdout + one.stderr for one in outputs)
    assert "push" in told
    secrets = desk.secrets()
    assert [secret for secret in secrets if secret in told] == []
    files = [
        path
        for place in (desk.root, Path(os.environ["HOME"]))
        for path in place.rglob("*")
        if path.is_file() and not path.is_symlink()
    ]
    assert len(files) > 50
    assert [path for path in files for secret in secrets if secret.encode() in path.read_bytes()] == []
    pages = [desk.change.body, desk.change.title, *(one.body for one in desk.issue.comments)]
    assert [page for page in pages for secret in secrets if secret in page] == []


def _real_git() -> str:
    found = next(
        Path(place, "git")
        for place in os.environ["PATH"].split(os.pathsep)
        if os.access(Path(place, "git"), os.X_OK)
    )
    return str(found)
