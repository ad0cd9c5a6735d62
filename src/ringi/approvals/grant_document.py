"""Standing approvals (rule 5): what a person allows in advance, within budgets, until a date."""

from collections.abc import Iterable
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.document import ProofRecord
from ringi.kernel.document import Document, Versioned
from ringi.policy.risk_level import Risk
from ringi.policy.spec_kind import SpecKind


class RunTerms(Document, frozen=True):
    """The one run whose steps are covered: as it was planned, on its own branch."""

    run_id: str
    plan_sha256: str
    branch: str
    steps: int
    """How many of them."""
    dollars: float | UnsetType = UNSET
    """What the run may have spent when a step is covered, as far as that is known."""
    hooks: tuple[str, ...] = ()
    """Of the repository, which run with each commit and outside a sandbox."""


class GrantScope(Document, frozen=True):
    """What is signed, besides the dates and the workspace."""

    requester: str
    """with:claude for an agent that `ringi with` starts, user:hanako, or run:ID for the steps of a run."""
    globs: tuple[str, ...]
    kinds: tuple[SpecKind, ...]
    max_risk: Risk
    """Low or medium; a high risk is never covered."""
    files_per_use: int
    lines_per_use: int
    files_total: int
    lines_total: int
    run: RunTerms | UnsetType = UNSET


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
    step_id: str | UnsetType = UNSET
    """The step of a run that it approved."""


def count_uses(uses: Iterable[GrantUse], step_id: str = "") -> list[GrantUse]:
    """Those that take from the budget if this step is approved next.

    A step is committed once, whatever was approved of it before: its last use counts.
    """
    kept = {use.step_id or use.approval_id: use for use in uses}
    kept.pop(step_id, None)
    return [*kept.values()]


class GrantState(Document, frozen=True):
    """A grant and its current state, as `grant list` shows it."""

    grant: Grant
    scope: GrantScope
    expires_at: str
    uses: tuple[GrantUse, ...] = ()
    revoked_at: str | None = None


class StoredGrant(NamedTuple):
    grant: Grant
    revoked_at: str | None
