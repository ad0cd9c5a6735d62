"""What exactly a person approves, how it is proven, and how a request can end (rules 2 to 4)."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.feedback import LineComment
from ringi.approvals.forge import ForgeTerms, ReviewProof
from ringi.engine.run_plan import RunPlan
from ringi.kernel import codec
from ringi.kernel.document import Document, Versioned
from ringi.ledger.subject import StepOf, Subject, SubjectKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt, PlannedChecks, SpecSelection
from ringi.tree.file_state import FileChange

NAMESPACE: Final = "ringi-approval"
"""The namespace of every SSH signature; one made for another purpose is not an approval."""


def files_of(specs: Sequence[ActionSpecExt]) -> tuple[FileChange, ...]:
    """Every file that the specs read or change."""
    return tuple(
        FileChange(spec.id, file.path, file.before, file.after) for spec in specs for file in spec.touched
    )


def changes_of(specs: Sequence[ActionSpecExt]) -> tuple[FileChange, ...]:
    return tuple(change for change in files_of(specs) if change.before != change.after)


class Act(StrEnum):
    """What a plan's approval allows."""

    EXECUTE = "execute"
    UNDO = "undo"


class SubjectSpec(Document, frozen=True):
    """A selected spec as it is approved. Content and notes are bound through the hashes of its files."""

    id: str
    order: int
    spec: ActionSpec


COMMIT_TRAILERS: Final = ("Ringi-Plan", "Ringi-Approval", "Ringi-Approved-By")
STEP_TRAILERS: Final = ("Ringi-Request", "Ringi-Run", "Ringi-Step")
"""Of a commit that a step of a run became."""


class CommitSubject(Document, frozen=True):
    """The commit that follows, as far as it is known in advance."""

    branch: str
    """Empty if HEAD is detached."""
    parent: str
    """The commit it is made on; empty for the first one."""
    message: str
    hooks: tuple[str, ...] = ()
    """Names of the repository's hooks that will run."""
    reverts: tuple[str, ...] | UnsetType = UNSET
    """For an undo: the plan's commits that it takes back, newest first."""
    offered: str | UnsetType = UNSET
    """The commit itself, made before to be reviewed elsewhere: the branch gets it as it is."""


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
    """The execution that an undo reverts."""
    snapshot_id: str | UnsetType = UNSET
    """The one project state that a change plan is valid for."""
    checks: PlannedChecks | UnsetType = UNSET
    sandboxed: bool | UnsetType = UNSET
    """Whether the commands run in a sandbox; set if there are commands."""
    commit: CommitSubject | UnsetType = UNSET
    requester: str | UnsetType = UNSET
    """Who set these specs, if not the plan's proposer."""
    step: StepOf | UnsetType = UNSET
    """The step of a run that it is, and so where it is carried out."""


class RunApprovalFacts(NamedTuple):
    """What a run must have to be the approved one."""

    instruction: str
    plan_sha256: str
    """Of its planning.json."""
    forge: ForgeTerms | None = None


class SessionSubject(Versioned, frozen=True, kw_only=True):
    """The bytes of this document, as stored, are what the person said yes to."""

    kind: Literal["planning_session"] = "planning_session"
    workspace: str
    session_id: str
    reject_count: int
    instruction: str
    """The enhanced instruction: what the run gets."""
    planning_json: RunPlan
    """How the run carries it out."""
    forge: ForgeTerms | UnsetType = UNSET
    """What the run does on a forge, if anything."""

    @property
    def given(self) -> "RunApprovalFacts":
        plan = codec.digest(codec.canonical(self.planning_json))
        return RunApprovalFacts(self.instruction, plan, self.forge or None)


class RunSubject(Versioned, frozen=True, kw_only=True):
    """A run whose plan no session was approved with: made elsewhere, or anew."""

    kind: Literal["run"] = "run"
    workspace: str
    run_id: str
    session_id: str
    """Of the planning session that the instruction comes from; empty if there is none."""
    instruction: str
    planning_json: RunPlan
    forge: ForgeTerms | UnsetType = UNSET

    @property
    def given(self) -> "RunApprovalFacts":
        return RunApprovalFacts(
            self.instruction, codec.digest(codec.canonical(self.planning_json)), self.forge or None
        )


class RevisionSubject(Versioned, frozen=True, kw_only=True):
    """A revision of the plan by which a step of a run is worked on; it changes no file."""

    kind: Literal["revision"] = "revision"
    workspace: str
    run_id: str
    process_id: str
    number: int
    before: str
    after: str
    """Digests of the plan without it and with it."""
    difference: tuple[str, ...]
    """As the person saw it."""


