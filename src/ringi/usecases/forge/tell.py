"""The state of a planning session on its issue, for whoever answers there."""

from typing import TYPE_CHECKING

from ringi.domain.session import ApprovalPending
from ringi.planning.operations import pending, state_of
from ringi.usecases.forge.progress import mark_of, of_session, write

if TYPE_CHECKING:
    from ringi.usecases.workspace import OpenWorkspace


def tell_session(workspace: "OpenWorkspace", session_id: str, *, only_known: bool = False) -> None:
    """Writes or edits the comment, and sets the label. `only_known`: if there is a comment already.

    Raises NoForge, NoForgeToken, ForgeFailed.
    """
    stored = workspace.planning.get(session_id)
    terms = stored.facts.forge
    if terms is None or not terms.item or not (terms.comments or terms.label):
        return
    host, mark = workspace.forge(terms.project), mark_of(stored.session.session_id, "")
    if only_known and not any(f"ringi:{mark} " in one.body for one in host.items.comments(terms.item)):
        return
    may_approve = workspace.settings.forge.reviews and not workspace.services.signatures.required()
    in_review = isinstance(pending(state_of(stored)), ApprovalPending)
    digest = workspace.planning.request(session_id).digest if in_review and may_approve else ""
    progress = of_session(stored, digest)
    write(host, terms, mark, progress._replace(body=workspace.services.mask(progress.body)))
