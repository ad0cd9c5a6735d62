"""A plan in the form of the specification of change plans (CP-1)."""

from datetime import datetime
from enum import StrEnum
from typing import Final, Literal

from ringi.domain.base import CamelDocument
from ringi.domain.change_plan import (
    FileDiff,
    PlanBasis,
    PlanExplanation,
    PlanRisk,
    PlanScope,
    PlanValidations,
)
from ringi.domain.plan import PlanDocument, PlanState, PlanStatus


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


_DECIDED: Final = frozenset(
    [
        PlanStatus.APPROVED,
        PlanStatus.SCHEDULED,
        PlanStatus.EXECUTING,
        PlanStatus.COMPLETED,
        PlanStatus.ABORTED,
    ]
)


def change_plan_of(document: PlanDocument) -> ChangePlan | None:
    """None for an ordinary plan."""
    facts = document.change
    if not facts:
        return None
    return ChangePlan(
        version="1.0",
        plan_id=document.plan.id,
        created_at=milliseconds(document.plan.created_at),
        basis=facts.basis,
        scope=facts.scope,
        changes=tuple(
            FileDiff(spec.base.path, spec.base.content or "") for spec in document.state.action_specs
        ),
        validations=facts.validations,
        risk=facts.risk,
        explanation=facts.explanation,
        approval=_approval(document.state, facts.superseded_at),
    )


def _approval(state: PlanState, superseded_at: str | None) -> ApprovalState:
    if superseded_at:
        # Nobody decided; the project changed.
        return ApprovalState(ChangeApproval.REJECTED, milliseconds(superseded_at))
    if state.status in _DECIDED:
        when = milliseconds(state.approvals[-1].timestamp) if state.approvals else None
        return ApprovalState(ChangeApproval.APPROVED, when, "user")
    if state.status is PlanStatus.PROPOSED and state.feedback:
        return ApprovalState(ChangeApproval.REJECTED, milliseconds(state.feedback[-1].timestamp), "user")
    return ApprovalState(ChangeApproval.PENDING)


def milliseconds(moment: str) -> int:
    """A document's timestamp in milliseconds since 1970."""
    return int(datetime.fromisoformat(moment).timestamp() * 1000)
