"""A plan that ends with a commit: approved with it, made once, told as it is."""

import errno
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.app.api import Workspace, open_workspace
from ringi.approvals.document import Cancelled, ProofKind
from ringi.approvals.grant_document import GrantScope
from ringi.config.keys import Provenance
from ringi.errors import BadTransition, CheckFailed, GrantRefused, NoCommit, NotApproved, Stale, WrongAnswer
from ringi.kernel.fs import OsFileSystem
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans import commit as committing
from ringi.plans.commit import announce, outcome_of
from ringi.plans.commit_message import LONGEST, proper_message, with_trailers
from ringi.plans.document import PlannedCommit, PlanStatus
from ringi.plans.execution import ExecutionResult
from ringi.plans.tool import PlanTool
from ringi.plans.verify import Examination
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, CheckFailure, PlannedChecks
from ringi.tree.commit_order import CommitOutcome
from ringi.tree.file_state import OpStatus
from ringi.tree.tree import Tree
from tests.fakes.signing import MadeUpKeys
from tests.helpers import (
    HELLO,
    ROOT,
    Person,
    answer,
    approve,
    assert_whole,
    create,
    delete,
    environment_of,
    kinds,
    ledger_of,
    open_scratch,
    proposed,
    rewire,
    undo,
    untouched,
    write,
)
from tests.tables import each

MESSAGE = "Say more in the README\n\nIt was short."
CHANGE = (write("README.md", "# Sample\n\nMore.\n"), create("docs/a.txt", "a\n"), delete("app/hello.py"))
CHANGED = ["README.md", "app/hello.py", "docs/a.txt"]
CHILD = """
import sys, ringi
from tests.helpers import Person
with ringi.open_workspace(sys.argv[1], person=Person(), at_once=True) as workspace:
    workspace.plan.execute(sys.argv[2])
"""
KILLS_RINGI = 'kill -9 "$(ps -o ppid= -p $PPID | tr -d " ")"; sleep 0.3'


def git(root: Path, *words: str, stdin: str | None = None) -> str:
    done = subprocess.run(["git", *words], cwd=root, input=stdin, capture_output=True, text=True, check=True)
    return done.stdout


def hook(root: Path, name: str, script: str) -> None:
    path = root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def names(root: Path) -> list[str]:
    return git(root, "show", "--format=", "--name-only", "--no-renames").split()


def status(root: Path) -> str:
    return git(root, "status", "--porcelain", "--untracked-files=all", "--", ":!.agent")


@pytest.fixture
def ws(repo: Path) -> Iterator[Workspace]:
    with opened(repo) as workspace:
        yield workspace


def opened(root: Path) -> Workspace:
    return open_workspace(root, environment=dict(os.environ), person=Person(), at_once=True)


def wished(workspace: Workspace, *specs: ActionSpec, message: str = MESSAGE) -> str:
    plan_id = proposed(workspace, *specs)
    workspace.plan.wish_commit(plan_id, message)
    return plan_id


def approved(workspace: Workspace, *specs: ActionSpec) -> str:
    plan_id = wished(workspace, *specs)
    approve(workspace, plan_id)
    return plan_id


def commit_of(result: ExecutionResult) -> CommitOutcome:
    assert isinstance(result.commit, CommitOutcome)
    return result.commit


@pytest.mark.req("PT-8")
def test_what_was_approved_is_committed_and_says_so(ws: Workspace, repo: Path):
    plan_id = approved(ws, *CHANGE)
    outcome = commit_of(ws.plan.execute(plan_id))
    assert (git(repo, "rev-parse", "HEAD").strip(), outcome.why) == (outcome.commit, "")
    assert names(repo) == CHANGED
    (approval,) = ledger_of(ws).approvals.of(plan_id)
    lines = [f"Ringi-Plan: {plan_id}", f"Ringi-Approval: {approval.digest}", "Ringi-Approved-By: hanako"]
    assert git(repo, "log", "-1", "--format=%B").strip() == MESSAGE + "\n\n" + "\n".join(lines)
    assert git(repo, "log", "-1", "--format=%(trailers)").strip().split("\n") == lines
    assert status(repo) == ""
    assert kinds(ws, plan_id)[-2:] == ["completed", "committed"]
    assert outcome_of(ws.log(plan_id)) == outcome
    assert ws.plan.get_state(plan_id).status is PlanStatus.COMPLETED
    assert ledger_of(ws).plans.checking() is None
    assert_whole(ws)


