"""`ringi approve`."""

from collections.abc import Mapping, Sequence
from gettext import gettext as _
from pathlib import Path
from typing import Final, NamedTuple

import click

from ringi.approvals.document import ApprovalRequest, ApprovedPlan, Proof, ProofKind, TypedAnswer
from ringi.approvals.permits import check_always_asked
from ringi.approvals.prompter import APPROVE, ask_digest, is_yes
from ringi.approvals.view import format_proof
from ringi.cli.app import EXIT_PERSON_NEEDED, App, pass_app
from ringi.cli.arguments import require_text
from ringi.cli.ask import LONGEST_DIFF, LinePrompter, require_terminal, sign_statement
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import describe, require_open, show_comparison
from ringi.errors import NotRequested, NotTogether, PlanChanged
from ringi.kernel.text import Text, moment
from ringi.plans import words
from ringi.plans.document import PlanDocument
from ringi.plans.view import total_line
from ringi.policy.risk_level import Risk
from ringi.tree.action_spec import ALL_SPECS, SpecSelection, select_specs

_TOGETHER: Final = {"none": (), "low": (Risk.LOW,), "medium": (Risk.LOW, Risk.MEDIUM)}


class _Chosen(click.ParamType[SpecSelection]):
    name = "s1,s2"

    def convert(
        self, value: str | SpecSelection, param: click.Parameter | None, ctx: click.Context | None
    ) -> SpecSelection:
        if isinstance(value, SpecSelection):
            return value
        ids = tuple(part.strip() for part in value.split(","))
        if not all(ids):
            self.fail(_("{value} is not {form}").format(value=value, form=self.name), param, ctx)
        return SpecSelection(all=False, ids=ids)


class _Asked(NamedTuple):
    name: str
    document: PlanDocument
    request: ApprovalRequest | None
    """None if it was approved before."""
    given: ApprovedPlan | None
    """Set if it was approved before, or a standing approval covered it at once."""

    @property
    def plan_id(self) -> str:
        return self.document.plan.id


seen_version = click.option(
    "--seen", metavar="VERSION", type=click.IntRange(min=1), help="Only if it is this version."
)
only = click.option("--only", "selection", type=_Chosen(), default=ALL_SPECS, help="Only these specs of it.")


@click.command()
@click.argument("plans", type=PLAN, metavar="PLAN…", nargs=-1, required=True)
@only
@click.option("--note", metavar="TEXT", default="", help="Kept with the approval.")
@click.option("--sign", metavar="KEY", type=click.Path(path_type=Path), help="Sign with this SSH key.")
@seen_version
@click.option("--diff", is_flag=True, help="With the changes, line by line.")
@pass_app
def approve(
    app: App,
    plans: tuple[str, ...],
    selection: SpecSelection,
    note: str,
    sign: Path | None,
    seen: int | None,
    diff: bool,
) -> None:
    """Approve a plan exactly as it is shown.

    The answer is typed by a person at a terminal, or signed by a key that is listed. Executing it is another
    step. Several plans take one answer if approval.together allows it. Before you sign what you looked at,
    name its version with --seen, because its proposer may have made another since.
    """
    if len(plans) > 1 and (seen is not None or not selection.all):
        option = "--only" if seen is None else "--seen"
        raise click.UsageError(_("{option} belongs to a single plan").format(option=option))
    require_text(note)
    ids = _ids(app, plans)
    tool = app.workspace.plan
    if seen is not None:
        require_version(app, tool.get(ids[0]), seen)
    if not selection.all:
        later, selection = ask_later(app, ids[0], selection)
        # What was left out is another plan, with a version of its own.
        ids, seen = [later], seen if later == ids[0] else None
    before = {plan_id: tool.approved_already(plan_id, selection) for plan_id in ids}
    require_open(app, *(plan_id for plan_id in ids if not before[plan_id]))
    if sign is None and not all(before.values()):
        command = approve_command([tool.ref(plan_id).name for plan_id in ids], selection)
        app.workspace.signers.require_typing(f"{command} --sign KEY")
        require_terminal(app, command)
    given = _show_and_approve(app, before, selection, sign, note, diff=diff, seen=seen)
    if app.ui.as_json:
        approvals = [approved for _asked, approved in given]
        app.ui.document(approvals if len(approvals) > 1 else approvals[0])
    for asked, approved in given:
        _tell_approved(app, asked, approved)
        app.ui.next_step(f"ringi execute {asked.name}")


