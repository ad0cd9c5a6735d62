"""The result of a check in a work copy, bound to the tree it ran on."""

from enum import StrEnum

from msgspec import UNSET, UnsetType

from ringi.kernel.document import Document
from ringi.kernel.text import Text


class CheckPhase(StrEnum):
    BEFORE = "before"
    """On the workspace before the plan."""
    DRY = "dry"
    """On a copy with the plan's changes; the workspace was not touched."""
    AFTER = "after"
    """On the workspace after the plan was carried out."""


class CheckResult(Document, frozen=True):
    """The result of a check in a work copy, for exactly the bytes named by `tree`."""

    command: str
    exit_code: int
    duration_sec: float
    tree: str
    output: str
    """Its last lines."""
    phase: CheckPhase | UnsetType = UNSET
    """Unset if the check ran in the proposer's own copy."""
    timeout_sec: float | UnsetType = UNSET  # set if it was stopped because it took longer
    doubt: str | UnsetType = UNSET
    """A variable or file that leads to the project's own files: then the result may be about other bytes."""

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and not self.doubt

    @property
    def ended(self) -> Text:
        if self.timeout_sec is UNSET:
            return Text("ended with exit code {code}", code=self.exit_code)
        return Text("was stopped after {seconds} s (checks.timeout_sec)", seconds=f"{self.timeout_sec:g}")
