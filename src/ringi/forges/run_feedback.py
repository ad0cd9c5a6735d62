"""What people say about a run on a forge is kept as feedback, and comes back to its steps (PP-20).

A remark on a line becomes a comment on the line of the plan that made it. Requested changes send back the
steps that remarks are about, or all that wait if there are none, with everything that was said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from ringi.approvals.feedback import Side, rejections
from ringi.approvals.forge import ForgeTerms
from ringi.engine.process import RunFeedback
from ringi.engine.run_state import StepStatus
from ringi.errors import BadTransition, InvalidSpecs, NotFound
from ringi.forges.document import Remark, ReviewVerdict
from ringi.forges.listen import ForgePage, Spoken, Verb
from ringi.forges.progress import mark_of
from ringi.forges.watch_project import NewsKind, ProjectWatch
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.patch.line_changes import LineChange, line_changes
from ringi.patch.merge import text_lines
from ringi.plans.document import PlanStatus
from ringi.plans.preview import effects
from ringi.runs.document import Run, StepState
from ringi.runs.feedback import find_unheard

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_SHOWN: Final = 120
_OPEN: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW, PlanStatus.APPROVED])
_REQUESTED: Final = Text("changes requested")
_SEE: Final = Text("See the comments on its lines.")


def record_words(watch: ProjectWatch, run: Run, terms: ForgeTerms, page: ForgePage) -> None:
    """Records what is new, each once; the next turn of the run hears it."""
    known = {one.ref for one in watch.workspace.store.processes.feedback(run.run_id)}
    fresh = [one for one in page.all if one.ref not in known and watch.is_new(f"{run.run_id} {one.ref}")]
    since = find_start(watch, run, terms, page) if fresh else ""
    lines: PlanLines | None = None
    for said in fresh:
        if not _is_word(watch, said) or (said.item == terms.item and said.at < since):
            continue
        if not (watch.listener.counts(said.author) or watch.workspace.config.forge.read_all):
            watch.ignore_stranger(run.run_id, said)
            continue
        with watch.workspace.store.transaction() as transaction:
            transaction.processes.add_feedback(_feedback(watch, run, said))
        words = Text("{who}: {words}", who=watch.who(said), words=first_line(said))
        if said.remark:
            lines = lines or PlanLines(watch.workspace, run)
            lines.comment(said)
            words = Text("{who} on {place}: {words}", who=watch.who(said), place=said.remark.place,
                         words=first_line(said))  # fmt: skip
        watch.say(run.run_id, NewsKind.HEARD, words, said)


def find_start(watch: ProjectWatch, run: Run, terms: ForgeTerms, page: ForgePage) -> str:
    """Older words on the item of the run were in the request."""
    asked = (one for one in page.comments if one.item == terms.item)
    return watch.listener.find_start(asked, mark_of(run.planning_session_id, run.run_id)) or run.created_at


def _is_word(watch: ProjectWatch, said: Spoken) -> bool:
    if not watch.listener.is_person(said):
        return False
    if said.review:
        verdict = said.review.verdict
        asked = verdict is ReviewVerdict.CHANGES_REQUESTED
        return asked or (verdict is ReviewVerdict.COMMENTED and bool(said.text))
    command = said.command
    return bool(said.text) if command is None else command.verb is Verb.REJECT


def _words(said: Spoken) -> str:
    command = said.command
    return (command.words if command else said.text) or str(_REQUESTED)


def first_line(said: Spoken) -> Text | str:
    line = _words(said).splitlines()[0]
    if line == str(_REQUESTED):
        return _REQUESTED
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"


def _feedback(watch: ProjectWatch, run: Run, said: Spoken) -> RunFeedback:
    return RunFeedback(
        feedback_id=watch.workspace.ids(),
        run_id=run.run_id,
        at=watch.workspace.clock.now(),
        who=watch.who(said),
        source="review" if said.review or said.remark else "issue_comment",
        ref=said.ref,
        text=f"{said.remark.place}: {_words(said)}" if said.remark else _words(said),
    )


# What goes back to the steps.


def list_unheard(workspace: Workspace, run: Run) -> list[RunFeedback]:
    """What people said that no step was told."""
    return [one for one in find_unheard(run, workspace.store.processes.feedback(run.run_id)) if not one.agent]


def send_back(workspace: Workspace, run_id: str, spoken: Iterable[Spoken], by: str) -> tuple[StepState, ...]:
    """The steps that are made again once the run goes on. The caller holds the lock of the run.

    `spoken` is what the forge has; whatever of it is unheard goes along, with other unheard words of people.
    """
    stored = workspace.store.runs.get_stored(run_id)
    run, rows = stored.run, list_unheard(workspace, stored.run)
    by_step, general = _sort_by_step(PlanLines(workspace, run), rows, {said.ref: said for said in spoken})
    waiting = _waiting_steps(workspace, run)
    concerned = [step for step in waiting if step.step_id in by_step] or waiting
    for step in concerned:
        said = [*by_step.get(step.step_id, ()), *general] or [str(_SEE)]
        _reject(workspace, step, "\n\n".join(said))
    heard = (*run.heard, *(one.feedback_id for one in rows))
    event = NewEvent(EventKind.RUN_ADVANCED, Actor.USER, f"sent back by {by}")
    with workspace.store.transaction() as transaction:
        changed = replace(run, heard=heard, updated_at=workspace.clock.now())
        transaction.runs.save(changed, event, stored.revision)
    return tuple(concerned)


def _sort_by_step(
    lines: PlanLines, rows: Sequence[RunFeedback], spoken: Mapping[str, Spoken]
) -> tuple[Mapping[str, Sequence[str]], Sequence[str]]:
    """By step, without what is a comment on one of its lines; and what is about none of them."""
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
    return by_step, general


def _waiting_steps(workspace: Workspace, run: Run) -> list[StepState]:
    """Those that a person has to decide about."""
    return [
        step
        for step in run.steps
        if step.status is StepStatus.PROPOSED and workspace.plan.get_state(step.plan_id).status in _OPEN
    ]


def _reject(workspace: Workspace, step: StepState, words: str) -> None:
    """Not a second time with the same words, as after a crash."""
    there = workspace.of_plan(step.plan_id)
    state = there.plan.get_state(step.plan_id)
    if state.status is PlanStatus.PROPOSED:
        if any(one.text == words for one in rejections(state.feedback, step.told_at)):
            return
        there.plan.mark_pending(step.plan_id, pending=True)
    there.plan.reject(step.plan_id, words)


# Which step made, or removed, the line that a remark is about.


class Bytes(NamedTuple):
    """A file before and after a step; None: it is not there."""

    old: bytes | None
    new: bytes | None


class StepFiles(NamedTuple):
    step_id: str
    files: Mapping[str, Bytes]


class FeedbackPlace(NamedTuple):
    step_id: str
    path: str
    line: int
    """From 1, on that side of what the step changed; 0: the file as a whole."""
    side: Side


class PlanLines:
    """The lines of what the steps of a run changed, as they wait."""

    def __init__(self, workspace: Workspace, run: Run) -> None:
        self._workspace = workspace
        self._head = run.offer.head if run.offer else ""
        self._plans = {step.step_id: step.plan_id for step in _waiting_steps(workspace, run)}
        self._files = [self._of(step_id, plan_id) for step_id, plan_id in self._plans.items()]

    def _of(self, step_id: str, plan_id: str) -> StepFiles:
        there = self._workspace.of_plan(plan_id)
        with suppress(InvalidSpecs, NotFound):  # then its lines belong to no step
            found = effects(there, there.plan.stored(plan_id))
            return StepFiles(step_id, {one.path: Bytes(one.old, one.new) for parts in found for one in parts})
        return StepFiles(step_id, {})

    def place(self, remark: Remark) -> FeedbackPlace | None:
        """Of a commit that is not the newest any more only the file is certain."""
        line = remark.line if remark.commit in {"", self._head} else 0
        return find_place(self._files, remark.path, line, Side.OLD if remark.old_side else Side.NEW)

    def comment(self, said: Spoken) -> bool:
        """Whether the remark is a comment on a line of a plan, made now or before."""
        place = self.place(said.remark) if said.remark else None
        if place is None or not place.line:
            return False
        plan_id, text = self._plans[place.step_id], f"{said.author.login}: {said.text}"
        plan = self._workspace.of_plan(plan_id).plan
        for known in plan.get(plan_id).state.comments or ():
            if (known.path, known.line, known.side, known.text) == (place.path, place.line, place.side, text):
                return True
        try:
            plan.comment(plan_id, place.path, place.line, text, side=place.side)
        except (NotFound, InvalidSpecs, BadTransition):
            return False
        return True


def find_place(steps: Sequence[StepFiles], path: str, line: int, side: Side) -> FeedbackPlace | None:
    """`line` is of the file after all the steps, or before them; None if no step changed the file."""
    touching = [step for step in steps if path in step.files]
    if not touching:
        return None
    whole = FeedbackPlace(touching[-1].step_id, path, 0, side)
    if line < 1:
        return whole
    ordered, moved = (touching, _later) if side is Side.OLD else (touching[::-1], _earlier)
    return _follow_line(ordered, whole._replace(line=line), moved) or whole


def _follow_line(
    steps: Sequence[StepFiles],
    wanted: FeedbackPlace,
    moved: Callable[[Sequence[LineChange], int], int | None],
) -> FeedbackPlace | None:
    """None if there is no such line. One that no step changed belongs to the first that is asked."""
    first: FeedbackPlace | None = None
    line = wanted.line
    for step in steps:
        old, new = (text_lines(data or b"") for data in step.files[wanted.path])
        if line > len(old if wanted.side is Side.OLD else new):
            return first
        here = wanted._replace(step_id=step.step_id, line=line)
        before = moved(line_changes(old, new), line)
        if before is None:
            return here
        first, line = first or here, before
    return first


def _earlier(changes: Sequence[LineChange], line: int) -> int | None:
    """The number of a new line before these changes; None if they made it."""
    shift = 0
    for change in changes:
        if line <= change.new:
            break
        if line <= change.new_end:
            return None
        shift = change.old_end - change.new_end
    return line + shift


def _later(changes: Sequence[LineChange], line: int) -> int | None:
    """The number of an old line after these changes; None if they removed it."""
    return _earlier([LineChange(one.new, one.new_end, one.old, one.old_end) for one in changes], line)
