"""Files that somebody else put there."""

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.fs import FileTooLarge, NotRegular, read_bounded


@given(st.binary(max_size=300), st.integers(0, 300))
def test_all_of_it_or_nothing(tmp_path_factory: pytest.TempPathFactory, data: bytes, most: int):
    path = tmp_path_factory.getbasetemp() / "bounded"
    path.write_bytes(data)
    if len(data) <= most:
        assert read_bounded(path, most) == data
    else:
        with pytest.raises(FileTooLarge):
            read_bounded(path, most)


def test_nothing_blocks_and_nothing_fills_the_memory(tmp_path: Path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    (tmp_path / "round").symlink_to("round")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "socket"))
        for name in ("pipe", "link", "round", "socket", "."):
            with pytest.raises(NotRegular):
                read_bounded(tmp_path / name, 1000)
    with pytest.raises(NotRegular):
        read_bounded("/dev/zero", 1000)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(FileTooLarge):
        read_bounded(tmp_path / "sparse", 1 << 20)
    with pytest.raises(FileTooLarge):  # its size says 0
        read_bounded("/proc/self/maps", 10)
    assert b"Name" in read_bounded("/proc/self/status", 100_000)


def test_links_and_folders(tmp_path: Path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    folder = os.open(tmp_path, os.O_RDONLY)
    try:
        assert read_bounded("link", 10, at=folder) == b"x"
        with pytest.raises(NotRegular):
            read_bounded("link", 10, at=folder, follow=False)
    finally:
        os.close(folder)
    with pytest.raises(FileNotFoundError):
        read_bounded(tmp_path / "none", 10)
