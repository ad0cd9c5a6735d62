"""What an agent reads beside the documents: short, and always with the next step."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from ringi.domain.answer import OutcomeKind, PlanAnswer
from ringi.domain.execution import ExecutionResult, OpStatus
from ringi.domain.feedback import Feedback, LineComment
from ringi.domain.plan import PlanRef, PlanStatus
from ringi.errors import RingiError
from ringi.mcp.answers import Preview, Requested, SpecLine, SpecReport, State, Waited
from ringi.text import Text, visible

_MOST_LINES: Final = 100
_LEDGER: Final = "(the ledger)"

# Where the hint of an error names a command that people type and agents have a tool for.
_HINTS: Final = {
    "ambiguous": "Give more characters of the id, or its short name (p7).",
    "bad_document": "Compare the arguments with the tool's input schema; nothing was changed.",
    "bad_transition": "From {current} it can go to: {allowed}. See how it stands: plan_get_state",
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
    "session_race": "See where it stands now: planning_get",
    "session_over": "Begin another one, if your user wants that: planning_start",
    "bad_instruction": "Say in a sentence what your user wants to change: planning_start",
    "bad_answer": "See what is asked: planning_get. Then ask your user again.",
    "not_asked": "See what is asked: planning_get. Ask your user that; do not answer for them.",
}
_SEEN: Final = {"ringi list": "plan_list", "ringi plan --resume": "planning_get"}


def error_document(error: RingiError, hidden: Iterable[str] = ()) -> dict[str, Any]:
    """`hidden` are folders whose place is nobody's business here."""
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


def report(found: SpecReport) -> str:
    if found.ok:
        head = f"All specs of {found.name} (version {found.version}) can be carried out."
        return "\n".join(
            [head, *spec_lines(found.normalized), "Next: plan_preview, then plan_request_approval."]
        )
    issues = found.issues[:_MOST_LINES]
    head = f"{found.name} cannot be carried out like this:"
    return "\n".join([head, *issues, "Next: set corrected specs with plan_set_action_specs."])


def preview(found: Preview, name: str) -> str:
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


def requested(found: Requested) -> str:
    if found.outcome is OutcomeKind.APPROVED:
        return f"{found.name} is approved: a standing approval covers it. Next: plan_execute."
    return (
        f"A person has to decide about {found.name}. Tell them to type, in a terminal of their own: "
        f"{found.person_types}\nNext: plan_wait. You cannot approve it yourself."
    )


def state(found: State) -> str:
    lines = [f"{found.name} {found.title}: {found.status}, version {found.version}"]
    lines += spec_lines(found.action_specs)
    lines += [f"check {check.command}: exit code {check.exit_code}" for check in found.checks]
    return "\n".join([*lines, *said(found.feedback, found.comments)])


def said(feedback: Iterable[Feedback], comments: Iterable[LineComment]) -> list[str]:
    """Their words, fenced as words: they are about the plan and no orders to a program."""
    lines = [f"The person ({one.kind or 'feedback'}): {one.text}" for one in feedback]
    return lines + [
        f"Comment on {one.path}:{one.line} ({one.side}, version {one.version}): {one.text}\n"
        f"    line: {one.quote}"
        for one in comments
    ]


def executed(name: str, status: PlanStatus, result: ExecutionResult) -> str:
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
    """Also while the person changes parts of it: that ends the request, but not their review."""
    overtaken = answer.outcome is OutcomeKind.CANCELLED and bool(answer.changed)
    return answer.status is PlanStatus.PENDING_REVIEW and (answer.outcome is None or overtaken)


def waited(found: Waited) -> str:
    outcome = found.outcome or "no decision yet"
    lines = [f"{found.name} version {found.version}: {outcome}, status {found.status}"]
    lines += said(found.feedback, found.comments)
    lines += [f"The person {one.what} {one.path}:\n{one.diff}" for one in found.changed]
    return "\n".join([*lines, f"Next: {found.next_step}"])
