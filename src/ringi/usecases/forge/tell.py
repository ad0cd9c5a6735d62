"""What a session waits for, and that a run goes on, said on the issue that they came from."""

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from ringi.domain.run import Run, RunPhase
from ringi.domain.session import ApprovalPending
from ringi.errors import ForgeFailed, NoExtra, NoForge, NoForgeToken
from ringi.planning.operations import pending, state_of
from ringi.runner.bench import RunEvent
from ringi.usecases.forge.progress import mark_of, of_run, of_session, write

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
                _tell_work(workspace, event.run)
        on_event(event)

    return hear


def _tell_work(workspace: "OpenWorkspace", run: Run) -> None:
    if run.forge is None or not run.forge.item:
        return
    progress = of_run(run, workspace.sessions.run_plan(run.run_id))
    mark = mark_of(run.planning_session_id, run.run_id)
    write(workspace.forge(run.forge.project), run.forge, mark, progress)
