"""`ringi discard`."""

import click

from ringi.beside.copies import remove_settled
from ringi.cli.app import App, pass_app
from ringi.cli.arguments import require_text
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import tell_discarded


@click.command()
@click.argument("plan", type=PLAN)
@click.option("--reason", metavar="TEXT", default="", help="Why; kept in the log.")
@pass_app
def discard(app: App, plan: str, reason: str) -> None:
    """Throw a plan away: no list shows it any more, and it is never carried out.

    The log and `ringi show` keep it. Files that it has changed already stay as they are.
    """
    require_text(reason)
    plan_id = app.find_plan(plan)
    tool = app.workspace.plan
    tool.discard(plan_id, reason.strip())
    remove_settled(app.workspace)
    ref = tool.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(ref)
        return
    tell_discarded(app, ref.id, ref.name)
