"""The private git directory does not grow without end, and keeps what somebody needs."""

import os
import shutil
from pathlib import Path

import pytest

from ringi.tree.copy import WorkCopy
from ringi.tree.snapshot import Snapshots
from ringi.tree.tree_capture import WorktreeCapture

MIB = 1024 * 1024
ROOM = 64 * MIB
TIMES = 11
"""Together just more than there is room for."""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = tmp_path / "project"
    (made / "folder").mkdir(parents=True)
    (made / "folder" / "same.txt").write_text("same\n")
    return made


def size(folder: Path) -> int:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file())


def grow(
    root: Path,
    snapshots: Snapshots | None = None,
    times: int = TIMES,
    first: int = 5 * MIB,
    more: int = MIB // 4,
) -> None:
    """A binary file that is larger each time, and never the same."""
    for number in range(times):
        (root / "binary").write_bytes(os.urandom(first + number * more))
        (snapshots or Snapshots(root.parent / "state", root)).take()


@pytest.mark.req("CP-9")
def test_captures_of_a_growing_file(root: Path, tmp_path: Path):
    grow(root, times=40, first=3 * MIB // 2, more=MIB // 64)
    assert size(tmp_path / "state" / "git") < ROOM + 3 * MIB, "of 72 MiB"
    snapshots = Snapshots(tmp_path / "state", root)
    taken = snapshots.take()
    assert snapshots.read(taken, "binary") == (root / "binary").read_bytes()
    assert snapshots.read(taken, "folder/same.txt") == b"same\n"
    assert snapshots.take() == taken


@pytest.mark.req("CP-9")
def test_what_somebody_compares_with_stays(root: Path, tmp_path: Path):
    (root / "first.txt").write_text("first\n")
    holding = Snapshots(tmp_path / "state", root)
    before = holding.take()
    (root / "first.txt").unlink()
    grow(root)
    assert holding.read(before, "first.txt") == b"first\n"
    assert "first.txt" in holding.differing(before, holding.take())
    del holding
    grow(root, times=1)
    assert size(tmp_path / "state" / "git") < ROOM, "as soon as nobody needs it"


@pytest.mark.req("CP-9")
def test_what_a_copy_borrowed_stays_as_long_as_the_copy(root: Path, tmp_path: Path):
    (root / "first.txt").write_text("first\n")
    copy = WorkCopy.make(root, tmp_path / "state", tmp_path / "cache")
    (root / "first.txt").unlink()
    grow(root)
    lent = WorktreeCapture(tmp_path / "state" / "git", root).git
    assert b"first.txt" in lent.run("ls-tree", "-r", copy.base)
    (copy.tree / "second.txt").write_text("second\n")
    assert [change.path for change in copy.shadow.changes(copy.shadow.capture().tree)] == [b"second.txt"]
    shutil.rmtree(copy.folder)
    grow(root, times=1)
    assert lent.attempt("cat-file", "-e", copy.base).code != 0
