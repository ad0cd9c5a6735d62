"""What exactly a person approves, how it is proven, and what can become of a request (rules 2 to 4)."""

from enum import StrEnum

from msgspec import UNSET, UnsetType

from ringi.domain.base import Document, Versioned
from ringi.domain.plan import ActionSpec, FileState, SpecSelection


class FileChange(Document, frozen=True):
    spec_id: str
    path: str
    before: FileState | None
    after: FileState | None


class SubjectKind(StrEnum):
    EXECUTE = "execute"
    UNDO = "undo"


class SubjectSpec(Document, frozen=True):
    """A selected spec as it is approved. Content and notes are bound through the hashes of its files."""

    id: str
    order: int
    spec: ActionSpec


class ApprovalSubject(Versioned, frozen=True, kw_only=True):
    """The bytes of this document, as stored, are what the person said yes to."""

    kind: SubjectKind
    workspace: str
    plan_id: str
    plan_version: int
    specs: tuple[SubjectSpec, ...]
    changes: tuple[FileChange, ...]
    expires_at: str
    undoes: str | None = None
    """The execution that an undo takes back."""
    snapshot_id: str | UnsetType = UNSET
    """The one project state that a change plan is valid for."""


class ProofKind(StrEnum):
    TYPED = "typed"


class Strength(StrEnum):
    WEAK = "weak"
    STRONG = "strong"


class TypedAnswer(Document, frozen=True):
    """What a person typed, and the digest of what the same process had shown them."""

    digest: str
    answer: str


class ProofRecord(Document, frozen=True):
    kind: ProofKind
    strength: Strength
    user: str
    channel: str
    """Where the answer came from, as the terminal's name."""
    answer: str


class ApprovalRequest(Versioned, frozen=True, kw_only=True):
    id: str
    plan_id: str
    plan_version: int
    selection: SpecSelection
    digest: str
    requested_at: str
    expires_at: str


class Approval(Versioned, frozen=True, kw_only=True):
    id: str
    plan_id: str
    request_id: str | None
    approver: str
    timestamp: str
    expires_at: str
    selection: SpecSelection
    digest: str
    """SHA-256 of `subject`."""
    subject: str
    """The canonical JSON of the ApprovalSubject, verbatim."""
    proof: ProofRecord
    after_event: str
    """Hash of the event before it, so that a rewritten past contradicts the approval."""
    note: str = ""
    spent_by: str | None = None
    """The execution it was used for; not part of what is hashed."""


class ApprovalHistory(Versioned, frozen=True, kw_only=True):
    """approval.json"""

    plan_id: str
    requests: tuple[ApprovalRequest, ...]
    approvals: tuple[Approval, ...]


class ApprovedPlan(Document, frozen=True, tag="approved", tag_field="outcome"):
    approval: Approval


class Declined(Document, frozen=True, tag="declined", tag_field="outcome"):
    feedback: str


class Cancelled(Document, frozen=True, tag="cancelled", tag_field="outcome"):
    reason: str


class ExpiredRequest(Document, frozen=True, tag="expired", tag_field="outcome"):
    expired_at: str


class NoChannelFound(Document, frozen=True, tag="no_channel", tag_field="outcome"):
    why: str


ApprovalOutcome = ApprovedPlan | Declined | Cancelled | ExpiredRequest | NoChannelFound
