"""The documents that tools return, and the next step after a person's answer.

Contents that would fill a conversation are left out, and long diffs are cut.
"""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.feedback import Feedback, LineComment
from ringi.kernel.document import Document
from ringi.patch.conflict import Conflict
from ringi.plans.document import (
    ENDED,
    ApprovalEntry,
    DiffSummary,
    DiffTotals,
    ExecutionLink,
    OutcomeKind,
    PlanAnswer,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanStatus,
    SpecDifference,
)
from ringi.plans.execution import ExecutionResult
from ringi.policy.risk_level import Risk, RiskReason
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpecExt, SpecSelection
from ringi.tree.check_result import CheckResult

_MOST_DIFF: Final = 100_000
"""Maximum characters of diffs in one answer."""
_D = TypeVar("_D", DiffSummary, SpecDifference)
_CUT: Final = "\n(cut here)\n"


class NextStep(Document, frozen=True, kw_only=True):
    next_step: str
    """What you do next; clients may show you only this document."""


class ErrorBody(Document, frozen=True):
    code: str
    message: str
    hint: str


class FailedCall(NextStep, frozen=True):
    """In place of any other answer."""

    error: ErrorBody


class PlanNow(NextStep, frozen=True):
    plan_id: str
    name: str
    """What people call it."""
    title: str
    version: int
    status: PlanStatus


class SpecLine(Document, frozen=True):
    """A spec without its content."""

    id: str
    kind: SpecKind
    path: str
    risk: Risk
    risk_reasons: tuple[RiskReason, ...]
    validated: bool
    notes: str
    """Why it cannot be carried out."""
    change: str
    """Lines added and removed."""
    target: str | None = None
    argv: tuple[str, ...] = ()
    group: str | None = None
    optional: bool = False


class SpecReport(PlanNow, frozen=True, kw_only=True):
    ok: bool
    issues: tuple[str, ...]
    normalized: tuple[SpecLine, ...]


class Preview(PlanPreview, frozen=True, kw_only=True):
    next_step: str


class Requested(PlanNow, frozen=True, kw_only=True):
    request_id: str
    selection: SpecSelection
    expires_at: str
    outcome: OutcomeKind | None
    """approved if a standing approval answered at once; null while a person has to answer."""
    person_types: str
    """What the person types, in a terminal of their own."""


class Executed(NextStep, frozen=True):
    name: str
    status: PlanStatus
    result: ExecutionResult


class State(PlanNow, frozen=True, kw_only=True):
    action_specs: tuple[SpecLine, ...]
    selection: SpecSelection
    approvals: tuple[ApprovalEntry, ...]
    previews: DiffTotals | None
    checks: tuple[CheckResult, ...]
    feedback: tuple[Feedback, ...]
    comments: tuple[LineComment, ...]
    executions: tuple[ExecutionLink, ...]
    amended_from: int | UnsetType = UNSET
    """Your version, if the person dropped or edited parts of it since."""
    conflicts: tuple[Conflict, ...] = ()
    """What the person decides in their review, because you both changed the same."""


class Current(NextStep, frozen=True):
    plan: PlanRef | None


class PlanList(NextStep, frozen=True):
    plans: tuple[PlanRef, ...]


class Cleared(NextStep, frozen=True):
    cleared: bool


class Waited(PlanAnswer, frozen=True, kw_only=True):
    call_again: bool
    """Nobody has decided yet."""
    next_step: str


def spec_line(spec: ActionSpecExt) -> SpecLine:
    base = spec.base
    return SpecLine(
        id=spec.id,
        kind=base.kind,
        path=base.path,
        risk=spec.risk,
        risk_reasons=spec.risk_reasons,
        validated=spec.validated,
        notes=spec.notes,
        change=spec.preflight.diff_summary,
        target=base.target,
        argv=base.argv,
        group=base.group,
        optional=base.optional,
    )


def state(document: PlanDocument, name: str, conflicts: tuple[Conflict, ...] = ()) -> State:
    plan, now = document.plan, document.state
    return State(
        plan_id=plan.id,
        name=name,
        title=plan.title,
        version=plan.version,
        status=now.status,
        action_specs=tuple(map(spec_line, now.action_specs)),
        selection=now.selection,
        approvals=now.approvals,
        previews=now.previews,
        checks=now.checks,
        feedback=now.feedback,
        comments=now.comments or (),
        executions=now.executions,
        amended_from=now.amended_from,
        conflicts=conflicts,
        next_step=_step_of_run(document)
        or (_decide(name) if conflicts else step_after(now.status, has_specs=bool(now.action_specs))),
    )


