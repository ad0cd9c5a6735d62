"""`ringi current`."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.commands.list_ import show_table
from ringi.plans import words


@click.command()
@click.option("--clear", is_flag=True, help="Unset the current plan; the plan itself stays as it is.")
@pass_app
def current(app: App, clear: bool) -> None:
    """Show the current plan: the one proposed last, until it is done."""
    tool = app.workspace.plan
    if clear:
        tool.clear_current()
    ref = tool.get_current()
    if app.ui.as_json:
        app.ui.document(ref)
    elif ref is None:
        app.ui.line(words.NO_CURRENT_PLAN)
        app.ui.next_step("ringi list")
    else:
        show_table(app, [ref])
        app.ui.next_step(f"ringi show {ref.name}")
