"""The system calls: nothing follows a link, nothing is cut short, nothing stays open."""

import errno
import os
import stat
from pathlib import Path

import pytest

from ringi.kernel.fs import EntryKind, FileChanged, NotRegular, OsFileSystem, open_for_block
from tests.helpers import open_descriptors

fs = OsFileSystem()


@pytest.fixture
def at(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"data")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    (tmp_path / "folder link").symlink_to("folder")
    os.mkfifo(tmp_path / "pipe")
    with open_for_block(fs, fs.open_root(tmp_path)) as descriptor:
        yield descriptor


def test_entries_say_what_is_there(at: int, tmp_path: Path):
    kinds = {name: fs.entry(at, name).kind for name in fs.names(at)}
    assert kinds == {
        "file": EntryKind.FILE,
        "folder": EntryKind.FOLDER,
        "link": EntryKind.LINK,
        "folder link": EntryKind.LINK,
        "pipe": EntryKind.FIFO,
    }
    assert fs.entry(at, "nothing") is None
    entry = fs.entry(at, "file")
    assert (entry.size, entry.mode, entry.owner) == (
        4,
        (tmp_path / "file").stat().st_mode & 0o7777,
        os.getuid(),
    )
    assert fs.folder_entry(at).inode == tmp_path.stat().st_ino


def test_folders_are_opened_without_following(at: int):
    fs.close(fs.open_folder(at, "folder"))
    for name in ("link", "folder link", "file", "pipe"):
        with pytest.raises(OSError, match=r"Not a directory|Too many levels") as caught:
            fs.open_folder(at, name)
        assert caught.value.errno in {errno.ELOOP, errno.ENOTDIR}


def test_only_regular_files_are_read(at: int):
    data, entry = fs.read(at, "file")
    assert (data, entry.size) == (b"data", 4)
    for name in ("link", "folder", "pipe"):
        with pytest.raises((NotRegular, IsADirectoryError)):
            fs.read(at, name)
    with pytest.raises(FileNotFoundError):
        fs.read(at, "nothing")


def test_a_file_that_grows_while_it_is_read_is_noticed(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    real = os.read

    def growing(descriptor: int, size: int) -> bytes:
        data = real(descriptor, size)
        with (tmp_path / "file").open("ab") as file:
            file.write(b"" if data.endswith(b"more") else b"more")
        return data

    monkeypatch.setattr(os, "read", growing)
    with pytest.raises(FileChanged):
        fs.read(at, "file")


def test_new_files_get_exactly_their_mode(at: int, tmp_path: Path):
    before = os.umask(0o077)
    try:
        fs.create(at, "new", b"x" * 100_000, 0o666)
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o666
    assert (tmp_path / "new").stat().st_size == 100_000


def test_nothing_that_is_there_is_made_anew(at: int, tmp_path: Path):
    for name in ("file", "link", "folder", "pipe"):
        with pytest.raises(FileExistsError):
            fs.create(at, name, b"x", 0o644)
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(FileExistsError):
        fs.create(at, "dangling", b"x", 0o644)
    assert (tmp_path / "file").read_bytes() == b"data"


def test_a_file_that_cannot_be_written_whole_is_not_left(
    at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    def full(descriptor: int, data: bytes) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="full"):
        fs.create(at, "new", b"x", 0o644)
    assert not (tmp_path / "new").exists()


def test_short_writes_are_continued(at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, bytes(data)[:3]))
    fs.create(at, "new", b"0123456789", 0o644)
    assert (tmp_path / "new").read_bytes() == b"0123456789"


def test_exchange_swaps_two_files_in_one_step(at: int, tmp_path: Path):
    fs.create(at, "other", b"other", 0o600)
    fs.exchange(at, "file", at, "other")
    assert (tmp_path / "file").read_bytes() == b"other"
    assert (tmp_path / "other").read_bytes() == b"data"
    with pytest.raises(FileNotFoundError):
        fs.exchange(at, "file", at, "nothing")
    with open_for_block(fs, fs.open_folder(at, "folder")) as folder:
        fs.link(at, "file", folder, "second")
        fs.move(at, "other", folder, "moved")
    assert sorted(path.name for path in (tmp_path / "folder").iterdir()) == ["moved", "second"]


def test_linking_never_replaces_and_never_follows(at: int, tmp_path: Path):
    with pytest.raises(FileExistsError):
        fs.link(at, "file", at, "link")
    fs.link(at, "link", at, "second")
    assert (tmp_path / "second").is_symlink()


def test_syncs_reach_the_kernel(at: int):
    fs.sync_file(at, "file")
    fs.sync_folder(at)
    fs.sync_everything(at)
    with pytest.raises(OSError, match="Too many levels"):
        fs.sync_file(at, "link")


def test_no_descriptor_stays_open(at: int):
    before = open_descriptors()
    fs.read(at, "file")
    for name in ("link", "pipe", "nothing", "folder"):
        with pytest.raises((NotRegular, FileNotFoundError, IsADirectoryError)):
            fs.read(at, name)
    with pytest.raises(ZeroDivisionError), open_for_block(fs, fs.open_folder(at, "folder")):
        raise ZeroDivisionError
    assert open_descriptors() == before
