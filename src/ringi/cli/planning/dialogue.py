"""A planning session as a dialogue, line by line. Every answer is saved before the next question is shown."""

from collections.abc import Callable, Iterable, Mapping
from string import ascii_lowercase
from typing import Final
from unicodedata import normalize

from ringi.cli.app import EXIT_DECLINED, EXIT_PERSON_NEEDED
from ringi.cli.ask import is_yes
from ringi.cli.planning.going import EXIT_INTERRUPTED, Going
from ringi.cli.planning.lines import PROMPT, Lines, Reminder, prompt_of
from ringi.cli.planning.reviewing import Review
from ringi.cli.planning.showing import (
    show_decision,
    show_feedback,
    show_help,
    show_pending,
    show_question,
)
from ringi.cli.planning.slips import plain, slip
from ringi.cli.planning.wrapping import columns, cut, paragraph
from ringi.cli.ui import translated
from ringi.domain.session import OPEN_SESSIONS, DecisionPoint, DesignOption
from ringi.domain.session_view import (
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    Pending,
    QuestionPending,
    SessionView,
)
from ringi.errors import BadAnswer, Busy, NotAsked, SessionOver, SessionRace, StorageFailed
from ringi.text import Text

_HELP: Final = (
    Text("A number chooses an option, and so does the letter of a decision's option: a, b …"),
    Text("To a question, anything else is an answer in your own words."),
    Text("A line that ends with \\ goes on in the next one; pasted lines belong together."),
    Text("/back    to the one before; its answer stays until you give another"),
    Text("/skip    leaves the question without an answer"),
    Text("/quit    goes on later; everything you said is saved"),
    Text("/cancel  ends the session for good"),
    Text("?        this help; a space before it, or before a /, makes it an answer"),
)

Step = SessionView | int
"""Where the session stands now, or how the command ends."""


class Dialogue:
    def __init__(self, going: Going, lines: Lines, skip_after_sec: float) -> None:
        self.going = going
        self.ui = going.ui
        self.tool = going.tool
        self.id = going.session_id
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
            self.going.tell_saved()
            return EXIT_INTERRUPTED
        except (StorageFailed, Busy) as error:
            self.ui.error(error)
            self.ui.line(Text("What you said before is saved. Go on with:"))
            self.ui.next_step(self.going.command)
            return error.exit_code

    def leave(self) -> int:
        self.going.tell_saved()
        return EXIT_PERSON_NEEDED

    def _greet(self, view: SessionView) -> None:
        title = cut(view.instruction.split("\n", 1)[0], columns(self.ui))
        self.ui.line(title, style="bold")
        words = Text("{session}", session=self.going.name)
        if view.status in OPEN_SESSIONS:
            words = Text("{session} · every answer is saved at once · ? helps", session=self.going.name)
        paragraph(self.ui, translated(words), style="dim")
        if isinstance(view.pending, DecisionPending):
            show_feedback(self.ui, self.tool.get(self.id).facts)

    def _run(self, view: SessionView) -> int:
        while True:
            step = self._step(view)
            if isinstance(step, int):
                self.going.tell_totals(self.going.view())
                return step
            view = step

    def _step(self, view: SessionView) -> Step:
        try:
            view = self.going.worked(view)
            match view.pending:
                case QuestionPending():
                    return self._question(view, view.pending)
                case DecisionPending():
                    return self._decision(view, view.pending)
                case ApprovalPending():
                    return Review(self.going, self.lines).run()
                case ApprovedSession(run_id=run_id):
                    return self._approved(run_id)
                case CancelledSession():
                    show_pending(self.ui, self.tool.get(self.id), view.pending)
                    return EXIT_DECLINED
                case _:  # the model has done what was due, so there is nothing else
                    return self.leave()
        except (SessionRace, NotAsked, SessionOver) as error:
            # Somebody else went on with it: shown as it is now, whatever was typed for what it was.
            self.say(Text(error.message, **error.details))
            self._shown = None
            return self.going.view()
        except BadAnswer as error:
            self.say(Text(error.message, **error.details))
            return self.going.view()

    def say(self, words: Text, style: str = "yellow") -> None:
        paragraph(self.ui, translated(words), style=style)

    def show(self, view: SessionView) -> None:
        """Once, until something else is asked."""
        if view.pending == self._shown:
            return
        self._shown = view.pending
        self._reminder = None
        if isinstance(view.pending, QuestionPending):
            self._reminder = self._skip_reminder()
            show_question(self.ui, view.pending)
        elif isinstance(view.pending, DecisionPending):
            show_decision(self.ui, view.pending)

    def show_again(self) -> None:
        self._shown = None

    def _skip_reminder(self) -> Reminder | None:
        words = Text(
            "Still there? The question waits; /skip leaves it without an answer, /quit goes on later."
        )
        return Reminder(self._skip_after_sec, words) if self._skip_after_sec else None

    def _question(self, view: SessionView, asked: QuestionPending) -> Step:
        self.show(view)
        text = self.lines.ask(PROMPT, self._reminder)
        question = asked.question
        if (command := self.command(text, question.options or ())) is not None:
            return command(self, view)
        if not text.strip() and question.skipped:
            return self.tool.skip(self.id, question_id=question.id, actor=self.going.actor)
        answer = text if text.strip() else question.answer
        if answer is not None:
            return self.tool.answer(self.id, answer, question_id=question.id, actor=self.going.actor)
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
        option = _option(decision, _plain(text))
        if option is None:
            self.say(Text("Please type the number or the letter of an option; ? helps."))
            return view
        before = (decision.rationale or "") if option == decision.selected else ""
        why = Text("Why? (empty: as before)") if before else Text("Why? (empty: no reason)")
        self.say(why, "bold")
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
        actor = self.going.actor
        return self.tool.decide(self.id, option.id, reason, decision_id=decision.id, actor=actor)

    def command(
        self, text: str, options: Iterable[str] = ()
    ) -> "Callable[[Dialogue, SessionView], Step] | None":
        """None where it is an answer."""
        if (command := COMMANDS.get(plain(text))) is not None:
            return command
        words = slip(text, COMMANDS, options)
        return None if words is None else lambda dialogue, view: _told(dialogue, view, words)

    def _approved(self, run_id: str) -> int:
        self.going.tell_run(run_id)
        try:
            self.lines.ask(prompt_of(self.ui, Text("Execute now? [y/n]")))
        except (EOFError, KeyboardInterrupt):
            # It is approved, whatever the answer: nothing is left to be saved.
            self.ui.line()
        self.going.tell_run_waits(run_id)
        return 0


def _plain(text: str) -> str:
    """A number or a letter as an input method for Japanese may write it; everything else as it is."""
    plain = normalize("NFKC", text.strip())
    return plain if plain.isascii() and (plain.isdigit() or len(plain) == 1) else text


def _option(decision: DecisionPoint, text: str) -> DesignOption | None:
    """By its number, its letter, its id or its name, in this order: what stands on the screen comes first."""
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
    return dialogue.tool.back(dialogue.id, actor=dialogue.going.actor)


def _skip(dialogue: Dialogue, view: SessionView) -> Step:
    if isinstance(view.pending, QuestionPending):
        question = view.pending.question
        return dialogue.tool.skip(dialogue.id, question_id=question.id, actor=dialogue.going.actor)
    dialogue.say(Text("A decision cannot be skipped; the recommended option is marked."))
    return view


def _quit(dialogue: Dialogue, _: SessionView) -> Step:
    return dialogue.leave()


def cancel(dialogue: Dialogue, view: SessionView) -> Step:
    if dialogue.going.refuses_agent():
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
