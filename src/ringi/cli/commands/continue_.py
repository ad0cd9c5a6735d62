"""`ringi continue`: a run goes on where it stopped."""

import click

from ringi.cli.app import App
from ringi.cli.commands.run_driver import RunDriver
from ringi.cli.plan_names import RUN
from ringi.cli.runs import GOING_ON, reading
from ringi.usecases.run import RunOptions


@click.command("continue")
@click.argument("run", metavar="[RUN]", type=RUN, required=False)
@click.option("--allow", multiple=True, metavar="PATH", help="Let the steps change this path, too.")
@click.option("--test", "tests", multiple=True, metavar="CMD", help="The tests of steps that name none.")
@click.pass_context
def continue_(ctx: click.Context, run: str | None, allow: tuple[str, ...], tests: tuple[str, ...]) -> None:
    """Go on with a run where it stopped.

    Without RUN, the newest that can go on. At a terminal it asks for approvals in place; without one it ends
    with exit code 3 where a person is needed.
    """
    app: App = ctx.obj
    with reading(app) as reader:
        run_id = reader.find(run, GOING_ON)
    raise click.exceptions.Exit(RunDriver(ctx, run_id, RunOptions(allow=allow, tests=tests)).go())
