"""Questions at a terminal. What was typed before a question was shown does not answer it."""

import sys

from ringi.cli.app import App
from ringi.cli.ui import translated
from ringi.errors import NoChannel
from ringi.integrations.supervise import discard_pending_input
from ringi.plans.approving import YES
from ringi.text import Text


def require_terminal(app: App, command: str) -> None:
    """Before anything is shown: where nobody can answer, say so and name the command for a person."""
    if refusal := app.workspace.parts.person.refusal():
        raise NoChannel(why=refusal, command=command)


def ask(app: App, question: Text) -> str:
    """One line; EOFError where the terminal is closed."""
    app.ui.out.write(app.ui.styled(translated(question), "bold") + " ")
    app.ui.out.flush()
    discard_pending_input(sys.stdin.fileno())
    line = sys.stdin.readline()
    if not line:
        app.ui.line()
        raise EOFError
    return line.strip()


def is_yes(answer: str) -> bool:
    return answer.lower() in YES
