"""A step of a run as a commit that is not approved yet, to be reviewed where it is pushed to.

Its id becomes part of what is approved: an approval of an earlier one covers no later one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from ringi.errors import NoCommit
from ringi.kernel.text import COMMIT_SHOWN, Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.check import files_made
from ringi.plans.commit_message import message_of_offer
from ringi.plans.document import PLAN_MACHINE, PlannedCommit, PlanStatus, with_state
from ringi.plans.place import require_here
from ringi.tree.action_spec import select_specs
from ringi.tree.offered_commit import OfferedFile, OfferOrder

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_EXECUTABLE: Final = 0o100


def offer_order(workspace: Workspace, plan_id: str, parent: str, at: str) -> OfferOrder:
    """Exactly the bytes of the plan, on top of `parent`. Raises NoCommit, InvalidSpecs."""
    stored = workspace.store.plans.get(plan_id)
    require_here(workspace, stored)
    state, step = stored.document.state, stored.document.step
    if not state.commit or not step:
        raise NoCommit(why=Text("it is no step of a run"))
    files = files_made(workspace, f"p{stored.number}", select_specs(state.action_specs, state.selection))
    return OfferOrder(
        parent=parent,
        message=message_of_offer(state.commit.message, plan_id, step),
        files={
            path: OfferedFile(file[0], bool(file[1] & _EXECUTABLE)) if file else None
            for path, file in files.items()
        },
        at=at,
    )


def set_offered(workspace: Workspace, plan_id: str, version: int, commit: str, parent: str = "") -> None:
    """Of this version; empty: none is any more. Raises NoCommit if the plan has changed since."""
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        document = stored.document
        wanted, status = document.state.commit, document.state.status
        if not wanted or document.plan.version != version:
            raise NoCommit(why=Text("the plan has changed meanwhile"))
        offered = PlannedCommit(wanted.message, commit or UNSET, parent or UNSET)
        if wanted == offered:
            return
        if status in {PlanStatus.APPROVED, PlanStatus.ABORTED}:
            status = PLAN_MACHINE.advance(status, PlanStatus.PENDING_REVIEW)
        said = f"offered as {commit[:COMMIT_SHOWN]}" if commit else "not offered any more"
        changed = with_state(document, status=status, commit=offered)
        transaction.plans.save(stored, changed, NewEvent(EventKind.AMENDED, Actor.SYSTEM, said))
