"""Questions at a terminal. What was typed before a question was shown does not answer it."""

import sys
from typing import Final

from ringi.cli.app import App
from ringi.cli.ui import translated
from ringi.domain.approval import ApprovalRequest, TypedAnswer
from ringi.errors import NoChannel
from ringi.plans.proofs import TYPED_LENGTH, YES
from ringi.process.terminal import discard_pending_input
from ringi.text import Text

LONGEST_DIFF: Final = 300
"""Lines of one that are shown before a question."""


FAILED: Final = Text("A check failed. Apply it all the same? [y/n]")


def require_terminal(app: App, command: str) -> None:
    """Before anything is shown: where nobody can answer, say so and name the command for a person."""
    refusal = app.workspace.person.refusal()
    if refusal is None and app.ui.as_json and not app.ui.out.isatty():  # nobody would see the question
        refusal = Text("standard error is not a terminal.")
    if refusal is not None:
        raise NoChannel(why=refusal, command=command)


def ask(app: App, question: Text) -> str:
    """One line; EOFError where the terminal is closed."""
    app.ui.out.flush()
    # Before the question appears: whoever answers at once must be heard.
    discard_pending_input(sys.stdin.fileno())
    app.ui.out.write(app.ui.styled(translated(question), "bold") + " ")
    app.ui.out.flush()
    try:
        line = sys.stdin.readline()
    except UnicodeDecodeError:  # bytes that are no text answer nothing
        return ""
    if not line:
        app.ui.line()
        raise EOFError
    return line.strip()


def is_yes(answer: str) -> bool:
    return answer.lower() in YES - {"a"}  # which applies a plan, and is no word


def digest_typed(app: App, asked: ApprovalRequest) -> TypedAnswer | None:
    """The digest is shown in full, and its beginning typed; None where something else was."""
    app.ui.line(Text("What you approve is sha256 {digest}", digest=asked.digest), indent=2)
    wanted = asked.digest[:TYPED_LENGTH]
    answer = ask(app, Text("HIGH risk. To apply it, type {wanted}:", wanted=wanted))
    if answer != wanted:
        app.ui.line(Text("That was not it; nothing was approved."), style="yellow")
        return None
    return TypedAnswer(asked.digest, answer)
