"""The branch of a run: made, published and removed, while the person's repository stays as it is."""

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ringi.errors import (
    BaseBranchMissing,
    BranchMoved,
    BranchRefused,
    DetachedHead,
    NoGit,
    UnbornBranch,
    WorkBranchExists,
)
from ringi.kernel.places import Places, places_of
from ringi.runs.branch import BranchOf, RunBranch, base_of, dirty_files, require_free
from ringi.runs.document import StopCode
from ringi.tree.commit_order import CommitOrder
from ringi.tree.commits import GitCommits
from tests.helpers import copied, fingerprint
from tests.unit.tree.repositories import git

WORK = "aiflow/RQ-1/20251214"
pytestmark = pytest.mark.req("RN-8")


def places(repo: Path) -> Places:
    return places_of(repo, os.environ)


def head(repo: Path) -> str:
    return git(repo, "rev-parse", "HEAD").strip()


def branch(repo: Path, **more: object) -> RunBranch:
    base = git(repo, "symbolic-ref", "--short", "HEAD").strip()
    return RunBranch(places(repo), BranchOf("run-1", base, head(repo), WORK)._replace(**more))


def commit(made: RunBranch, name: str = "new.txt", data: bytes = b"new\n") -> str:
    """As the plan tool does it."""
    (made.root / name).write_bytes(data)
    order = CommitOrder(made.tip(), f"Change {name}\n", (), {name: data})
    outcome = GitCommits(made.root, os.environ).make(order)
    assert outcome.commit, outcome.why
    return outcome.commit


def own(repo: Path) -> dict[str, str]:
    """All of the repository that a run must leave alone."""
    added = (".git/objects", ".git/refs/heads/aiflow", ".git/logs/refs/heads/aiflow")
    return {name: state for name, state in fingerprint(repo).items() if not name.startswith(added)}


def test_the_person_gets_objects_and_one_ref_and_nothing_else(repo: Path) -> None:
    (repo / "app" / "hello.py").write_text("dirty\n")
    git(repo, "stash")
    (repo / "README.md").write_text("staged\n")
    git(repo, "add", "README.md")
    (repo / "README.md").write_text("and edited\n")
    before, refs = own(repo), git(repo, "for-each-ref").splitlines()

    made = branch(repo)
    made.make()
    first = commit(made)
    assert made.publish() == first
    second = commit(made, "more.txt")
    assert made.publish() == second == made.publish()

    assert own(repo) == before
    assert [line for line in git(repo, "for-each-ref").splitlines() if WORK not in line] == refs
    assert git(repo, "log", "--format=%s", f"HEAD..{WORK}").split("\n")[:2] == [
        "Change more.txt",
        "Change new.txt",
    ]
    assert git(repo, "show", f"{WORK}:README.md") == "# Sample\n"
    assert git(repo, "fsck", "--strict") == ""
    assert (repo / "README.md").read_text() == "and edited\n"


def test_the_branch_stays_whole_without_the_folder(repo: Path) -> None:
    made = branch(repo)
    made.make()
    last = commit(made)
    made.publish()
    made.remove()
    made.remove()
    assert not made.folder.exists()
    assert git(repo, "cat-file", "-p", f"{WORK}:new.txt") == "new\n"

    again = branch(repo, tip=last)
    again.make()
    assert (again.root / "new.txt").read_text() == "new\n"
    assert again.tip() == last == again.publish()
    assert commit(again, "more.txt") == again.publish() == git(repo, "rev-parse", WORK).strip()


def test_a_second_call_makes_nothing(repo: Path) -> None:
    made = branch(repo)
    made.make()
    commit(made)
    before = fingerprint(made.folder)
    made.make()
    branch(repo).make()
    assert fingerprint(made.folder) == before


CHILD = """
import os, signal, sys
from pathlib import Path
from ringi.runs import branch
from ringi.kernel.places import places_of
from ringi.runs.branch import BranchOf, RunBranch

left = int(sys.argv[1])

def tracer(frame, event, arg):
    global left
    if event == "line" and frame.f_code.co_filename == branch.__file__:
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
    return tracer

of = BranchOf(*sys.argv[3:7], in_place=sys.argv[7] == "1")
made = RunBranch(places_of(Path(sys.argv[2]), os.environ), of)
sys.settrace(tracer)
made.make()
made.publish()
sys.settrace(None)
"""


