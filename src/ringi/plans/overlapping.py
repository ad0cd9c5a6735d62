"""Other open plans that change the same files."""

from ringi.domain.plan import Overlap, PlanDocument
from ringi.plans.parts import Parts


def overlaps(parts: Parts, document: PlanDocument) -> tuple[Overlap, ...]:
    """In the order in which the plans were made."""
    totals = document.state.previews
    if totals is None:
        return ()
    common = parts.store.overlapping(document.plan.id, totals.files)
    # A superseded change plan is never carried out.
    refs = [ref for ref in map(parts.store.ref, common) if not ref.superseded]
    return tuple(
        Overlap(ref.id, ref.name, ref.title, tuple(sorted(common[ref.id])))
        for ref in sorted(refs, key=lambda ref: ref.number)
    )