def _step_of_run(document: PlanDocument) -> str:
    """Steps are decided with the others of their run; empty for other plans and for what is over."""
    step = document.step
    if not step or document.state.status in ENDED:
        return ""
    return (
        f"It is step {step.step_id} of a run, and a person decides. Tell them to type, in a terminal of "
        f"their own: ringi continue {step.run_id}. Then: plan_wait"
    )


def _decide(name: str) -> str:
    """Nobody can be asked to approve a plan with open conflicts."""
    return (
        "Your user changed the same places. Read these files again and set specs that keep what they wrote: "
        "plan_set_action_specs. Or they decide it in a terminal of their own while you call plan_wait: "
        f"{review_command(name)}"
    )


def preview(found: PlanPreview, name: str, document: PlanDocument) -> Preview:
    step = step_after(document.state.status, has_specs=bool(found.diffs))
    step = _step_of_run(document) or (_decide(name) if found.conflicts else step)
    return Preview(**{**_fields(found), "diffs": _shorten_diffs(found.diffs)}, next_step=step)


def wait_answer(answer: PlanAnswer) -> Waited:
    given = {**_fields(answer), "changed": _shorten_diffs(answer.changed)}
    return Waited(**given, call_again=is_undecided(answer), next_step=next_step(answer))


def _fields(document: Document) -> dict[str, Any]:
    """As the arguments of a document that says more."""
    return {name: getattr(document, name) for name in document.__struct_fields__}


def _shorten_diffs(diffs: Iterable[_D]) -> tuple[_D, ...]:
    """All diffs together fit into one answer."""
    left, found = _MOST_DIFF, []
    for one in diffs:
        shown = one.diff[:left]
        left -= len(shown)
        found.append(one if shown == one.diff else msgspec.structs.replace(one, diff=shown + _CUT))
    return tuple(found)


def is_undecided(answer: PlanAnswer) -> bool:
    """True also while the person changes parts of it: that ends the request, but not their review."""
    overtaken = answer.outcome is OutcomeKind.CANCELLED and bool(answer.changed)
    return answer.status is PlanStatus.PENDING_REVIEW and (answer.outcome is None or overtaken)


def next_step(answer: PlanAnswer) -> str:
    if answer.status is PlanStatus.COMPLETED:
        return "It is carried out; nothing is left to do."
    if answer.status is PlanStatus.DISCARDED:
        return "It was discarded; nothing is left to do, and it should not be proposed again unasked."
    if answer.status in {PlanStatus.SCHEDULED, PlanStatus.EXECUTING}:
        return _UNDER_WAY
    if answer.outcome is OutcomeKind.APPROVED:
        return "Carry it out: plan_execute"
    if answer.outcome is OutcomeKind.DECLINED:
        return "Read the feedback, set corrected specs (plan_set_action_specs), then ask again."
    if answer.outcome is OutcomeKind.EXPIRED:
        return "The request is too old. Ask again: plan_request_approval"
    if is_undecided(answer) and answer.changed:
        return (
            "The person changed parts of it and has not decided yet. Call plan_wait again; if nothing comes, "
            "ask for the changed version: plan_request_approval"
        )
    if is_undecided(answer):
        return (
            "Nobody has decided yet. Tell the person to type, in a terminal of their own: "
            f"{review_command(answer.name)}. Then call plan_wait until they decide; you cannot approve it."
        )
    if answer.outcome is None:
        return "Nobody was asked yet. Set its specs (plan_set_action_specs), then ask: plan_request_approval"
    return "The request ended without a decision. See plan_get_state, then ask again: plan_request_approval"


_UNDER_WAY: Final = "It is being carried out; see plan_get_state."
_AFTER: Final = {
    PlanStatus.PROPOSED: "plan_preview, then plan_request_approval",
    PlanStatus.PENDING_REVIEW: "A person decides. If none was asked: plan_request_approval. Then: plan_wait",
    PlanStatus.APPROVED: "Carry it out: plan_execute",
    PlanStatus.SCHEDULED: _UNDER_WAY,
    PlanStatus.EXECUTING: _UNDER_WAY,
    PlanStatus.ABORTED: "Carry out the rest, under the same approval: plan_execute",
}


def step_after(status: PlanStatus, *, has_specs: bool = True) -> str:
    """From the status alone; `next_step` knows more."""
    if status is PlanStatus.PROPOSED and not has_specs:
        return "Say exactly what it does: plan_set_action_specs"
    return _AFTER.get(status, f"It is {status}; for another change: plan_propose")


def review_command(name: str) -> str:
    return f"ringi review {name}"


def to_builtins(document: Document) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(document)
    return found
