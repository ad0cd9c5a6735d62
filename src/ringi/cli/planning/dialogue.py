"""A planning session as a dialogue, line by line. Every answer is saved before the next question is shown."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final
from unicodedata import normalize

from ringi.approvals.prompter import agrees, is_yes
from ringi.cli.app import EXIT_PERSON_NEEDED
from ringi.cli.planning.driver import Driver, approve_summary
from ringi.cli.planning.review import SessionPrompter
from ringi.cli.planning.typed import PROMPT, Reminder, TypedLines, plain, slip
from ringi.cli.ui import cut, help_lines
from ringi.errors import (
    BadAnswer,
    Busy,
    Interrupted,
    NoChannel,
    NotAsked,
    SessionOver,
    SessionRace,
    StorageFailed,
)
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.plans.review_loop import ReviewEnd
from ringi.sessions.document import (
    OPEN_SESSIONS,
    AgentPending,
    ApprovalPending,
    ApprovedSession,
    CancelledSession,
    DecisionPending,
    Pending,
    QuestionPending,
    SessionView,
)
from ringi.sessions.operations import option_of
from ringi.sessions.review import ReviewedSession, SessionReview, confirm_cancel, exit_code
from ringi.sessions.view import decision_lines, feedback_lines, pending_lines, question_lines

HELP: Final = (
    ("", Text("A number chooses an option, and so does the letter of a decision's option: a, b …")),
    ("", Text("To a question, anything else is an answer in your own words.")),
    ("", Text("A line that ends with \\ continues on the next one; pasted lines belong together.")),
    ("/back", Text("to the previous one; its answer stays until you give another")),
    ("/skip", Text("leaves the question without an answer")),
    ("/quit", Text("leaves; everything is saved, and you can resume later")),
    ("/cancel", Text("ends the session for good")),
    ("?", Text("this help; a space before it, or before a /, makes it an answer")),
)

Step = SessionView | int
"""The session as it is now, or the exit code."""


class Dialogue:
    def __init__(
        self,
        driver: Driver,
        lines: TypedLines,
        skip_after_sec: float,
        *,
        at_once: bool = False,
        key: Path | None = None,
    ) -> None:
        """`at_once`: an approved run is carried out without another question. A key approves the summary."""
        self.driver = driver
        self.ui = driver.ui
        self.tool = driver.tool
        self.id = driver.session_id
        self.lines = lines
        self._skip_after_sec = skip_after_sec
        self._shown: Pending | None = None
        self._reminder: Reminder | None = None
        self._at_once = at_once
        self._key = key
        self.run_id = ""
        """The run that is to be carried out now."""

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
            return Interrupted.exit_code
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
                    return self._review() if self._key is None else approve_summary(self.driver, self._key)
                case ApprovedSession(run_id=run_id):
                    return self._on_approved(run_id)
                case CancelledSession():
                    self.ui.show(pending_lines(self.tool.get(self.id), view.pending))
                    return exit_code(view)
                case AgentPending():
                    return self._agents_turn(view)
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
        except NoChannel as error:
            self.ui.error(error)
            return self.driver.view()

    def _agents_turn(self, view: SessionView) -> Step:
        """It is told by its next look at the session; the person may go on without it."""
        self.ui.show(pending_lines(self.tool.get(self.id), view.pending))
        model = self.driver.app.workspace.config.model
        if not agrees(self.lines, Text("Go on with {model} instead of the agent? [y/n]", model=model)):
            return self.leave()
        return self.driver.replace_agent()

    def _review(self) -> Step:
        session = ReviewedSession(self.driver.app.workspace, self.id)
        ended = SessionReview(session, SessionPrompter(self.driver, session, self.lines)).run()
        return self.leave() if ended is ReviewEnd.LEFT else self.driver.view()

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
            return self.driver.skip(question.id)
        answer = text if text.strip() else question.answer
        if answer is not None:
            return self.driver.answer(answer, question.id)
        self.say(Text("An empty line is no answer; /skip leaves the question open, ? helps."))
        return view

    def _decision(self, view: SessionView, asked: DecisionPending) -> Step:
        self.show(view)
        decision = asked.decision
        text = self.lines.ask(PROMPT)
        if (command := self.command(text, (option.name for option in decision.options))) is not None:
            return command(self, view)
        if not text.strip() and decision.selected is not None:
            return self.driver.decide(decision.selected.id, decision.rationale or "", decision.id)
        option = option_of(decision, _option_typed(text), ids_first=False)
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
        return self.driver.decide(option.id, reason.strip() or before, decision.id)

    def command(
        self, text: str, options: Iterable[str] = ()
    ) -> "Callable[[Dialogue, SessionView], Step] | None":
        """None if it is an answer."""
        if (command := COMMANDS.get(plain(text))) is not None:
            return command
        words = slip(text, COMMANDS, options)
        return None if words is None else lambda dialogue, view: _tell(dialogue, view, words)

    def _on_approved(self, run_id: str) -> int:
        self.driver.tell_run(run_id)
        try:
            workspace = self.driver.app.workspace
            creator = workspace.store.runs.get(run_id).created_by
            skipped = workspace.permits.skip_question(creator, workspace.person.user())
            unasked = self._at_once or skipped
            if unasked or is_yes(self.lines.answer(Text("Execute now? [y/n]"))):
                self.run_id = run_id
                return 0
        except (EOFError, KeyboardInterrupt):
            # It is approved either way: nothing is left to save.
            self.ui.line()
        self.driver.tell_run_waits(run_id)
        return 0


def _option_typed(text: str) -> str:
    """Normalises a full-width number or letter from a Japanese input method; leaves anything else alone."""
    simple = normalize("NFKC", text.strip())
    return simple if simple.isascii() and (simple.isdigit() or len(simple) == 1) else text


def _back(dialogue: Dialogue, _: SessionView) -> Step:
    return dialogue.driver.back()


def _skip(dialogue: Dialogue, view: SessionView) -> Step:
    if isinstance(view.pending, QuestionPending):
        return dialogue.driver.skip(view.pending.question.id)
    dialogue.say(Text("A decision cannot be skipped; the recommended option is marked."))
    return view


def _quit(dialogue: Dialogue, _: SessionView) -> Step:
    return dialogue.leave()


def _cancel(dialogue: Dialogue, view: SessionView) -> Step:
    return dialogue.driver.view() if confirm_cancel(dialogue.driver, dialogue.lines) else view


def _help(dialogue: Dialogue, view: SessionView) -> Step:
    dialogue.ui.show(help_lines(HELP))
    return view


def _tell(dialogue: Dialogue, view: SessionView, words: Text) -> Step:
    dialogue.say(words)
    return view


COMMANDS: Final[Mapping[str, Callable[[Dialogue, SessionView], Step]]] = {
    "/back": _back,
    "/skip": _skip,
    "/quit": _quit,
    "/cancel": _cancel,
    "/help": _help,
    "?": _help,
}
