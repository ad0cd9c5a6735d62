"""Where a hunk that does not fit was meant to be, so that whoever wrote it sees what is there."""

from collections.abc import Sequence

from ringi.errors import PatchMismatch
from ringi.kernel.text import Text
from ringi.patch.lenient_parse import LooseHunk, read_loosely


def meant_lines(error: PatchMismatch, patch: bytes, lines: Sequence[str]) -> range | None:
    """Counted from 0; None if the error is not about a hunk. The file's lines are without their ends."""
    number = _hunk_of(error)
    hunks = _changing(patch, str(error.details["path"]).encode("utf-8", "surrogateescape"))
    if not lines or not 1 <= number <= len(hunks):
        return None
    begin, count = _place(hunks[number - 1], lines)
    return range(begin, min(begin + count, len(lines)))


def _hunk_of(error: PatchMismatch) -> int:
    why = error.details.get("why")
    found = error.details.get("hunk") or (why.details.get("hunk") if isinstance(why, Text) else 0)
    return found if isinstance(found, int) else 0


def _changing(patch: bytes, path: bytes) -> list[LooseHunk]:
    """The hunks of a file that are counted: those that change something."""
    read = read_loosely(patch)
    files = [file for file in read if any(name.endswith(path) for name in file.names or ())]
    files = files or [file for file in read if path in file.git_line]
    return [hunk for file in files for hunk in file.hunks if any(sign != b" " for sign, _ in hunk.lines)]


def _place(hunk: LooseHunk, lines: Sequence[str]) -> tuple[int, int]:
    """At the longest line that the file has exactly once, or else where it says."""
    old = [text.decode("utf-8", "replace") for sign, text in hunk.lines if sign != b"+"]
    once = [(at, text) for at, text in enumerate(old) if text.strip() and lines.count(text) == 1]
    if once:
        at, text = max(once, key=lambda pair: len(pair[1]))
        return max(0, lines.index(text) - at), len(old)
    return max(0, min(hunk.stated or 0, len(lines) - 1)), len(old)
