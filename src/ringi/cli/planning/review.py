"""The review of a planning session, line by line."""

from collections.abc import Mapping, Sequence
from typing import Final

from ringi.cli.planning.driver import Driver
from ringi.cli.planning.typed import PROMPT, TypedLines, plain, slip
from ringi.cli.ui import help_lines, safe_lines
from ringi.errors import RingiError
from ringi.kernel import codec
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.plans.review_loop import ReviewAct, ReviewChoice
from ringi.sessions.approve import build_enhanced_instruction
from ringi.sessions.review import KEYS, ReviewedSession
from ringi.sessions.view import review_lines

_CHOICES: Final = Text("[a]pprove  [r]eject  [s]how again  [b]ack  [?]  [q]uit")
HELP: Final = (
    ("a", Text("approve: this summary becomes a run, which waits until you start it")),
    ("r", Text("reject, and say what should be different; only what that changes is asked again")),
    ("s", Text("show the summary again")),
    ("i", Text("show word for word what the run gets")),
    ("b", Text("back to the decision before")),
    ("c", Text("cancel the session for good")),
    ("q", Text("quit; everything is saved")),
)
_COMMANDS: Final[Mapping[str, ReviewAct | None]] = {
    **KEYS,
    "/back": ReviewAct.BACK,
    "/cancel": ReviewAct.CANCEL,
    "/quit": ReviewAct.QUIT,
    "/help": None,
    "?": None,
}
"""None shows the help."""


class SessionPrompter:
    def __init__(self, driver: Driver, session: ReviewedSession, lines: TypedLines) -> None:
        self._driver = driver
        self._ui = driver.ui
        self._session = session
        self._lines = lines
        self._command = ""
        """Typed in place of what was asked; it comes next."""

    def choose(self) -> ReviewChoice:
        while True:
            typed, self._command = self._command or self.answer(_CHOICES), ""
            command = plain(typed)
            act = _COMMANDS.get(command)
            if act is not None:
                return ReviewChoice(act)
            if command in _COMMANDS:
                self._ui.show(help_lines(HELP))
            else:
                self.say(Text("Please type one of the letters in brackets."))

    def answer(self, question: Text) -> str:
        return self._lines.answer(question)

    def ask(self, question: Text, *, start: str = "", above: Sequence[Text] = ()) -> str | None:
        """A command such as /quit, or what was probably meant as one, is no answer."""
        del start
        for text in above:
            self.say(text)
        self.say(question, Style.STRONG)
        typed = self._lines.ask(PROMPT)
        if plain(typed) in _COMMANDS:
            self._command = typed
            return None
        if (words := slip(typed, _COMMANDS)) is not None:
            self.say(words, Style.WARNING)
            return None
        return typed

    def say(self, text: Text, style: Style = Style.PLAIN) -> None:
        self._ui.prose(text, style)

    def fail(self, error: RingiError) -> None:
        self._ui.error(error)

    def show(
        self, said: TextSpan | None = None, *, error: RingiError | None = None, anew: bool = False
    ) -> None:
        del anew  # it has no files
        if error is not None:
            self.fail(error)
        self._ui.show(review_lines(self._session.stored, self._session.pending))
        self._driver.tell_agents_part()
        if said is not None:
            self._ui.prose(said.text, said.style)

    def show_info(self) -> None:
        """Word for word what the run gets."""
        session, plan = self._session.stored.session, self._session.pending.run_plan
        text = build_enhanced_instruction(session) + (f"\n\n{codec.pretty(plan).decode()}" if plan else "")
        for line in safe_lines(text):
            self._ui.line(line, indent=2 if line else 0)
