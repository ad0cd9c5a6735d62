"""What a loss of power did to the notes and to the branches of runs, in the person's repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from ringi.approvals.statement import NOTES
from ringi.engine.run_state import RunPhase
from ringi.errors import CopyFailed, NotesFailed, StorageFailed
from ringi.kernel.process.ref_files import Damage
from ringi.kernel.process.repository import Mended
from ringi.plans import attest
from ringi.runs.branch import BranchOf
from ringi.runs.branch_damage import branch_damage, mend_branch, mend_folder
from ringi.runs.document import Run

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def damaged_refs(workspace: Workspace) -> Iterator[Damage]:
    repository = workspace.repository()
    if why := repository.damage() if repository else None:
        yield Damage(NOTES, why)
    for run in _with_branch(workspace):
        if found := branch_damage(workspace.places.root, BranchOf.run(run)):
            yield found


def lost_proofs(workspace: Workspace, plan_ids: Iterable[str]) -> list[str]:
    """The names of those plans whose signed approvals are not in the notes, though they were used."""
    with suppress(NotesFailed):  # damaged ones are said to be so elsewhere
        return [workspace.plan_name(one) for one in plan_ids if attest.is_lost(workspace, one)]
    return []


def missing_proofs(workspace: Workspace) -> list[str]:
    """The names of all such plans: the notes can be read, and somebody took these out of them."""
    with suppress(NotesFailed):
        return [ref.name for ref in attest.find_lost_plans(workspace)]
    return []


def mend_refs(workspace: Workspace, *, deleted_notes: bool = False) -> Iterator[Mended]:
    """What is damaged; with `deleted_notes` also proofs that are missing in sound notes.

    Raises NotesFailed, StorageFailed.
    """
    yield from filter(None, [attest.mend(workspace)])
    yield from filter(None, [attest.bring_back(workspace) if deleted_notes else None])
    for run in _with_branch(workspace):
        yield from mend_run(workspace, run.run_id)


def mend_run(workspace: Workspace, run_id: str) -> Iterator[Mended]:
    """Its branch, and the folder in which its steps are carried out. Raises StorageFailed."""
    run = workspace.store.runs.get(run_id)
    if not _has_branch(run):
        return
    branch = workspace.branch(run_id)
    try:
        yield from filter(None, [mend_branch(branch), mend_folder(branch)])
    except CopyFailed as error:
        raise StorageFailed(what=run.work_branch, why=error.details["why"]) from None


def _with_branch(workspace: Workspace) -> list[Run]:
    return [run for run in workspace.store.runs.all() if _has_branch(run)]


def _has_branch(run: Run) -> bool:
    """Once a run is undone its branch is nobody's."""
    return bool(run.base_commit) and not run.undone and run.phase is not RunPhase.PLANNING
