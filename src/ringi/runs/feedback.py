"""What is said about a run while it works or waits (PP-20): words for its next turn, never an approval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from ringi.engine.process import RunFeedback
from ringi.engine.run_state import StepStatus
from ringi.errors import BadFeedback
from ringi.runs.document import Run, StopCode
from ringi.runs.machine import anew_from, with_step
from ringi.runs.start import require_current
from ringi.sessions.operations import why_unfit

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_S = StepStatus


def find_unheard(run: Run, said: Sequence[RunFeedback]) -> tuple[RunFeedback, ...]:
    return tuple(one for one in said if one.feedback_id not in run.heard)


def hand_on(run: Run, index: int, said: Sequence[RunFeedback]) -> Run:
    """The run whose step gets these words in its next turn."""
    words = [run.steps[index].feedback, *(str(one.quoted) for one in said)]
    step = with_step(run, index, feedback="\n\n".join(filter(None, words)))
    return replace(step, heard=(*run.heard, *(one.feedback_id for one in said)))


def reopen_step(run: Run, index: int) -> Run:
    """The step, if it was made, works on with what it was told; what was built on it is made anew."""
    state = run.steps[index]
    if state.status in {_S.WAITING, _S.WORKING, _S.DONE}:
        return run
    return with_step(
        anew_from(run, index + 1), index, status=_S.WORKING, cycle=0, feedback=state.feedback, tree=state.tree
    )


LONGEST: Final = 8_000


class GivenFeedback(NamedTuple):
    feedback: RunFeedback
    reopens: bool
    """The step that waits is made again with it, once the run goes on."""


def give_feedback(workspace: Workspace, run_id: str, text: str, source: str = "api") -> GivenFeedback:
    """Recorded at once; a run that works hears it before its next action.

    What an agent says is marked as such and never counts as a person's. Raises RunOver, NotPermitted,
    BadFeedback.
    """
    run, person = workspace.store.runs.get(run_id), workspace.person
    require_current(run)
    workspace.permits.require_allowed(run.created_by, person.user())
    words = text.strip()
    if why := why_unfit(words, LONGEST):
        raise BadFeedback(why=why)
    agent = person.agent() is not None
    said = RunFeedback(
        feedback_id=workspace.ids(),
        run_id=run_id,
        at=workspace.clock.now(),
        who=person.requester() if agent else person.user(),
        agent=agent,
        source=source,
        text=words,
    )
    with workspace.store.transaction() as transaction:
        transaction.processes.add_feedback(said)
    # A revision that waits is decided about first.
    stopped = run.stop is not None and run.stop.reason_code is not StopCode.REVISION_WAITS
    return GivenFeedback(said, reopens=stopped and not agent)
