"""`ringi revert`."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import tell_report
from ringi.kernel.text import Text


@click.command()
@click.argument("plan", type=PLAN)
@click.argument("version", type=click.IntRange(1))
@pass_app
def revert(app: App, plan: str, version: int) -> None:
    """Give a plan the specs of an earlier version.

    That makes a new version of it; the others stay.
    """
    plan_id = app.find_plan(plan)
    tool = app.workspace.plan
    report = app.workspace.versions.revert(plan_id, version, actor=app.actor)
    ref = tool.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(report)
    tell_report(app, report, ref.name)
    line = Text("{plan} has the specs of version {old} again, as version {new}.",
                plan=ref.name, old=version, new=ref.version)  # fmt: skip
    app.ui.line(line)
    app.ui.next_step(f"ringi review {ref.name}")
