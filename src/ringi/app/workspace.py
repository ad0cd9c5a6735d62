import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ringi.app.assemble import Assembly, Progress, assemble
from ringi.app.context import OpenWorkspace, adopt_proof, recover_if_needed
from ringi.approvals.person import PersonChannel
from ringi.config.keys import Config
from ringi.kernel.places import find_root, places_of
from ringi.kernel.system import Clock, process_environment
from ringi.ledger.event import EventSink
from ringi.plans.configured_commands import supervisors_in

if TYPE_CHECKING:
    from ringi.engine.document import Outline
    from ringi.engine.process import Feedback
    from ringi.forges.publishing import RunPublishing
    from ringi.forges.watch import Round
    from ringi.forges.watch_project import News
    from ringi.metrics.document import Metrics
    from ringi.runs.document import Run
    from ringi.sessions.document import SessionView


class Workspace(OpenWorkspace):
    """An open workspace. `plan` is the plan tool; everything that changes files goes through it."""

    def __init__(self, assembly: Assembly) -> None:
        super().__init__(
            assembly.services,
            assembly.upkeep,
            assembly.places,
            assembly.environment,
            assembly.config,
            assembly.ledger,
            assembly.signers,
            assembly.planning,
            assembly.extractor,
            assembly.roles,
            assembly.caching.plans,
            assembly.forges,
            lambda: publishing_of(assembly),
            self._for_task,
        )
        self._assembly = assembly

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _for_task(self, task: str) -> OpenWorkspace:
        found = self._assembly.of_task(task) if task else self._assembly
        return self if found.config is self._assembly.config else Workspace(found)

    def close(self) -> None:
        try:
            self.upkeep.flush()
        finally:
            self._assembly.ledger.close()

    def outline(self, request: str) -> "Outline":
        """Goal, subtasks and action plan for this request; nothing is carried out. Raises OutlineFailed."""
        from ringi.engine.outline import outline  # noqa: PLC0415  # most commands plan nothing

        return outline(self, request).document

    def task(self, request: str) -> "SessionView | Run":
        """What `ringi task` plans: a design by the model that a person approves, or with planning off a run.

        Raises NoTaskModel, NotPermitted, BadBrought and ModelFailed.
        """
        from ringi.runs.task import plan_task  # noqa: PLC0415  # as above

        return plan_task(self, request)

    def issue(self, named: str, *, opens_change: bool = False) -> "SessionView":
        """What `ringi run --issue` plans: a session about an issue, by its address or its number.

        With `opens_change` its run offers the result as a pull or merge request. Nothing is written there.
        Raises NoForge, NoForgeToken, ItemRefused, ForgeFailed, NotPermitted.
        """
        from ringi.forges.intake import start_from_item  # noqa: PLC0415  # as above

        return start_from_item(self, named, opens_change=opens_change)[0]

    def feedback(self, run_id: str, text: str) -> "Feedback":
        """What should be different about a run; never an approval. Raises RunOver, BadFeedback."""
        from ringi.runs.give_feedback import give_feedback  # noqa: PLC0415  # as above

        return give_feedback(self, self.store.runs.find(run_id), text).feedback

    def watch(self, name: str = "", on_news: "Callable[[News], None]" = lambda _: None) -> "Round":
        """Looks once at what is said on forges about open sessions and runs, or one, and carries them on.

        Raises Busy if somebody watches already, NoForgeToken, ForgeRejected.
        """
        from ringi.forges.configured_watch import watcher, watching_lock  # noqa: PLC0415  # as above

        timeout = self.config.planning.revision.approval_timeout
        with watching_lock(self.places.state):
            return watcher(self, timeout, on_news).round(name)

    def metrics(self, since: str = "") -> "Metrics":
        """The figures of chapter 16 from what is recorded; `since` is a moment as ISO 8601, in UTC."""
        from ringi.metrics.measure import measure  # noqa: PLC0415  # only for this

        ledger, mask = self._assembly.ledger, self.services.mask
        return measure(ledger, self.config, self.places.root, self.clock.now(), mask, since)

    @property
    def configuration(self) -> Config:
        """The name of `config` in scripts."""
        return self.config


def publishing_of(assembly: Assembly) -> "RunPublishing":
    from ringi.forges.publishing import RunPublishing  # noqa: PLC0415  # most runs know no forge

    return RunPublishing(assembly.places, assembly.environment, assembly.ledger, assembly.forges)


def open_workspace(
    path: str | os.PathLike[str] = ".",
    *,
    environment: Mapping[str, str] | None = None,
    sinks: Sequence[EventSink] = (),
    person: PersonChannel | None = None,
    clock: Clock | None = None,
    on_progress: Progress = lambda _: None,
    at_once: bool = False,
) -> Workspace:
    """Opens the workspace that contains the path, and first finishes or rolls back what a crash interrupted.

    The files in `.agent/` are written shortly after a call, and when the workspace is closed; with
    `at_once`, before the call returns.
    """
    environment = process_environment() if environment is None else environment
    root = find_root(Path(path))
    copies = places_of(root, environment).copies
    assembly = assemble(
        root,
        environment,
        sinks=sinks,
        supervisors=lambda: supervisors_in(copies),
        person=person,
        clock=clock,
        on_progress=on_progress,
        at_once=at_once,
    )
    workspace = Workspace(assembly)
    try:
        recover_if_needed(workspace)
        adopt_proof(workspace)
    except BaseException:
        workspace.close()
        raise
    return workspace
