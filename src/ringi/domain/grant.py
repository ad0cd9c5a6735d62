"""Standing approvals (rule 5): what a person allows in advance, within budgets, until a date."""

from ringi.domain.approval import ProofRecord
from ringi.domain.base import Document, Versioned
from ringi.domain.plan import SpecKind
from ringi.domain.risk import Risk


class GrantScope(Document, frozen=True):
    """What is signed, besides the dates and the workspace."""

    requester: str
    """with:claude for an agent that `ringi with` starts, or user:hanako."""
    globs: tuple[str, ...]
    kinds: tuple[SpecKind, ...]
    max_risk: Risk
    """Low or medium; a high risk is never covered."""
    files_per_use: int
    lines_per_use: int
    files_total: int
    lines_total: int


class GrantSubject(Versioned, frozen=True, kw_only=True):
    """The bytes of this document are what the person signed."""

    id: str
    workspace: str
    scope: GrantScope
    created_at: str
    expires_at: str


class Grant(Versioned, frozen=True, kw_only=True):
    id: str
    approver: str
    digest: str
    """SHA-256 of `subject`."""
    subject: str
    """The canonical JSON of the GrantSubject, verbatim."""
    proof: ProofRecord
    after_event: str


class GrantUse(Document, frozen=True):
    """What one approval used of the budget."""

    approval_id: str
    plan_id: str
    at: str
    files: int
    lines: int


class GrantState(Document, frozen=True):
    """A grant and its current state, as `grant list` shows it."""

    grant: Grant
    scope: GrantScope
    expires_at: str
    uses: tuple[GrantUse, ...] = ()
    revoked_at: str | None = None
