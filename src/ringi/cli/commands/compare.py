"""`ringi compare`."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import show_comparison


@click.command()
@click.argument("plan", type=PLAN)
@click.argument("version", type=click.IntRange(1))
@click.argument("other", type=click.IntRange(1), required=False)
@click.option(
    "--with", "other_plan", type=PLAN, metavar="PLAN", help="A version of this plan instead of the same one."
)
@pass_app
def compare(app: App, plan: str, version: int, other: int | None, other_plan: str | None) -> None:
    """Compare two versions of a plan, or of two plans.

    Without OTHER, with the newest one.
    """
    found = app.workspace.versions.compare(plan, version, other, other_plan=other_plan)
    if app.ui.as_json:
        app.ui.document(found)
        return
    show_comparison(app, found)
