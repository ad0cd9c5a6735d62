"""How specs come into a plan, or take the place of others: one rule for every way."""

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from ringi.domain.plan import (
    ALL_SPECS,
    PLAN_MACHINE,
    ActionSpecExt,
    DiffTotals,
    PlanDocument,
    PlannedChecks,
    PlanStatus,
    with_state,
)
from ringi.errors import ChangeFixed
from ringi.plans.parts import Parts
from ringi.plans.validation import Validated
from ringi.policy.risk import score
from ringi.ports import NewEvent, StoredPlan

_NAME_LENGTH: Final = 50
"""In characters, of which one may take four bytes."""


def refuse_fixed(stored: StoredPlan) -> None:
    """The diffs of a change plan are what it is."""
    if stored.document.change:
        raise ChangeFixed(plan=f"p{stored.number}")


def next_version(document: PlanDocument) -> PlanDocument:
    """The plan as it takes other specs, which no earlier approval covers; raises where it cannot."""
    status = document.state.status
    if status is not PlanStatus.PENDING_REVIEW:
        status = PLAN_MACHINE.advance(status, PlanStatus.PENDING_REVIEW)
    version = document.plan.version + bool(document.state.action_specs)
    plan = msgspec.structs.replace(document.plan, version=version)
    # What was selected before may not be there any more.
    return with_state(
        msgspec.structs.replace(document, plan=plan),
        status=status,
        selection=ALL_SPECS,
        checks=(),
        amended_from=UNSET,
    )


def by_person(before: PlanDocument, changed: PlanDocument) -> PlanDocument:
    """The next version as the person's own: what they did is told against the proposer's last one."""
    return with_state(changed, amended_from=before.state.amended_from or before.plan.version)


def with_specs(parts: Parts, document: PlanDocument, validated: Validated) -> PlanDocument:
    return with_state(
        document,
        action_specs=validated.report.normalized,
        previews=totals_of(validated),
        planned_checks=_planned_checks(parts),
    )


def save_version(
    parts: Parts, stored: StoredPlan, document: PlanDocument, validated: Validated, *events: NewEvent
) -> None:
    with parts.store.transaction() as transaction:
        transaction.save_plan(stored, with_specs(parts, document, validated), *events)
        transaction.show_diffs(document.plan.id, diff_files(validated))


def _planned_checks(parts: Parts) -> PlannedChecks | UnsetType:
    """Those that the configuration names now: from here on they belong to what is approved."""
    checks = parts.rules.checks
    return checks if checks.before or checks.after else UNSET


def totals_of(validated: Validated) -> DiffTotals:
    normalized = validated.report.normalized
    return DiffTotals(
        files=paths_of(normalized),
        added=sum(rendered.added for rendered in validated.diffs),
        removed=sum(rendered.removed for rendered in validated.diffs),
        risk_score=score(normalized),
    )


def paths_of(specs: Sequence[ActionSpecExt]) -> tuple[str, ...]:
    return tuple(sorted({path for spec in specs for path in spec.changed_paths}))


def diff_files(validated: Validated) -> Mapping[str, bytes]:
    """For people: one for each spec, by a name that says which."""
    return {
        # Cut, because a file's own name may be as long as a name can be.
        f"{spec.id}-{spec.base.path.rsplit('/', 1)[-1][:_NAME_LENGTH]}.diff": rendered.diff
        for spec, rendered in zip(validated.report.normalized, validated.diffs, strict=True)
        if spec.validated
    }
