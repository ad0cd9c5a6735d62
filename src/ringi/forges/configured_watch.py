"""A watcher of forges for one workspace."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from ringi.approvals.who import refuse_agent
from ringi.forges.offer import offer_run
from ringi.forges.progress import telling_work
from ringi.forges.sent_notifications import SentNotifications
from ringi.forges.watch import Watcher
from ringi.forges.watch_project import WatchActions, WatchEvent
from ringi.kernel.lock import PassingLock
from ringi.runs.document import Run
from ringi.runs.drive import RunOptions, run_steps
from ringi.runs.run_workspace import RunEvent

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def watching_lock(state: Path) -> AbstractContextManager[None]:
    """Held by the one that watches; raises Busy if another does."""
    return PassingLock(state / "watch.lock", 0.0)("watch")


def watcher(
    workspace: Workspace,
    revision_timeout: float,
    tell: Callable[[WatchEvent], None],
    on_event: Callable[[RunEvent], None] = lambda _: None,
) -> Watcher:
    """The caller holds `watching_lock`. Raises NoChannel if an agent asks: it would decide for people."""
    refuse_agent(workspace.person, "ringi watch")
    state = workspace.places.state

    def go_on(run_id: str, options: RunOptions) -> Run:
        run_steps(workspace, run_id, options, telling_work(workspace, on_event))
        return offer_run(workspace, run_id, on_event)

    actions = WatchActions(
        host=workspace.forges.host,
        tell=tell,
        lock=lambda run_id: PassingLock(state / f"{run_id}.lock", 0.0)("watch"),
        go_on=go_on,
        offer=lambda run_id: offer_run(workspace, run_id, on_event),
        revision_timeout=revision_timeout,
        is_untold=SentNotifications(state / "watch.told").is_new,
    )
    return Watcher(workspace, actions)
