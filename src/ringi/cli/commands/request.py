"""`ringi request`."""

import click

from ringi.approvals.document import ApprovedPlan
from ringi.cli.app import App, pass_app
from ringi.cli.commands.approve import approve_command, ask_later, only, tell_standing
from ringi.cli.plan_names import PLAN
from ringi.kernel.text import Text, moment
from ringi.tree.action_spec import SpecSelection


@click.command()
@click.argument("plan", type=PLAN)
@only
@click.option(
    "--pending/--no-pending",
    default=None,
    help="Instead, only put it among the plans that wait for a decision, or take it off that list.",
)
@pass_app
def request(app: App, plan: str, selection: SpecSelection, pending: bool | None) -> None:
    """Ask for an approval of a plan as it is now."""
    if pending is not None:
        _mark(app, plan, pending=pending)
        return
    ui = app.ui
    plan_id, selection = ask_later(app, app.find_plan(plan), selection)
    tool = app.workspace.plan
    asked = tool.ask(plan_id, selection)
    name, outcome = app.workspace.plan_name(asked.subject_id), tool.outcome(asked.subject_id)
    standing = outcome if isinstance(outcome, ApprovedPlan) else None
    if ui.as_json:
        ui.document(standing or asked)
        return
    if standing:
        tell_standing(app, name, standing)
        ui.next_step(f"ringi execute {name}")
        return
    for error in app.workspace.grants.refusals(asked.subject_id):
        ui.line(Text("! {why}", why=Text(error.message, **error.details)), style="yellow")
    ui.line(Text("A person is asked to approve {plan}, until {when} UTC.",
                 plan=name, when=moment(asked.expires_at)))  # fmt: skip
    ui.line(Text("What is approved is sha256 {digest}", digest=asked.digest), indent=2)
    ui.line(Text("In a terminal of their own:"), indent=2)
    ui.next_step(approve_command([name], selection))


def _mark(app: App, plan: str, *, pending: bool) -> None:
    tool = app.workspace.plan
    plan_id = tool.find(plan)
    tool.mark_pending(plan_id, pending)
    ref = tool.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(ref)
    elif pending:
        app.ui.line(Text("{plan} waits for a decision.", plan=ref.name))
        app.ui.next_step(f"ringi review {ref.name}")
    else:
        app.ui.line(Text("{plan} no longer waits for a decision.", plan=ref.name))
        app.ui.next_step(f"ringi request {ref.name} --pending")
