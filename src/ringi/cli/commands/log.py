"""`ringi log`."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import require_long
from ringi.cli.plan_names import PLAN
from ringi.errors import LogBroken
from ringi.kernel.text import Text
from ringi.ledger.subject import is_session
from ringi.plans.verdict_view import event_line


@click.command()
@click.argument("plan", type=PLAN, required=False)
@click.option("--verify", is_flag=True, help="Check that nothing in the log was changed, removed or moved.")
@pass_app
def log(app: App, plan: str | None, verify: bool) -> None:
    """Show the events of a plan, of a planning session, or of all."""
    if verify:
        _verify_log(app)
        return
    if plan is not None and is_session(plan):
        require_long(plan)
    events = app.workspace.log(plan)
    if app.ui.as_json:
        app.ui.document(list(events))
        return
    names = {ref.id: ref.name for ref in app.plans.refs(discarded=True)}
    for logged in events:
        app.ui.line(event_line(logged, names.get(logged.event.subject_id, "-")))


def _verify_log(app: App) -> None:
    with app.workspace.one_moment():
        breaks = app.workspace.verify_log()
        count = sum(1 for _ in app.workspace.log()) if not breaks else 0
    if app.ui.as_json:
        app.ui.document({"ok": not breaks, "breaks": [str(place) for place in breaks]})
    if breaks:
        for place in breaks:
            app.ui.line(Text("✗ {place}", place=place), style="red")
        raise LogBroken(count=len(breaks))
    if not app.ui.as_json:
        app.ui.line(
            Text(
                "✓ 1 event, unbroken; plans, sessions, approvals and results agree",
                "✓ {count} events, unbroken; plans, sessions, approvals and results agree",
                count=count,
            ),
            style="green",
        )
