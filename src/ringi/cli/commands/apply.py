"""`ringi apply`."""

import click

from ringi.cli.app import App
from ringi.cli.commands.review import decide
from ringi.cli.plan_names import PLAN
from ringi.cli.review_dialogue import ApplyPrompter


@click.command()
@click.argument("plan", type=PLAN)
@click.option("--commit", is_flag=True, help="Commit what is approved, too.")
@click.pass_context
def apply(ctx: click.Context, plan: str, commit: bool) -> None:
    """Show a plan, ask, and carry it out.

    The same questions as in ringi review. The answer has to be typed by a person at a terminal.
    """
    app: App = ctx.obj
    decide(ctx, app.find_plan(plan), full=False, prompter=ApplyPrompter, commit=commit)
