"""Files are reached part by part, and nothing but a regular file counts as one."""

import os
import socket
import stat
from collections.abc import Callable
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringi.errors import PathRefused, RingiError
from ringi.kernel.codec import digest
from ringi.kernel.fs import FileChanged, OsFileSystem
from ringi.tree.tree import Tree
from tests.helpers import open_descriptors


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "root" / "a" / "b").mkdir(parents=True)
    (tmp_path / "root" / "a" / "file").write_text("text\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret").write_text("secret\n")
    return tmp_path / "root"


@pytest.fixture
def tree(root: Path) -> Tree:
    return Tree(OsFileSystem(), root)


@contextmanager
def no_descriptor_lost():
    before = open_descriptors()
    yield
    assert open_descriptors() == before


@pytest.mark.req("PT-7")
def test_a_file_with_its_bytes_and_mode(tree: Tree, root: Path):
    (root / "a" / "file").chmod(0o750)
    with no_descriptor_lost():
        found = tree.look("./a//file")
    assert found.data == b"text\n"
    assert (found.state.sha256, found.state.mode) == (digest(b"text\n"), "0750")


@pytest.mark.parametrize("path", ["x", "a/x", "x/y/z", "a/b/c/d"])
def test_nothing_there(tree: Tree, path: str):
    with no_descriptor_lost():
        assert tree.look(path) is None


@pytest.mark.req("PT-7")
@pytest.mark.parametrize(
    ("link", "target", "path"),
    [
        ("link", "a/file", "link"),
        ("link", "../outside/secret", "link"),
        ("link", "nowhere", "link"),
        ("link", "../outside", "link/secret"),
        ("link", "a", "link/file"),
        ("link", "/", "link/etc/passwd"),
        ("a/link", "../../outside", "a/link/secret"),
        ("a/b/link", ".", "a/b/link/link/link"),
        ("link", "link", "link/x"),
    ],
)
def test_links_in_any_part_are_refused(tree: Tree, root: Path, link: str, target: str, path: str):
    (root / link).symlink_to(target)
    with no_descriptor_lost(), pytest.raises(PathRefused, match="symbolic link"):
        tree.look(path)


@pytest.mark.req("PT-7")
def test_a_file_is_no_folder_and_a_folder_no_file(tree: Tree):
    with no_descriptor_lost(), pytest.raises(PathRefused, match="file is a file, not a folder"):
        tree.look("a/file/x")
    with no_descriptor_lost(), pytest.raises(PathRefused, match="it is a folder"):
        tree.look("a/b")


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as server:
        here = os.open(".", os.O_RDONLY)
        os.chdir(path.parent)  # the path of a socket must be short
        try:
            server.bind(path.name)
        finally:
            os.fchdir(here)
            os.close(here)


def device(kind: int) -> Callable[[Path], None]:
    def make(path: Path) -> None:
        try:
            os.mknod(path, kind | 0o600, os.makedev(1, 3))
        except PermissionError:
            pytest.skip("only root can make devices")

    return make


SPECIAL = {
    "it is a symbolic link": lambda path: path.symlink_to("nowhere"),
    "it is a folder": Path.mkdir,
    "it is a named pipe": os.mkfifo,
    "it is a socket": bind,
    "it is a character device": device(stat.S_IFCHR),
    "it is a block device": device(stat.S_IFBLK),
}


@pytest.mark.req("PT-7")
@pytest.mark.parametrize("why", SPECIAL)
def test_what_is_no_file_is_refused_by_its_kind_and_without_waiting(tree: Tree, root: Path, why: str):
    SPECIAL[why](root / "a" / "odd")
    with no_descriptor_lost(), pytest.raises(PathRefused) as caught:
        tree.look("a/odd")
    assert str(caught.value) == f"a/odd is refused: {why}"
    if why != "it is a folder":
        with no_descriptor_lost(), pytest.raises(PathRefused, match=r"odd is (a symbolic link|not a folder)"):
            tree.look("a/odd/x")
        with (
            no_descriptor_lost(),
            tree.open_root() as at,
            pytest.raises(PathRefused),
            tree.folder_of("a/odd/x", at, make=True),
        ):
            pytest.fail("made a folder there")


def test_a_folder_is_known_again_by_what_it_is(tree: Tree, root: Path):
    with no_descriptor_lost(), tree.open_root() as at, tree.folder_of("a/b/x", at) as (folder, _):
        assert tree.is_folder_of("a/b/x", at, folder)
        (root / "a" / "b").rename(root / "elsewhere")
        assert not tree.is_folder_of("a/b/x", at, folder)
        (root / "a" / "b").mkdir()
        assert not tree.is_folder_of("a/b/x", at, folder)
        (root / "a" / "b").rmdir()
        (root / "a" / "b").symlink_to(root / "elsewhere")
        assert not tree.is_folder_of("a/b/x", at, folder)
        (root / "a" / "b").unlink()
        (root / "elsewhere").rename(root / "a" / "b")
        assert tree.is_folder_of("a/b/x", at, folder)


def test_missing_folders_outermost_first(tree: Tree):
    assert tree.missing_folders(["a/x", "n/m/x", "n/o/y", "top"]) == ["n", "n/m", "n/o"]
    assert tree.missing_folders([]) == []


def test_folders_are_made_on_the_way(tree: Tree, root: Path):
    with tree.open_root() as at:
        with tree.folder_of("n/m/file", at, make=True) as (folder, name):
            OsFileSystem().create(folder, name, b"x", 0o600)
        with pytest.raises(FileNotFoundError), tree.folder_of("o/file", at):
            pytest.fail("made without being asked")
    assert (root / "n" / "m" / "file").read_bytes() == b"x"
    assert not (root / "o").exists()


class Restless(OsFileSystem):
    """Somebody writes while it is being read, so many times."""

    def __init__(self, times: int) -> None:
        self.times = times

    def read(self, at: int, name: str):
        if self.times > 0:
            self.times -= 1
            raise FileChanged
        return super().read(at, name)


def test_a_file_that_is_being_written_is_read_again(root: Path):
    assert Tree(Restless(2), root).look("a/file").data == b"text\n"
    with pytest.raises(RingiError, match="somebody keeps writing to it"):
        Tree(Restless(100), root).look("a/file")


def test_a_file_that_goes_while_it_is_looked_at_is_not_there(root: Path):
    class Vanishing(OsFileSystem):
        def read(self, at: int, name: str):
            os.unlink(name, dir_fd=at)
            return super().read(at, name)

    assert Tree(Vanishing(), root).look("a/file") is None


def test_a_file_that_becomes_a_link_while_it_is_looked_at_is_refused(root: Path, tmp_path: Path):
    class Switching(OsFileSystem):
        def read(self, at: int, name: str):
            os.unlink(name, dir_fd=at)
            os.symlink(tmp_path / "outside" / "secret", name, dir_fd=at)
            return super().read(at, name)

    with pytest.raises(PathRefused, match="not a regular file"):
        Tree(Switching(), root).look("a/file")