@pytest.mark.req("PT-8")
def test_the_commit_is_part_of_what_is_approved(ws: Workspace, repo: Path):
    hook(repo, "pre-commit", "exit 0")
    plan_id = approved(ws, *CHANGE)
    (approval,) = ledger_of(ws).approvals.of(plan_id)
    said = msgspec.json.decode(approval.subject)["commit"]
    parent = git(repo, "rev-parse", "HEAD").strip()
    assert said == {"branch": "main", "parent": parent, "message": MESSAGE, "hooks": ["pre-commit"]}


def test_without_the_wish_nothing_is_staged_or_committed(ws: Workspace, repo: Path):
    index, parent = (repo / ".git/index").read_bytes(), git(repo, "rev-parse", "HEAD")
    plan_id = proposed(ws, *CHANGE)
    approve(ws, plan_id)
    assert not ws.plan.execute(plan_id).commit
    assert announce(ws, ws.plan.get(plan_id)) is None
    assert ((repo / ".git/index").read_bytes(), git(repo, "rev-parse", "HEAD")) == (index, parent)


def test_what_the_person_has_staged_and_changed_stays_so(ws: Workspace, repo: Path):
    (repo / "mine.txt").write_text("staged\n")
    git(repo, "add", "mine.txt")
    (repo / "mine.txt").write_text("changed\n")
    (repo / "loose.txt").write_text("loose\n")
    before = git(repo, "diff", "--cached"), git(repo, "diff")
    ws.plan.execute(approved(ws, *CHANGE))
    assert names(repo) == CHANGED
    assert (git(repo, "diff", "--cached"), git(repo, "diff")) == before
    assert status(repo) == "AM mine.txt\n?? loose.txt\n"


def test_own_changes_in_the_same_file_are_announced_and_go_along(ws: Workspace, repo: Path):
    (repo / "README.md").write_text("# Mine\n")
    plan_id = wished(ws, write("README.md", "# Mine\n\nMore.\n"), write("app/hello.py", "new\n"))
    found = announce(ws, ws.plan.get(plan_id))
    assert found is not None
    assert found.mixed == ("README.md",)
    approve(ws, plan_id)
    ws.plan.execute(plan_id)
    assert git(repo, "show", "HEAD:README.md") == "# Mine\n\nMore.\n"
    assert status(repo) == ""


def test_only_the_selected_specs_are_committed(ws: Workspace, repo: Path):
    plan_id = wished(ws, *CHANGE)
    selection = ws.plan.get_state(plan_id).selection
    approve(ws, plan_id, msgspec.structs.replace(selection, all=False, ids=("s2",)))
    assert commit_of(ws.plan.execute(plan_id)).commit
    assert names(repo) == ["docs/a.txt"]
    assert status(repo) == ""


def test_moves_modes_and_folders(ws: Workspace, repo: Path):
    plan_id = approved(
        ws,
        ActionSpec(SpecKind.MOVE, "app/hello.py", target="lib/hello.py"),
        create("run.sh", "echo\n", mode="0755"),
        ActionSpec(SpecKind.MKDIR, "empty"),
        ActionSpec(SpecKind.READ, "README.md"),
    )
    assert commit_of(ws.plan.execute(plan_id)).commit
    assert sorted(names(repo)) == ["app/hello.py", "lib/hello.py", "run.sh"]
    assert git(repo, "ls-tree", "HEAD", "run.sh").startswith("100755")
    assert git(repo, "show", "HEAD:lib/hello.py") == HELLO
    assert status(repo) == ""


