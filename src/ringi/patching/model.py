"""What a patch says, file by file."""

from enum import StrEnum
from typing import NamedTuple


class Kind(StrEnum):
    NEW = "new"
    DELETED = "deleted"
    RENAMED = "renamed"
    COPIED = "copied"
    CHANGED = "changed"


class Hunk(NamedTuple):
    """Lines that are replaced. A start counts from 1; for a side without lines it is the line before."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    heading: bytes
    """What follows the second @@, with its space."""
    body: bytes
    """Every line with its sign and its newline; "\\ No newline at end of file" counts as a line here."""

    @property
    def lines(self) -> list[bytes]:
        return [line + b"\n" for line in self.body.split(b"\n")[:-1]]

    @property
    def old_at(self) -> int:
        """How many lines of the old file stand before it."""
        return self.old_start - 1 if self.old_count else self.old_start

    @property
    def new_at(self) -> int:
        return self.new_start - 1 if self.new_count else self.new_start

    def moved(self, new_at: int) -> "Hunk":
        """The same change, with so many lines before it in the new file."""
        return self._replace(new_start=new_at + 1 if self.new_count else new_at)


class FilePatch(NamedTuple):
    kind: Kind
    old_path: str | None
    """None for a new file; names that are not UTF-8 as `os.fsdecode` gives them."""
    new_path: str | None
    """None for a deleted file."""
    old_mode: str | None = None
    """As git says it, 100644 or 100755; None where the patch is silent."""
    new_mode: str | None = None
    hunks: tuple[Hunk, ...] = ()
    likeness: bytes = b""
    """As git says it: "similarity index 90%"."""
    blobs: bytes = b""
    """Of git's index line, what follows the word."""
    header: bytes = b""
    """The lines before the hunks as they were read; empty when there were none or they no longer hold."""

    @property
    def path(self) -> str:
        """The one to speak of: after the change, or before it for a deleted file."""
        return self.new_path or self.old_path or ""


class Patch(NamedTuple):
    files: tuple[FilePatch, ...]
