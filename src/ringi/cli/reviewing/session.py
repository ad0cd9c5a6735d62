"""A review on a full screen: what is drawn, what is typed, what is done while nobody types."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from ringi.cli.app import App
from ringi.cli.reviewing.acts import Review, joined
from ringi.cli.reviewing.beside import facts_of, highlighted, overlaps_of, stale_of, told_of, warnings_of
from ringi.cli.reviewing.checking import Checking, can_check
from ringi.cli.reviewing.loading import Loader
from ringi.cli.reviewing.model import Message, Model, Question, beginning
from ringi.cli.reviewing.render import Highlights, screen
from ringi.cli.reviewing.rows import Part
from ringi.cli.term.lineedit import LineEditor
from ringi.cli.term.terminal import Terminal
from ringi.domain.plan import Overlap, PlanStatus, risk_of
from ringi.errors import RingiError
from ringi.plans.check import commands_of
from ringi.text import Text
from ringi.views import words

_LOOK_SEC: Final = 1.0
_DEAF_SEC: Final = 1.5
GONE: Final = frozenset(["eof", "stop", "ctrl-c"])
"""Whoever could answer has gone, or wants to."""


WAIT: Final = Message(Text("Wait for the tests, or stop them with esc; then answer."), "yellow")


class Deaf:
    """For as long as somebody types on; a key that is no letter ends it."""

    def __init__(self) -> None:
        self._until = 0.0

    def begin(self) -> None:
        self._until = time.monotonic() + _DEAF_SEC

    def swallows(self, key: str) -> bool:
        if len(key) > 1 or time.monotonic() >= self._until:
            self._until = 0.0
            return False
        self.begin()
        return True


class Session:
    def __init__(self, app: App, review: Review, terminal: Terminal, *, colour: bool) -> None:
        self.app = app
        self.review = review
        self.terminal = terminal
        parts = Loader(app.workspace, review.document).parts()
        self.model = Model(facts_of(review.ref, review.document), parts)
        self.model.cursor = beginning(self.model, 0)
        self.checking: Checking | None = None
        self.overlaps: tuple[Overlap, ...] | None = None
        self._highlights = Highlights()
        self._colour = colour
        self._seen: Sequence[Part] = ()
        self._work: Iterator[None] = self._idle_work()
        self.deaf = Deaf()
        self._idle = False
        """Nothing is left to do but wait."""
        self._told: tuple[int, PlanStatus] | None = None
        """What became of it elsewhere, if that was said."""

    def draw(self) -> None:
        model = self.model
        if self.checking is not None:
            seconds = self.checking.seconds
            model.checks = Message(Text("the tests run … {seconds} s (esc stops them)", seconds=seconds))
        drawn = screen(model, self.terminal.size, self._highlights)
        seen = [model.shown[number] for number in sorted({place.part for place in drawn.places})]
        if seen != self._seen:
            self._seen, self._idle = seen, False
            self._work = self._idle_work()
        self.terminal.draw(drawn.lines, drawn.cursor)

    def next_key(self) -> str:
        """Draws, and does what waited, until a key is typed."""
        while True:
            self.draw()
            key = self.terminal.key(_LOOK_SEC if self._idle else 0)
            if self.checking is not None and self.checking.ended:
                self._checked(self.checking)
            if key and key not in {"wake", "resize"}:
                return key
            if not key:
                self._do_something()

    def say(self, text: Text, style: str = "") -> None:
        self.model.message = Message(text, style)

    def refuse(self, text: Text) -> None:
        """Where words were to be typed: whoever types on, not looking, must not press keys with them."""
        self.say(text)
        self.deaf.begin()

    def fail(self, error: RingiError) -> None:
        self.say(Text(error.message, **error.details), "yellow")

    def ask_line(self, text: Text, *, start: str = "", above: Sequence[Text] = ()) -> str | None:
        """What is typed; None where the person thinks better of it. Keys typed before do not count."""
        editor = LineEditor(start)
        self.model.question = Question(text, editor, above)
        try:
            self.draw()
            self.terminal.discard_pending()
            while True:
                ended = editor.feed(self.next_key())
                if ended is not None:
                    return editor.text if ended == "done" else None
        finally:
            self.model.question = None

    def ask_key(self, text: Text, *, above: Sequence[Text] = ()) -> str:
        self.model.question = Question(text, None, above)
        try:
            self.draw()
            self.terminal.discard_pending()
            return self.next_key()
        finally:
            self.model.question = None

    def show_again(self, *, anew: bool = False) -> None:
        """The plan as it was looked at last; a key that was typed before it stood there does not count.

        With `anew` every file is read again.
        """
        model, review = self.model, self.review
        self._take()
        model.delta = None
        model.output, model.stale = (), ()
        model.show(Loader(self.app.workspace, review.document).parts(() if anew else model.parts))
        self.overlaps = None
        self._idle = False
        self._work = self._idle_work()
        self.draw()
        self.terminal.discard_pending()

    def changed(self, what: Text, risk_before: object) -> None:
        """After a change by the person: what it is now, before it can be answered."""
        risk = risk_of(self.review.document)
        now = Text("now {risk}", risk=words.RISK[risk]) if risk is not risk_before else words.RISK[risk]
        self.say(joined([what, Text("still applies"), now]), "bold")
        self.start_checks()
        self.show_again()

    def start_checks(self) -> None:
        self.stop_checks()
        self.model.checks, self.model.output = None, ()
        if not commands_of(self.review.document):
            return
        if not can_check(self.app):
            self.model.checks = Message(Text("tests not run: no sandbox"), "yellow")
            return
        root, environment = self.app.workspace.places.root, self.app.environment
        self.checking = Checking(root, self.review.plan_id, environment, self.terminal.wake)

    def stop_checks(self) -> None:
        if self.checking is not None:
            self.checking.stop()
            self.checking = None
            self.model.checks = Message(Text("the tests were stopped"), "yellow")

    def _checked(self, checking: Checking) -> None:
        self.checking = None
        if self.model.message is WAIT:
            self.model.message = None
        if (why := checking.why_not) is not None:
            self.model.checks = Message(Text("tests not run: {why}", why=why), "yellow")
            return
        self.review.moved_on()
        results = self.review.document.state.checks
        self._take()
        self.model.checks = None
        if results:
            self.model.checks, self.model.output = told_of(results)

    def _do_something(self) -> None:
        if not self._idle:
            self._idle = next(self._work, self) is self
            return
        status = self.review.document.state.status
        now = self.review.moved_on()
        if now is not None and self._told == (now.plan.version, now.state.status):
            return
        self._told = (now.plan.version, now.state.status) if now else None
        if now is not None and now.state.status in {PlanStatus.PENDING_REVIEW, status}:
            version = now.plan.version
            self.say(
                Text("The plan was changed: version {version}. [s] shows it.", version=version), "yellow"
            )
        elif now is not None:
            name, became = self.review.name, words.STATUS[now.state.status]
            self.say(Text("{plan} was decided elsewhere: {status}", plan=name, status=became), "yellow")
        self._take()

    def _take(self) -> None:
        review = self.review
        if self.model.document is not review.document:
            self.model.facts = facts_of(review.ref, review.document)

    def _idle_work(self) -> Iterator[None]:
        """In the order in which it is missed: other plans, colours of what is seen, what nobody saw yet."""
        model, document = self.model, self.review.document
        if self.overlaps is None:
            self.overlaps = overlaps_of(self.app, document)
            model.warnings = warnings_of(self.app, document, self.overlaps)
            yield
        for part in self._seen if self._colour else ():
            if not self._highlights.known(part):
                yield from highlighted(part, self._highlights)
                yield
        for part in model.parts:
            if not part.loaded:
                part.load()
                yield
        model.stale = stale_of(self.review.document, model.parts)