def test_the_wish_is_kept_through_new_versions_and_can_be_taken_back(ws: Workspace, repo: Path):
    plan_id = wished(ws, *CHANGE)
    ws.plan.set_action_specs(plan_id, [CHANGE[0]])
    assert ws.plan.get_state(plan_id).commit == PlannedCommit(MESSAGE)
    assert not ws.plan.wish_commit(plan_id, None).commit
    approve(ws, plan_id)
    parent = git(repo, "rev-parse", "HEAD")
    ws.plan.execute(plan_id)
    assert git(repo, "rev-parse", "HEAD") == parent
    with pytest.raises(BadTransition):
        ws.plan.wish_commit(plan_id, "too late")


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("changed", ["Another message", None])
def test_a_changed_wish_needs_another_approval(ws: Workspace, repo: Path, changed: str | None):
    plan_id = approved(ws, *CHANGE)
    assert ws.plan.wish_commit(plan_id, changed).status is PlanStatus.PENDING_REVIEW
    with untouched(repo), pytest.raises(NotApproved):
        ws.plan.execute(plan_id)
    approve(ws, plan_id)
    assert bool(ws.plan.execute(plan_id).commit) is (changed is not None)


@pytest.mark.req("PT-8")
def test_a_wish_while_somebody_is_asked_ends_the_request(ws: Workspace):
    plan_id = proposed(ws, *CHANGE)
    asked = ws.plan.ask(plan_id)
    ws.plan.wish_commit(plan_id, MESSAGE)
    assert isinstance(ws.plan.outcome(plan_id), Cancelled)
    asked_again = ws.plan.ask(plan_id)
    with pytest.raises(WrongAnswer):
        ws.plan.approve(plan_id, "hanako", proof=answer(asked))
    assert asked_again.digest != asked.digest
    before = ledger_of(ws).plans.revision(plan_id)
    ws.plan.wish_commit(plan_id, MESSAGE)
    assert ledger_of(ws).plans.revision(plan_id) == before, "the same wish changes nothing"


@each(
    ("message", "why"),
    [
        ("", "empty"), (" \n\t\n", "empty"), ("a\0b", "control characters"),
        ("a\x1b[31mb", "control characters"), ("a\x9bb", "control"), ("a\rb", "control"),
        ("a\u202eb", "control"), ("a\u2066b", "control"),
        ("half \ud83d", "control characters"),
        ("x" * (LONGEST + 1), "longer"), ("T\n\nRingi-Plan: 1", "begins with Ringi-"),
        ("T\n\n  ringi-approval: 1", "begins with Ringi-"),
    ],
)  # fmt: skip
def test_messages_that_are_refused(ws: Workspace, message: str, why: str):
    plan_id = proposed(ws, *CHANGE)
    with pytest.raises(NoCommit, match=why):
        ws.plan.wish_commit(plan_id, message)
    assert not ws.plan.get_state(plan_id).commit


def test_plans_that_cannot_be_committed(ws: Workspace, repo: Path):
    (repo / ".gitignore").write_text("*.log\n")
    refused = [
        ([write("README.md", "x\n"), ActionSpec(SpecKind.RUN, argv=("true",))], "not known beforehand"),
        ([ActionSpec(SpecKind.MKDIR, "empty")], "no file of it changes"),
        ([ActionSpec(SpecKind.READ, "README.md")], "no file of it changes"),
        ([create("a.log", "x\n")], "git ignores a.log"),
    ]
    for specs, why in refused:
        with pytest.raises(NoCommit, match=why):
            wished(ws, *specs)
    with pytest.raises(NoCommit, match="no file of it changes"):
        ws.plan.wish_commit(ws.plan.propose("Only words"), MESSAGE)


def test_without_git_there_is_no_commit(tmp_path: Path):
    with open_scratch(tmp_path) as workspace, pytest.raises(NoCommit, match="no git repository"):
        wished(workspace, write("README.md", "x\n"))


