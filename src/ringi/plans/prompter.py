"""What an interface offers so that a plan can be reviewed in it."""

from collections.abc import Callable, Sequence
from typing import Protocol

from ringi.kernel.lines import TextSpan
from ringi.kernel.text import Text
from ringi.plans.answer_document import PlanComparison
from ringi.plans.review_loop import ReviewPrompter


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
