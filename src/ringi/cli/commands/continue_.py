"""`ringi continue`: a run goes on where it stopped."""

import click

from ringi.cli.app import App
from ringi.cli.arguments import only_with
from ringi.cli.plan_names import RUN
from ringi.cli.run_driver import RunDriver
from ringi.cli.runs import GOING_ON, reading
from ringi.runs.drive import RunOptions


@click.command("continue")
@click.argument("run", metavar="[RUN]", type=RUN, required=False)
@click.option("--retry", is_flag=True, help="Make the current step anew, also after it failed.")
@click.option(
    "--with", "command", metavar="CMD", default="", help="With --retry: who implements it from now on."
)
@click.option("--allow", multiple=True, metavar="PATH", help="Let the steps change this path, too.")
@click.option("--test", "tests", multiple=True, metavar="CMD", help="Test the steps with this from now on.")
@click.pass_context
def continue_(
    ctx: click.Context,
    run: str | None,
    retry: bool,
    command: str,
    allow: tuple[str, ...],
    tests: tuple[str, ...],
) -> None:
    """Go on with a run where it stopped.

    Without RUN, the newest that can go on. At a terminal it asks for approvals in place; without one it ends
    with exit code 3 where a person is needed. What was committed before stays, also with --retry.

    With --allow its steps may change another file or folder, with --test they are tested with another
    command, from here on: also a step whose tests failed, and one that waits for you. The plan stays as it
    was approved; the report names both. If they would change nothing now, it says so and does nothing.
    """
    app: App = ctx.obj
    if command and not retry:
        raise only_with("--with", "--retry")
    with reading(app) as reader:
        run_id = reader.find(run, GOING_ON)
    options = RunOptions(retry=retry, role=command, allow=allow, tests=tests)
    raise click.exceptions.Exit(RunDriver(ctx, run_id, options).go())
