"""What exactly a person approves, how it is proven, and what can become of a request (rules 2 to 4)."""

from enum import StrEnum
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from ringi.domain import codec
from ringi.domain.base import Document, Versioned
from ringi.domain.feedback import LineComment
from ringi.domain.plan import ActionSpec, FileState, PlannedChecks, SpecSelection

NAMESPACE: Final = "ringi-approval"
"""Of every SSH signature; one made for something else is no approval."""


class FileChange(Document, frozen=True):
    spec_id: str
    path: str
    before: FileState | None
    after: FileState | None
    unit: int | UnsetType = UNSET
    """Changes with the same number are done wholly or not at all; set where they are carried out."""
    optional: bool | UnsetType = UNSET
    """If its unit fails, the others go on."""

    @property
    def folder(self) -> FileState | None:
        """What is made or removed, where that is a folder."""
        state = self.after or self.before
        return state if state and state.folder else None


class Act(StrEnum):
    """What a plan's approval allows."""

    EXECUTE = "execute"
    UNDO = "undo"


class SubjectSpec(Document, frozen=True):
    """A selected spec as it is approved. Content and notes are bound through the hashes of its files."""

    id: str
    order: int
    spec: ActionSpec


class CommitSubject(Document, frozen=True):
    """The commit that follows, as far as it can be known beforehand."""

    branch: str
    """Empty where HEAD is detached."""
    parent: str
    """The commit it is made on; empty for the first one."""
    message: str
    hooks: tuple[str, ...] = ()
    """Names of the repository's hooks that will run."""


class ApprovalSubject(Versioned, frozen=True, kw_only=True):
    """The bytes of this document, as stored, are what the person said yes to."""

    kind: Act
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
    checks: PlannedChecks | UnsetType = UNSET
    sandboxed: bool | UnsetType = UNSET
    """Whether the commands run in a sandbox; set where there are commands."""
    commit: CommitSubject | UnsetType = UNSET


class ProofKind(StrEnum):
    TYPED = "typed"
    SIGNED = "signed"
    GRANT = "grant"


class Strength(StrEnum):
    WEAK = "weak"
    STRONG = "strong"


class TypedAnswer(Document, frozen=True):
    """What a person typed, and the digest of what the same process had shown them."""

    digest: str
    answer: str


class SignedAct(StrEnum):
    APPROVE = "approve"
    UNDO = "undo"
    GRANT = "grant"


class Statement(Versioned, frozen=True, kw_only=True):
    """What an SSH key signs, as canonical JSON."""

    act: SignedAct
    digest: str
    """SHA-256 of what is approved or granted."""
    after_event: str
    """Hash of the last event when it was signed, so that a rewritten past contradicts the signature."""
    approver: str
    at: str
    note: str = ""


class SignedAnswer(Document, frozen=True):
    statement: str
    """The very bytes that were signed."""
    signature: str
    """As `ssh-keygen -Y sign` writes it."""


Proof = TypedAnswer | SignedAnswer


class ProofRecord(Document, frozen=True):
    kind: ProofKind
    strength: Strength
    user: str
    channel: str
    """Where the answer came from: the terminal's name, or the list that the key stands in."""
    answer: str
    statement: str | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    principal: str | UnsetType = UNSET
    """The name that the key was listed under."""
    key: str | UnsetType = UNSET
    """The public key, so that the signature can be checked without any list."""
    grant: str | UnsetType = UNSET
    """The id of the standing approval that covered it; statement and signature are that one's."""
    grant_subject: str | UnsetType = UNSET
    """What was signed then, verbatim."""
    used_files: int | UnsetType = UNSET
    """What it took of the budget."""
    used_lines: int | UnsetType = UNSET


class ApprovalRequest(Versioned, frozen=True, kw_only=True):
    id: str
    plan_id: str
    plan_version: int
    selection: SpecSelection
    digest: str
    requested_at: str
    expires_at: str
    kind: Act | UnsetType = UNSET
    """Set where it asks for an undo."""


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

    @property
    def evidence(self) -> str:
        """The hash under which the log knows it."""
        return codec.digest(codec.canonical(msgspec.structs.replace(self, spent_by=None)))


class ApprovalHistory(Versioned, frozen=True, kw_only=True):
    """approval.json"""

    plan_id: str
    requests: tuple[ApprovalRequest, ...]
    approvals: tuple[Approval, ...]


class ApprovedPlan(Document, frozen=True, tag="approved", tag_field="outcome"):
    approval: Approval


class Declined(Document, frozen=True, tag="declined", tag_field="outcome"):
    feedback: str
    comments: tuple[LineComment, ...] | UnsetType = UNSET
    """What the person said about single lines."""


class Cancelled(Document, frozen=True, tag="cancelled", tag_field="outcome"):
    reason: str


class ExpiredRequest(Document, frozen=True, tag="expired", tag_field="outcome"):
    expired_at: str


class NoChannelFound(Document, frozen=True, tag="no_channel", tag_field="outcome"):
    why: str


ApprovalOutcome = ApprovedPlan | Declined | Cancelled | ExpiredRequest | NoChannelFound
