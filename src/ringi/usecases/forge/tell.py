"""How far a session or a run is, said on the issue or change that it came from."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from ringi.domain.forge import ForgeTerms, approving, mark_line
from ringi.domain.run import Run, RunPhase
from ringi.domain.session import ApprovalPending
from ringi.errors import ForgeFailed, NoExtra, NoForge, NoForgeToken
from ringi.planning.operations import pending, state_of
from ringi.runner.bench import RunEvent
from ringi.usecases.forge.progress import DIGEST_SHOWN, Progress, mark_of, of_run, of_session
from ringi.usecases.forge.terms import reviews_count
from ringi.usecases.revision import waiting_revision

if TYPE_CHECKING:
    from ringi.usecases.workspace import OpenWorkspace


def tell_session(
    workspace: "OpenWorkspace", session_id: str, *, only_known: bool = False, more: Sequence[str] = ()
) -> bool:
    """Writes or edits the comment, and sets the label. `only_known`: if there is a comment already.

    `more` goes below it. Whether a comment there can decide what is due.

    Raises NoForge, NoForgeToken, ForgeFailed.
    """
    stored = workspace.planning.get(session_id)
    terms = stored.facts.forge
    if terms is None or not terms.item or not (terms.comments or terms.label):
        return False
    mark = mark_of(stored.session.session_id, "")
    if only_known:
        written = workspace.forge(terms.project).items.comments(terms.item)
        if not any(mark_line(mark) in one.body for one in written):
            return False
    in_review = isinstance(pending(state_of(stored)), ApprovalPending)
    digest = workspace.planning.request(session_id).digest if in_review and reviews_count(workspace) else ""
    found = of_session(stored, digest)
    _write(workspace, terms, mark, found._replace(body="\n\n".join([found.body, *more])))
    can_approve = bool(digest) and approving(digest[:DIGEST_SHOWN]) in found.body
    return terms.comments and (can_approve or not in_review)


def tell_run(workspace: "OpenWorkspace", run: Run) -> None:
    """The same for a run: a session and its run share the comment."""
    if run.forge is not None:
        plan, revision = workspace.sessions.run_plan(run.run_id), waiting_revision(workspace, run)
        shown = of_run(run, plan, revision, counts=reviews_count(workspace))
        _write(workspace, run.forge, mark_of(run.planning_session_id, run.run_id), shown)


def _write(workspace: "OpenWorkspace", terms: ForgeTerms, mark: str, progress: Progress) -> None:
    """As far as the terms have a comment and a label."""
    if not terms.item:
        return
    items = workspace.forge(terms.project).items
    if terms.comments:
        items.write(terms.item, mark, workspace.services.mask(progress.body))
    if terms.label:
        items.label(terms.item, terms.label, on=progress.person_needed)


def telling_work(
    workspace: "OpenWorkspace", on_event: Callable[[RunEvent], None]
) -> Callable[[RunEvent], None]:
    """Also says on the item of the run, once somebody works, that nobody else is needed for now.

    A forge that does not answer stops no work.
    """
    told = False

    def hear(event: RunEvent) -> None:
        nonlocal told
        if not told and event.step_id and event.run.phase is RunPhase.EXECUTING:
            told = True
            with suppress(ForgeFailed, NoExtra, NoForge, NoForgeToken):
                tell_run(workspace, event.run)
        on_event(event)

    return hear
