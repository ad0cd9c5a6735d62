"""Work says how far it is; who does not look gets the same result."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringi.errors import CopyFailed
from ringi.kernel.process.git import Git
from ringi.kernel.process.progress import Count, count_items, counting, watch_progress
from ringi.kernel.text import Text
from ringi.tree.private_git import GitFacts, PrivateFolder
from tests.helpers import make_files


class Watcher:
    def __init__(self) -> None:
        self.seen: list[tuple[str, tuple[int, int]]] = []
        self.open = 0

    @contextmanager
    def __call__(self, count: Count) -> Iterator[None]:
        self.open += 1
        try:
            yield
        finally:
            self.open -= 1
            self.seen.append((str(count.words), count.look()))


@pytest.fixture
def git(tmp_path: Path) -> Git:
    make_files(tmp_path / "tree", {f"d{n}(1-2)": f"{n}\n" for n in range(5)})
    PrivateFolder(tmp_path / "git").prepare(GitFacts())
    return Git(tmp_path / "git", tmp_path / "tree")


def test_items_are_counted_until_the_loop_ends() -> None:
    watcher = Watcher()
    with watch_progress(watcher):
        assert list(count_items(Text("All"), "abc")) == ["a", "b", "c"]
        for item in count_items(Text("Some"), "abc"):
            if item == "b":
                break
        with pytest.raises(ValueError, match="broken"), counting(Text("None"), lambda: (0, 0)):
            raise ValueError("broken")
        with watch_progress(None):
            assert list(count_items(Text("Unseen"), "abc")) == ["a", "b", "c"]
    assert watcher.open == 0
    assert watcher.seen == [("All", (3, 3)), ("Some", (1, 3)), ("None", (0, 0))]


def test_git_is_counted_and_does_the_same(git: Git, tmp_path: Path) -> None:
    watcher = Watcher()
    assert git.add_counted(Text("Add"), "-A", ".") == (0, b"", b"")
    tree = git.run("write-tree").decode().strip()
    git.run("read-tree", "--empty")
    with watch_progress(watcher):
        assert git.add_counted(Text("Add"), "-A", ".") == (0, b"", b"")
        assert git.run("write-tree").decode().strip() == tree
        for path in (tmp_path / "tree").glob("d*"):
            path.unlink()
        git.read_tree_counted(Text("Lay"), "--reset", "-u", tree)
    assert len(list((tmp_path / "tree").glob("d*"))) == 5
    assert watcher.seen == [("Add", (5, 0)), ("Lay", (5, 5))]


def test_what_git_complains_about_is_kept(git: Git) -> None:
    with watch_progress(Watcher()), pytest.raises(CopyFailed, match="read-tree"):
        git.read_tree_counted(Text("Lay"), "--reset", "-u", "0" * 40)
