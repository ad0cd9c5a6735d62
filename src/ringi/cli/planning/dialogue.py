"""A planning session as a dialogue, line by line. Every answer is saved before the next question is shown."""

import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from string import ascii_lowercase
from typing import Final
from unicodedata import normalize

from ringi.cli.app import EXIT_DECLINED, EXIT_PERSON_NEEDED
from ringi.cli.planning.driver import EXIT_INTERRUPTED, Driver, Summary, tell_digest
from ringi.cli.planning.typed import PROMPT, Reminder, TypedLines, prompt_of
from ringi.cli.ui import Ui, cut, shown_lines, translated
from ringi.domain.session import (
    OPEN_SESSIONS,
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    DecisionPoint,
    DesignOption,
    Pending,
    QuestionPending,
    SessionView,
)
from ringi.errors import (
    BadAnswer,
    Busy,
    NoChannel,
    NotAsked,
    SessionOver,
    SessionRace,
    StorageFailed,
    WrongAnswer,
)
from ringi.planning.approve import enhanced_instruction
from ringi.text import Text
from ringi.usecases.prompter import APPROVE, NOT_APPROVED, agrees, is_yes, typed_yes
from ringi.views.lines import Style
from ringi.views.session import decision_lines, feedback_lines, pending_lines, question_lines, review_lines

_HELP: Final = (
    Text("A number chooses an option, and so does the letter of a decision's option: a, b …"),
    Text("To a question, anything else is an answer in your own words."),
    Text("A line that ends with \\ continues on the next one; pasted lines belong together."),
    Text("/back    to the previous one; its answer stays until you give another"),
    Text("/skip    leaves the question without an answer"),
    Text("/quit    leaves; everything is saved, and you can resume later"),
    Text("/cancel  ends the session for good"),
    Text("?        this help; a space before it, or before a /, makes it an answer"),
)

Step = SessionView | int
"""The session as it is now, or the exit code."""