def test_a_wish_that_later_specs_make_impossible(ws: Workspace, repo: Path):
    plan_id = wished(ws, *CHANGE)
    ws.plan.set_action_specs(plan_id, [ActionSpec(SpecKind.RUN, argv=("true",))])
    with untouched(repo), pytest.raises(NoCommit):
        ws.plan.ask(plan_id)


MOVES = {
    "the newest commit on main": ["git commit -q --allow-empty -m theirs"],
    "HEAD (it was main, now it is side)": ["git checkout -q -b side"],
    "HEAD (it was main, now it is detached)": ["git checkout -q --detach"],
    "the hooks that would run: pre-commit": [
        "mkdir -p .git/hooks",
        "printf '#!/bin/sh\\n' > .git/hooks/pre-commit",
        "chmod +x .git/hooks/pre-commit",
    ],
}


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("what", MOVES)
def test_a_repository_that_moved_since_the_approval_is_stale(ws: Workspace, repo: Path, what: str):
    plan_id = approved(ws, *CHANGE)
    for command in MOVES[what]:
        subprocess.run(["sh", "-c", command], cwd=repo, check=True)
    with untouched(repo), pytest.raises(Stale) as refused:
        ws.plan.execute(plan_id)
    assert str(refused.value.details["paths"]) == what
    assert ws.plan.get_state(plan_id).status is PlanStatus.PENDING_REVIEW
    approve(ws, plan_id)
    assert commit_of(ws.plan.execute(plan_id)).commit


def test_a_merge_that_began_since_the_approval(ws: Workspace, repo: Path):
    plan_id = approved(ws, *CHANGE)
    (repo / ".git/MERGE_HEAD").touch()
    with untouched(repo), pytest.raises(NoCommit, match="a merge is under way"):
        ws.plan.execute(plan_id)


def test_a_hook_says_no(ws: Workspace, repo: Path):
    hook(repo, "commit-msg", "echo first; echo no ticket number >&2; exit 1")
    plan_id = approved(ws, *CHANGE)
    index = (repo / ".git/index").read_bytes()
    result = ws.plan.execute(plan_id)
    assert result.overall_success
    assert commit_of(result) == CommitOutcome("", "first\nno ticket number")
    assert outcome_of(ws.log(plan_id)) == CommitOutcome("", "no ticket number")
    assert (repo / ".git/index").read_bytes() == index
    assert git(repo, "log", "--format=%s") == "first\n"
    assert (repo / "README.md").read_text() == "# Sample\n\nMore.\n"
    assert kinds(ws, plan_id)[-1] == "commit_failed"
    assert_whole(ws)
    undo(ws, plan_id)
    assert status(repo) == ""


def test_a_hook_that_rewrites_the_files_is_told_and_verified(ws: Workspace, repo: Path):
    hook(repo, "pre-commit", "echo tidy > docs/a.txt; git add docs/a.txt")
    plan_id = approved(ws, *CHANGE)
    outcome = commit_of(ws.plan.execute(plan_id))
    assert outcome.commit
    assert "a hook changed in the commit: docs/a.txt" in outcome.why
    assert "a hook changed in your files: docs/a.txt" in outcome.why
    assert outcome_of(ws.log(plan_id)) == outcome
    found = Examination(ws).plan(plan_id)
    assert (found.commit.commit, found.commit.as_approved) == (outcome.commit, False)
    assert ["docs/a.txt" in str(note) for note in found.commit.notes] == [True]


def test_checks_that_fail_afterwards_leave_no_commit(ws: Workspace, repo: Path):
    check_with(ws, after=("false",))
    parts = ws.plan._workspace
    config = msgspec.structs.replace(parts.config, provenance=Provenance(notes=False))
    ws.plan = PlanTool(parts.replace(config=config))
    plan_id = approved(ws, *CHANGE)
    with untouched(repo), pytest.raises(CheckFailed):
        ws.plan.execute(plan_id)
    assert git(repo, "log", "--format=%s") == "first\n"
    assert outcome_of(ws.log(plan_id)) == CommitOutcome("", "a check failed")
    assert status(repo) == ""
    assert_whole(ws)


