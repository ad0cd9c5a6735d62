"""`ringi fork`."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.plan_names import PLAN
from ringi.kernel.text import Text


@click.command()
@click.argument("plan", type=PLAN)
@click.option(
    "--version", type=click.IntRange(1), metavar="N", help="Of this version; without it the newest."
)
@click.option("--as", "proposer", metavar="LABEL", default="", help="Who proposes it.")
@pass_app
def fork(app: App, plan: str, version: int | None, proposer: str) -> None:
    """Make a new plan from a version of another.

    Its specs are computed for the files as they are now.
    """
    tool = app.workspace.plan
    source = tool.find(plan)
    ref = tool.ref(app.workspace.versions.fork(source, version, proposer=proposer, actor=app.actor))
    if app.ui.as_json:
        app.ui.document(ref)
        return
    line = Text("{plan} is a new plan, made from {source}.", plan=ref.name, source=tool.ref(source).name)
    app.ui.line(line)
    app.ui.next_step(f"ringi show {ref.name}")