class Dialogue:
    def __init__(self, driver: Driver, lines: TypedLines, skip_after_sec: float) -> None:
        self.driver = driver
        self.ui = driver.ui
        self.tool = driver.tool
        self.id = driver.session_id
        self.lines = lines
        self._skip_after_sec = skip_after_sec
        self._shown: Pending | None = None
        self._reminder: Reminder | None = None

    def run(self, view: SessionView) -> int:
        """The exit code."""
        self._greet(view)
        try:
            return self._run(view)
        except EOFError:
            return self.leave()
        except KeyboardInterrupt:
            self.ui.line()
            self.driver.tell_saved()
            return EXIT_INTERRUPTED
        except (StorageFailed, Busy) as error:
            self.ui.error(error)
            self.ui.line(Text("Your answers so far are saved. Resume with:"))
            self.ui.next_step(self.driver.command)
            return error.exit_code

    def leave(self) -> int:
        self.driver.tell_saved()
        return EXIT_PERSON_NEEDED

    def _greet(self, view: SessionView) -> None:
        title = cut(view.instruction.split("\n", 1)[0], self.ui.columns)
        self.ui.line(title, style=Style.STRONG)
        words = Text("{session}", session=self.driver.name)
        if view.status in OPEN_SESSIONS:
            words = Text("{session} · every answer is saved at once · ? helps", session=self.driver.name)
        self.ui.prose(words, Style.FAINT)
        if isinstance(view.pending, DecisionPending):
            self.ui.show(feedback_lines(self.tool.get(self.id).facts))

    def _run(self, view: SessionView) -> int:
        while True:
            step = self._step(view)
            if isinstance(step, int):
                self.driver.tell_totals(self.driver.view())
                return step
            view = step

    def _step(self, view: SessionView) -> Step:
        try:
            view = self.driver.run_model(view)
            match view.pending:
                case QuestionPending():
                    return self._question(view, view.pending)
                case DecisionPending():
                    return self._decision(view, view.pending)
                case ApprovalPending():
                    return SessionReview(self.driver, self.lines).run()
                case ApprovedSession(run_id=run_id):
                    return self._approved(run_id)
                case CancelledSession():
                    self.ui.show(pending_lines(self.tool.get(self.id), view.pending))
                    return EXIT_DECLINED
                case _:  # the model has done its part, so nothing else can be pending
                    return self.leave()
        except (SessionRace, NotAsked, SessionOver) as error:
            # The session moved on elsewhere: show its current state; the answer was for an earlier one.
            self.say(Text(error.message, **error.details))
            self._shown = None
            return self.driver.view()
        except BadAnswer as error:
            self.say(Text(error.message, **error.details))
            return self.driver.view()

    def say(self, words: Text, style: Style = Style.WARNING) -> None:
        self.ui.prose(words, style)

    def show(self, view: SessionView) -> None:
        """Does not repeat itself until something else is asked."""
        if view.pending == self._shown:
            return
        self._shown = view.pending
        self._reminder = None
        if isinstance(view.pending, QuestionPending):
            self._reminder = self._skip_reminder()
            self.ui.show(question_lines(view.pending))
        elif isinstance(view.pending, DecisionPending):
            self.ui.show(decision_lines(view.pending))

    def show_again(self) -> None:
        self._shown = None

    def _skip_reminder(self) -> Reminder | None:
        words = Text(
            "Still there? The question waits; /skip leaves it without an answer, /quit lets you resume later."
        )
        return Reminder(self._skip_after_sec, words) if self._skip_after_sec else None

    def _question(self, view: SessionView, asked: QuestionPending) -> Step:
        self.show(view)
        text = self.lines.ask(PROMPT, self._reminder)
        question = asked.question
        if (command := self.command(text, question.options or ())) is not None:
            return command(self, view)
        if not text.strip() and question.skipped:
            return self.tool.skip(self.id, question_id=question.id, actor=self.driver.actor)
        answer = text if text.strip() else question.answer
        if answer is not None:
            return self.tool.answer(self.id, answer, question_id=question.id, actor=self.driver.actor)
        self.say(Text("An empty line is no answer; /skip leaves the question open, ? helps."))
        return view

    def _decision(self, view: SessionView, asked: DecisionPending) -> Step:
        self.show(view)
        decision = asked.decision
        text = self.lines.ask(PROMPT)
        if (command := self.command(text, (option.name for option in decision.options))) is not None:
            return command(self, view)
        if not text.strip() and decision.selected is not None:
            return self._decide(decision, decision.selected, decision.rationale or "")
        option = _option(decision, _option_typed(text))
        if option is None:
            self.say(Text("Please type the number or the letter of an option; ? helps."))
            return view
        before = (decision.rationale or "") if option == decision.selected else ""
        why = Text("Why? (empty: as before)") if before else Text("Why? (empty: no reason)")
        self.say(why, Style.STRONG)
        reason = self.lines.ask(PROMPT)
        while (words := slip(reason, COMMANDS)) is not None:
            self.say(words)
            reason = self.lines.ask(PROMPT)
        command = self.command(reason)
        if command is _skip:
            reason = ""
        elif command is not None:
            self.show_again()
            return view if command is _back else command(self, view)
        return self._decide(decision, option, reason.strip() or before)

    def _decide(self, decision: DecisionPoint, option: DesignOption, reason: str) -> SessionView:
        actor = self.driver.actor
        return self.tool.decide(self.id, option.id, reason, decision_id=decision.id, actor=actor)

    def command(
        self, text: str, options: Iterable[str] = ()
    ) -> "Callable[[Dialogue, SessionView], Step] | None":
        """None if it is an answer."""
        if (command := COMMANDS.get(plain(text))) is not None:
            return command
        words = slip(text, COMMANDS, options)
        return None if words is None else lambda dialogue, view: _told(dialogue, view, words)

    def _approved(self, run_id: str) -> int:
        self.driver.tell_run(run_id)
        try:
            self.lines.ask(prompt_of(self.ui, Text("Execute now? [y/n]")))
        except (EOFError, KeyboardInterrupt):
            # It is approved either way: nothing is left to save.
            self.ui.line()
        self.driver.tell_run_waits(run_id)
        return 0