def test_checks_that_pass_come_before_the_commit(ws: Workspace, repo: Path):
    check_with(ws, after=("test -f docs/a.txt",))
    plan_id = approved(ws, *CHANGE)
    assert commit_of(ws.plan.execute(plan_id)).commit
    assert kinds(ws, plan_id)[-3:] == ["completed", "checked", "committed"]
    assert ledger_of(ws).plans.checking() is None
    assert_whole(ws)


def test_somebody_commits_while_the_checks_run(ws: Workspace, repo: Path):
    check_with(ws, after=(f"git -C {repo} commit -q --allow-empty -m theirs",))
    plan_id = approved(ws, *CHANGE)
    outcome = commit_of(ws.plan.execute(plan_id))
    assert outcome.commit == ""
    assert "the newest commit on main" in outcome.why
    assert git(repo, "log", "--format=%s") == "theirs\nfirst\n"


def check_with(
    workspace: Workspace, *, after: tuple[str, ...], on_failure: CheckFailure = CheckFailure.UNDO
) -> None:
    parts = workspace
    checks = PlannedChecks((), after, on_failure)
    workspace.plan = PlanTool(parts.replace(checks=checks))


def test_the_rest_after_an_abort_is_one_commit_with_what_was_done(ws: Workspace, repo: Path):
    plan_id = approved(ws, write("README.md", "x\n"), create("late.txt", "late\n"))
    result = without_late(ws, plan_id)
    assert (result.overall_success, bool(result.commit)) == (False, False)
    assert git(repo, "log", "--format=%s") == "first\n"
    assert ws.plan.get_state(plan_id).status is PlanStatus.ABORTED
    outcome = commit_of(ws.plan.execute(plan_id))
    assert outcome.commit
    assert sorted(names(repo)) == ["README.md", "late.txt"]
    assert kinds(ws, plan_id).count("committed") == 1


def without_late(workspace: Workspace, plan_id: str) -> ExecutionResult:
    tree = Tree(Unwritable("late.txt"), workspace.places.root)
    return PlanTool(workspace.replace(tree=tree)).execute(plan_id)


class Unwritable(OsFileSystem):
    """Nothing can be put at this name."""

    def __init__(self, name: str) -> None:
        self._name = name

    def link(self, source: int, name: str, target: int, target_name: str) -> None:
        if target_name == self._name:
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), target_name)
        super().link(source, name, target, target_name)


@pytest.mark.req("PT-12")
def test_a_crash_before_the_commit(repo: Path):
    """Killed in the pre-commit hook: git ends too, and recovery says that there is no commit."""
    hook(repo, "pre-commit", KILLS_RINGI)
    plan_id = crashed(repo)
    with opened(repo) as workspace:
        (result,) = workspace.recovered
        assert result.recovered
        assert commit_of(result) == CommitOutcome("", "it was cut off before the commit")
        assert git(repo, "log", "--format=%s") == "first\n"
        assert git(repo, "diff", "--cached", "--name-only") == ""
        assert (repo / "docs/a.txt").read_text() == "a\n"
        assert kinds(workspace, plan_id)[-2:] == ["completed", "commit_failed"]
        assert_whole(workspace)
    with opened(repo) as workspace:
        assert workspace.recovered == ()
    assert not list((repo / ".git").glob("*.lock"))


