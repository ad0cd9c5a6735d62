"""Plans that change the same files: carrying one out makes the others stale."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, NamedTuple

from ringi.plans.document import Overlap, PlanDocument, PlanRef

if TYPE_CHECKING:  # `ringi` alone needs only the pure part
    from ringi.app.workspace import Workspace


class Shared(NamedTuple):
    """Files that exactly these plans change."""

    plans: tuple[PlanRef, ...]
    paths: tuple[str, ...]


def find_shared_files(changed: Iterable[tuple[PlanRef, Collection[str]]]) -> list[Shared]:
    """Given what each plan changes.

    A superseded change plan is never carried out, and a step of a run not in these files: they share nothing.
    """
    plans_of: dict[str, list[PlanRef]] = {}
    for ref, paths in changed:
        if not (ref.superseded or ref.step):
            for path in paths:
                plans_of.setdefault(path, []).append(ref)
    together: dict[tuple[str, ...], tuple[list[PlanRef], list[str]]] = {}
    for path, refs in plans_of.items():
        if len(refs) > 1:
            together.setdefault(tuple(ref.id for ref in refs), (refs, []))[1].append(path)
    return [Shared(tuple(refs), tuple(sorted(paths))) for refs, paths in together.values()]


def overlaps(workspace: Workspace, document: PlanDocument) -> tuple[Overlap, ...]:
    """Other open plans that change the same files, oldest first."""
    store, plan_id, totals = workspace.store, document.plan.id, document.state.previews
    # The store leaves out what has no file in common, which is nearly all of a long history.
    others = store.plans.overlapping(plan_id, totals.files) if totals else {}
    if totals is None or not others:
        return ()
    changed = [(store.plans.ref(other), paths) for other, paths in others.items()]
    common: dict[PlanRef, list[str]] = {}
    for plans, paths in find_shared_files([(store.plans.ref(plan_id), totals.files), *changed]):
        for ref in plans:
            common.setdefault(ref, []).extend(paths)
    return tuple(
        Overlap(ref.id, ref.name, ref.title, tuple(sorted(paths)))
        for ref, paths in sorted(common.items(), key=lambda found: found[0].number)
        if ref.id != plan_id
    )
