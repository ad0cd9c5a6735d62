"""`ringi reject`."""

from gettext import gettext as _

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import STDIN, read_named, require_text
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import tell_sent_back


@click.command()
@click.argument("plan", type=PLAN)
@click.option("--feedback", metavar="TEXT|-", required=True, help="What the proposer should change.")
@pass_app
def reject(app: App, plan: str, feedback: str) -> None:
    """Send a plan back to whoever proposed it, with your feedback."""
    if feedback == STDIN:
        feedback = read_named(STDIN).decode("utf-8", "replace")
    feedback = feedback.strip()
    if not feedback:
        raise click.UsageError(_("To reject it, say what should change"))
    require_text(feedback)
    plan_id = app.find_plan(plan)
    declined = app.workspace.plan.reject(plan_id, feedback)
    if app.ui.as_json:
        app.ui.document(declined)
        return
    tell_sent_back(app, plan_id, app.workspace.plan_name(plan_id))
