"""The plan tool's calls as MCP tools (PT-4). None of them approves."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ringi.errors import InvalidSpecs, NotYours
from ringi.kernel.document import Document
from ringi.kernel.text import Text
from ringi.mcp import answers, arguments
from ringi.plans.document import OutcomeKind, PlanRef
from ringi.plans.execute import execute
from ringi.plans.reading import preview_for_clients, with_unquoted

if TYPE_CHECKING:
    from ringi.app.api import Workspace
    from ringi.sessions.document import SessionView
    from ringi.sessions.tool import PlanningTool


class Hints(NamedTuple):
    """Hints only: what a client may do by itself is up to its user."""

    read_only: bool = False
    destructive: bool = False
    idempotent: bool = False
    open_world: bool = False


class Tool(NamedTuple):
    title: str
    description: str
    arguments: type[Document]
    answer: type[Document]
    hints: Hints
    work: "Callable[[Workspace, Any, str], Document] | None"
    """Also takes the label that people see: the client's own claim. Who asks is what the workspace sees.
    None for a tool that the server itself handles."""
    step: "Callable[[PlanningTool, Any], SessionView] | None" = None
    """A step of a planning session, after which the model runs."""


_READS: Final = Hints(read_only=True, idempotent=True)


def _propose(workspace: "Workspace", given: arguments.Propose, label: str) -> answers.PlanNow:
    plan_id = workspace.plan.propose(
        given.content,
        given.sources,
        given.rationale,
        given.tags,
        proposer=label,
    )
    return _now(workspace, plan_id, has_specs=False)


def _set_specs(workspace: "Workspace", given: arguments.SetActionSpecs, _: str) -> answers.SpecReport:
    plan_id = workspace.plan.find(given.plan_id)
    report = workspace.plan.set_action_specs(plan_id, given.specs)
    ref = workspace.plan.ref(plan_id)
    specs = tuple(map(answers.spec_line, report.normalized))
    step = answers.step_after(ref.status) if report.ok else "Set corrected specs: plan_set_action_specs"
    return answers.SpecReport(
        **_standing(ref), ok=report.ok, issues=report.issues, normalized=specs, next_step=step
    )


def _preview(workspace: "Workspace", given: arguments.OfPlan, _: str) -> answers.Preview:
    stored = workspace.plan.stored(given.plan_id)
    preview = preview_for_clients(workspace, given.plan_id)
    return answers.preview(preview, f"p{stored.number}", stored.document)


def _request(workspace: "Workspace", given: arguments.RequestApproval, _: str) -> answers.Requested:
    plan_id = workspace.plan.find(given.plan_id)
    if not workspace.plan.get_state(plan_id).action_specs:
        why = Text("there are no specs; set them with plan_set_action_specs")
        raise InvalidSpecs(plan=workspace.plan_name(plan_id), issues=why)
    asked = workspace.plan.ask(plan_id, given.selection)
    answer, ref = workspace.plan.answer(plan_id), workspace.plan.ref(plan_id)
    standing = answer.outcome is OutcomeKind.APPROVED
    return answers.Requested(
        **{**_standing(ref), "version": asked.version},
        request_id=asked.id,
        selection=asked.selection,
        expires_at=asked.expires_at,
        outcome=OutcomeKind.APPROVED if standing else None,
        person_types=answers.review_command(ref.name),
        next_step=answers.next_step(answer),
    )


def _execute(workspace: "Workspace", given: arguments.OfPlan, _: str) -> answers.Executed:
    plan_id = workspace.plan.find(given.plan_id)
    try:
        result = execute(workspace, plan_id, leaves=True)  # with the answer
    finally:
        workspace.flush()
    ref, step = workspace.plan.ref(plan_id), answers.next_step(workspace.plan.answer(plan_id))
    return answers.Executed(ref.name, ref.status, result, next_step=step)


def _get_state(workspace: "Workspace", given: arguments.OfPlan, _: str) -> answers.State:
    stored = workspace.plan.stored(given.plan_id)
    conflicts = workspace.plan.conflicts(given.plan_id)
    return answers.state(with_unquoted(workspace, stored.document), f"p{stored.number}", conflicts)


def _get_current(workspace: "Workspace", _: arguments.Nothing, __: str) -> answers.Current:
    ref = workspace.plan.get_current()
    step = "See its state: plan_get_state" if ref else "plan_propose"
    return answers.Current(ref, next_step=step)


def _list(workspace: "Workspace", given: arguments.List, _: str) -> answers.PlanList:
    refs = tuple(workspace.plan.list(limit=given.limit, waiting=given.waiting))
    step = "See the state of one of them: plan_get_state" if refs else "plan_propose"
    return answers.PlanList(refs, next_step=step)


def _mark_pending(workspace: "Workspace", given: arguments.MarkPending, _: str) -> answers.PlanNow:
    plan_id = workspace.plan.find(given.plan_id)
    workspace.plan.mark_pending(plan_id, given.pending)
    return _now(workspace, plan_id)


def _discard(workspace: "Workspace", given: arguments.OfPlan, label: str) -> answers.PlanNow:
    ref = workspace.plan.ref(given.plan_id)
    if ref.proposer != label:
        raise NotYours(plan=ref.name, name=label)
    workspace.plan.discard(ref.id, own=True)
    return _now(workspace, ref.id)


def _now(workspace: "Workspace", plan_id: str, *, has_specs: bool = True) -> answers.PlanNow:
    ref = workspace.plan.ref(plan_id)
    return answers.PlanNow(**_standing(ref), next_step=answers.step_after(ref.status, has_specs=has_specs))


def _standing(ref: PlanRef) -> dict[str, Any]:
    return {
        "plan_id": ref.id,
        "name": ref.name,
        "title": ref.title,
        "version": ref.version,
        "status": ref.status,
    }


def _clear_current(workspace: "Workspace", _: arguments.Nothing, __: str) -> answers.Cleared:
    workspace.plan.clear_current()
    return answers.Cleared(cleared=True, next_step="plan_propose")


TOOLS: Final[Mapping[str, Tool]] = {
    "plan_propose": Tool(
        "Propose a plan",
        "Begin a plan: say in words what should change in the workspace. No file changes. Then "
        "say exactly what it does with plan_set_action_specs.",
        arguments.Propose,
        answers.PlanNow,
        Hints(),
        _propose,
    ),
    "plan_set_action_specs": Tool(
        "Set what a plan does",
        "Give the exact file changes and commands of a plan; they are validated against the files as "
        "they are now, and scored for risk. No file of the workspace changes. Setting them again makes "
        "a new version, which no earlier approval covers. Specs that fail validation do not replace "
        "others.",
        arguments.SetActionSpecs,
        answers.SpecReport,
        Hints(),
        _set_specs,
    ),
    "plan_preview": Tool(
        "Preview a plan",
        "The diffs that the plan would make on the files as they are now, with risk, staleness, and "
        "other plans that change the same files.",
        arguments.OfPlan,
        answers.Preview,
        _READS,
        _preview,
    ),
    "plan_request_approval": Tool(
        "Ask a person to approve",
        "Ask for an approval of exactly this version. Answers at once with what the person should type; "
        "then call plan_wait. Only a person can approve, in a terminal of their own; no tool does.",
        arguments.RequestApproval,
        answers.Requested,
        Hints(),
        _request,
    ),
    "plan_wait": Tool(
        "Wait for the person",
        "Returns as soon as the person decides, comments or changes something; after `seconds` at the "
        "latest. outcome is approved, declined, cancelled, expired, or null while nobody decided: then "
        "call it again. Feedback, line comments, and what the person dropped or edited come with it.",
        arguments.WaitArguments,
        answers.Waited,
        _READS,
        None,
    ),
    "plan_execute": Tool(
        "Carry out an approved plan",
        "Carry out exactly what a person approved, and nothing else. Fails without an approval, or "
        "if a file changed since; nothing is changed then. Reading needs an approval too; secrets in what "
        "is read are masked.",
        arguments.OfPlan,
        answers.Executed,
        Hints(destructive=True, open_world=True),
        _execute,
    ),
    "plan_get_state": Tool(
        "See the state of a plan",
        "Status, specs (without their contents), selection, approvals, totals, checks, feedback and "
        "comments.",
        arguments.OfPlan,
        answers.State,
        _READS,
        _get_state,
    ),
    "plan_get_current": Tool(
        "The current plan",
        "The plan that was proposed last and not carried out yet; null if there is none.",
        arguments.Nothing,
        answers.Current,
        _READS,
        _get_current,
    ),
    "plan_list": Tool(
        "List plans",
        "Plans of this workspace, the newest first.",
        arguments.List,
        answers.PlanList,
        _READS,
        _list,
    ),
    "plan_mark_pending": Tool(
        "Mark a plan as pending",
        "Put a plan up for review (pending: true), or take it back to proposed (false); an open request "
        "ends then.",
        arguments.MarkPending,
        answers.PlanNow,
        Hints(),
        _mark_pending,
    ),
    "plan_discard": Tool(
        "Discard a plan of your own",
        "End a plan that you proposed and that nobody has decided on: no list shows it any more, and it can "
        "never be carried out.",
        arguments.OfPlan,
        answers.PlanNow,
        Hints(destructive=True),
        _discard,
    ),
    "plan_clear_current": Tool(
        "Clear the current plan",
        "No plan is the current one afterwards; the plan itself stays as it is.",
        arguments.Nothing,
        answers.Cleared,
        Hints(idempotent=True),
        _clear_current,
    ),
}