@pytest.mark.req("PT-12")
def test_a_crash_after_the_commit(repo: Path):
    """Killed in the post-commit hook: the commit is found, named once, and the index is brought along."""
    (repo / "mine.txt").write_text("staged\n")
    git(repo, "add", "mine.txt")
    hook(repo, "post-commit", KILLS_RINGI)
    plan_id = crashed(repo)
    commit = git(repo, "rev-parse", "HEAD").strip()
    assert names(repo) == CHANGED
    with opened(repo) as workspace:
        (result,) = workspace.recovered
        assert commit_of(result) == CommitOutcome(commit)
        assert kinds(workspace, plan_id)[-2:] == ["completed", "committed"]
        assert status(repo) == "A  mine.txt\n"
        assert workspace.recovered[0].overall_success
        assert workspace.plan.recover() == []
        assert_whole(workspace)
    assert git(repo, "rev-parse", "HEAD").strip() == commit


def crashed(repo: Path) -> str:
    with opened(repo) as workspace:
        plan_id = approved(workspace, *CHANGE)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    child = subprocess.run(
        [sys.executable, "-c", CHILD, str(repo), plan_id], cwd=ROOT, env=environment, timeout=60, check=False
    )
    assert child.returncode == -9
    return plan_id


@pytest.mark.req("PT-12")
@pytest.mark.parametrize("failing", [CheckFailure.UNDO, CheckFailure.KEEP])
def test_a_crash_while_the_checks_ran(ws: Workspace, repo: Path, failing: CheckFailure):
    """They were not seen to pass: there is no commit, which is told, and the files are as was approved."""
    check_with(ws, after=("true",), on_failure=failing)
    plan_id = approved(ws, *CHANGE)

    def killed(*_: object) -> None:
        raise SystemExit

    with pytest.raises(SystemExit):
        PlanTool(ws.replace(check=killed)).execute(plan_id)
    ws.plan.recover()
    assert git(repo, "log", "--format=%s") == "first\n"
    assert outcome_of(ledger_of(ws).events(plan_id)) == CommitOutcome("", "it was cut off before the commit")
    assert (repo / "docs/a.txt").exists() == (failing is CheckFailure.KEEP)
    assert kinds(ws, plan_id)[-1] == ("undone" if failing is CheckFailure.UNDO else "commit_failed")
    assert ledger_of(ws).plans.checking() is None


def test_undo_brings_the_files_back_and_leaves_the_commit(ws: Workspace, repo: Path):
    plan_id = approved(ws, *CHANGE)
    commit = commit_of(ws.plan.execute(plan_id)).commit
    undo(ws, plan_id)
    assert git(repo, "rev-parse", "HEAD").strip() == commit
    assert git(repo, "diff", "--cached", "--name-only") == ""
    assert (repo / "README.md").read_text() == "# Sample\n"
    assert (repo / "app/hello.py").read_text() == HELLO
    assert not (repo / "docs/a.txt").exists()
    assert_whole(ws)


@pytest.mark.req("PT-8")
def test_a_standing_approval_never_covers_a_commit(ws: Workspace, repo: Path):
    """Not even one that somebody wrote into the ledger, with its event and a grant that counts."""
    keys = MadeUpKeys("hers")
    rewire(ws, signatures=keys)
    scope = GrantScope("user:hanako", ("docs/**",), (SpecKind.CREATE,), Risk.LOW, 1, 1, 1, 1)
    subject = ws.grants.draft(scope, ws.clock.after(86_400))
    grant = ws.grants.add(subject, "hanako", keys.sign("hers", ws.grants.statement(subject, "hanako")))
    plan_id = approved(ws, *CHANGE)
    (given_,) = ledger_of(ws).approvals.of(plan_id)
    proof = msgspec.structs.replace(grant.proof, kind=ProofKind.GRANT, grant=grant.id)
    forged = msgspec.structs.replace(given_, id="forged", proof=proof)
    with ledger_of(ws).transaction() as transaction:
        transaction.approvals.add(forged)
        stored = transaction.plans.get(plan_id)
        event = NewEvent(EventKind.APPROVED, Actor.SYSTEM, grant.id, forged)
        transaction.plans.save(stored, stored.document, event)
    with untouched(repo), pytest.raises(GrantRefused, match="a commit is never covered"):
        ws.plan.execute(plan_id)


