"""What `ringi verify` answers: whether what was carried out is what a person approved."""

from enum import StrEnum

from msgspec import UNSET, UnsetType

from ringi.domain.approval import Act, ProofKind, Strength
from ringi.domain.base import Document, Versioned


class FileStanding(StrEnum):
    AS_APPROVED = "as_approved"
    CHANGED_SINCE = "changed_since"
    """It was as approved at that time."""
    UNDONE = "undone"


class ProvenFile(Document, frozen=True):
    path: str
    status: FileStanding
    since: str = ""
    """The plan whose bytes are there now; empty where somebody else wrote to it."""
    command: str = ""
    """The approved command that changed it: its bytes are recorded, nobody knew them beforehand."""


class GivenProof(Document, frozen=True):
    kind: ProofKind
    strength: Strength
    user: str
    channel: str
    principal: str = ""
    key: str = ""
    """The fingerprint of the key that signed."""
    grant: str = ""


class GivenApproval(Document, frozen=True):
    id: str
    approver: str
    at: str
    note: str
    proof: GivenProof


class ProvenExecution(Document, frozen=True):
    id: str
    kind: Act
    started_at: str
    finished_at: str
    """Empty while it is being carried out."""
    overall_success: bool
    approval: GivenApproval | None
    """None where there was nothing to approve, because it only read."""


class ProvenCommit(Document, frozen=True):
    id: str
    as_approved: bool
    """Every file of the plan is in it with exactly the approved bytes."""
    notes: tuple[str, ...]
    """What is otherwise: hooks and filters may change what is committed, and history may be rewritten."""


class ProvenSession(Versioned, frozen=True, kw_only=True):
    session_id: str
    run_id: str
    """What it became; empty if nobody approved it."""
    proven: bool
    """Nothing contradicts: not that it was approved."""
    approval: GivenApproval | None
    log_ok: bool
    problems: tuple[str, ...]
    forged: tuple[str, ...]
    """Files in .agent that do not say what the ledger says."""


class Proven(Versioned, frozen=True, kw_only=True):
    plan_id: str
    name: str
    proven: bool
    """Nothing contradicts: not that it was carried out."""
    carried_out: bool
    executions: tuple[ProvenExecution, ...]
    unused: tuple[GivenApproval, ...]
    """Approvals that nothing was carried out under."""
    files: tuple[ProvenFile, ...]
    unrecorded: tuple[str, ...]
    """Commands that were cut off, and links and the like that commands changed: nobody knows their bytes."""
    log_ok: bool
    problems: tuple[str, ...]
    forged: tuple[str, ...]
    """Files in .agent that do not say what the ledger says."""
    commit: ProvenCommit | UnsetType = UNSET
    sessions: tuple[ProvenSession, ...] | UnsetType = UNSET
    """The approved planning sessions, if everything was to be looked at."""
