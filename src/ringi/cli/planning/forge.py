"""A planning session that came from an issue: what was read of it, and what is said there."""

from ringi.cli.app import App
from ringi.cli.planning.driver import interactive_or_json
from ringi.errors import ForgeFailed, NoExtra, NoForge, NoForgeToken
from ringi.forges.intake import intake_lines, start_from_item
from ringi.forges.progress import tell_session
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.sessions.document import SessionView


def plan_item(app: App, named: str, *, opens_change: bool) -> SessionView:
    interactive_or_json(app)
    view, intake = start_from_item(app.workspace, named, opens_change=opens_change)
    app.ui.show(intake_lines(intake))
    return view


def tell_forge(app: App, session_id: str, *, only_known: bool = False) -> bool:
    """On its issue, if it has one. A forge that does not answer is reported, and stops nothing.

    Whether a comment there can decide what is due.
    """
    try:
        return tell_session(app.workspace, session_id, only_known=only_known)
    except (ForgeFailed, NoExtra, NoForge, NoForgeToken) as error:
        why = Text(error.message, **error.details)
        words = Text(
            "The comment on the issue could not be written ({why}). ringi watch tries again.", why=why
        )
        app.ui.prose(words, Style.WARNING, mark="! ")
        return False
