"""The state of a file and a change of it: what a plan approves, writes and takes back."""

from enum import StrEnum
from typing import Final

from msgspec import UNSET, UnsetType

from ringi.kernel.document import CamelDocument, Document


class FileState(Document, frozen=True):
    """A regular file's bytes and permission bits; a missing file is no FileState at all."""

    sha256: str
    mode: str
    folder: bool | UnsetType = UNSET
    """A folder has no bytes; its permission bits are those it is made with, and are not compared."""


def folder_of(before: FileState | None, after: FileState | None) -> FileState | None:
    """The folder that is made or removed, if it is one."""
    state = after or before
    return state if state and state.folder else None


class Touched(Document, frozen=True):
    """A file that a spec reads or changes; None if it is not there."""

    path: str
    before: FileState | None
    after: FileState | None

    @property
    def folder(self) -> FileState | None:
        return folder_of(self.before, self.after)


class FileChange(Document, frozen=True):
    spec_id: str
    path: str
    before: FileState | None
    after: FileState | None
    unit: int | UnsetType = UNSET
    """Changes with the same number are done together or not at all; set when they are carried out."""
    optional: bool | UnsetType = UNSET
    """If its unit fails, the others continue."""
    later_lines: int | UnsetType = UNSET
    """Set if an undo merged the file with what was written to it since: how many of those lines stay."""

    @property
    def folder(self) -> FileState | None:
        return folder_of(self.before, self.after)


LINK_MODE: Final = "120000"
"""Git's mode of a symbolic link."""


class StateFile(CamelDocument, frozen=True):
    path: str
    mode: str
    """As git writes it: 100644, 100755, or 120000 for a symbolic link."""
    oid: str
    """The git object id of its bytes."""


class OpStatus(StrEnum):
    DONE = "done"
    UNDONE = "undone"
    """Rolled back because another file of the group could not be written."""
    CONFLICT = "conflict"
    """Somebody else wrote here; their version was left alone."""
    FAILED = "failed"
    UNTOUCHED = "untouched"
    UNKNOWN = "unknown"
    """A command was started, and nobody knows how it ended."""
