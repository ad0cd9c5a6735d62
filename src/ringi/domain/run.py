"""The run that an approved planning session becomes (the planner session of IP)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from ringi.domain.base import Machine, Versioned


class RunPhase(StrEnum):
    PLANNING = "planning"
    EXECUTING = "executing"
    INTEGRATING = "integrating"
    COMPLETED = "completed"
    NEEDS_INPUT = "needs_input"
    CANCELLED = "cancelled"
    FAILED = "failed"


_R = RunPhase
_STOPS: Final = (_R.NEEDS_INPUT, _R.CANCELLED, _R.FAILED)
RUN_TRANSITIONS: Final[Mapping[RunPhase, frozenset[RunPhase]]] = {
    _R.PLANNING: frozenset([_R.EXECUTING, *_STOPS]),
    _R.EXECUTING: frozenset([_R.INTEGRATING, *_STOPS]),
    _R.INTEGRATING: frozenset([_R.COMPLETED, *_STOPS]),
    _R.COMPLETED: frozenset(),
    # Resumes in the phase in which it stopped.
    _R.NEEDS_INPUT: frozenset([_R.PLANNING, _R.EXECUTING, _R.INTEGRATING, _R.CANCELLED, _R.FAILED]),
    _R.CANCELLED: frozenset(),
    _R.FAILED: frozenset(),
}
RUN_MACHINE: Final = Machine("run", RUN_TRANSITIONS)
_SIX: Final = 6


def run_id(now: str, word: str) -> str:
    """20251214-210501-a1b2c3: when it began, and six random digits."""
    digits = "".join(c for c in now.partition(".")[0] if c.isdigit())
    return f"{digits[:8]}-{digits[8:]}-{word[:_SIX]}"


class Run(Versioned, frozen=True, kw_only=True):
    run_id: str
    planning_session_id: str
    phase: RunPhase
    instruction: str
    """The enhanced instruction of the session, as it was approved."""
    created_at: str
    updated_at: str
