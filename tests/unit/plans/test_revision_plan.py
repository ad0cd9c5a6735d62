"""What was made elsewhere in git becomes a plan: the same that git itself would merge."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.app.api import Workspace, open_workspace
from ringi.errors import Busy, NotFound, StorageFailed, Unreviewable
from ringi.plans.document import DropSpec, PlanDocument, PlanStatus
from ringi.plans.from_revision import TakenRevision, _claim, revisions_of, take_revision
from ringi.tree.revision import RevisionForm, branches
from tests.helpers import Person, approve, copied, environment_of, make_files
from tests.helpers import fingerprint as whole
from tests.unit.tree.repositories import commit, fingerprint, git

LINES = "".join(f"line {number}\n" for number in range(1, 31))


@pytest.fixture
def workspace(repo: Path, tmp_path: Path) -> Iterator[Workspace]:
    make_files(repo, {"lines.txt": LINES})
    commit(repo, "lines")
    with open_workspace(repo, environment=environment_of(tmp_path), person=Person()) as opened:
        yield opened


def root(workspace: Workspace) -> Path:
    return workspace.places.root


def branch(
    workspace: Workspace, files: dict[str, str | bytes], name: str = "feature", say: str = "Do it"
) -> str:
    """A commit with these files on a branch from here; what was checked out is so again."""
    folder = root(workspace)
    git(folder, "checkout", "-q", "-B", name)
    make_files(folder, files)
    made = commit(folder, say)
    git(folder, "checkout", "-q", "-")
    return made


def take(workspace: Workspace, name: str = "feature") -> TakenRevision:
    return take_revision(workspace, name, root(workspace))


def plan(workspace: Workspace, name: str = "feature") -> PlanDocument:
    taken = take(workspace, name).taken
    assert taken.plan is not None
    return workspace.plan.get(taken.plan.id)


def carry_out(workspace: Workspace, plan_id: str) -> None:
    approve(workspace, plan_id)
    assert workspace.plan.execute(plan_id).overall_success


def changed(replaced: dict[int, str], text: str = LINES) -> str:
    lines = text.splitlines(keepends=True)
    for number, line in replaced.items():
        lines[number - 1] = line + "\n"
    return "".join(lines)


# ------------------------------------------------------------------ git is the oracle

NAMES = ("a.txt", "b.txt", "sub/c.txt", "sub/d.sh", "bin.dat")


def _write(folder: Path, side: str, step: int, deed: tuple[str, str, int]) -> None:
    kind, name, at = deed
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    lines = path.read_bytes().splitlines(keepends=True) if path.exists() else []
    if kind == "delete":
        path.unlink(missing_ok=True)
        return
    if kind == "mode" and path.exists():
        path.chmod(path.stat().st_mode ^ 0o111)
        return
    new = f"{side} {step} {at}\n".encode()
    if kind == "binary":
        lines = [b"\0" + new]
    elif kind == "same":  # both sides may make the very same change
        lines[at % (len(lines) or 1) : at % (len(lines) or 1) + 1] = [b"the same\n"]
    elif kind == "insert" or not lines:
        lines.insert(at % (len(lines) + 1), new)
    elif kind == "change":
        lines[at % len(lines)] = new
    else:
        del lines[at % len(lines)]
    path.write_bytes(b"".join(lines))


DEEDS = st.tuples(
    st.sampled_from(["insert", "change", "remove", "same", "delete", "mode", "binary"]),
    st.sampled_from(NAMES),
    st.integers(0, 39),
)
SIDES = st.lists(st.lists(DEEDS, min_size=1, max_size=3), max_size=3)


def _history(folder: Path, side: str, commits: list[list[tuple[str, str, int]]]) -> None:
    for step, deeds in enumerate(commits):
        for deed in deeds:
            _write(folder, side, step, deed)
        commit(folder, f"{side} {step}")


def _files(folder: Path) -> dict[str, tuple[bytes, bool]]:
    out = git(folder, "ls-files", "-z", "-c", "-o", "--exclude=.agent").split("\0")
    paths = [(name, folder / name) for name in set(out) if name and (folder / name).exists()]
    return {name: (path.read_bytes(), bool(path.stat().st_mode & 0o100)) for name, path in paths}


@settings(max_examples=25)
@given(ours=SIDES, theirs=SIDES)
def test_it_is_what_git_merges(first_commit: Path, ours: list[object], theirs: list[object]) -> None:
    with TemporaryDirectory() as scratch:
        base, folder = Path(scratch), copied(first_commit, Path(scratch) / "repo")
        numbered = "".join(f"{name} {number}\n" for name in ("x",) for number in range(40))
        make_files(folder, dict.fromkeys(NAMES, numbered))
        commit(folder, "base")
        git(folder, "checkout", "-q", "-b", "feature")
        _history(folder, "theirs", theirs)
        git(folder, "checkout", "-q", "-")
        _history(folder, "ours", ours)
        oracle = copied(folder, base / "oracle")
        words = [
            "-c",
            "merge.renames=false",
            "merge",
            "-q",
            "--squash",
            "-X",
            "diff-algorithm=myers",
            "feature",
        ]
        merged = subprocess.run(["git", *words], cwd=oracle, capture_output=True, check=False)
        with open_workspace(folder, environment=environment_of(base), person=Person()) as workspace:
            taken = take(workspace).taken
            if merged.returncode:
                return
            if taken.plan is not None:
                carry_out(workspace, taken.plan.id)
            assert _files(folder) == _files(oracle)


# ------------------------------------------------------------------ what can be named


def test_a_branch_says_what_it_is(workspace: Workspace) -> None:
    said = "Spell three\n\nDigits are hard to read.\n\nSigned-off-by: A <a@b>\nCo-authored-by: B <b@b>"
    branch(workspace, {"lines.txt": changed({3: "three"})}, say=said)
    head = branch_again(workspace, {"lines.txt": changed({3: "three", 4: "four"})}, "fixup! and four")
    found = take(workspace)
    assert found.revision.form is RevisionForm.BRANCH
    assert found.revision.ahead == 2
    document = plan(workspace)
    assert document.plan.title == "Spell three"
    assert document.plan.content.endswith(f"Taken from the branch feature at {head}")
    assert document.plan.rationale == "Spell three: Digits are hard to read.\n· fixup! and four"
    assert document.plan.proposer == "Test Person"
    assert document.plan.requester == "git:refs/heads/feature"
    assert document.state.status is PlanStatus.PENDING_REVIEW


def branch_again(workspace: Workspace, files: dict[str, str | bytes], say: str, name: str = "feature") -> str:
    folder = root(workspace)
    with TemporaryDirectory() as scratch:
        git(folder, "worktree", "add", "-q", "-f", scratch, name)
        make_files(Path(scratch), files)
        return commit(Path(scratch), say)


def test_it_moves_on_as_the_same_plan(workspace: Workspace) -> None:
    branch(workspace, {"new.txt": "one\n"})
    first = take(workspace).taken
    assert (first.new, first.again) == (True, False)
    again = take(workspace).taken
    assert (again.plan, again.new) == (first.plan, False)
    branch_again(workspace, {"new.txt": "two\n"}, "more")
    moved = take(workspace).taken
    assert first.plan
    assert moved.plan
    assert (moved.plan.id, moved.plan.version, moved.new, moved.again) == (first.plan.id, 2, True, True)
    assert [ref.number for ref in workspace.plan.list()] == [1]


def test_what_the_person_changed_meanwhile_is_said(workspace: Workspace) -> None:
    branch(workspace, {"new.txt": "one\n", "other.txt": "other\n"})
    document = plan(workspace)
    assert workspace.plan.amend(document.plan.id, [DropSpec(document.state.action_specs[1].id)]).ok
    branch_again(workspace, {"new.txt": "two\n"}, "more")
    taken = take(workspace).taken
    assert taken.meanwhile == 2
    assert taken.plan
    assert taken.plan.version == 3


def test_after_it_was_applied_only_what_is_new_is_asked(workspace: Workspace) -> None:
    branch(workspace, {"new.txt": "one\n", "dropped.txt": "no\n"})
    document = plan(workspace)
    dropped = next(spec.id for spec in document.state.action_specs if spec.base.path == "dropped.txt")
    assert workspace.plan.amend(document.plan.id, [DropSpec(dropped)]).ok
    carry_out(workspace, document.plan.id)
    nothing = take(workspace)
    assert nothing.taken.plan is None
    assert nothing.before
    assert nothing.before.id == document.plan.id
    branch_again(workspace, {"new.txt": "one\ntwo\n"}, "more")
    second = plan(workspace)
    assert second.plan.id != document.plan.id
    assert [spec.base.path for spec in second.state.action_specs] == ["new.txt"]


def test_an_undone_or_discarded_plan_is_no_obstacle(workspace: Workspace) -> None:
    branch(workspace, {"new.txt": "one\n"})
    document = plan(workspace)
    workspace.plan.discard(document.plan.id)
    second = plan(workspace)
    assert second.plan.id != document.plan.id
    assert second.state.status is PlanStatus.PENDING_REVIEW


def test_nothing_to_take(workspace: Workspace) -> None:
    folder = root(workspace)
    branch(workspace, {"new.txt": "one\n"})
    git(folder, "merge", "-q", "feature")
    assert take(workspace).taken.plan is None
    # Squashed or picked: git does not know, the files say it.
    branch(workspace, {"lines.txt": changed({3: "three"})}, "picked")
    git(folder, "cherry-pick", "picked")
    git(folder, "commit", "-q", "--amend", "-m", "another name")
    make_files(folder, {"lines.txt": changed({3: "three", 20: "twenty"})})
    assert take(workspace, "picked").taken.plan is None
    assert not workspace.plan.list()


def test_a_part_of_it_came_another_way(workspace: Workspace) -> None:
    first = branch(workspace, {"one.txt": "one\n"})
    branch_again(workspace, {"two.txt": "two\n"}, "more")
    waiting = plan(workspace)
    carry_out(workspace, plan(workspace, f"{first}^..{first}").plan.id)
    now = plan(workspace)
    assert (now.plan.id, now.plan.version) == (waiting.plan.id, 2)
    assert [spec.base.path for spec in now.state.action_specs] == ["two.txt"]
    assert plan(workspace).plan.version == 2


def test_merged_by_hand_while_it_waits(workspace: Workspace) -> None:
    branch(workspace, {"new.txt": "one\n"})
    waiting = take(workspace).taken.plan
    git(root(workspace), "merge", "-q", "feature")
    nothing = take(workspace)
    assert (nothing.taken.plan, nothing.before) == (None, waiting)


@pytest.mark.parametrize("dots", ["..", "..."])
def test_a_range_never_takes_back_what_the_other_end_has(workspace: Workspace, dots: str) -> None:
    folder = root(workspace)
    branch(workspace, {"new.txt": "one\n"})
    make_files(folder, {"mine.txt": "mine\n"})
    commit(folder, "mine")
    found = plan(workspace, f"HEAD{dots}feature")
    assert [spec.base.path for spec in found.state.action_specs] == ["new.txt"]
    assert take(workspace, f"{dots}feature").revision.form is RevisionForm.RANGE
    with pytest.raises(NotFound):
        take(workspace, f"HEAD{dots}nothing")


def test_a_commit_alone_is_a_range(workspace: Workspace) -> None:
    branch(workspace, {"one.txt": "one\n"}, say="One")
    two = branch_again(workspace, {"two.txt": "two\n"}, "Two")
    branch_again(workspace, {"three.txt": "three\n"}, "Three")
    for name in (two, two[:10], "feature~1", "feature^"):
        with pytest.raises(Unreviewable) as refused:
            take(workspace, name)
        words = shlex.split(refused.value.details["command"])
        found = plan(workspace, words[-1])
        assert found.plan.title == "Two"
        assert [spec.base.path for spec in found.state.action_specs] == ["two.txt"]


@pytest.fixture
def beside(workspace: Workspace, tmp_path: Path) -> Path:
    """A linked worktree with a commit, and with changes that are not committed, staged or tracked."""
    folder = tmp_path / "be side"
    git(root(workspace), "worktree", "add", "-q", "-b", "wt", str(folder))
    make_files(folder, {"committed.txt": "yes\n", ".gitignore": "*.log\n"})
    commit(folder, "In the worktree")
    make_files(folder, {"lines.txt": changed({3: "three"}), "new.txt": "new\n", "x.log": "ignored\n"})
    (folder / "README.md").unlink()
    make_files(folder, {"staged.txt": "staged\n"})
    git(folder, "add", "staged.txt")
    make_files(folder, {"staged.txt": "and changed\n"})
    return folder


def test_a_worktree_with_what_is_not_committed(workspace: Workspace, beside: Path) -> None:
    before, refs = whole(beside, agent=True), fingerprint(root(workspace) / ".git")
    found = plan(workspace, str(beside))
    paths = {spec.base.path: spec.base.kind for spec in found.state.action_specs}
    assert paths == {
        ".gitignore": "create", "README.md": "delete", "committed.txt": "create", "lines.txt": "write",
        "new.txt": "create", "staged.txt": "create",
    }  # fmt: skip
    assert found.plan.title == "In the worktree"
    assert whole(beside, agent=True) == before
    assert fingerprint(root(workspace) / ".git") == refs
    make_files(beside, {"new.txt": "newer\n"})
    assert plan(workspace, str(beside)).plan.version == 2
    assert take(workspace, "wt").revision.checked_out == str(beside)
    carry_out(workspace, found.plan.id)
    assert take(workspace, str(beside)).taken.plan is None
    make_files(beside, {"new.txt": "newest\n"})
    after = plan(workspace, str(beside))
    assert [spec.base.path for spec in after.state.action_specs] == ["new.txt"]


def test_another_clone_is_a_worktree_too(workspace: Workspace, tmp_path: Path) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root(workspace)), str(clone))
    make_files(clone, {"new.txt": "new\n"})
    commit(clone, "Elsewhere")
    (clone / "sub").mkdir()
    found = plan(workspace, str(clone / "sub"))
    assert found.plan.title == "Elsewhere"
    assert [spec.base.path for spec in found.state.action_specs] == ["new.txt"]


@pytest.mark.parametrize(
    "name", ["-dash", "ünïcode/名前", "a@b", "@x", "with'quote", "p1x", "$(touch no)".replace(" ", "")]
)
def test_odd_names(workspace: Workspace, name: str) -> None:
    made = branch(workspace, {"new.txt": "one\n"}, "feature")
    git(root(workspace), "update-ref", f"refs/heads/{name}", made)
    assert take(workspace, name).revision.name == f"refs/heads/{name}"
    assert take(workspace, f"refs/heads/{name}").taken.new is False
    assert (name, "Do it") in branches(root(workspace), 100)


@pytest.mark.parametrize(
    "name", ["no such", "feature:lines.txt", "--all", "x\n", "..", "@{9}", "", "a..b..c"]
)
def test_no_such_thing(workspace: Workspace, name: str, tmp_path: Path) -> None:
    branch(workspace, {"new.txt": "one\n"})
    (tmp_path / "here").mkdir()
    with pytest.raises((NotFound, Unreviewable)):
        take_revision(workspace, name, tmp_path / "here")


def test_remote_branches_and_tags(workspace: Workspace, tmp_path: Path) -> None:
    made = branch(workspace, {"new.txt": "one\n"}, "there")
    folder = root(workspace)
    git(folder, "update-ref", "refs/remotes/origin/feature", made)
    git(folder, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/feature")
    git(folder, "tag", "-a", "-m", "one", "v1", made)
    assert take(workspace, "origin/feature").revision.label == "origin/feature"
    assert take(workspace, "origin").revision.name == "refs/remotes/origin/HEAD"
    assert take(workspace, "v1").revision.name == "refs/tags/v1"
    assert [name for name, _ in branches(folder, 100)] == ["there", "origin/feature"]


# ------------------------------------------------------------------ what no plan can hold


def left_out(found: TakenRevision) -> dict[str, str]:
    return {path: str(why) for path, why in found.taken.left_out}


def test_links_submodules_and_our_own_folder_are_left_out_by_name(
    workspace: Workspace, tmp_path: Path
) -> None:
    folder = root(workspace)
    git(folder, "checkout", "-q", "-b", "feature")
    (folder / "link").symlink_to("README.md")
    (folder / "README.md").unlink()
    (folder / "README.md").symlink_to("lines.txt")
    make_files(folder, {".agent/x": "x\n", "fine.txt": "fine\n"})
    git(folder, "add", "-f", "-A")
    head = git(folder, "rev-parse", "HEAD").strip()
    git(folder, "update-index", "--add", "--cacheinfo", f"160000,{head},module")
    git(folder, "commit", "-q", "-m", "odd things")
    git(folder, "checkout", "-q", "-f", "-")
    found = take(workspace)
    assert left_out(found) == {
        ".agent/x": "it lies in .agent, which belongs to ringi",
        "README.md": "a file became a link, or a link a file",
        "link": "it is a symbolic link",
        "module": "it is a repository of its own",
    }
    assert [spec.base.path for spec in plan(workspace).state.action_specs] == ["fine.txt"]


def test_a_submodule_in_a_worktree_is_not_deleted(workspace: Workspace, tmp_path: Path) -> None:
    folder, module = root(workspace), tmp_path / "module"
    git(tmp_path, "init", "-q", str(module))
    make_files(module, {"m": "m\n"})
    commit(module, "m")
    git(folder, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(module), "sub")
    commit(folder, "with a module")
    other = tmp_path / "other"
    git(folder, "worktree", "add", "-q", str(other))
    make_files(other, {"new.txt": "new\n"})
    found = take(workspace, str(other))
    assert found.taken.left_out == ()
    assert [spec.base.path for spec in plan(workspace, str(other)).state.action_specs] == ["new.txt"]


def test_modes_binaries_renames_and_deletions(workspace: Workspace) -> None:
    folder = root(workspace)
    git(folder, "checkout", "-q", "-b", "feature")
    git(folder, "mv", "lines.txt", "numbers.txt")
    (folder / "app" / "hello.py").chmod(0o755)
    make_files(folder, {"data": b"\0\1\2", "sub/deep/er.txt": "x\n"})
    (folder / "README.md").unlink()
    commit(folder, "all kinds")
    wanted = _files(folder)
    git(folder, "checkout", "-q", "-")
    carry_out(workspace, plan(workspace).plan.id)
    assert _files(folder) == wanted


def test_what_a_filter_converts_is_left_out(workspace: Workspace, tmp_path: Path) -> None:
    """As for files in LFS, whose bytes here are others than in git. Nothing of it is run."""
    folder, ran = root(workspace), tmp_path / "ran"
    make_files(folder, {".gitattributes": "*.big filter=lfs diff=lfs merge=lfs\n", "a.big": "pointer 1\n"})
    commit(folder, "attributes")
    branch(workspace, {"a.big": "pointer 2\n", "b.big": "pointer 3\n", "plain.txt": "plain\n"})
    for what in (
        "filter.lfs.smudge",
        "filter.lfs.clean",
        "diff.lfs.textconv",
        "core.fsmonitor",
        "diff.external",
    ):
        git(folder, "config", what, f"touch '{ran}'; cat")
    (folder / "a.big").write_text("the large file itself\n")
    ran.unlink(missing_ok=True)
    found = take(workspace)
    assert left_out(found) == dict.fromkeys(["a.big", "b.big"], "git converts it with the filter lfs")
    assert [spec.base.path for spec in plan(workspace).state.action_specs] == ["plain.txt"]
    assert not ran.exists()


def test_line_ends_of_the_checkout_stay(workspace: Workspace) -> None:
    folder = root(workspace)
    branch(workspace, {"lines.txt": changed({3: "three"})})
    (folder / "lines.txt").write_bytes(LINES.replace("\n", "\r\n").encode())  # as with core.autocrlf
    document = plan(workspace)
    assert document.state.previews
    assert (document.state.previews.added, document.state.previews.removed) == (1, 1)
    carry_out(workspace, document.plan.id)
    assert (folder / "lines.txt").read_bytes() == changed({3: "three"}).replace("\n", "\r\n").encode()


def test_the_same_lines_on_both_sides_stay_the_persons(workspace: Workspace) -> None:
    folder = root(workspace)
    branch(workspace, {"lines.txt": changed({3: "theirs", 20: "twenty"}), "new.txt": "new\n"})
    make_files(folder, {"lines.txt": changed({3: "ours"})})
    document = plan(workspace)
    assert document.plan.version == 1
    assert workspace.plan.preview(document.plan.id).stale == ("lines.txt",)
    assert (folder / "lines.txt").read_text() == changed({3: "ours"})


def test_something_else_is_where_a_file_should_be(workspace: Workspace) -> None:
    folder = root(workspace)
    branch(workspace, {"place/in.txt": "x\n", "here": "x\n", "fine.txt": "fine\n"})
    make_files(folder, {"place": "a file\n", "here/below": "a folder\n"})
    found = take(workspace)
    assert list(left_out(found)) == ["here", "place/in.txt"]
    assert left_out(found)["here"] == "in the checkout it is a folder"


def test_too_large(workspace: Workspace) -> None:
    large = b"x" * (64 * 1024 * 1024 + 1)
    branch(workspace, {"large": large, "fine.txt": "fine\n"})
    assert list(left_out(take(workspace))) == ["large"]


def test_too_many(repo: Path, tmp_path: Path) -> None:
    make_files(repo, {".agent/config.yaml": "limits:\n  max_specs: 3\n"})
    with open_workspace(repo, environment=environment_of(tmp_path), person=Person()) as workspace:
        branch(workspace, {f"{number}.txt": "x\n" for number in range(4)})
        with pytest.raises(Unreviewable, match="it changes 4 files, a plan can have 3"):
            take(workspace)
        assert not workspace.plan.list()


def test_unrelated_shallow_bare_and_the_checkout_itself(workspace: Workspace, tmp_path: Path) -> None:
    folder = root(workspace)
    git(folder, "checkout", "-q", "--orphan", "other")
    commit(folder, "unrelated")
    git(folder, "checkout", "-q", "-f", "main")
    with pytest.raises(Unreviewable, match="no commit in common"):
        take(workspace, "other")
    with pytest.raises(Unreviewable, match="no commit in common"):
        take(workspace, "main...other")
    git(tmp_path, "clone", "-q", "--bare", str(folder), "bare.git")
    with pytest.raises(Unreviewable, match="bare repository"):
        take(workspace, str(tmp_path / "bare.git"))
    with pytest.raises(Unreviewable, match="compared with"):
        take(workspace, str(folder))
    (tmp_path / "plain").mkdir()
    with pytest.raises(Unreviewable, match="no git worktree"):
        take(workspace, str(tmp_path / "plain"))
    with pytest.raises(NotFound):
        take(workspace, str(tmp_path / "gone"))


def test_a_shallow_clone_says_what_to_fetch(workspace: Workspace, tmp_path: Path) -> None:
    branch(workspace, {"new.txt": "one\n"})
    for number in range(3):
        make_files(root(workspace), {"mine.txt": str(number)})
        commit(root(workspace), "mine")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", root(workspace).as_uri(), str(shallow))
    with open_workspace(shallow, environment=environment_of(tmp_path), person=Person()) as opened:
        with pytest.raises(Unreviewable, match="shallow") as caught:
            take_revision(opened, "origin/feature", shallow)
        assert caught.value.details["command"] == "git fetch --unshallow"
        git(shallow, "fetch", "-q", "--unshallow")
        assert take_revision(opened, "origin/feature", shallow).taken.plan


def test_detached_and_unborn_heads(workspace: Workspace, tmp_path: Path) -> None:
    folder = root(workspace)
    branch(workspace, {"new.txt": "one\n"})
    git(folder, "checkout", "-q", "--detach")
    assert take(workspace).taken.plan
    empty = tmp_path / "empty"
    git(tmp_path, "init", "-q", str(empty))
    git(empty, "fetch", "-q", str(folder), "feature:refs/heads/feature")
    make_files(empty, {"lines.txt": LINES})
    with open_workspace(empty, environment=environment_of(tmp_path), person=Person()) as opened:
        found = take_revision(opened, "feature", empty).taken.plan
        assert found
        carry_out(opened, found.id)
        assert (empty / "new.txt").read_text() == "one\n"


def test_a_sparse_checkout(workspace: Workspace, tmp_path: Path) -> None:
    folder = root(workspace)
    branch(workspace, {"lines.txt": changed({3: "three"}), "app/hello.py": "x = 1\n"})
    sparse = tmp_path / "sparse"
    git(folder, "worktree", "add", "-q", str(sparse))
    git(sparse, "sparse-checkout", "set", "--no-cone", "/app/")
    make_files(sparse, {"app/new.txt": "new\n"})
    assert [spec.base.path for spec in plan(workspace, str(sparse)).state.action_specs] == ["app/new.txt"]
    git(folder, "sparse-checkout", "set", "--no-cone", "/app/")
    assert left_out(take(workspace)) == {"lines.txt": "the sparse checkout here leaves it out"}


def test_words_from_git_are_only_words(workspace: Workspace) -> None:
    git(root(workspace), "config", "user.name", "Ev\x1b[31mil\u202e")
    branch(workspace, {"new.txt": "one\n"}, say="Sub\x1b]0;ject\x07\n\nbody\x1b[2J")
    document = plan(workspace)
    assert "\n" not in document.plan.title
    assert "\x1b" in document.plan.title  # as it is; every page shows it filtered


def test_objects_that_are_missing(workspace: Workspace) -> None:
    folder = root(workspace)
    branch(workspace, {"new.txt": "one\n"})
    blob = git(folder, "rev-parse", "feature:new.txt").strip()
    (folder / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    with pytest.raises(Unreviewable, match="missing"):
        take(workspace)
    assert not workspace.plan.list()


def test_two_at_once_and_a_record_that_cannot_be_read(workspace: Workspace) -> None:
    branch(workspace, {"new.txt": "one\n"})
    folder = revisions_of(workspace).record_of("refs/heads/feature")
    folder.parent.mkdir()
    with _claim(folder, "feature"), pytest.raises(Busy):
        take(workspace)
    first = plan(workspace)
    (folder / "revision.json").write_text("{ not JSON")
    assert plan(workspace).plan.id != first.plan.id
    (folder / "lock").unlink()
    (folder / "lock").mkdir()
    with pytest.raises(StorageFailed):
        take(workspace)


def test_a_folder_that_is_no_repository(tmp_path: Path) -> None:
    (tmp_path / "plain" / ".agent").mkdir(parents=True)
    with (
        open_workspace(tmp_path / "plain", environment=environment_of(tmp_path), person=Person()) as opened,
        pytest.raises(Unreviewable, match="no git repository"),
    ):
        take_revision(opened, "feature", tmp_path)
    assert branches(tmp_path / "plain", 10) == []
