"""What a run puts on a forge by git: commits that nobody has approved yet, the branch, and the notes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from ringi.tree.offered_commit import OfferedCommits

if TYPE_CHECKING:
    from ringi.approvals.forge import ForgeTerms
    from ringi.provenance.verdict import RangeVerdict
    from ringi.runs.document import Run


class RemoteBranches(Protocol):
    """Branches of one remote: the person's own git, with their network access and credentials."""

    def tip(self, branch: str) -> str:
        """The newest commit of the branch there; empty if there is no such branch. Raises PushFailed."""

    def push(self, branch: str, commit: str, expected: str) -> None:
        """Only if the branch there is at `expected`; empty: if there is none.

        Raises BranchOvertaken if it is not, PushFailed.
        """


class Publishing(Protocol):
    """What use cases need to bring a run to its forge."""

    def commits(self, run: Run) -> OfferedCommits: ...

    def branches(self, run: Run, terms: ForgeTerms) -> RemoteBranches:
        """Raises NoForge if the remote leads elsewhere than where it was approved, PushFailed."""

    def sync_notes(self, terms: ForgeTerms) -> None:
        """Raises SyncFailed, NotesFailed."""

    def report(self, run: Run) -> str:
        """report.md, as it is now."""

    def verdict(self, run: Run, head: str) -> RangeVerdict:
        """What proves that everything from the run's base to here was approved. Raises CloneUnreadable."""
