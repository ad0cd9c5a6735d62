"""What the runner works with: the copy and the branch of a run, its files, its place in the ledger."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:  # only names of types
    from ringi.engine.run_plan import RunPlan, RunStep
    from ringi.kernel.text import Text
    from ringi.runs.document import Evidence, Run, StepState, Stop
    from ringi.runs.scope import TreeChanges
    from ringi.tree.copy import WorkCopy


class StepBase(NamedTuple):
    base_commit: str
    base_tree: str
    copy_id: str


class Decided(Enum):
    """What became of the plan of a step."""

    WAITS = auto()
    """For a person."""
    DECLINED = auto()
    THROWN_AWAY = auto()
    OUTDATED = auto()
    """The branch has other bytes than the step was made from: it has to be merged."""
    COMMITTED = auto()
    NOT_CARRIED_OUT = auto()
    """It is approved; nothing of it is on the branch."""
    NOT_COMMITTED = auto()
    REWRITTEN = auto()
    """A hook changed what was committed; the commit was taken back."""
    TESTS_FAILED = auto()
    """Its commands ran after it was carried out, and it was taken back."""
    CHANGE_FAILED = auto()
    """A person changed it and approved that, and its tests do not pass any more: nothing was carried out."""


class StepDecision(NamedTuple):
    what: Decided
    commit: str = ""
    words: str = ""
    """The person's feedback, why no standing approval covers it, or why there is no commit."""
    version: int = 0
    tree: str = ""
    """Of the branch, if the person changed what the step had made."""
    evidence: tuple[Evidence, ...] = ()
    """If commands ran after it was carried out."""
    tested: tuple[Evidence, ...] = ()
    """What its tests said in a copy, if the person changed what the step had made."""
    plan: str = ""
    """The short name of its plan."""
    grant: str = ""
    """The standing approval that it was committed under."""


class MergedStep(NamedTuple):
    base_tree: str
    tree: str
    version: int
    conflicts: tuple[str, ...] = ()
    """Paths in which a person or the role has to decide."""
    over: bool = False
    """It is carried out already: nothing is left to merge."""


class RunWorkspace(Protocol):
    """All effects of a run on files, git and the plan tool. Each can be called again after a crash."""

    def begin(self, run: Run, plan: RunPlan) -> StepBase | Stop:
        """Checks the repository, makes the branch and the copy."""

    def require_copy(self, run: Run) -> None:
        """Raises CopyFailed if it is gone."""

    def copy(self, run: Run) -> WorkCopy:
        """For somebody who works in it. Raises CopyFailed if it is gone."""

    def new_copy(self, run: Run) -> StepBase:
        """Another one, with the files of the branch."""

    def checkout(self, run: Run, tree: str) -> None:
        """The copy has exactly the files of this tree. Raises CopyFailed if they are lost."""

    def measure(self, run: Run, base_tree: str) -> TreeChanges: ...
    def patch(self, run: Run, base_tree: str, tree: str) -> bytes:
        """As `git apply` takes it; it was tried. Raises CopyFailed."""

    def uses_sandbox(self) -> bool:
        """Whether commands can run before somebody has approved what they run."""

    def test(
        self, run: Run, command: str, *, kind: str, timeout_sec: float, log: Callable[[bytes], None]
    ) -> Evidence:
        """In the copy, on the files that are there."""

    def propose(
        self, run: Run, step: RunStep, state: StepState, *, tests: Sequence[str], checks_after: Sequence[str]
    ) -> int:
        """Makes what the step changed the plan with the id it has; returns its version.

        `tests` have to pass on whatever is committed, `checks_after` run once it is carried out.
        """

    def settle_step(self, run: Run, state: StepState, *, in_turn: bool = True) -> StepDecision:
        """Carries it out if it is approved, or a standing approval covers it.

        Not `in_turn`, only whether it was declined: a step before it is not decided yet.
        """

    def merge(self, run: Run, state: StepState) -> MergedStep:
        """Brings the plan up to date with the branch, and the copy to the result."""

    def throw_away(self, state: StepState) -> str:
        """Its plan; returns what a person said when they sent it back, empty if nobody did."""

    def publish(self, run: Run) -> Stop | None:
        """Brings the branch into the person's repository."""

    def tidy(self, run: Run) -> None:
        """Removes the copy, and the branch's folder."""


class StepOutputFiles(Protocol):
    """Beside planning.json and stage.json: what commands printed, and what each step changed."""

    def log(self, path: str) -> AbstractContextManager[Callable[[bytes], None]]:
        """Opens the file anew; gets text as it comes. Bounded, masked."""

    def write(self, path: str, data: bytes) -> None: ...
    def tail(self, path: str, most: int) -> str:
        """Its last characters; empty if it is not there."""


class RunEvent(NamedTuple):
    """Something that happened, for whoever watches."""

    run: Run
    step_id: str
    what: Text
    line: str = ""
    """The last line that a command printed."""
