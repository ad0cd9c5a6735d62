"""Names that may be written, and why others may not (PT-7)."""

import os
import re
import unicodedata
from typing import Final

from ringi.errors import PathRefused
from ringi.kernel.text import Text, deceiving

_DRIVE: Final = re.compile(r"[A-Za-z]:")
# Including the short names that NTFS gives them.
_GITS: Final = re.compile(r"\.git|git~[0-9]+")
_OURS: Final = re.compile(r"\.agent|agent~[0-9]+")
_LONGEST_NAME: Final = 255
# Systems allow 4,096 bytes or fewer, from the root; and of each folder on the way we hold a descriptor.
_LONGEST_PATH: Final = 2048
_MOST_FOLDERS: Final = 128


def normalise(path: str) -> tuple[str, ...]:
    """The path's parts, or PathRefused with the reason."""
    if reason := _refusal_of_whole(path):
        raise PathRefused(path=path, why=reason)
    parts = tuple(part for part in path.split("/") if part not in {"", "."})
    for part in parts:
        if reason := _refusal_of_part(part):
            raise PathRefused(path=path, why=reason)
    if not parts:
        raise PathRefused(path=path, why=Text("it names no file"))
    return parts


def too_far(path: str) -> Text | None:
    """Why it is too long or too deep for any plan; None if it is neither."""
    if len(os.fsencode(path)) > _LONGEST_PATH:
        return Text("its path is longer than {limit} bytes", limit=_LONGEST_PATH)
    if path.count("/") > _MOST_FOLDERS:
        return Text("it lies more than {limit} folders deep", limit=_MOST_FOLDERS)
    return None


def _refusal_of_whole(path: str) -> Text | None:
    if "\0" in path:
        return Text("it contains a NUL character")
    if path.startswith("/"):
        return Text("it is absolute")
    if path.startswith("~"):
        return Text("it starts with ~, which some programs take for a home folder")
    if "\\" in path:
        return Text("it contains a backslash")
    if _DRIVE.match(path):
        return Text("it starts with a drive letter")
    if path.endswith("/"):
        return Text("it names a folder, not a file")
    try:
        path.encode()
    except UnicodeEncodeError:
        return Text("its name is not valid UTF-8")
    return too_far(path)


def _refusal_of_part(part: str) -> Text | None:
    if part == "..":
        return Text("it leaves its folder with ..")
    folded = _fold(part)
    if _GITS.fullmatch(folded):
        return Text("it lies in {folder}, which belongs to git", folder=part)
    if _OURS.fullmatch(folded):
        return Text("it lies in {folder}, which belongs to ringi", folder=part)
    if len(part.encode()) > _LONGEST_NAME:
        return Text("a part of it is longer than {limit} bytes", limit=_LONGEST_NAME)
    return None


def _fold(part: str) -> str:
    """As seen by a file system that ignores case, Unicode form, invisible characters or trailing dots."""
    if part.isascii() and part.isprintable():
        return part.lower().split(":")[0].rstrip(". ")
    plain = unicodedata.normalize("NFKC", part)
    shown = "".join(c for c in plain if not deceiving(c))
    return unicodedata.normalize("NFKC", shown.casefold()).split(":")[0].rstrip(". ")