class ProofKind(StrEnum):
    TYPED = "typed"
    SIGNED = "signed"
    GRANT = "grant"
    REVIEW = "review"
    """On a forge, by a person who may write there."""
    CONFIGURED = "configured"
    """No person was asked: the person's own configuration demands more than before."""


class Strength(StrEnum):
    WEAK = "weak"
    MEDIUM = "medium"
    """Another party than this machine vouches for it."""
    STRONG = "strong"


class TypedAnswer(Document, frozen=True):
    """What a person typed, and the digest of what the same process had shown them."""

    digest: str
    answer: str


class SignedAct(StrEnum):
    APPROVE = "approve"
    UNDO = "undo"
    GRANT = "grant"
    SIGNERS = "signers"


class SignedAnswer(Document, frozen=True):
    statement: str
    """The very bytes that were signed."""
    signature: str
    """As `ssh-keygen -Y sign` writes it."""


class ReviewAnswer(Document, frozen=True):
    """A person's yes on a forge, and the digest of what it approves here."""

    digest: str
    review: ReviewProof


Proof = TypedAnswer | SignedAnswer | ReviewAnswer


class ProofRecord(Document, frozen=True):
    kind: ProofKind
    strength: Strength
    user: str
    channel: str
    """Where the answer came from: the terminal's name, or the list that contains the key."""
    answer: str
    fresh_since: str | UnsetType = UNSET
    """Set if the terminal was opened after what was approved was made: when."""
    statement: str | UnsetType = UNSET
    signature: str | UnsetType = UNSET
    principal: str | UnsetType = UNSET
    """The name that the key was listed under."""
    key: str | UnsetType = UNSET
    """The public key, so that the signature can be checked without any list."""
    grant: str | UnsetType = UNSET
    """The id of the standing approval that covered it, which has the statement and the signature."""
    grant_subject: str | UnsetType = UNSET
    """What was signed, verbatim."""
    used_files: int | UnsetType = UNSET
    """What it used of the budget."""
    used_lines: int | UnsetType = UNSET
    run_dollars: float | UnsetType = UNSET
    """What the run had spent when a standing approval covered one of its steps."""
    review: ReviewProof | UnsetType = UNSET
    """Where the yes on a forge is."""


class ApprovalRequest(Versioned, frozen=True, kw_only=True):
    id: str
    subject_id: str = msgspec.field(name="plan_id")
    subject_kind: SubjectKind | UnsetType = UNSET
    """Set if it is not about a plan."""
    version: int = msgspec.field(name="plan_version")
    selection: SpecSelection
    digest: str
    requested_at: str
    expires_at: str
    act: Act | UnsetType = msgspec.field(name="kind", default=UNSET)
    """Set if it asks for an undo."""
    requester: str | UnsetType = UNSET
    """Who asked, as the program saw it."""

    @property
    def about(self) -> Subject:
        return Subject(self.subject_kind or SubjectKind.PLAN, self.subject_id)


class Approval(Versioned, frozen=True, kw_only=True):
    id: str
    subject_id: str = msgspec.field(name="plan_id")
    subject_kind: SubjectKind | UnsetType = UNSET
    """Set if it is not about a plan."""
    request_id: str | None
    approver: str
    timestamp: str
    expires_at: str
    selection: SpecSelection
    digest: str
    """SHA-256 of `subject`."""
    subject: str
    """What was approved, verbatim: canonical JSON of the subject of its kind."""
    proof: ProofRecord
    after_event: str
    """Hash of the event before it, so that rewritten history contradicts the approval."""
    note: str = ""
    spent_by: str | None = None
    """The execution it was used for, or the run it became; not part of what is hashed."""

    @property
    def about(self) -> Subject:
        return Subject(self.subject_kind or SubjectKind.PLAN, self.subject_id)

    @property
    def evidence(self) -> str:
        """The hash by which the log refers to it."""
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


class RequiredProof(StrEnum):
    """From the loosest to the strictest."""

    ANY = "any"
    SIGNED = "signed"
    """A typed answer never suffices."""


class SignerFile(Document, frozen=True):
    path: str
    """Absolute, or relative to the workspace for the list of the project."""
    sha256: str
    lines: tuple[str, ...]
    """In the format of allowed_signers(5), without comments."""


class SignersSubject(Versioned, frozen=True, kw_only=True):
    """The bytes of this document, as stored, are what the person said yes to."""

    kind: Literal["signers"] = "signers"
    workspace: str
    lists: tuple[SignerFile, ...]
    proof: RequiredProof
    replaces: str
    """SHA-256 of the document before it; empty for the first."""

    @property
    def lines(self) -> tuple[str, ...]:
        return tuple(line for file in self.lists for line in file.lines)
