"""Disks that are full for real."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

PAGE = 4096


@contextmanager
def small_disk(folder: Path, kilobytes: int) -> Iterator[Path]:
    folder.mkdir()
    options = f"size={kilobytes}k,mode=777"
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "none", folder], check=False, capture_output=True
    )
    if done.returncode != 0:
        pytest.skip("a small disk cannot be mounted here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def fill(folder: Path, free: int) -> Path:
    """Leave so many bytes; deleting the file frees the disk again."""
    path = folder / "filler"
    with path.open("wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(PAGE))
        size = file.tell()
        file.truncate(max(0, size - free))
    return path
