"""A commit that is to be made, where it would go, and what became of it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.kernel.document import Document


class CommitOutcome(Document, frozen=True):
    """The result of the commit that a plan asked for."""

    commit: str
    """Its id; empty if none was made."""
    why: str = ""
    """Why there is none, or what in it is not as approved."""
    rewritten: bool | UnsetType = UNSET
    """There is none because a hook changed it, and so it was taken back."""

    @property
    def last_line(self) -> str:
        """The last line says what stopped it; the lines before say what it tried."""
        lines = self.why.strip().splitlines()
        return lines[-1][:_LONGEST_REASON] if lines else ""


_LONGEST_REASON: Final = 200


class CommitPlace(NamedTuple):
    """Where a commit would go, and which hooks would run."""

    branch: str
    """Empty if HEAD is detached."""
    parent: str
    """Empty if there is no commit yet."""
    hooks: tuple[str, ...]


class Committed(NamedTuple):
    """A file as git stores it."""

    mode: str
    data: bytes


class CommitChange(NamedTuple):
    """What a commit changed."""

    parent: str
    """Empty for the first one."""
    paths: tuple[str, ...]


class CommitOrder(NamedTuple):
    parent: str
    message: str  # the whole
    marks: tuple[str, ...]
    """Lines of the message that are unique to this commit."""
    files: Mapping[str, bytes | Committed | None]
    """The bytes of each as it is in the workspace, or what is committed whatever is there; None: deleted."""
    exact: bool = False  # it does not stay if a hook does more than to add trailers
    offered: str = ""  # the commit itself, made before: the branch gets it as it is, and no hook runs
