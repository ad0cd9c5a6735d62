"""What a run does on a forge, as it is chosen before it is approved."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from ringi.agents.sandbox import agent_sandbox
from ringi.approvals.forge import ForgeTerms, Item
from ringi.errors import NotOnForge
from ringi.kernel.text import Text
from ringi.runs.document import Review

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def terms_here(workspace: Workspace, item: Item | None = None, *, opens_change: bool = True) -> ForgeTerms:
    """Where the remote leads, as configured. Raises NoForge."""
    place, told = workspace.forges.here(), workspace.config.forge
    return ForgeTerms(
        project=place.project,
        remote=place.remote,
        remote_url=place.remote_url,
        item=item or UNSET,
        opens_change=opens_change,
        approved_here=(opens_change and why_approved_here(workspace) is not None) or UNSET,
        comments=told.comments and item is not None,
        label=told.label if item is not None else "",
    )


def reviews_count(workspace: Workspace) -> bool:
    """Whether a yes on the forge can approve anything here."""
    return workspace.config.forge.accepts_reviews and not workspace.signatures.requires_signature()


class ApprovedHere(NamedTuple):
    """Why a person approves a run here, although the forge is to review it."""

    why: Text
    each: bool = False
    """Step by step, before anything is there."""
    mend: Text | str = ""
    """How to change that; empty if it was decided so."""


def why_approved_here(workspace: Workspace, created_by: str = "") -> ApprovedHere | None:
    """None if a review there decides about a run that begins now. Raises NoSandbox."""
    always = workspace.permits.check_always_asked(created_by, workspace.person.user())
    if always is not None:
        return ApprovedHere(always, each=True)
    box = agent_sandbox(workspace)
    if box.bwrap is None:
        why = Text("there is no sandbox to test it in before that ({why})", why=box.why or "?")
        return ApprovedHere(why, each=True, mend=box.mend)
    if workspace.signatures.requires_signature():
        return ApprovedHere(Text("approvals are signed here (approval.proof)"))
    return None if workspace.config.forge.accepts_reviews else ApprovedHere(Text("forge.reviews is off"))


def require_approved_so(workspace: Workspace, run_id: str, review: Review | None) -> None:
    """A run is offered only if its approved plan says so. Raises NotOnForge."""
    forge = workspace.store.runs.get(run_id).forge
    if review is Review.FORGE and not (forge and forge.opens_change):
        raise NotOnForge(run=run_id, why=Text("its plan names no remote and no pull or merge request"))
