"""What a review needs from an interface: a full screen, a dialogue, a test's script."""

from collections.abc import Callable, Sequence
from enum import Enum, auto
from typing import NamedTuple, Protocol

from ringi.domain.answer import PlanComparison
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
    """Or updates to the current files, if they changed."""
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
    """The chosen line."""


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


class ReviewPrompter(Prompter, Protocol):
    def choose(self) -> Choice:
        """Waits for what the person wants next."""

    def show(self, said: Span | None = None, *, error: RingiError | None = None, anew: bool = False) -> None:
        """Shows the plan as last read, with a message; `anew` reads every file again."""

    def show_delta(self, found: PlanComparison) -> None: ...
    def show_info(self) -> None: ...
    def refuse(self, text: Text) -> None:
        """Shown in place of a question; ignores what the person keeps typing."""

    def fail(self, error: RingiError) -> None: ...
    def edit(self, path: str, data: bytes) -> tuple[bytes, int]:
        """The content after the person's editor, and its exit code."""

    def watch(self, checks: RunningChecks, done: Callable[[], None]) -> None:
        """Calls `done` when they end: either blocks until then, or returns and calls it later."""

    def tell_checks(self, said: Span | None, output: Sequence[str] = ()) -> None:
        """Shows the checks' result, with the end of a failed one's output."""
