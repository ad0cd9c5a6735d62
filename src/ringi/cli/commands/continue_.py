"""`ringi continue`: a run goes on where it stopped."""

import click

from ringi.cli.app import App
from ringi.cli.commands.run_driver import RunDriver
from ringi.cli.commands.run_options import amending
from ringi.cli.plan_names import RUN
from ringi.cli.runs import GOING_ON, reading
from ringi.runs.drive import RunOptions


@click.command("continue")
@click.argument("run", metavar="[RUN]", type=RUN, required=False)
@amending
@click.pass_context
def continue_(ctx: click.Context, run: str | None, allow: tuple[str, ...], tests: tuple[str, ...]) -> None:
    """Go on with a run where it stopped.

    Without RUN, the newest that can go on. At a terminal it asks for approvals in place; without one it ends
    with exit code 3 where a person is needed.

    With --allow its steps may change another file or folder, with --test they are tested with another
    command, from here on: also a step whose tests failed, and one that waits for you. The plan stays as it
    was approved; the report names both. If they would change nothing now, it says so and does nothing.
    """
    app: App = ctx.obj
    with reading(app) as reader:
        run_id = reader.find(run, GOING_ON)
    raise click.exceptions.Exit(RunDriver(ctx, run_id, RunOptions(allow=allow, tests=tests)).go())