def test_verify_looks_into_the_commit(ws: Workspace, repo: Path):
    git(repo, "config", "core.autocrlf", "input")
    plan_id = approved(ws, *CHANGE)
    commit = commit_of(ws.plan.execute(plan_id)).commit
    found = Examination(ws).plan(plan_id)
    assert (found.problems, found.commit) == ((), (commit, (), True, ()))
    dos = approved(ws, create("dos.txt", "a\r\nb\r\n"))
    ws.plan.execute(dos)
    (note,) = Examination(ws).plan(dos).commit.notes
    assert "with git's own line ends" in str(note)
    git(repo, "reset", "-q", "--soft", "HEAD~2")
    git(repo, "reflog", "expire", "--expire=now", "--all")
    git(repo, "gc", "-q", "--prune=now")
    found = Examination(ws).plan(plan_id)
    assert [str(note) for note in found.commit.notes] == [
        f"commit {commit[:8]} is not in the repository any more"
    ]
    assert found.document.proven


def test_a_commit_that_nobody_approved_is_a_contradiction(ws: Workspace):
    plan_id = proposed(ws, *CHANGE)
    approve(ws, plan_id)
    result = ws.plan.execute(plan_id)
    committing._record(ws, result, CommitOutcome("1" * 40))
    assert ["nobody had approved one" in str(why) for why in Examination(ws).plan(plan_id).problems] == [True]


def test_optional_specs_that_failed_are_not_in_it(ws: Workspace, repo: Path):
    plan_id = approved(ws, write("README.md", "x\n"), create("late.txt", "late\n", optional=True))
    result = without_late(ws, plan_id)
    assert [outcome.status for outcome in result.results] == [OpStatus.DONE, OpStatus.FAILED]
    assert commit_of(result).commit
    assert names(repo) == ["README.md"]


WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), min_size=1, max_size=20)
LINES = st.one_of(
    WORDS, st.just(""), st.sampled_from(["Signed-off-by: A <a@b.invalid>", "Fixes: #1", " more", "#x"])
)


@given(st.lists(LINES, min_size=1, max_size=8))
def test_our_lines_are_trailers_whatever_the_message(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
):
    try:
        message = proper_message("\n".join(lines))
    except NoCommit:
        return
    ours = ["Ringi-Plan: 1", "Ringi-Approval: 2", "Ringi-Approved-By: x"]
    whole = with_trailers(message, ours)
    assert whole.startswith(message)
    found = git(tmp_path_factory.getbasetemp(), "interpret-trailers", "--parse", stdin=whole).split("\n")
    assert found[-4:-1] == ours


def test_a_name_cannot_become_a_line(ws: Workspace, repo: Path):
    plan_id = wished(ws, *CHANGE)
    asked = ws.plan.ask(plan_id)
    ws.plan.approve(plan_id, "Eve\nRingi-Plan: other\u202e", proof=answer(asked))
    ws.plan.execute(plan_id)
    trailers = git(repo, "log", "-1", "--format=%(trailers)").strip().split("\n")
    assert trailers[0] == f"Ringi-Plan: {plan_id}"
    assert trailers[2] == "Ringi-Approved-By: Eve\\nRingi-Plan: other\\u202e"
    assert len(trailers) == 3


def test_the_environment_of_the_program_is_used(repo: Path, tmp_path: Path):
    who = {f"GIT_{who}_NAME": "Hanako" for who in ("AUTHOR", "COMMITTER")}
    who |= {f"GIT_{who}_EMAIL": "h@example.invalid" for who in ("AUTHOR", "COMMITTER")}
    environment = environment_of(tmp_path, **who)
    with open_workspace(repo, environment=environment, person=Person()) as workspace:
        assert commit_of(workspace.plan.execute(approved(workspace, *CHANGE))).commit
    assert git(repo, "log", "-1", "--format=%an %ce").strip() == "Hanako h@example.invalid"
