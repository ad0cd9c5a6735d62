"""What was said about a run since somebody last listened, for the next turn at a step (PP-20)."""

from collections.abc import Sequence

from msgspec.structs import replace

from ringi.engine.process import RunFeedback
from ringi.engine.run_state import StepStatus
from ringi.runs.document import Run
from ringi.runs.machine import anew_from, with_step

_S = StepStatus


def unheard(run: Run, said: Sequence[RunFeedback]) -> tuple[RunFeedback, ...]:
    return tuple(one for one in said if one.feedback_id not in run.heard)


def told(run: Run, index: int, said: Sequence[RunFeedback]) -> Run:
    """The run whose step gets these words in its next turn."""
    words = [run.steps[index].feedback, *(str(one.quoted) for one in said)]
    step = with_step(run, index, feedback="\n\n".join(filter(None, words)))
    return replace(step, heard=(*run.heard, *(one.feedback_id for one in said)))


def made_again(run: Run, index: int) -> Run:
    """The step, if it was made, works on with what it was told; what was built on it is made anew."""
    state = run.steps[index]
    if state.status in {_S.WAITING, _S.WORKING, _S.DONE}:
        return run
    return with_step(
        anew_from(run, index + 1), index, status=_S.WORKING, cycle=0, feedback=state.feedback, tree=state.tree
    )
