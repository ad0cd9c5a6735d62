"""`ringi outline`: what would be done about a request."""

from gettext import gettext as _
from typing import Final

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import STDIN, read_named, require_text
from ringi.cli.commands.cache import no_cache
from ringi.cli.planning.similar import accepts, can_ask
from ringi.cli.progress import progress_on
from ringi.engine.document import OutlineOutcome
from ringi.engine.outline import outline as outline_of
from ringi.engine.outline import similar_outline
from ringi.engine.outline_view import outline_lines

_EXIT: Final = {
    OutlineOutcome.UNCLEAR_GOAL: 3,
    OutlineOutcome.DECOMPOSITION_FAILED: 1,
    OutlineOutcome.REFUSED: 6,
}


@click.command()
@click.argument("request", metavar="TEXT|-")
@no_cache
@pass_app
def outline(app: App, request: str) -> None:
    """Show the goal, the steps and their order for a request; nothing is carried out."""
    require_text(request)
    if request == STDIN:
        request = read_named(STDIN).decode("utf-8", "replace")
    if not request.strip():
        raise click.UsageError(_("Say what the change is about"))
    offer = similar_outline(app.workspace, request)
    use_it = offer is not None and can_ask(app) and accepts(app, offer)
    with progress_on(app) as progress:
        found = outline_of(app.workspace, request, progress, similar=offer, use_it=use_it)
    if app.ui.as_json:
        app.ui.document(found.document)
    else:
        app.ui.show(outline_lines(found.document, found.notes))
    if code := _EXIT.get(found.document.outcome):
        raise click.exceptions.Exit(code)
