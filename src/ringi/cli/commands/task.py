"""`ringi task`: a run in which models have every role."""

from gettext import gettext as _
from pathlib import Path
from typing import Any

import click

from ringi.cli.app import App
from ringi.cli.arguments import text_of
from ringi.cli.commands.cache import no_cache
from ringi.cli.commands.run_driver import RunDriver
from ringi.cli.planning.entry import planned
from ringi.domain.run import Review, Run
from ringi.usecases.run import RunOptions
from ringi.usecases.task import begin_task


@click.command()
@click.argument("words", metavar="REQUEST|-", nargs=-1)
@click.option("--review", type=click.Choice([*map(str, Review)]), help="Ask after each step, or at the end.")
@click.option("--max-steps", type=click.IntRange(1, 99), metavar="N", help="Pause after so many steps.")
@click.option(
    "--sign", metavar="KEY", type=click.Path(path_type=Path), help="Approve the plan with this SSH key."
)
@click.option(
    "--unattended",
    metavar="KEY",
    type=click.Path(path_type=Path),
    help="Ask nothing: sign for its steps with this SSH key.",
)
@no_cache
@click.pass_context
def task(ctx: click.Context, /, words: tuple[str, ...], **given: Any) -> None:
    """Carry out a request with models alone: one plans, one makes each step; you approve both.

    It is a run like any other, with the configured model in every role. With planning.enabled false it is one
    step. ringi continue goes on with it, ringi feedback says what should be different.
    """
    app: App = ctx.obj
    if not words:
        raise click.UsageError(_("Say what to do"))
    text = text_of(" ".join(words))
    options = RunOptions(
        review=Review(given["review"]) if given["review"] else None, max_steps=given["max_steps"] or 0
    )

    def then(run_id: str) -> int:
        return RunDriver(ctx, run_id, options, given["sign"], given["unattended"]).go()

    begun = begin_task(app.workspace, text, app.actor)
    if isinstance(begun, Run):
        raise click.exceptions.Exit(then(begun.run_id))
    raise click.exceptions.Exit(planned(app, begun, then, given["sign"]))
