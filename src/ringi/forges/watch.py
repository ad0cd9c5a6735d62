"""Looks after what goes on on forges, again and again (PP-20): no server, no webhook.

A round reads what there is with conditional requests, so that one without news costs little. Everything that
came of it is in the ledger before the next thing is begun; what was told or tried is remembered in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.approvals.forge import Project
from ringi.approvals.who import refuse_agent
from ringi.engine.run_state import OVER
from ringi.errors import ForgeRejected, Interrupted, NotFound, RingiError, Usage
from ringi.forges.offer import is_due
from ringi.forges.watch_project import NewsKind, ProjectWatch, SentNotifications, Standing, WatchEvent
from ringi.forges.watch_run import look_at_run
from ringi.forges.watch_session import look_at_session
from ringi.kernel.lock import PassingLock
from ringi.kernel.text import Text
from ringi.ledger.subject import is_session
from ringi.runs.document import RunEvent
from ringi.sessions.document import ApprovedSession

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.forges.port import CodeHost

LONGEST_PAUSE: Final = 900.0
"""Seconds between two rounds, if the forge cannot be reached."""


class Round(NamedTuple):
    """How things stood at its end."""

    standing: Mapping[str, Standing]
    """By session or run."""
    failure: RingiError | None = None
    """The first thing that went wrong; the others were looked after all the same."""

    @property
    def is_last(self) -> bool:
        """Whether there is nothing to wait for."""
        return self.failure is None and all(one is Standing.OVER for one in self.standing.values())


def lock_watching(state: Path) -> AbstractContextManager[None]:
    """Held by the one that watches; raises Busy if another does."""
    return PassingLock(state / "watch.lock", 0.0)("watch")


class Watcher:
    """The caller holds `lock_watching`."""

    def __init__(
        self,
        workspace: Workspace,
        tell: Callable[[WatchEvent], None],
        on_event: Callable[[RunEvent], None] = lambda _: None,
    ) -> None:
        """Raises NoChannel if an agent asks: it would decide for people."""
        refuse_agent(workspace.person, "ringi watch")
        self._workspace = workspace
        self._tell = tell
        self._on_event = on_event
        self.host: Callable[[Project], CodeHost] = workspace.forges.host
        """Where it looks. A test may put a forge in between."""
        self._tried: set[str] = set()
        self._sent = SentNotifications(workspace.places.state / "watch.told")
        self._failing = ""

    def round(self, name: str = "") -> Round:
        """Everything that is open, or one session or run.

        Raises NotFound, and what another round does not mend: NoForgeToken, ForgeRejected.
        """
        standing: dict[str, Standing] = {}
        failure: RingiError | None = None
        watches: dict[Project, ProjectWatch] = {}
        for id_, project in [*self._open(name)]:
            try:
                if project not in watches:  # what an account may do is asked anew in each round
                    watches[project] = ProjectWatch(
                        self._workspace,
                        self.host(project),
                        self._tell,
                        self._on_event,
                        self._tried,
                        self._sent,
                    )
                standing |= _look_at(watches[project], id_)
            except (ForgeRejected, Interrupted, Usage):
                raise
            except RingiError as error:
                failure = failure or error
                standing[id_] = Standing.WAITS
                self._tell_failure(id_, error)
        self._failing = self._failing if failure else ""
        return Round(standing, failure)

    def _open(self, name: str) -> Iterator[tuple[str, Project]]:
        workspace = self._workspace
        wanted = _find_subject(workspace, name) if name else ""
        for ref in workspace.planning.list(open_only=True):
            terms = workspace.planning.get(ref.session_id).facts.forge
            if terms and wanted in {"", ref.session_id}:
                yield ref.session_id, terms.project
        for run in workspace.planning.runs():
            left = is_due(run) or (run.phase not in OVER and not run.replaced_by)
            if run.forge and left and wanted in {"", run.run_id}:
                yield run.run_id, run.forge.project

    def _tell_failure(self, id_: str, error: RingiError) -> None:
        """Once, until it works again."""
        words = Text(error.message, **error.details)
        if self._failing != (said := f"{error.code} {words}"):
            self._failing = said
            self._tell(WatchEvent(id_, NewsKind.FAILED, words))


def watch(watcher: Watcher, name: str, poll_sec: float, wait: Callable[[float], None]) -> Round:
    """Until there is nothing to wait for; if the forge fails, ever more slowly."""
    pause = poll_sec
    while not (found := watcher.round(name)).is_last:
        pause = min(max(pause * 2, poll_sec), LONGEST_PAUSE) if found.failure else poll_sec
        wait(pause)
    return found


def _look_at(watch: ProjectWatch, id_: str) -> Mapping[str, Standing]:
    run_id = look_at_session(watch, id_) if is_session(id_) else id_
    return {run_id: look_at_run(watch, run_id)} if run_id else {id_: Standing.WAITS}


def _find_subject(workspace: Workspace, name: str) -> str:
    """The session, or the run that it became. Raises NotFound, Ambiguous."""
    if not is_session(name):
        with suppress(NotFound):
            return workspace.planning.find_run(name)
    view = workspace.planning.view(name)
    return view.pending.run_id if isinstance(view.pending, ApprovedSession) else view.session_id
