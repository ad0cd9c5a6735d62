"""Questions at a terminal, line by line. What was typed before a question was shown does not answer it."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ringi.approvals.document import SignedAnswer
from ringi.approvals.prompter import is_yes, require_person
from ringi.approvals.signing import sign
from ringi.cli.app import App
from ringi.kernel.lines import Style
from ringi.kernel.process.terminal import discard_pending_input
from ringi.kernel.text import Text, translate

LONGEST_DIFF: Final = 300
"""Lines of a diff shown before a question."""


def require_terminal(app: App, command: str) -> None:
    """Call it before showing anything: if nobody can answer, raises and names the command to type."""
    unseen = app.ui.as_json and not app.ui.out.isatty()
    also = Text("standard error is not a terminal.") if unseen else None
    require_person(app.workspace.person, command, also=also)


def ask(app: App, question: Text) -> str:
    """One line; EOFError if the terminal is closed."""
    app.ui.out.flush()
    # Discard before the question appears, so that an immediate answer counts.
    discard_pending_input(sys.stdin.fileno())
    app.ui.out.write(app.ui.style_text(translate(question), "bold") + " ")
    app.ui.out.flush()
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError:  # not text, so not an answer
        return ""
    if not line:
        app.ui.line()
        raise EOFError
    return line.strip()


def confirm(app: App, question: Text) -> bool:
    """Whether the person says yes; a closed terminal does not."""
    try:
        return is_yes(ask(app, question))
    except EOFError:
        return False


class LinePrompter:
    def __init__(self, app: App) -> None:
        self._app = app

    def answer(self, question: Text) -> str:
        return ask(self._app, question)

    def ask(self, question: Text, *, start: str = "", above: Sequence[Text] = ()) -> str | None:
        for text in above:
            self._app.ui.line(text, indent=2)
        if not start:
            return ask(self._app, question)
        self._app.ui.diff(start)
        typed = ask(self._app, Text("The line instead (empty: as it is):"))
        # Asking for a line strips leading blanks; keep those of the original line.
        return start[: len(start) - len(start.lstrip())] + typed if typed else start

    def say(self, text: Text, style: Style = Style.PLAIN) -> None:
        self._app.ui.line(text, style=style)


def sign_statement(app: App, key: Path, statement: str) -> SignedAnswer:
    """The statement with its signature by this SSH key."""
    return SignedAnswer(statement, sign(key, statement.encode(), app.environment))