@pytest.mark.parametrize("in_place", [False, True])
def test_killed_at_any_line_it_is_made_by_the_next_call(repo: Path, tmp_path: Path, in_place: bool) -> None:
    (tmp_path / "child.py").write_text(textwrap.dedent(CHILD))
    made = branch(repo, in_place=in_place)
    count, killed = 1, 0
    while True:
        words = [sys.executable, str(tmp_path / "child.py"), str(count), str(repo), *made.of[:4]]
        done = subprocess.run(
            [*words, "1" if in_place else "0"], capture_output=True, check=False, timeout=60
        )
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr.decode()
        killed += 1
        made.make()
        assert made.is_made
        assert git(made.root, "status", "--porcelain") == ""
        assert git(made.root, "symbolic-ref", "--short", "HEAD").strip() == WORK
        if in_place:
            git(repo, "symbolic-ref", "HEAD", f"refs/heads/{made.of.base_branch}")
            git(repo, "branch", "-qD", WORK)
        else:
            assert git(repo, "branch", "--list", WORK) == ""
            made.remove()
        count += 11
    assert killed > (1 if in_place else 5)


def test_killed_between_the_ref_and_the_note_it_goes_on(repo: Path) -> None:
    made = branch(repo)
    made.make()
    first = commit(made)
    made.publish()
    git(made.root, "update-ref", "-d", "refs/ringi/published")
    second = commit(made, "more.txt")
    assert made.publish() == second
    assert git(repo, "merge-base", first, WORK).strip() == first


def test_the_base_branch_may_move_meanwhile(repo: Path) -> None:
    made = branch(repo)
    made.make()
    (repo / "README.md").write_text("moved\n")
    git(repo, "commit", "-qam", "theirs")
    moved = head(repo)
    last = commit(made)
    assert made.publish() == last
    assert head(repo) == moved
    assert git(repo, "merge-base", "HEAD", WORK).strip() == made.of.base_commit
    made.remove()
    again = RunBranch(places(repo), made.of._replace(tip=last))
    again.make()
    assert again.tip() == last


# What keeps a run from having its branch.


def test_without_a_repository(tmp_path: Path) -> None:
    with pytest.raises(NoGit, match=str(tmp_path)):
        base_of(tmp_path, "main")


def test_a_branch_without_a_commit(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    with pytest.raises(UnbornBranch, match="main"):
        base_of(tmp_path, "main")


def test_a_detached_head(repo: Path) -> None:
    base = git(repo, "symbolic-ref", "--short", "HEAD").strip()
    git(repo, "checkout", "-q", "--detach")
    with pytest.raises(DetachedHead):
        base_of(repo, base)


def test_the_base_branch_is_missing_or_not_checked_out(repo: Path) -> None:
    base = git(repo, "symbolic-ref", "--short", "HEAD").strip()
    assert base_of(repo, base) == head(repo)
    with pytest.raises(BaseBranchMissing, match="there is no such branch"):
        base_of(repo, "other")
    git(repo, "switch", "-qc", "other")
    assert base_of(repo, base) == head(repo), "the same commit under another name"
    (repo / "README.md").write_text("other\n")
    git(repo, "commit", "-qam", "other")
    with pytest.raises(BaseBranchMissing, match="other is checked out"):
        base_of(repo, base)


@pytest.mark.parametrize("taken", [WORK, "aiflow", f"{WORK}/below"])
def test_a_branch_of_that_name(repo: Path, taken: str) -> None:
    require_free(repo, WORK)
    git(repo, "branch", f"{WORK}-like")
    require_free(repo, WORK)
    git(repo, "branch", "-D", f"{WORK}-like")
    git(repo, "branch", taken)
    with pytest.raises(WorkBranchExists, match=taken):
        require_free(repo, WORK)
    with pytest.raises(WorkBranchExists, match=taken):
        branch(repo).make()


def test_the_branch_appears_meanwhile(repo: Path) -> None:
    made = branch(repo)
    made.make()
    commit(made)
    git(repo, "branch", WORK)
    with pytest.raises(WorkBranchExists):
        made.publish()
    assert git(repo, "rev-parse", WORK).strip() == head(repo)


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (["branch", "-qD", WORK], "it was deleted"),
        (["branch", "-qf", WORK, "HEAD"], "commits that the run did not make"),
        (["switch", "-q", WORK], "it is checked out in"),
    ],
)
def test_the_branch_moves_meanwhile(repo: Path, act: list[str], why: str) -> None:
    made = branch(repo)
    made.make()
    commit(made)
    made.publish()
    git(repo, *act)
    now = git(repo, "rev-parse", "--verify", "-q", WORK, check=False)
    commit(made, "more.txt")
    with pytest.raises(BranchMoved, match=why):
        made.publish()
    assert git(repo, "rev-parse", "--verify", "-q", WORK, check=False) == now


