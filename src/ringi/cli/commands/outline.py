"""`ringi run --outline`: what would be done about a request."""

from typing import Final

from ringi.cli.app import App
from ringi.cli.planning.similar import accepts, can_ask
from ringi.cli.progress import progress_on
from ringi.engine.document import OutlineOutcome
from ringi.sessions.outline import outline, similar_outline
from ringi.sessions.outline_view import outline_lines

_EXIT: Final = {
    OutlineOutcome.UNCLEAR_GOAL: 3,
    OutlineOutcome.DECOMPOSITION_FAILED: 1,
    OutlineOutcome.REFUSED: 6,
}


def show_outline(app: App, request: str) -> int:
    """The goal, the steps and their order for a request; nothing is carried out. Returns the exit code."""
    offer = similar_outline(app.workspace, request)
    use_it = offer is not None and can_ask(app) and accepts(app, offer)
    with progress_on(app) as progress:
        found = outline(app.workspace, request, progress, similar=offer, use_it=use_it)
    if app.ui.as_json:
        app.ui.document(found.document)
    else:
        app.ui.show(outline_lines(found.document, found.notes))
    return _EXIT.get(found.document.outcome, 0)
