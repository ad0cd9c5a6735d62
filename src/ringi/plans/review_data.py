"""A plan with everything that an editor needs to draw it (CP-11): one document, so that it asks once."""

from msgspec import UNSET, UnsetType

from ringi.approvals.feedback import Side
from ringi.kernel.document import Document, Versioned
from ringi.plans.change_plan import ChangeFacts
from ringi.plans.document import PlanRef
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind


class ReviewedHunk(Document, frozen=True):
    """A start counts from 1; for a side without lines it is the line before."""

    number: int
    """From 1: what `ringi amend --drop PATH#NUMBER` takes."""
    old_start: int
    old_lines: int
    new_start: int
    new_lines: int


class ReviewComment(Document, frozen=True):
    line: int
    side: Side
    text: str
    who: str
    at: str
    outdated: bool = False
    """The line says something else by now."""


class ReviewedFile(Document, frozen=True, kw_only=True):
    """One spec. A command or a call has no path and no text."""

    spec_id: str
    path: str
    """After the change; of a deleted file, before it."""
    old_path: str | None
    """Of a renamed or copied file: where its old lines are."""
    copied: bool = False
    kind: SpecKind
    action: str
    """What it does, in words."""
    risk: Risk
    reasons: tuple[str, ...]
    notes: tuple[str, ...] = ()
    added: int
    removed: int
    binary: bool
    fits: bool
    """False: the file changed since the proposer saw it, and this is what is left after a merge."""
    conflicts: int = 0
    """Places that a person has to decide first, in `ringi review`; their own version is shown there."""
    editable: bool
    """Whether its hunks can be dropped and its lines edited."""
    before: str | UnsetType | None = UNSET
    """None: there is no file. Unset: `why_no_text` says why."""
    after: str | UnsetType | None = UNSET
    why_no_text: str | UnsetType = UNSET
    hunks: tuple[ReviewedHunk, ...] = ()
    comments: tuple[ReviewComment, ...] = ()


class ReviewedCheck(Document, frozen=True):
    command: str
    exit_code: int
    passed: bool
    tail: str
    """The last lines that it printed."""


class Decide(Document, frozen=True):
    """How a person decides: what they type at a terminal."""

    review: str
    apply: str
    """With a signature, if a key of theirs counts here."""
    sign: tuple[str, ...] = ()
    """Key files in the person's folder whose signature counts here."""


class PlanReviewDocument(Versioned, frozen=True, kw_only=True):
    plan: PlanRef
    specs_sha256: str
    explanation: str
    """What its proposer says about it: plain text, never to be interpreted."""
    change: ChangeFacts | UnsetType = UNSET
    """What makes it a change plan."""
    headline: tuple[str, ...]
    """What to know before deciding, in the reader's language."""
    checks: tuple[ReviewedCheck, ...]
    commit: str | None
    """The subject of the commit that follows."""
    decide: Decide
    amendable: bool
    """Whether `ringi amend` can change it."""
    files: tuple[ReviewedFile, ...]
