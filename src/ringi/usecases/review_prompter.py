"""What a review needs of whoever shows it: a full screen, a dialogue, the script of a test."""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from ringi.domain.versions import PlanComparison
from ringi.errors import RingiError
from ringi.text import Text
from ringi.usecases.prompter import Prompter
from ringi.views.diff import Row
from ringi.views.lines import Span


class ReviewAct(Enum):
    APPLY = auto()
    APPROVE = auto()
    """With a note, to be carried out later."""
    DROP = auto()
    DROP_HUNK = auto()
    EDIT_LINE = auto()
    ADD_LINE = auto()
    DELETE_LINE = auto()
    EDIT_FILE = auto()
    COMMENT = auto()
    REJECT = auto()
    TAKE_BACK = auto()
    """Or update to the files as they are now, if they changed."""
    SHOW_DELTA = auto()
    SHOW_INFO = auto()
    SHOW_AGAIN = auto()
    STOP_CHECKS = auto()
    UNDO = auto()
    QUIT = auto()
    INTERRUPT = auto()


class Choice(NamedTuple):
    """What the person wants to do, and where."""

    act: ReviewAct
    spec: int = 0
    """Counted from 0."""
    hunk: int = 0
    """Counted from 1."""
    row: Row | None = None
    """The line that is meant."""


class RunningChecks(Protocol):
    """The plan's checks, run again beside the review."""

    @property
    def seconds(self) -> int: ...
    @property
    def ended(self) -> bool: ...
    @property
    def why_not(self) -> Text | None:
        """Why they could not run; None if they did, whatever they said."""

    def wait(self) -> None: ...
    def stop(self) -> None:
        """Ends the checks and what they started."""


class ReviewPrompter(Prompter, Protocol):
    def choose(self) -> Choice:
        """Waits for what the person wants next."""

    def show(self, said: Span | None = None, *, error: RingiError | None = None, anew: bool = False) -> None:
        """The plan as it was looked at last, with what is said about it; `anew` reads every file again."""

    def show_delta(self, found: PlanComparison) -> None: ...
    def show_info(self) -> None: ...
    def refuse(self, text: Text) -> None:
        """In place of a question: what the person types on, not looking, answers nothing."""

    def fail(self, error: RingiError) -> None: ...
    def edit(self, path: str, data: bytes) -> tuple[bytes, int]:
        """What the person's own editor makes of it, and its exit code."""

    def watch(self, checks: RunningChecks, done: Callable[[], None]) -> None:
        """Calls `done` once they have ended: waits for that, or returns at once and calls it later."""

    def tell_checks(self, said: Span | None, output: Sequence[str] = ()) -> None:
        """How the checks went, with the end of what a failed one printed."""