def _ids(app: App, plans: Sequence[str]) -> list[str]:
    ids = [app.find_plan(plan) for plan in plans]
    if len(set(ids)) != len(ids):
        raise click.UsageError(_("A plan is named twice"))
    return ids


def approve_signed(app: App, plan_id: str, key: Path, seen: int | None = None) -> None:
    """Shows the plan with its changes, and approves all of it by a signature; only the version `seen`."""
    before = {plan_id: app.workspace.plan.approved_already(plan_id, ALL_SPECS)}
    for asked, approved in _show_and_approve(app, before, ALL_SPECS, key, "", diff=True, seen=seen):
        _tell_approved(app, asked, approved)


def _show_and_approve(
    app: App,
    before: Mapping[str, ApprovedPlan | None],
    selection: SpecSelection,
    sign: Path | None,
    note: str,
    *,
    diff: bool,
    seen: int | None = None,
) -> list[tuple[_Asked, ApprovedPlan]]:
    """`before` has the plans with their earlier approvals."""
    tool = app.workspace.plan
    documents = [tool.get(plan_id) for plan_id in before]
    if len(documents) > 1:
        _require_together(app, documents)
    if seen is not None:
        require_version(app, documents[0], seen)
    asked = [
        _Asked(tool.ref(document.plan.id).name, document, None, known)
        # As after a command that was killed before it could say so.
        if (known := before[document.plan.id])
        else _show_and_ask(app, document, selection, diff=diff)
        for document in documents
    ]
    proofs = _answers(app, asked, selection, sign, note)
    return [(one, one.given or _approve(app, one, selection, proofs[one.plan_id], note)) for one in asked]


def require_version(app: App, document: PlanDocument, seen: int) -> None:
    """Raises PlanChanged: a person decides about what they looked at."""
    if document.plan.version != seen:
        raise PlanChanged(plan=app.workspace.plan_name(document.plan.id))


def ask_later(app: App, plan_id: str, selection: SpecSelection) -> tuple[str, SpecSelection]:
    """What to ask for: this, or all of a new plan with the specs that were left out when it was approved."""
    made = app.workspace.versions.propose_left_out(plan_id, selection, actor=app.actor)
    if made is None:
        return plan_id, selection
    new, old = app.workspace.plan_name(made), app.workspace.plan_name(plan_id)
    app.ui.line(Text("{plan} holds what was left out when {source} was approved.", plan=new, source=old))
    return made, ALL_SPECS


def approve_command(names: Sequence[str], selection: SpecSelection) -> str:
    only = "" if selection.all else f" --only {','.join(selection.ids)}"
    return f"ringi approve {' '.join(names)}{only}"


def _require_together(app: App, documents: Sequence[PlanDocument]) -> None:
    allowed = _TOGETHER[app.workspace.config.approval.together]
    if not allowed:
        raise NotTogether(why=Text("the configuration does not allow it"))
    for document in documents:
        if why := check_always_asked(app.workspace, document):
            raise NotTogether(why=why)
        risk = document.risk()
        if risk not in allowed:
            name = app.workspace.plan_name(document.plan.id)
            raise NotTogether(why=Text("the risk of {plan} is {risk}", plan=name, risk=words.RISK[risk]))


