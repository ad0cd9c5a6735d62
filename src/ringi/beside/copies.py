"""The copies that agents worked in: which plan each belongs to, and when it is removed."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.agents.table import agent_of
from ringi.errors import NotFound, RingiError
from ringi.kernel.fs import walk
from ringi.kernel.text import Text
from ringi.plans.document import ENDED, PlanRef, PlanStatus
from ringi.tree.copy import WorkCopy, empty
from ringi.tree.copy_run import RUN, SCRATCH

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

MEGABYTE: Final = 1_000_000
_BLOCK: Final = 512
"""The unit of st_blocks, whatever the file system."""


class KeptCopy(NamedTuple):
    """A copy that still exists although its work is in a plan."""

    copy: WorkCopy
    plan: PlanRef | None
    """None if there were no changes, or the ledger lost the plan."""
    days: int
    too_old: bool

    @property
    def settled(self) -> bool:
        """True if nobody needs it any more. Work that no plan can hold is kept until it is too old."""
        done = self.plan is None or self.plan.status in ENDED
        return self.too_old or (done and not self.copy.record.left_out)


def agent_copies(workspace: Workspace) -> list[WorkCopy]:
    """Oldest first, without those made for checks and runs."""
    others = (SCRATCH, RUN)
    return [copy for copy in WorkCopy.all(workspace.places.copies) if copy.record.command[:1] not in
            [(other,) for other in others]]  # fmt: skip


def find_abandoned(workspace: Workspace) -> list[WorkCopy]:
    """Copies whose `ringi with` was interrupted before their work became a plan."""
    return [copy for copy in agent_copies(workspace) if not copy.record.taken and not copy.is_running]


def find_kept(workspace: Workspace) -> list[KeptCopy]:
    return [one for copy in agent_copies(workspace) if (one := _as_kept(workspace, copy))]


def _as_kept(workspace: Workspace, copy: WorkCopy) -> KeptCopy | None:
    if not copy.record.taken or copy.is_running:
        return None
    now = datetime.fromisoformat(workspace.clock.now())
    most = timedelta(days=workspace.config.keep.copies_days)
    age = now - datetime.fromisoformat(copy.record.ended_at or copy.record.created_at)
    too_old = age >= most
    if copy.record.emptied and not too_old:
        return None
    return KeptCopy(copy, plan_of(workspace, copy), max(0, age.days), too_old=too_old)


def plan_of(workspace: Workspace, copy: WorkCopy) -> PlanRef | None:
    if not copy.record.plan_id:
        return None
    try:
        return workspace.plan.ref(copy.record.plan_id)
    except NotFound:
        return None


def copy_of_plan(workspace: Workspace, plan_id: str) -> WorkCopy | None:
    """Where an agent can continue its work on the plan."""
    copies = [copy for copy in agent_copies(workspace) if copy.record.plan_id == plan_id]
    return copies[-1] if copies else None


def remove_settled(workspace: Workspace) -> list[Text]:
    """Removes the copies of finished plans and old copies; returns what to tell the person.

    If the agent can continue in a fresh copy, what it needs for that stays until it is too old. Never removes
    one that is in use, or one whose work is not a plan yet.
    """
    told = []
    for copy in [one.copy for one in find_kept(workspace) if one.settled]:
        with suppress(RingiError), copy.claim():  # in use, or cannot be deleted: try again next time
            one = _as_kept(workspace, copy)  # it may have been resumed meanwhile
            if one and one.settled and _can_continue(one):
                empty(copy)
            elif one and one.settled:
                copy.remove()
                told += [_tell_removed(one)] if one.too_old and not copy.record.emptied else []
    return told


def make_room(workspace: Workspace) -> list[Text]:
    """Removes copies, the oldest first, until the others fit into `keep.copies_mb`; returns what to tell.

    Leaves the newest, and work that no plan could hold.
    """
    told = []
    for one in find_crowded_out(workspace):
        ended = _end_of(one)
        with suppress(RingiError), one.copy.claim():  # in use, or cannot be deleted: try again next time
            again = _as_kept(workspace, one.copy)
            if again and _end_of(again) == ended:  # not resumed meanwhile
                one.copy.remove()
                told.append(_tell_crowded_out(one, workspace.config.keep.copies_mb))
    return told


def find_crowded_out(workspace: Workspace) -> list[KeptCopy]:
    """The copies for which there is no room."""
    found = sorted(find_kept(workspace), key=_end_of, reverse=True)
    if len(found) < 2:  # noqa: PLR2004  # the newest always has room
        return []
    room, crowded = workspace.config.keep.copies_mb * MEGABYTE, []
    for one in found:
        size = size_of(one.copy.folder)
        if size > room and one is not found[0] and not one.copy.record.left_out:
            crowded.append(one)
        else:
            room -= size
    return crowded


def _end_of(one: KeptCopy) -> str:
    return one.copy.record.ended_at or one.copy.record.created_at


def _can_continue(one: KeptCopy) -> bool:
    """Whether the agent can continue its conversation although its work is done."""
    applied = one.plan is not None and one.plan.status is PlanStatus.COMPLETED
    return applied and not one.too_old and agent_of(one.copy.record.command).resume is not None


def _tell_removed(one: KeptCopy) -> Text:
    what = _name_of(one)
    if one.copy.record.left_out:
        return Text(
            "A copy from {days} days ago was removed ({plan}), with work in it that no plan could hold.",
            days=one.days,
            plan=what,
        )
    return Text("A copy from {days} days ago was removed ({plan}).", days=one.days, plan=what)


def _tell_crowded_out(one: KeptCopy, most: int) -> Text:
    return Text(
        "A copy from {days} days ago was removed ({plan}): copies may take {most} MB (keep.copies_mb).",
        days=one.days,
        plan=_name_of(one),
        most=most,
    )


def _name_of(one: KeptCopy) -> Text | str:
    return one.plan.name if one.plan else Text("no plan")


def size_of(folder: Path) -> int:
    """In bytes, as the disk counts them: holes are free, and two names of a file are one."""
    found = {}
    for step in walk(folder):
        for entry in step.entries:
            with suppress(OSError):  # deleted since
                one = entry.stat(follow_symlinks=False)
                found[one.st_dev, one.st_ino] = one.st_blocks * _BLOCK
    return sum(found.values())
