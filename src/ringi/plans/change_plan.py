"""The change plan (CP-1): exact diffs on one snapshot, as the specification writes it."""

from enum import StrEnum
from typing import Literal

from msgspec import UNSET, UnsetType

from ringi.kernel.document import CamelDocument, Document
from ringi.policy.risk_level import Risk
from ringi.project.state import UnknownUsers


class Trigger(StrEnum):
    ERROR = "error"
    USER_REQUEST = "user_request"
    REFACTOR = "refactor"


class DiagnosticRef(CamelDocument, frozen=True, omit_defaults=True):
    file: str
    message: str
    line: int | None = None


class PlanBasis(CamelDocument, frozen=True):
    trigger: Trigger
    related_diagnostics: tuple[DiagnosticRef, ...]


class PlanScope(CamelDocument, frozen=True):
    target_files: tuple[str, ...]
    affected_files: tuple[str, ...]


class FileDiff(CamelDocument, frozen=True):
    file: str
    diff: str


class PlanValidations(CamelDocument, frozen=True):
    project_state_complete: Literal[True]
    no_conflict_files: tuple[str, ...]


class PlanRisk(CamelDocument, frozen=True):
    level: Risk
    reasons: tuple[str, ...]


class PlanExplanation(CamelDocument, frozen=True):
    summary: str
    details: str


class ChangeFacts(Document, frozen=True):
    """What makes a plan a change plan; the rest of the document is the plan itself."""

    snapshot_id: str
    """The only project state it is valid for."""
    basis: PlanBasis
    scope: PlanScope
    validations: PlanValidations
    risk: PlanRisk
    explanation: PlanExplanation
    superseded_at: str | None = None
    """When a newer project state made it void."""
    explained_by: str | UnsetType = UNSET
    """The model that wrote the explanation, if not the proposer did."""
    unknown_users: UnknownUsers | UnsetType = UNSET
    """If there are any, the affected files may not be all."""


class ChangeApproval(StrEnum):
    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"


class ApprovalState(CamelDocument, frozen=True, omit_defaults=True):
    status: ChangeApproval
    decided_at: int | None = None
    decided_by: Literal["user"] | None = None


class ChangePlan(CamelDocument, frozen=True, kw_only=True):
    """change-plan.json. Every field is required."""

    version: Literal["1.0"]
    plan_id: str
    created_at: int
    basis: PlanBasis
    scope: PlanScope
    changes: tuple[FileDiff, ...]
    validations: PlanValidations
    risk: PlanRisk
    explanation: PlanExplanation
    approval: ApprovalState
