"""What somebody says about a run while it works or waits (PP-20): words for whoever makes the step, never an
approval.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.engine.process import RunFeedback
from ringi.errors import BadFeedback
from ringi.runs.document import StopCode
from ringi.runs.start import require_current
from ringi.sessions.operations import unfit

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

LONGEST: Final = 8_000


class GivenFeedback(NamedTuple):
    feedback: RunFeedback
    reopens: bool
    """The step that waits is made again with it, once somebody goes on with the run."""


def give_feedback(workspace: Workspace, run_id: str, text: str, source: str = "api") -> GivenFeedback:
    """Recorded at once; a run that works hears it before its next action.

    What an agent says is marked as such and never counts as a person's. Raises RunOver, NotPermitted,
    BadFeedback.
    """
    run, person = workspace.store.runs.get(run_id), workspace.person
    require_current(run)
    workspace.permits.require_allowed(run.created_by, person.user())
    words = text.strip()
    if why := unfit(words, LONGEST):
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
