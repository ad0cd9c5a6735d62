"""`ringi request`."""

import click

from ringi.approvals.document import ApprovedPlan
from ringi.cli.app import App, pass_app
from ringi.cli.commands.approve import approve_command, ask_later, only, tell_standing
from ringi.cli.plan_names import PLAN
from ringi.kernel.text import Text, moment
from ringi.plans.document import SpecSelection


@click.command()
@click.argument("plan", type=PLAN)
@only
@pass_app
def request(app: App, plan: str, selection: SpecSelection) -> None:
    """Ask for an approval of a plan as it is now."""
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
