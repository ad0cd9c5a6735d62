import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.kernel.fs import OsFileSystem, open_for_block, open_own, publish, replace_file
from tests.helpers import open_descriptors


@pytest.mark.parametrize("synced", [True, False])
def test_the_file_is_made_or_replaced(tmp_path: Path, synced: bool) -> None:
    path = tmp_path / "record.json"
    for data in (b"", b"first", b"second"):
        replace_file(path, data, synced=synced)
        assert path.read_bytes() == data
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(b"theirs")
    (tmp_path / "link").symlink_to("elsewhere")
    replace_file(tmp_path / "link", b"ours", mode=0o644)
    assert (tmp_path / "elsewhere").read_bytes() == b"theirs"
    assert not (tmp_path / "link").is_symlink()


def test_what_cannot_be_put_there_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_file(tmp_path / "folder", b"data")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
    with pytest.raises(FileNotFoundError):
        replace_file(tmp_path / "nowhere" / "file", b"data")


@pytest.fixture
def at(tmp_path: Path) -> Iterator[int]:
    (tmp_path / "file").write_bytes(b"data")
    (tmp_path / "folder").mkdir()
    fs = OsFileSystem()
    with open_for_block(fs, fs.open_root(tmp_path)) as descriptor:
        yield descriptor


def test_publish_puts_all_or_nothing(at: int, tmp_path: Path) -> None:
    before = open_descriptors()
    for data in (b"first", b"x" * 100_000, b"", b"short"):
        publish(at, "shown", data)
        assert (tmp_path / "shown").read_bytes() == data
    assert (tmp_path / "file").read_bytes() == b"data"
    assert open_descriptors() == before


def _in_the_way(place: Path, way: str) -> None:
    match way:
        case "link":
            place.symlink_to("file")
        case "second name":
            place.hardlink_to(place.with_name("file"))
        case "pipe":
            os.mkfifo(place)
        case "folder link":
            place.symlink_to("folder")


@pytest.mark.parametrize("way", ["link", "second name", "pipe", "folder link"])
def test_publish_writes_through_nothing(at: int, tmp_path: Path, way: str) -> None:
    _in_the_way(tmp_path / ".shown.spare", way)
    publish(at, "shown", b"bytes")
    assert (tmp_path / "shown").read_bytes() == b"bytes"
    assert not (tmp_path / "shown").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"data"
    assert list((tmp_path / "folder").iterdir()) == []


@pytest.mark.parametrize("way", ["nothing", "link", "second name", "pipe", "folder link"])
def test_only_a_file_of_our_own_is_opened(at: int, tmp_path: Path, way: str) -> None:
    _in_the_way(tmp_path / "log", way)
    before = open_descriptors()
    descriptor = open_own(at, "log", os.O_RDWR)
    os.write(descriptor, b"line")
    os.close(descriptor)
    assert open_descriptors() == before
    assert (tmp_path / "log").read_bytes() == b"line"
    assert not (tmp_path / "log").is_symlink()
    assert (tmp_path / "file").read_bytes() == b"data"
