"""The controller of every review: its loop, the acts of any subject, and what an interface must offer.

What a person can do with a plan is in `plan_review.py`, with a planning session in `session_review.py`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from enum import Enum, auto
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from ringi.approvals.prompter import Prompter
from ringi.errors import RingiError
from ringi.kernel.lines import Style, TextSpan
from ringi.kernel.text import Text
from ringi.plans.diff_view import Row
from ringi.plans.document import PlanComparison
from ringi.plans.merge import OpenConflict


class ReviewAct(Enum):
    """What a person can do. Each subject has a table of those it offers."""

    APPLY = auto()
    APPROVE = auto()
    """To be carried out later."""
    DROP = auto()
    DROP_HUNK = auto()
    EDIT_LINE = auto()
    ADD_LINE = auto()
    DELETE_LINE = auto()
    EDIT_FILE = auto()
    TAKE_MINE = auto()
    TAKE_THEIRS = auto()
    TAKE_BOTH = auto()
    EDIT_CONFLICT = auto()
    COMMENT = auto()
    REJECT = auto()
    DISCARD = auto()
    TAKE_BACK = auto()
    """Or updates to the current files, if they changed."""
    SHOW_DELTA = auto()
    """Since the approval."""
    SHOW_SEEN = auto()
    """Since the person last looked."""
    SHOW_INFO = auto()
    SHOW_AGAIN = auto()
    STOP_CHECKS = auto()
    UNDO = auto()
    BACK = auto()
    CANCEL = auto()
    QUIT = auto()
    INTERRUPT = auto()


class ReviewChoice(NamedTuple):
    """What the person wants to do, and where."""

    act: ReviewAct
    spec: int = 0
    """Counted from 0."""
    hunk: int = 0
    """Counted from 1."""
    row: Row | None = None
    """The chosen line."""
    conflict: OpenConflict | None = None
    """None: the first that is undecided, or the first of all."""


class ReviewEnd(Enum):
    LEFT = auto()
    INTERRUPTED = auto()
    APPLY = auto()
    APPROVED = auto()
    """To be carried out later."""
    REJECTED = auto()
    RESUME = auto()
    """Rejected, and the agent that made it continues at once."""
    DISCARDED = auto()
    ELSEWHERE = auto()
    """It was decided or changed elsewhere meanwhile."""
    UNDO = auto()
    BACK = auto()
    CANCELLED = auto()


class Reviewed(Protocol):
    """What is reviewed, as last shown to the person."""

    def look(self) -> None:
        """Reads it as it is now; this is what the person sees from now on."""

    def reject(self, feedback: str) -> None: ...


class ReviewPrompter(Prompter, Protocol):
    """A full screen, a dialogue, a test's script."""

    def choose(self) -> ReviewChoice:
        """Waits for what the person wants next."""

    def show(
        self, said: TextSpan | None = None, *, error: RingiError | None = None, anew: bool = False
    ) -> None:
        """Shows the subject as last read, with a message; `anew` reads every file again."""

    def show_info(self) -> None: ...
    def fail(self, error: RingiError) -> None: ...


Subject = TypeVar("Subject", bound=Reviewed)
Interface = TypeVar("Interface", bound=ReviewPrompter)


class ReviewLoop(ABC, Generic[Subject, Interface]):
    def __init__(self, subject: Subject, prompter: Interface) -> None:
        self.subject = subject
        self.prompter = prompter

    def prepare(self) -> TextSpan | None:
        """What to say above the subject when it is shown for the first time."""
        return None

    def run(self) -> ReviewEnd:
        try:
            self.prompter.show(self.prepare())
            if not self.begin():
                return ReviewEnd.LEFT
            while True:
                ended = self.do(self.prompter.choose())
                if ended is not None:
                    return ended
        except EOFError:
            return ReviewEnd.LEFT
        finally:
            self.close()

    def do(self, choice: ReviewChoice) -> ReviewEnd | None:
        """None if the review goes on."""
        try:
            return self.act(choice)
        except RingiError as error:
            return self.settle(error)

    def begin(self) -> bool:
        """What is asked before anything can be decided; False if the person declines."""
        return True

    @abstractmethod
    def act(self, choice: ReviewChoice) -> ReviewEnd | None:
        """Looks the act up in the subject's table."""

    @abstractmethod
    def settle(self, error: RingiError) -> ReviewEnd | None:
        """After an act that failed: tells the person, or raises it if the review cannot go on."""

    def close(self) -> None:
        """Ends what still runs."""


def ask_rejection(
    review: ReviewLoop[Any, Any], question: Text, *, otherwise: Text | None = None
) -> ReviewEnd | None:
    """Asks what should change; `otherwise` is said if the person types nothing but Enter."""
    hint = () if otherwise is None else (Text("Enter alone: your comments say it."),)
    given = review.prompter.ask(question, above=hint)
    feedback = (given or "").strip()
    if not feedback and given is not None and otherwise is not None:
        feedback = str(otherwise)
    if not feedback:
        why = Text("To reject it, say what should change; nothing was decided.")
        review.prompter.say(why, Style.WARNING)
        return None
    review.subject.reject(feedback)
    return ReviewEnd.REJECTED


def _show_again(review: ReviewLoop[Any, Any], _: ReviewChoice) -> None:
    review.subject.look()
    review.prompter.show(anew=True)


ACTS_OF_ANY: Final[Mapping[ReviewAct, Callable[[ReviewLoop[Any, Any], ReviewChoice], ReviewEnd | None]]] = {
    ReviewAct.SHOW_INFO: lambda review, _: review.prompter.show_info(),
    ReviewAct.SHOW_AGAIN: _show_again,
    ReviewAct.QUIT: lambda *_: ReviewEnd.LEFT,
    ReviewAct.INTERRUPT: lambda *_: ReviewEnd.INTERRUPTED,
}


class RunningChecks(Protocol):
    """The plan's checks, running during the review."""

    @property
    def seconds(self) -> int: ...
    @property
    def ended(self) -> bool: ...
    @property
    def why_not(self) -> Text | None:
        """Why they could not run; None if they ran, whatever the result."""

    def wait(self) -> None: ...
    def stop(self) -> None:
        """Ends the checks and every process they started."""


StartChecks = Callable[[str], RunningChecks]
"""Starts the checks of the plan with this id."""


class PlanPrompter(ReviewPrompter, Protocol):
    def show_delta(self, found: PlanComparison) -> None: ...
    def refuse(self, text: Text) -> None:
        """Shown in place of a question; ignores what the person keeps typing."""

    def edit(self, path: str, data: bytes, line: int) -> tuple[bytes, int]:
        """The content after the person's editor, and its exit code; 0 is no line in particular."""

    def watch(self, checks: RunningChecks, done: Callable[[], None], *, until_end: bool = False) -> bool:
        """Calls `done` when they end: either blocks until then, or returns False and calls it later.

        With `until_end` it blocks, unless the person does not want to wait.
        """

    def tell_checks(self, said: TextSpan | None, output: Sequence[str] = ()) -> None:
        """Shows the checks' result, with the end of a failed one's output."""
