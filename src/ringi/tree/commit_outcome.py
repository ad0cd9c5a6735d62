"""What became of a commit that was to be made."""

from typing import Final

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
