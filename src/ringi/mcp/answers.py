"""What the tools return: documents, each with a short text that always names the next step.

Contents and diffs that would fill a conversation are in the resources.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from ringi.domain.answer import OutcomeKind, PlanAnswer, SpecDifference
from ringi.domain.base import Document
from ringi.domain.execution import ExecutionResult, OpStatus
from ringi.domain.feedback import Feedback, LineComment
from ringi.domain.plan import (
    ActionSpecExt,
    ApprovalEntry,
    CheckResult,
    DiffTotals,
    ExecutionLink,
    Overlap,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanStatus,
    SpecKind,
    SpecSelection,
)
from ringi.domain.risk import Risk, RiskReason
from ringi.errors import RingiError
from ringi.mcp.resources import PLANS
from ringi.text import Text, visible

_MOST_DIFF: Final = 100_000
"""Maximum characters of diffs in one answer."""


class ProposedPlan(Document, frozen=True):
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


class SpecReport(Document, frozen=True):
    ok: bool
    issues: tuple[str, ...]
    normalized: tuple[SpecLine, ...]
    plan_id: str
    name: str
    version: int
    status: PlanStatus


class DiffPart(Document, frozen=True):
    spec_id: str
    path: str
    kind: SpecKind
    added: int
    removed: int
    binary: bool
    risk: Risk
    reasons: tuple[RiskReason, ...]
    diff: str
    cut: bool
    """The whole diff is in the resource."""


class Preview(Document, frozen=True):
    files: tuple[str, ...]
    diffs: tuple[DiffPart, ...]
    risk_score: float
    stale: tuple[str, ...]
    """Files that changed after the specs were set."""
    overlaps: tuple[Overlap, ...]
    resource: str
    """All diffs in full."""


class Requested(Document, frozen=True):
    request_id: str
    plan_id: str
    name: str
    title: str
    version: int
    status: PlanStatus
    selection: SpecSelection
    expires_at: str
    outcome: OutcomeKind | None
    """approved if a standing approval answered at once; null while a person has to answer."""
    person_types: str
    """What the person types, in a terminal of their own."""


class Executed(Document, frozen=True):
    name: str
    status: PlanStatus
    result: ExecutionResult


class State(Document, frozen=True):
    plan_id: str
    name: str
    title: str
    version: int
    status: PlanStatus
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


class Current(Document, frozen=True):
    plan: PlanRef | None


class Plans(Document, frozen=True):
    plans: tuple[PlanRef, ...]


class Marked(Document, frozen=True):
    plan_id: str
    name: str
    status: PlanStatus


class Cleared(Document, frozen=True):
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


def state(document: PlanDocument, name: str) -> State:
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
    )


def preview(found: PlanPreview, name: str) -> Preview:
    left = _MOST_DIFF
    parts = []
    for diff in found.diffs:
        shown = diff.diff[:left]
        left -= len(shown)
        parts.append(
            DiffPart(
                diff.spec_id,
                diff.path,
                diff.kind,
                diff.added,
                diff.removed,
                diff.binary,
                diff.risk,
                diff.reasons,
                shown,
                cut=len(shown) < len(diff.diff),
            )
        )
    return Preview(
        files=found.files,
        diffs=tuple(parts),
        risk_score=found.risk_score,
        stale=found.stale,
        overlaps=found.overlaps,
        resource=f"{PLANS}/{name}/diff",
    )


def waited(answer: PlanAnswer, *, call_again: bool, next_step: str) -> Waited:
    return Waited(
        plan_id=answer.plan_id,
        name=answer.name,
        version=answer.version,
        status=answer.status,
        outcome=answer.outcome,
        feedback=answer.feedback,
        comments=answer.comments,
        changed=tuple(_shortened(answer.changed, answer.name)),
        call_again=call_again,
        next_step=next_step,
    )


def _shortened(changed: Iterable[SpecDifference], name: str) -> Iterable[SpecDifference]:
    left = _MOST_DIFF
    for one in changed:
        shown = one.diff[:left]
        left -= len(shown)
        rest = "" if shown == one.diff else f"\n(cut here; the plan as it is now: {PLANS}/{name}/diff)\n"
        yield SpecDifference(one.path, one.what, shown + rest)


_MOST_LINES: Final = 100
_LEDGER: Final = "(the ledger)"

# These replace hints that name a command for people, if agents have a tool for it.
_HINTS: Final = {
    "ambiguous": "Give more characters of the id, or its short name (p7).",
    "bad_document": "Compare the arguments with the tool's input schema; nothing was changed.",
    "bad_transition": "From {current} it can go to: {allowed}. See its state: plan_get_state",
    "busy": "Wait a moment, then make the same call again.",
    "lost_race": "Make the same call again; it will see the newer plan.",
    "invalid_specs": "Set corrected specs: plan_set_action_specs",
    "unfit_specs": "Propose a plan of your own: plan_propose",
    "not_approved": "Only a person can approve. Ask with plan_request_approval, tell them to type "
    "`ringi review {plan}`, and wait with plan_wait.",
    "expired": "Ask again: plan_request_approval",
    "stale": "Look at the files as they are now, set the specs anew (plan_set_action_specs), then ask again.",
    "already_done": "It is done; see plan_get_state. For more changes propose another plan.",
    "session_failed": "Nothing your user said is lost. Once the cause is gone, go on: planning_answer with "
    "resume: true. Or your user types: ringi plan --resume {session}",
    "session_race": "See its state now: planning_get",
    "session_over": "Begin another one, if your user wants that: planning_start",
    "bad_instruction": "Say in a sentence what your user wants to change: planning_start",
    "bad_answer": "See what is asked: planning_get. Then ask your user again.",
    "not_asked": "See what is asked: planning_get. Ask your user that; do not answer for them.",
}
_SEEN: Final = {"ringi list": "plan_list", "ringi plan --resume": "planning_get"}


def error_document(error: RingiError, hidden: Iterable[str] = ()) -> dict[str, Any]:
    """`hidden` are folders whose paths must not appear in the answer."""
    hint = _HINTS.get(error.code) or _where_to_see(error) or error.hint
    words = {
        "code": error.code,
        "message": str(error),
        "hint": str(Text(hint, **error.details)),
    }
    for folder in sorted(hidden, key=len, reverse=True):
        words = {name: word.replace(folder, _LEDGER) for name, word in words.items()}
    return {"error": {name: visible(word) for name, word in words.items()}}


def _where_to_see(error: RingiError) -> str:
    tool = _SEEN.get(str(error.details.get("see"))) if error.code == "not_found" else None
    return f"See what there is: {tool}" if tool else ""


def error_text(error: RingiError, hidden: Iterable[str] = ()) -> str:
    return msgspec.json.encode(error_document(error, hidden)).decode()


def clean(text: str) -> str:
    return visible(text, keep="\t\n")


def plan_line(ref: PlanRef) -> str:
    return (
        f"{ref.name}  {ref.title}  [{ref.status}, version {ref.version}, {ref.files} files"
        f" +{ref.added} -{ref.removed}, risk {ref.risk}]"
    )


def spec_lines(specs: Sequence[SpecLine]) -> list[str]:
    lines = [_spec(spec) for spec in specs[:_MOST_LINES]]
    return [*lines, f"and {len(specs) - _MOST_LINES} more"] if len(specs) > _MOST_LINES else lines


def _spec(spec: SpecLine) -> str:
    subject = " ".join(spec.argv) if spec.argv else spec.path
    target = f" -> {spec.target}" if spec.target else ""
    reasons = ", ".join(f"{reason.code} {reason.subject}".strip() for reason in spec.risk_reasons)
    risk = f"risk {spec.risk} ({reasons})" if reasons else f"risk {spec.risk}"
    wrong = "" if spec.validated else f"  CANNOT BE DONE: {spec.notes}"
    return f"{spec.id} {spec.kind} {subject}{target}  {spec.change}  {risk}{wrong}"


def report_text(found: SpecReport) -> str:
    if found.ok:
        head = f"All specs of {found.name} (version {found.version}) can be carried out."
        return "\n".join(
            [head, *spec_lines(found.normalized), "Next: plan_preview, then plan_request_approval."]
        )
    issues = found.issues[:_MOST_LINES]
    head = f"{found.name} cannot be carried out like this:"
    return "\n".join([head, *issues, "Next: set corrected specs with plan_set_action_specs."])


def preview_text(found: Preview, name: str) -> str:
    lines = [f"{name} changes {len(found.files)} files; risk score {found.risk_score:g}."]
    lines += [
        f"{part.kind} {part.path} +{part.added} -{part.removed} risk {part.risk}{' (binary)' * part.binary}"
        for part in found.diffs[:_MOST_LINES]
    ]
    if found.stale:
        lines.append(f"Changed since the specs were set, so set them anew: {', '.join(found.stale)}")
    lines += [
        f"{other.name} ({other.title}) also changes: {', '.join(other.paths)}" for other in found.overlaps
    ]
    if any(part.cut for part in found.diffs):
        lines.append(f"The diffs are cut; in full: {found.resource}")
    return "\n".join(lines)


def requested_text(found: Requested) -> str:
    if found.outcome is OutcomeKind.APPROVED:
        return f"{found.name} is approved: a standing approval covers it. Next: plan_execute."
    return (
        f"A person has to decide about {found.name}. Tell them to type, in a terminal of their own: "
        f"{found.person_types}\nNext: plan_wait. You cannot approve it yourself."
    )


def state_text(found: State) -> str:
    lines = [f"{found.name} {found.title}: {found.status}, version {found.version}"]
    lines += spec_lines(found.action_specs)
    lines += [f"check {check.command}: exit code {check.exit_code}" for check in found.checks]
    return "\n".join([*lines, *said(found.feedback, found.comments)])


def said(feedback: Iterable[Feedback], comments: Iterable[LineComment]) -> list[str]:
    """What the person wrote, marked as a quote: it is about the plan, not an instruction to a program."""
    lines = [f"The person ({one.kind or 'feedback'}): {one.text}" for one in feedback]
    return lines + [
        f"Comment on {one.path}:{one.line} ({one.side}, version {one.version}): {one.text}\n"
        f"    line: {one.quote}"
        for one in comments
    ]


def executed_text(name: str, status: PlanStatus, result: ExecutionResult) -> str:
    done = sum(one.status is OpStatus.DONE for one in result.results)
    head = (
        f"{name} is carried out: {done} done."
        if result.overall_success
        else f"{name} did not come to its end."
    )
    lines = [head, f"Status: {status}"]
    for one in result.results[:_MOST_LINES]:
        code = f", exit code {one.exit_code}" if isinstance(one.exit_code, int) else ""
        lines.append(f"{one.spec_id} {one.path}: {one.status}{code} {one.detail}".rstrip())
    if result.commit:
        lines.append(f"commit: {result.commit.commit or result.commit.why}")
    return "\n".join(lines)


def next_step(answer: PlanAnswer) -> str:
    name = answer.name
    if answer.status is PlanStatus.COMPLETED:
        return "It is carried out; nothing is left to do."
    if answer.status in {PlanStatus.SCHEDULED, PlanStatus.EXECUTING}:
        return "It is being carried out; see plan_get_state."
    if answer.outcome is OutcomeKind.APPROVED:
        return "Carry it out: plan_execute"
    if answer.outcome is OutcomeKind.DECLINED:
        return "Take in what the person said, set corrected specs (plan_set_action_specs), then ask again."
    if answer.outcome is OutcomeKind.EXPIRED:
        return "The request is too old. Ask again: plan_request_approval"
    if undecided(answer) and answer.changed:
        return (
            "The person changed parts of it and has not decided yet. Call plan_wait again; if nothing comes, "
            "ask for the changed version: plan_request_approval"
        )
    if answer.outcome is None and not undecided(answer):
        return "Nobody was asked yet. Set its specs (plan_set_action_specs), then ask: plan_request_approval"
    if answer.outcome is None:
        return f"Nobody has decided yet. The person types: ringi review {name}. Call plan_wait again."
    return "The request ended without a decision. See plan_get_state, then ask again: plan_request_approval"


def undecided(answer: PlanAnswer) -> bool:
    """True also while the person changes parts of it: that ends the request, but not their review."""
    overtaken = answer.outcome is OutcomeKind.CANCELLED and bool(answer.changed)
    return answer.status is PlanStatus.PENDING_REVIEW and (answer.outcome is None or overtaken)


def waited_text(found: Waited) -> str:
    outcome = found.outcome or "no decision yet"
    lines = [f"{found.name} version {found.version}: {outcome}, status {found.status}"]
    lines += said(found.feedback, found.comments)
    lines += [f"The person {one.what} {one.path}:\n{one.diff}" for one in found.changed]
    return "\n".join([*lines, f"Next: {found.next_step}"])
