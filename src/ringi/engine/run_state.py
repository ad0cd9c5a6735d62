"""The phases of a run and of its steps, and how each may follow another."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from ringi.kernel.document import Machine


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
    # Another try.
    _R.FAILED: frozenset([_R.PLANNING, _R.EXECUTING, _R.INTEGRATING, _R.CANCELLED]),
}


RUN_MACHINE: Final = Machine("run", RUN_TRANSITIONS)


OVER: Final = frozenset([_R.COMPLETED, _R.CANCELLED])


STOPPED: Final = frozenset([_R.NEEDS_INPUT, _R.FAILED])


_SIX: Final = 6


def run_id(now: str, word: str) -> str:
    """20251214-210501-a1b2c3: when it began, and six random digits."""
    digits = "".join(c for c in now.partition(".")[0] if c.isdigit())
    return f"{digits[:8]}-{digits[8:]}-{word[:_SIX]}"


def run_id_in(word: str) -> bool:
    """Whether a typed word looks like the id of a run, or its beginning."""
    return re.fullmatch(r"[0-9]{8}(-[0-9]{1,6}(-[0-9a-f]{1,6})?)?", word) is not None


class StepStatus(StrEnum):
    WAITING = "waiting"
    WORKING = "working"
    TESTING = "testing"
    REVIEWING = "reviewing"
    PROPOSED = "proposed"
    DONE = "done"


_S = StepStatus


STEP_TRANSITIONS: Final[Mapping[StepStatus, frozenset[StepStatus]]] = {
    _S.WAITING: frozenset([_S.WORKING]),
    # Again with what was wrong; a step that changes nothing, such as a review, is done.
    _S.WORKING: frozenset([_S.TESTING, _S.WORKING, _S.WAITING, _S.DONE]),
    _S.TESTING: frozenset([_S.REVIEWING, _S.WORKING, _S.WAITING]),
    # A person gives another command to test it with: testing.
    _S.REVIEWING: frozenset([_S.PROPOSED, _S.WORKING, _S.TESTING, _S.WAITING]),
    # Declined: working. Merged with what changed before it: testing. An earlier step is made anew: waiting.
    _S.PROPOSED: frozenset([_S.DONE, _S.WORKING, _S.TESTING, _S.WAITING]),
    _S.DONE: frozenset(),
}


STEP_MACHINE: Final = Machine("step", STEP_TRANSITIONS)