def _show_and_ask(app: App, document: PlanDocument, selection: SpecSelection, *, diff: bool) -> _Asked:
    """The request covers exactly what was shown."""
    tool, ui, plan_id = app.workspace.plan, app.ui, document.plan.id
    ref, preview = app.workspace.plan.ref(plan_id), tool.preview(plan_id)
    if diff:
        for part in preview.diffs:
            ui.diff(part.diff)
            ui.line()
    describe(app, ref, document, preview)
    delta = None if diff else app.workspace.versions.delta(plan_id)
    if delta is not None and delta.differences:
        ui.line(Text("Since the version that was approved last:"), indent=2)
        show_comparison(app, delta, most=LONGEST_DIFF)
    ui.show(filter(None, [total_line(document, selection)]))
    asked = tool.ask(plan_id, selection, seen=document)
    outcome = tool.outcome(plan_id)
    return _Asked(ref.name, document, asked, outcome if isinstance(outcome, ApprovedPlan) else None)


def _answers(
    app: App, asked: Sequence[_Asked], selection: SpecSelection, key: Path | None, note: str
) -> dict[str, Proof]:
    """One for each plan that waits for it; a no ends the command."""
    waiting = [(one, one.request) for one in asked if one.request and not one.given]
    if not waiting:
        return {}
    if key is not None:
        tool, who = app.workspace.plan, app.workspace.person.user()
        return {
            one.plan_id: sign_statement(app, key, tool.statement(request, who, note))
            for one, request in waiting
        }
    try:
        typed = _ask_typed(app, waiting, selection)
    except EOFError:
        typed = {}
    if not typed:
        for one, _request in waiting:
            app.ui.line(Text("Nothing was decided; {plan} still waits.", plan=one.name))
        raise click.exceptions.Exit(EXIT_PERSON_NEEDED)
    return typed


def _ask_typed(
    app: App, asked: Sequence[tuple[_Asked, ApprovalRequest]], selection: SpecSelection
) -> dict[str, Proof]:
    """Empty if the person said no."""
    [(first, request), *others] = asked
    prompter = LinePrompter(app)
    if not others and first.document.risk(selection) is Risk.HIGH:
        typed = ask_digest(prompter, request.digest)
        return {} if typed is None else {first.plan_id: typed}
    answer = prompter.answer(Text("Approve all {count}? [y/n]", count=len(asked)) if others else APPROVE)
    if not is_yes(answer):
        return {}
    return {one.plan_id: TypedAnswer(request.digest, answer) for one, request in asked}


def _approve(app: App, asked: _Asked, selection: SpecSelection, given: Proof, note: str) -> ApprovedPlan:
    tool, who = app.workspace.plan, app.workspace.person.user()
    try:
        return tool.approve(asked.plan_id, who, selection, given, note)
    except NotRequested:
        if tool.get(asked.plan_id).plan.version != asked.document.plan.version:
            raise PlanChanged(plan=asked.name) from None
        raise


def _tell_approved(app: App, asked: _Asked, given: ApprovedPlan) -> None:
    ui, approval = app.ui, given.approval
    if approval.proof.kind is ProofKind.GRANT:
        tell_standing(app, asked.name, given)
    else:
        ui.line(Text("✓ {plan} is approved, until {when} UTC",
                     plan=asked.name, when=moment(approval.expires_at)), style="green")  # fmt: skip
        ui.line(format_proof(approval.proof), indent=2)
    specs = asked.document.state.action_specs
    chosen = {spec.id for spec in select_specs(specs, approval.selection)}
    for spec in specs:
        if spec.id not in chosen:
            line = Text("not approved, and the proposer is told: {spec} {action}",
                        spec=spec.id, action=words.action(spec))  # fmt: skip
            ui.line(line, style="yellow", indent=2)
    if left := tuple(spec.id for spec in specs if spec.id not in chosen):
        later = approve_command([asked.name], SpecSelection(all=False, ids=left))
        ui.line(Text("You can approve the rest later: {command}", command=later), indent=2)


def tell_standing(app: App, name: str, given: ApprovedPlan) -> None:
    app.ui.line(Text("✓ {plan} is approved: a standing approval covers it", plan=name), style="green")
    app.ui.line(format_proof(given.approval.proof), indent=2)
