"""What a person changes in a plan without a terminal: all that they ask for at once, or nothing."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from ringi.approvals.feedback import Side
from ringi.approvals.who import refuse_agent
from ringi.errors import AmendedTwice, LostRace, NotFound, PlanChanged
from ringi.kernel.text import Text
from ringi.plans.answer import CommentChange, draft_comment, replace_comments
from ringi.plans.document import Amendment, DropHunks, DropSpec, NewContent, PlanDocument
from ringi.plans.effects import pack
from ringi.plans.review_document import path_after, spec_at
from ringi.plans.reviewed_plan import ReviewedPlan, comment_on, path_of
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpecExt

_MOST_RACES: Final = 5


class Drop(NamedTuple):
    path: str
    hunk: int | None = None
    """From 1, as shown; None is the whole file."""


class ScriptedWrite(NamedTuple):
    path: str
    content: bytes


class ScriptedComment(NamedTuple):
    path: str
    line: int
    text: str
    """Empty to remove what was said."""
    side: Side = Side.NEW


class ScriptedChanges(NamedTuple):
    drops: Sequence[Drop] = ()
    writes: Sequence[ScriptedWrite] = ()
    comments: Sequence[ScriptedComment] = ()


def amend_plan(plan: ReviewedPlan, wanted: ScriptedChanges, seen: int | None = None) -> bool:
    """True if it has a new version. Numbers of hunks and lines are those of the version `seen`.

    Raises PlanChanged if the plan has another version by now.
    """
    refuse_agent(plan.workspace.person, f"ringi review {plan.name}")
    if seen is not None and seen != plan.document.plan.version:
        raise PlanChanged(plan=plan.name)
    said = [_comment(plan, one) for one in wanted.comments]
    amendments = list(_amendments(plan, wanted))
    if amendments:
        plan.amend(*amendments)
    if said:
        _keep(plan, said, seen=None if amendments else plan.document)
        plan.look()
    return bool(amendments)


def _keep(plan: ReviewedPlan, said: Sequence[CommentChange], *, seen: PlanDocument | None) -> None:
    """Comments do not disturb each other: who was faster only makes us read the plan again."""
    for _ in range(_MOST_RACES):
        with suppress(LostRace):
            replace_comments(plan.workspace, plan.plan_id, said, seen=seen)
            return
    replace_comments(plan.workspace, plan.plan_id, said, seen=seen)


def _amendments(plan: ReviewedPlan, wanted: ScriptedChanges) -> Iterator[Amendment]:
    """One for each file."""
    hunks: dict[str, list[int | None]] = {}
    for path, hunk in wanted.drops:
        hunks.setdefault(spec_at(plan, path).id, []).append(hunk)
    new: dict[str, bytes] = {}
    for path, content in wanted.writes:
        spec_id = spec_at(plan, path).id
        if spec_id in new or spec_id in hunks:
            raise AmendedTwice(plan=plan.name, path=path)
        new[spec_id] = content
    for spec, section in zip(plan.specs, plan.sections(), strict=False):
        if spec.id in hunks:
            numbers = tuple(number for number in hunks[spec.id] if number is not None)
            whole = len(numbers) < len(hunks[spec.id])
            yield DropSpec(spec.id) if whole else DropHunks(spec.id, numbers)
        elif spec.id in new and new[spec.id] != section.content.new:
            yield NewContent(spec.id, *pack(new[spec.id]))


def _comment(plan: ReviewedPlan, wanted: ScriptedComment) -> CommentChange:
    spec = spec_at(plan, wanted.path)
    side = Side.OLD if spec.after is None and spec.base.kind is not SpecKind.MOVE else wanted.side
    path = _path_of(spec, side)
    before = comment_on(plan, path, wanted.line, side)
    if wanted.text:
        stored = plan.tool.stored(plan.plan_id)
        return before, draft_comment(plan.workspace, stored, path, wanted.line, wanted.text, side=side)
    if before is None:
        see = f"ringi show {plan.name}"
        raise NotFound(what=Text("comment"), name=f"{path}:{wanted.line}", see=see)
    return before, None


def _path_of(spec: ActionSpecExt, side: Side) -> str:
    return path_after(spec) if side is Side.NEW else path_of(spec, side)
