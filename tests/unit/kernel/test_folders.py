"""What is said about a folder of ours that cannot be used."""

import errno
import os
from pathlib import Path

import pytest

from ringi.kernel.fs import folder_unusable
from ringi.kernel.text import show_value

VARIABLE = "RINGI_CACHE_DIR"


def said(folder: Path, number: int) -> tuple[str, str]:
    error = folder_unusable(folder, OSError(number, os.strerror(number)), VARIABLE)
    assert error.details["what"] == str(folder)
    return show_value(error.details["why"]), show_value(error.details["todo"])


def test_file_in_its_place_is_to_be_moved_away(tmp_path: Path):
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    for name in ("file", "link"):
        why, todo = said(tmp_path / name / "ringi/work", errno.ENOTDIR)
        assert why == f"{tmp_path / name} is not a folder"
        assert todo.startswith(f"Move {tmp_path / name} away, ")


def test_device_in_its_place_is_left_alone():
    why, todo = said(Path(os.devnull, ".cache"), errno.ENOTDIR)
    assert why == f"{os.devnull} is not a folder"
    assert todo == f"Name another folder: export {VARIABLE}=/…"


@pytest.mark.parametrize(
    ("number", "begins"),
    [
        (errno.ENOSPC, "Free some space for"),
        (errno.EDQUOT, "Free some space for"),
        (errno.EACCES, "Make"),
        (errno.EROFS, "Make"),
    ],
)
def test_what_to_do_names_the_nearest_folder_that_is_there(tmp_path: Path, number: int, begins: str):
    why, todo = said(tmp_path / "a" / "b", number)
    assert why == os.strerror(number)
    assert todo.startswith(f"{begins} {tmp_path}")
    assert f"export {VARIABLE}=" in todo
