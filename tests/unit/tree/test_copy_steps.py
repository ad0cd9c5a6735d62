"""Several steps in one copy: each begins with the tree of the one before it; git is the oracle."""

import os
import subprocess
from pathlib import Path

import pytest

from ringi.errors import CopyFailed
from ringi.kernel.fs import OsFileSystem
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import lay_over
from ringi.tree.copy_steps import checkout, file_ids, files_of_tree, line_counts, patch_between, since
from ringi.tree.tree import Tree
from tests.unit.tree.repositories import commit, git, isolate, repository, write

TEXT = "".join(f"line {number}\n" for number in range(20))


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    return isolate(monkeypatch, tmp_path / "home")


@pytest.fixture
def root(tmp_path) -> Path:
    made = repository(tmp_path / "project")
    write(made, {"a.txt": TEXT, "src/b.py": "print('b')\n", "old.txt": "old\n", ".gitignore": "build/\n"})
    (made / "link").symlink_to("a.txt")
    (made / "run.sh").write_text("echo\n")
    (made / "run.sh").chmod(0o755)
    commit(made)
    return made


@pytest.fixture
def copy(root: Path, tmp_path: Path) -> WorkCopy:
    return WorkCopy.make(root, tmp_path / "state", tmp_path / "cache")


def shape(folder: Path) -> dict[str, object]:
    """Bytes and modes of everything but git's own and what it ignores."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = str(path.relative_to(folder))
        if name.split("/", maxsplit=1)[0] in {".git", "build"} or (path.is_dir() and not path.is_symlink()):
            continue
        found[name] = (
            str(path.readlink()) if path.is_symlink() else (path.read_bytes(), os.access(path, os.X_OK))
        )
    return found


def rework(copy: WorkCopy) -> None:
    """As a role might leave it."""
    write(copy.tree, {"a.txt": TEXT.replace("line 3\n", "LINE 3\n"), "new/c.py": "c\n", "build/out": "x"})
    (copy.tree / "old.txt").unlink()
    (copy.tree / "run.sh").chmod(0o644)
    (copy.tree / "link").unlink()
    (copy.tree / "link").write_text("no link\n")


@pytest.mark.req("RN-4")
def test_a_copy_goes_back_to_any_tree_it_had(copy: WorkCopy):
    first, before = copy.shadow.capture().tree, shape(copy.tree)
    rework(copy)
    second, after = copy.shadow.capture().tree, shape(copy.tree)
    checkout(copy, first)
    assert shape(copy.tree) == before
    assert copy.shadow.capture().tree == first
    assert (copy.tree / "build/out").is_file()
    checkout(copy, second)
    assert shape(copy.tree) == after
    checkout(WorkCopy.open(copy.folder), first)
    assert shape(copy.tree) == before


def test_a_folder_that_became_a_link_or_a_file(copy: WorkCopy, tmp_path: Path):
    first, before = copy.shadow.capture().tree, shape(copy.tree)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "b.py").write_text("theirs\n")
    subprocess.run(["rm", "-r", copy.tree / "src"], check=True)
    (copy.tree / "src").symlink_to(outside)
    checkout(copy, first)
    assert shape(copy.tree) == before
    assert (outside / "b.py").read_text() == "theirs\n"


def test_a_step_differs_from_the_one_before_it(copy: WorkCopy):
    write(copy.tree, {"a.txt": "one\n"})
    first = copy.shadow.capture().tree
    write(copy.tree, {"src/b.py": "print('b')\nprint('c')\n"})
    found = since(copy, first).difference()
    assert {change.path: change.after for change in found.changes} == {
        "src/b.py": b"print('b')\nprint('c')\n"
    }
    assert line_counts(copy, found) == {"src/b.py": 1}
    whole = copy.difference()
    assert line_counts(copy, whole) == {"a.txt": 21, "src/b.py": 1}


def test_lines_of_what_is_not_text_and_of_modes(copy: WorkCopy):
    write(copy.tree, {"a.bin": bytes(range(256)) * 10, "run.sh": "echo\n", "empty": ""})
    (copy.tree / "run.sh").chmod(0o644)
    assert line_counts(copy, copy.difference()) == {"a.bin": 26, "empty": 0, "run.sh": 0}


@pytest.mark.req("RN-5")
def test_the_patch_of_a_step_is_one_that_git_applies(copy: WorkCopy, root: Path, tmp_path: Path):
    write(copy.tree, {"a.txt": TEXT + "no end", "new/ü.bin": bytes(range(256)), "old.txt": "öld\n"})
    (copy.tree / "run.sh").chmod(0o644)
    (copy.tree / "src/b.py").unlink()
    tree = copy.shadow.capture().tree
    patch = patch_between(copy, copy.base, tree)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(root), str(clone))
    subprocess.run(["git", "apply", "--index", "-"], cwd=clone, input=patch, check=True)
    assert shape(clone) == shape(copy.tree)
    assert git(clone, "write-tree").strip() == tree


def test_no_patch_if_nothing_changed(copy: WorkCopy):
    assert patch_between(copy, copy.base, copy.base) == b""


def test_the_ids_are_those_of_git(copy: WorkCopy, root: Path):
    found = file_ids(copy, copy.base)
    for name in ("a.txt", "src/b.py", "run.sh", "link"):
        assert found[name.encode()] == git(root, "rev-parse", f"HEAD:{name}").strip()


def test_a_tree_that_nobody_has(copy: WorkCopy):
    with pytest.raises(CopyFailed):
        checkout(copy, "1" * 40)


@pytest.mark.req("PT-16")
def test_a_tree_of_one_copy_is_laid_over_another_although_the_workspace_moved_on(root, copy, tmp_path):
    rework(copy)
    tree = copy.difference().tree
    write(root, {"a.txt": "later\n", "later.txt": "x", "new/d.py": "x"})
    (root / "src" / "b.py").unlink()
    scratch = WorkCopy.make(root, tmp_path / "state", tmp_path / "cache")
    lay_over(Tree(OsFileSystem(), scratch.tree), files_of_tree(copy, tree, scratch))
    assert scratch.difference().tree == tree
    assert not (scratch.tree / "build").exists()
    assert shape(scratch.tree) == shape(copy.tree)