def _option_typed(text: str) -> str:
    """Normalises a full-width number or letter from a Japanese input method; leaves anything else alone."""
    simple = normalize("NFKC", text.strip())
    return simple if simple.isascii() and (simple.isdigit() or len(simple) == 1) else text


def _option(decision: DecisionPoint, text: str) -> DesignOption | None:
    """By number, letter, id or name, in this order: what the screen shows comes first."""
    words = text.strip().casefold()
    options = decision.options
    numbers = [str(number) for number in range(1, len(options) + 1)]
    ids, names = [option.id for option in options], [option.name for option in options]
    for known in (numbers, ascii_lowercase, ids, names):
        for name, option in zip(known, options, strict=False):
            if words == name.casefold() != "":
                return option
    return None


def _back(dialogue: Dialogue, _: SessionView) -> Step:
    return dialogue.tool.back(dialogue.id, actor=dialogue.driver.actor)


def _skip(dialogue: Dialogue, view: SessionView) -> Step:
    if isinstance(view.pending, QuestionPending):
        question = view.pending.question
        return dialogue.tool.skip(dialogue.id, question_id=question.id, actor=dialogue.driver.actor)
    dialogue.say(Text("A decision cannot be skipped; the recommended option is marked."))
    return view


def _quit(dialogue: Dialogue, _: SessionView) -> Step:
    return dialogue.leave()


def cancel(dialogue: Dialogue, view: SessionView) -> Step:
    if dialogue.driver.refuses_agent():
        return view
    answer = dialogue.lines.ask(prompt_of(dialogue.ui, Text("End the session for good? [y/n]")))
    return dialogue.tool.cancel(dialogue.id) if is_yes(answer.strip()) else view


def _help(dialogue: Dialogue, view: SessionView) -> Step:
    show_help(dialogue.ui, _HELP)
    return view


def _told(dialogue: Dialogue, view: SessionView, words: Text) -> Step:
    dialogue.say(words)
    return view


COMMANDS: Final[Mapping[str, Callable[[Dialogue, SessionView], Step]]] = {
    "/back": _back,
    "/skip": _skip,
    "/quit": _quit,
    "/cancel": cancel,
    "/help": _help,
    "?": _help,
}


_CHOICES: Final = Text("[a]pprove  [r]eject  [s]how again  [b]ack  [?]  [q]uit")
_REVIEW_HELP: Final = (
    Text("a  approve: this summary becomes a run, which waits until you start it"),
    Text("r  reject, and say what should be different; then you decide again"),
    Text("s  show the summary again"),
    Text("i  show word for word what the run gets"),
    Text("b  back to the decision before"),
    Text("c  cancel the session for good"),
    Text("q  quit; everything is saved"),
)


class SessionReview:
    def __init__(self, driver: Driver, lines: TypedLines) -> None:
        self.driver = driver
        self.ui = driver.ui
        self.lines = lines
        self.shown = Summary(driver)

    def run(self) -> SessionView | int:
        """Returns when the session leaves the review, or the person does."""
        if self.shown.pending is None:
            return self.shown.view
        self.show()
        while True:
            act = _act(self.answer(_CHOICES))
            if act is None:
                self.ui.line(Text("Please type one of the letters in brackets."))
                continue
            done = act(self)
            if done is not None:
                return done

    def answer(self, question: Text) -> str:
        return self.lines.ask(prompt_of(self.ui, question)).strip()

    def say(self, words: Text, style: Style = Style.WARNING) -> None:
        self.ui.prose(words, style)

    def show(self) -> None:
        if self.shown.pending is not None:
            self.ui.show(review_lines(self.shown.stored, self.shown.pending))
            self.driver.tell_agents_part()


def _act(answer: str) -> "Callable[[SessionReview], SessionView | int | None] | None":
    """Accepts a full-width letter from a Japanese input method."""
    return ACTS.get(plain(answer))


