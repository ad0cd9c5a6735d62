"""What a run does on a forge, as it is chosen before anybody approves it."""

from typing import TYPE_CHECKING

from msgspec import UNSET

from ringi.domain.forge import ForgeTerms, Item
from ringi.domain.run import Review
from ringi.errors import NotOnForge
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.usecases.workspace import OpenWorkspace


def terms_here(
    workspace: "OpenWorkspace", item: Item | None = None, *, opens_change: bool = True
) -> ForgeTerms:
    """Where the remote leads, as configured. Raises NoForge."""
    place, told = workspace.forges.here(), workspace.settings.forge
    return ForgeTerms(
        project=place.project,
        remote=place.remote,
        remote_url=place.remote_url,
        item=item or UNSET,
        opens_change=opens_change,
        comments=told.comments and item is not None,
        label=told.label if item is not None else "",
    )


def reviews_count(workspace: "OpenWorkspace") -> bool:
    """Whether a yes on the forge can approve anything here."""
    return workspace.settings.forge.reviews and not workspace.services.signatures.required()


def require_approved_so(workspace: "OpenWorkspace", run_id: str, review: Review | None) -> None:
    """Nobody pushes what the approved plan does not name. Raises NotOnForge."""
    forge = workspace.sessions.run(run_id).forge
    if review is Review.FORGE and not (forge and forge.opens_change):
        raise NotOnForge(run=run_id, why=Text("its plan names no remote and no pull or merge request"))
