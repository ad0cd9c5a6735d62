"""What a role of a run is asked to do, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, Protocol

from ringi.models.usage import Spent

if TYPE_CHECKING:  # only names of types
    from ringi.config.keys import RoleHow
    from ringi.engine.run_plan import RunPlan, RunRole, RunStep
    from ringi.kernel.text import Text
    from ringi.runs.document import Finding, Run, StepState, Stop, StopCode
    from ringi.tree.copy import WorkCopy


def _unheard(_: bytes) -> None:
    pass


def _not_kept(_name: str, _text: str) -> None:
    pass


class RoleTask(NamedTuple):
    """What a role is asked to do."""

    run: Run
    plan: RunPlan
    step: RunStep
    state: StepState
    role: RunRole
    copy: WorkCopy
    base_tree: str
    """What the step begins with."""
    feedback: str
    """What was wrong last time, or the person's words."""
    commits: tuple[tuple[str, str], ...]
    """The earlier ones of this run: id and subject."""
    diff: str = ""
    """For a role that judges: what the step changed, bounded."""
    log: Callable[[bytes], None] = _unheard
    """Gets what the role prints, as it comes, within the limit of the role."""
    keep: Callable[[str, str], None] = _not_kept
    """Writes a text for people beside the run, by its name there: briefs/S01-implementer-1.md"""


class RoleWork(NamedTuple):
    how: RoleHow
    who: str
    exit_code: int | None
    """None if a person has to do it."""
    timed_out: bool = False
    problem: Text | None = None
    """Why there is no result, and what to do."""
    code: StopCode | None = None
    """If the problem has one of its own."""
    spent: Spent = Spent()
    findings: tuple[Finding, ...] = ()
    waits: str = ""
    """The turn is not over, and goes on once somebody has done this: the next action."""


class Roles(Protocol):
    def has(self, role: RunRole) -> bool:
        """Whether somebody is configured for it."""

    def check(self, plan: RunPlan) -> Stop | None:
        """Before anything runs: whether each role of the plan can be started and is allowed."""

    def work(self, task: RoleTask) -> RoleWork:
        """Changes files in the task's copy and nothing else."""

    def judge(self, task: RoleTask) -> RoleWork:
        """Changes nothing; says what it found."""
