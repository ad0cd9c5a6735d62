"""`ringi retry`: the current step of a run is made anew."""

import click

from ringi.cli.app import App
from ringi.cli.commands.run_driver import RunDriver
from ringi.cli.commands.run_options import amending
from ringi.cli.plan_names import RUN
from ringi.cli.runs import GOING_ON, reading
from ringi.runs.drive import RunOptions


@click.command()
@click.argument("run", metavar="[RUN]", type=RUN, required=False)
@click.option("--with", "command", metavar="CMD", default="", help="Who implements it from now on.")
@amending
@click.pass_context
def retry(
    ctx: click.Context, run: str | None, command: str, allow: tuple[str, ...], tests: tuple[str, ...]
) -> None:
    """Make the current step of a run anew, also after it failed.

    Without RUN, the newest that is not over. What was committed before stays. --allow and --test mean the
    same as for ringi continue.
    """
    app: App = ctx.obj
    with reading(app) as reader:
        run_id = reader.find(run, GOING_ON)
    options = RunOptions(retry=True, role=command, allow=allow, tests=tests)
    raise click.exceptions.Exit(RunDriver(ctx, run_id, options).go())
