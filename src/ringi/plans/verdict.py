"""What `ringi verify` answers: whether what was carried out is what a person approved."""

from enum import StrEnum

from msgspec import UNSET, UnsetType

from ringi.approvals.document import Act, ProofKind, Strength
from ringi.kernel.document import Document, Versioned


class FileStanding(StrEnum):
    AS_APPROVED = "as_approved"
    CHANGED_SINCE = "changed_since"
    """It was as approved at that time."""
    UNDONE = "undone"


class ProvenFile(Document, frozen=True):
    path: str
    status: FileStanding
    since: str = ""
    """The plan whose bytes are there now; empty if no plan did."""
    command: str = ""
    """The approved command that changed it: its bytes are recorded but were not known in advance."""


class GivenProof(Document, frozen=True):
    kind: ProofKind
    strength: Strength
    user: str
    channel: str
    principal: str = ""
    key: str = ""
    """The fingerprint of the key that signed."""
    grant: str = ""
    fresh_since: str = ""
    """Set if it was typed at a terminal that was opened after the plan was made: when."""
    url: str = ""
    """Where on a forge it is."""


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
    """None if there was nothing to approve, because it only reads."""


class ProvenCommit(Document, frozen=True):
    id: str
    as_approved: bool
    """Every file of the plan is in it with exactly the approved bytes."""
    notes: tuple[str, ...]
    """What differs: hooks and filters may change what is committed, and history may be rewritten."""


class ProvenSession(Versioned, frozen=True, kw_only=True):
    session_id: str
    run_id: str
    """What it became; empty if it was not approved."""
    proven: bool
    """Nothing contradicts it; it need not have been approved."""
    approval: GivenApproval | None
    log_ok: bool
    problems: tuple[str, ...]
    forged: tuple[str, ...]
    """Files in .agent that differ from the ledger."""


class Proven(Versioned, frozen=True, kw_only=True):
    plan_id: str
    name: str
    proven: bool
    """Nothing contradicts it; it need not have been carried out."""
    carried_out: bool
    executions: tuple[ProvenExecution, ...]
    unused: tuple[GivenApproval, ...]
    """Approvals under which nothing was carried out."""
    files: tuple[ProvenFile, ...]
    unrecorded: tuple[str, ...]
    """Interrupted commands, and links and the like that commands changed: their bytes are unknown."""
    log_ok: bool
    problems: tuple[str, ...]
    forged: tuple[str, ...]
    """Files in .agent that differ from the ledger."""
    commit: ProvenCommit | UnsetType = UNSET
    sessions: tuple[ProvenSession, ...] | UnsetType = UNSET
    """The approved planning sessions, if everything is verified."""
