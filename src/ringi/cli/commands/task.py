"""`ringi task`: a run in which models have every role."""

from gettext import gettext as _
from typing import Any

import click

from ringi.cli.app import App
from ringi.cli.arguments import text_of
from ringi.cli.commands.run_options import carried_out, run_options, tell_reviews
from ringi.cli.planning.entry import planned
from ringi.forges.terms import terms_here
from ringi.runs.document import Review, Run
from ringi.runs.task import begin_task


@click.command()
@click.argument("words", metavar="REQUEST|-", nargs=-1)
@run_options
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
    then = carried_out(ctx, given)
    offers = given["review"] == Review.FORGE
    if offers:
        tell_reviews(app)
    forge = terms_here(app.workspace) if offers else None
    begun = begin_task(app.workspace, text, app.actor, forge)
    if isinstance(begun, Run):
        raise click.exceptions.Exit(then(begun.run_id))
    raise click.exceptions.Exit(planned(app, begun, then, given["sign"]))
