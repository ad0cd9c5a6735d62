"""What people said about the steps of a run, brought to the plans of those steps (PP-20).

A remark on a line becomes a comment on the line of the plan that made it. Requested changes send back the
steps that remarks are about, or all that wait if there are none, with everything that was said.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.domain.events import Actor, EventKind
from ringi.domain.feedback import Side
from ringi.domain.forge import Remark
from ringi.domain.plan import PlanStatus
from ringi.domain.process import Feedback
from ringi.domain.run import Run, StepState, StepStatus
from ringi.errors import BadTransition, InvalidSpecs, NotFound
from ringi.plans.preview import effects
from ringi.ports import NewEvent
from ringi.runner.feedback import unheard
from ringi.text import Text
from ringi.usecases.forge.lines import Bytes, Place, StepFiles, place_of
from ringi.usecases.forge.listen import Spoken
from ringi.usecases.workspace import OpenWorkspace

_OPEN: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW, PlanStatus.APPROVED])
_SEE: Final = Text("See the comments on its lines.")


def waiting_steps(workspace: OpenWorkspace, run: Run) -> list[StepState]:
    """Those that a person has to decide about."""
    return [
        step
        for step in run.steps
        if step.status is StepStatus.PROPOSED and workspace.plan.get_state(step.plan_id).status in _OPEN
    ]


class Lines:
    """The lines of what the steps of a run changed, as they wait."""

    def __init__(self, workspace: OpenWorkspace, run: Run) -> None:
        self._workspace = workspace
        self._head = run.offer.head if run.offer else ""
        self._plans = {step.step_id: step.plan_id for step in waiting_steps(workspace, run)}
        self._files = [self._of(step_id, plan_id) for step_id, plan_id in self._plans.items()]

    def _of(self, step_id: str, plan_id: str) -> StepFiles:
        there = self._workspace.of_plan(plan_id)
        with suppress(InvalidSpecs, NotFound):  # then its lines are nobody's
            found = effects(there.services, there.plan.stored(plan_id))
            files = {one.path: Bytes(one.old, one.new) for parts in found for one in parts}
            return StepFiles(step_id, files)
        return StepFiles(step_id, {})

    def place(self, remark: Remark) -> Place | None:
        """Of a commit that is not the newest any more only the file is certain."""
        line = remark.line if remark.commit in {"", self._head} else 0
        return place_of(self._files, remark.path, line, Side.OLD if remark.old_side else Side.NEW)

    def comment(self, said: Spoken) -> bool:
        """Whether the remark is a comment on a line of a plan, made now or before."""
        place = self.place(said.remark) if said.remark else None
        if place is None or not place.line:
            return False
        plan_id = self._plans[place.step_id]
        there, text = self._workspace.of_plan(plan_id), _by(said)
        document = there.plan.get(plan_id)
        for known in document.state.comments or ():
            if (known.path, known.line, known.side, known.text) == (place.path, place.line, place.side, text):
                return True
        try:
            there.plan.comment(plan_id, place.path, place.line, text, side=place.side)
        except (NotFound, InvalidSpecs, BadTransition):
            return False
        return True


def _by(said: Spoken) -> str:
    return f"{said.author.login}: {said.text}"


class _Words(NamedTuple):
    by_step: Mapping[str, Sequence[str]]
    """What was said about a step, without what is a comment on one of its lines."""
    general: Sequence[str]


def send_back(
    workspace: OpenWorkspace, run_id: str, spoken: Iterable[Spoken], by: str
) -> tuple[StepState, ...]:
    """The steps that are made again once the run goes on. The caller holds the lock of the run.

    `spoken` is what the forge has; whatever of it is unheard goes along, with other unheard words of people.
    """
    stored = workspace.sessions.stored_run(run_id)
    run = stored.run
    rows = [one for one in unheard(run, workspace.sessions.feedback(run_id)) if not one.agent]
    words = _sorted(Lines(workspace, run), rows, {said.ref: said for said in spoken})
    waiting = waiting_steps(workspace, run)
    concerned = [step for step in waiting if step.step_id in words.by_step] or waiting
    for step in concerned:
        said = [*words.by_step.get(step.step_id, ()), *words.general] or [str(_SEE)]
        _reject(workspace, step, "\n\n".join(said))
    heard = replace(
        run,
        heard=(*run.heard, *(one.feedback_id for one in rows)),
        updated_at=workspace.clock.now(),
    )
    event = NewEvent(EventKind.RUN_ADVANCED, Actor.USER, f"sent back by {by}")
    with workspace.sessions.transaction() as transaction:
        transaction.save_run(heard, event, stored.revision)
    return tuple(concerned)


def _sorted(lines: Lines, rows: Sequence[Feedback], spoken: Mapping[str, Spoken]) -> _Words:
    by_step: dict[str, list[str]] = {}
    general: list[str] = []
    for row in rows:
        said = spoken.get(row.ref)
        place = lines.place(said.remark) if said and said.remark else None
        if said is None or place is None:
            general.append(str(row.quoted))
            continue
        about = by_step.setdefault(place.step_id, [])
        if not lines.comment(said):
            about.append(str(row.quoted))
    return _Words(by_step, general)


def _reject(workspace: OpenWorkspace, step: StepState, words: str) -> None:
    """Not a second time with the same words, as after a crash."""
    there = workspace.of_plan(step.plan_id)
    told = step.attempts[-1].ended_at if step.attempts else ""
    state = there.plan.get_state(step.plan_id)
    if state.status is PlanStatus.PROPOSED:
        if any(one.is_rejection and one.timestamp > told and one.text == words for one in state.feedback):
            return
        there.plan.mark_pending(step.plan_id, pending=True)
    there.plan.reject(step.plan_id, words)
