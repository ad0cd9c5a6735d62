"""`ringi pending`."""

from gettext import gettext as _

import click

from ringi.cli.app import App, pass_app
from ringi.cli.commands.list_ import show_table
from ringi.cli.plan_names import PLAN
from ringi.kernel.text import Text
from ringi.plans.document import PlanStatus


@click.command()
@click.argument("plan", type=PLAN, required=False)
@click.option("--off", is_flag=True, help="Take it off the list, without a decision.")
@pass_app
def pending(app: App, plan: str | None, off: bool) -> None:
    """List the plans that wait for a decision, or add PLAN to them."""
    if plan is None:
        if off:
            raise click.UsageError(_("--off needs a PLAN"))
        _list_pending(app)
        return
    tool = app.workspace.plan
    plan_id = tool.find(plan)
    tool.mark_pending(plan_id, not off)
    ref = tool.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(ref)
    elif off:
        app.ui.line(Text("{plan} no longer waits for a decision.", plan=ref.name))
        app.ui.next_step(f"ringi pending {ref.name}")
    else:
        app.ui.line(Text("{plan} waits for a decision.", plan=ref.name))
        app.ui.next_step(f"ringi review {ref.name}")


def _list_pending(app: App) -> None:
    refs = [ref for ref in app.plans.refs(waiting=True) if ref.status is PlanStatus.PENDING_REVIEW]
    if app.ui.as_json:
        app.ui.document(refs)
        return
    if not refs:
        app.ui.line(Text("No plan waits for a decision."))
        app.ui.next_step("ringi list")
        return
    show_table(app, refs)
    app.ui.next_step(f"ringi review {refs[0].name}")