def _approve(review: SessionReview) -> SessionView | int | None:
    driver = review.driver
    if refusal := driver.app.workspace.person.refusal():
        review.ui.error(NoChannel(why=refusal, command=driver.command))
        return None
    tell_digest(driver, review.shown.digest)
    proof = typed_yes(review, APPROVE, review.shown.digest)
    if proof is None:
        review.say(NOT_APPROVED)
        return None
    try:
        return driver.tool.approve(driver.session_id, driver.user(), proof)
    except WrongAnswer as error:
        # It changed since it was shown.
        review.ui.error(error)
        return driver.view()


def _reject(review: SessionReview) -> SessionView | int | None:
    driver, pending = review.driver, review.shown.pending
    if driver.refuses_agent():
        return None
    left = pending.rejects_left if pending else 0
    if left <= 1:
        review.say(Text("This would be the last reject: it cancels the session."))
    else:
        review.say(Text("{left} rejects are left; the last one cancels the session.", left=left), Style.FAINT)
    review.say(Text("What should be different? (empty: no reject)"), Style.STRONG)
    said = review.lines.ask(PROMPT)
    if act := _act(said):  # a command such as /quit, not feedback: rejects are limited
        return act(review)
    if words := slip(said, ACTS):
        review.say(words)
        return None
    feedback = said.strip()
    if not feedback:
        review.say(Text("To reject it, say what should change; nothing was decided."))
        return None
    return driver.tool.reject(driver.session_id, feedback)


def _show_again(review: SessionReview) -> None:
    review.show()


def _word_for_word(review: SessionReview) -> None:
    for line in shown_lines(enhanced_instruction(review.shown.stored.session)):
        review.ui.line(line, indent=2 if line else 0)


def _review_back(review: SessionReview) -> SessionView:
    return review.driver.tool.back(review.driver.session_id, actor=review.driver.actor)


def _review_cancel(review: SessionReview) -> SessionView | None:
    if review.driver.refuses_agent():
        return None
    if agrees(review, Text("End the session for good? [y/n]")):
        return review.driver.tool.cancel(review.driver.session_id)
    return None


def _review_quit(review: SessionReview) -> int:
    review.driver.tell_saved()
    return EXIT_PERSON_NEEDED


def _review_help(review: SessionReview) -> None:
    show_help(review.ui, _REVIEW_HELP)


ACTS: Final[Mapping[str, Callable[[SessionReview], SessionView | int | None]]] = {
    "a": _approve,
    "r": _reject,
    "s": _show_again,
    "i": _word_for_word,
    "b": _review_back,
    "/back": _review_back,
    "c": _review_cancel,
    "/cancel": _review_cancel,
    "q": _review_quit,
    "/quit": _review_quit,
    "?": _review_help,
    "/help": _review_help,
}


# Keys and explanations are in two columns.
_EXPLAINED: Final = re.compile(r"(\S+ {2,})(.+)")


def show_help(ui: Ui, lines: Iterable[Text]) -> None:
    for line in map(translated, lines):
        explained = _EXPLAINED.fullmatch(line)
        mark, rest = explained.groups() if explained else ("", line)
        ui.prose(rest, indent=2, mark=mark)


_STROKED: Final = re.compile(r"/[a-z]+", re.IGNORECASE | re.ASCII)


def plain(text: str) -> str:
    """Normalises full-width characters from a Japanese input method; keeps a leading space."""
    return normalize("NFKC", text.rstrip()).lower()


def slip(text: str, commands: Iterable[str], options: Iterable[str] = ()) -> Text | None:
    """Why it is not accepted; None if it can be an answer, such as an option's text or a path."""
    word = plain(text)
    known = [command for command in commands if command.startswith("/")]
    if word in known or word in {option.strip().lower() for option in options}:
        return None
    if f"/{word}" in known:
        return _meant(f"/{word}", word)
    if not _STROKED.fullmatch(word):
        return None
    if near := get_close_matches(word, known, n=1, cutoff=0.7):
        return _meant(near[0], word)
    return Text("There is no command {word}; with a space before it, it is an answer.", word=word)


def _meant(command: str, word: str) -> Text:
    return Text(
        "Did you mean {command}? With a space before it, {word} is an answer.", command=command, word=word
    )