def test_checked_out_in_another_worktree(repo: Path, tmp_path: Path) -> None:
    made = branch(repo)
    made.make()
    commit(made)
    made.publish()
    git(repo, "worktree", "add", "-q", str(tmp_path / "other"), WORK)
    commit(made, "more.txt")
    with pytest.raises(BranchMoved, match="it is checked out in"):
        made.publish()
    assert git(tmp_path / "other", "status", "--porcelain") == ""


def test_each_refusal_has_the_code_of_its_stop() -> None:
    for kind in BranchRefused.__subclasses__():
        assert StopCode(kind.code.upper())


# Repositories of all kinds.


def test_files_that_differ_from_the_newest_commit(repo: Path) -> None:
    assert dirty_files(repo) == ()
    (repo / ".agent").mkdir()
    (repo / ".agent" / "x").write_text("")
    (repo / ".gitignore").write_text("ignored\n")
    (repo / "ignored").write_text("")
    (repo / "README.md").write_text("other\n")
    assert set(dirty_files(repo)) == {"README.md", ".gitignore"}


@pytest.mark.parametrize("name", ["evil", "a=b", "a.clean=x", "=", 'q"uote\\'])
def test_looking_starts_no_filter(repo: Path, tmp_path: Path, name: str) -> None:
    ran = tmp_path / "ran"
    (repo / ".gitattributes").write_text(f"* filter={name}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "attributes")
    for key in ("clean", "smudge", "process"):
        git(repo, "config", f"filter.{name}.{key}", f"touch {ran}; cat")
    git(repo, "config", f"filter.{name}.required", "true")
    (repo / "README.md").write_text("# Other!\n")
    assert dirty_files(repo) == ("README.md",)
    made = branch(repo)
    made.make()
    made.reset()
    assert not ran.exists()
    assert (made.root / "app" / "hello.py").read_bytes() == (repo / "app" / "hello.py").read_bytes()


def test_filters_run_at_the_commit(repo: Path) -> None:
    git(repo, "config", "filter.case.clean", "tr a-z A-Z")
    git(repo, "config", "filter.case.smudge", "tr A-Z a-z")
    (repo / ".gitattributes").write_text("*.low filter=case\n")
    (repo / "a.low").write_text("small\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "filters")
    made = branch(repo)
    made.make()
    assert (made.root / "a.low").read_text() == "small\n"
    commit(made, "a.low", b"smaller\n")
    made.publish()
    assert git(repo, "show", f"{WORK}:a.low") == "SMALLER\n"


def test_line_ends_are_those_of_the_checkout(repo: Path, isolated: Path) -> None:
    git(repo, "config", "core.autocrlf", "true")
    (repo / ".gitattributes").write_text("*.sh eol=lf\n*.bat eol=crlf\n")
    (repo / "run.bat").write_bytes(b"one\r\n")
    (repo / "run.sh").write_bytes(b"one\n")
    (repo / "plain.txt").write_bytes(b"one\r\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-qm", "line ends")
    made = branch(repo)
    made.make()
    for name in ("run.bat", "run.sh", "plain.txt"):
        assert (made.root / name).read_bytes() == (repo / name).read_bytes()
    commit(made, "run.bat", b"one\r\ntwo\r\n")
    made.publish()
    assert git(repo, "show", f"{WORK}:run.bat") == "one\ntwo\n"
    assert git(made.root, "status", "--porcelain") == ""


def test_the_persons_own_name_and_hooks(repo: Path, isolated: Path) -> None:
    git(repo, "config", "user.name", "Local Hanako")
    with (isolated / "gitconfig").open("a") as file:
        file.write(f'[includeIf "gitdir:{repo}/"]\n\tpath = {isolated}/work\n')
    (isolated / "work").write_text("[user]\n\temail = work@example.org\n")
    hook = repo / ".git" / "hooks" / "commit-msg"
    hook.write_text("#!/bin/sh\necho checked-by-hook >> $1\n")
    hook.chmod(0o755)
    made = branch(repo)
    made.make()
    assert GitCommits(made.root, os.environ).place(["new.txt"]).hooks == ("commit-msg",)
    commit(made)
    made.publish()
    said = git(repo, "show", "-s", "--format=%an %ae%n%B", WORK)
    assert said.startswith("Local Hanako work@example.org\n")
    assert "checked-by-hook" in said


@pytest.mark.parametrize("path", [".hooks", "ABSOLUTE"])
def test_hooks_from_another_folder(repo: Path, tmp_path: Path, path: str) -> None:
    folder = repo / path if path == ".hooks" else tmp_path / "hooks"
    folder.mkdir()
    (folder / "pre-commit").write_text("#!/bin/sh\nexit 0\n")
    (folder / "pre-commit").chmod(0o755)
    (repo / ".git" / "info" / "exclude").write_text(".hooks\n")
    git(repo, "config", "core.hooksPath", path if path == ".hooks" else str(folder))
    made = branch(repo)
    made.make()
    assert GitCommits(made.root, os.environ).place(["new.txt"]).hooks == ("pre-commit",)


def test_making_and_publishing_run_no_hook(repo: Path, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    made = branch(repo)
    made.make()
    commit(made)
    for name in ("post-checkout", "reference-transaction", "post-index-change", "pre-commit"):
        hook = repo / ".git" / "hooks" / name
        hook.write_text(f"#!/bin/sh\necho {name} >> {ran}\n")
        hook.chmod(0o755)
    made.publish()
    made.reset()
    made.remove()
    branch(repo, tip=git(repo, "rev-parse", WORK).strip()).make()
    assert not ran.exists()


def test_a_repository_inside_stays_a_link(repo: Path, tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    git(inner, "init", "-q")
    git(inner, "commit", "-q", "--allow-empty", "-m", "inner")
    git(repo, "submodule", "--quiet", "add", str(inner), "sub")
    git(repo, "commit", "-qam", "with a submodule")
    git(repo, "config", "submodule.recurse", "true")
    made = branch(repo)
    made.make()
    commit(made)
    made.publish()
    assert git(repo, "ls-tree", WORK, "sub") == git(repo, "ls-tree", "HEAD", "sub")
    made.reset()
    assert git(made.root, "status", "--porcelain") == ""


def test_a_linked_worktree_of_a_wide_repository_with_a_sparse_checkout(tmp_path: Path) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    main.mkdir()
    git(main, "init", "-q", "--object-format=sha256")
    for name in ("a/one.txt", "b/two.txt"):
        (main / name).parent.mkdir()
        (main / name).write_text(name)
    git(main, "add", "-A")
    git(main, "commit", "-qm", "first")
    git(main, "worktree", "add", "-q", "-b", "side", str(linked))
    git(linked, "sparse-checkout", "set", "a")
    made = branch(linked)
    made.make()
    assert (made.root / "b" / "two.txt").read_text() == "b/two.txt"
    commit(made)
    made.publish()
    assert git(main, "show", f"{WORK}:new.txt") == "new\n"
    assert git(linked, "status", "--porcelain") == ""


def test_a_folder_with_any_name(tmp_path: Path, first_commit: Path) -> None:
    repo = copied(first_commit, tmp_path / 'a "b" \\c\nd é')
    made = branch(repo)
    made.make()
    commit(made)
    assert made.publish() == git(repo, "rev-parse", WORK).strip()


def test_what_a_hook_left_goes(repo: Path) -> None:
    made = branch(repo)
    made.make()
    (made.root / "README.md").write_text("formatted\n")
    (made.root / "cache").mkdir()
    (made.root / "cache" / "x").write_text("")
    (made.root / ".agent").mkdir()
    (made.root / ".agent" / "kept").write_text("")
    git(made.root, "checkout", "-q", "--detach")
    made.reset()
    assert (made.root / "README.md").read_text() == "# Sample\n"
    assert not (made.root / "cache").exists()
    assert (made.root / ".agent" / "kept").exists()
    assert git(made.root, "symbolic-ref", "--short", "HEAD").strip() == WORK


# In place.


def test_in_place_the_checkout_switches_and_no_file_changes(repo: Path) -> None:
    (repo / "README.md").write_text("edited\n")
    (repo / "untracked").write_text("")
    base = git(repo, "symbolic-ref", "--short", "HEAD").strip()
    made = branch(repo, in_place=True)
    made.make()
    made.make()
    assert made.root == repo
    assert git(repo, "status", "--porcelain", "-b").splitlines() == [
        f"## {WORK}",
        " M README.md",
        "?? untracked",
    ]
    last = commit(made)
    assert made.publish() == last == git(repo, "rev-parse", WORK).strip()
    made.reset()
    made.remove()
    assert (repo / "README.md").read_text() == "edited\n"
    git(repo, "checkout", "-q", "-")
    assert git(repo, "symbolic-ref", "--short", "HEAD").strip() == base
    with pytest.raises(BranchMoved, match="it is not checked out"):
        branch(repo, in_place=True, tip=last).make()


def test_in_place_with_a_base_that_moved_or_a_branch_there(repo: Path) -> None:
    early = branch(repo, in_place=True)
    git(repo, "commit", "-q", "--allow-empty", "-m", "more")
    with pytest.raises(BranchMoved, match="has new commits"):
        early.make()
    git(repo, "branch", WORK)
    git(repo, "commit", "-q", "--allow-empty", "-m", "again")
    with pytest.raises(WorkBranchExists):
        branch(repo, in_place=True).make()
