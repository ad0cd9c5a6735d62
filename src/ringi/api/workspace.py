import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ringi.domain.events import LoggedEvent
from ringi.domain.execution import ExecutionResult
from ringi.domain.session import is_session
from ringi.errors import Busy, NotFound
from ringi.plans.tool import PlanTool
from ringi.ports import Clock, EventSink, PersonChannel
from ringi.store.verify import verify
from ringi.text import Text
from ringi.wiring.assemble import Assembled, Progress, assemble
from ringi.wiring.config import Loaded
from ringi.wiring.copies import supervisors_in
from ringi.wiring.system import process_environment
from ringi.workspace.places import Places, find_root, places_of

if TYPE_CHECKING:
    from ringi.planning.tool import PlanningTool


class Workspace:
    """An open workspace. `plan` is the plan tool; everything that changes files goes through it."""

    def __init__(self, parts: Assembled) -> None:
        self.parts = parts
        self.plan: PlanTool = parts.tool
        self.recovered: tuple[ExecutionResult, ...] = ()
        """Executions that a crash had cut off and that opening the workspace finished or took back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.flush()
        finally:
            self.parts.ledger.close()

    def flush(self) -> None:
        """Write out what waits to be written into `.agent/`; otherwise that happens within a moment."""
        self.parts.flush()

    @cached_property
    def planning(self) -> "PlanningTool":
        """Planning sessions: from an instruction to a design that a person approved."""
        from ringi.wiring.planning import planning_of  # noqa: PLC0415  # most workspaces are opened without

        return planning_of(self.parts)

    @property
    def places(self) -> Places:
        return self.parts.places

    @property
    def configuration(self) -> Loaded:
        return self.parts.loaded

    def plan_name(self, plan_id: str) -> str:
        """What people call it: p7."""
        return self.parts.ledger.ref(self.parts.ledger.find(plan_id)).name

    def log(self, name: str | None = None) -> Iterator[LoggedEvent]:
        """Of all, of a plan, of a planning session, or of a run."""
        ledger = self.parts.ledger
        return ledger.events(None if name is None else self._named(name))

    def _named(self, name: str) -> str:
        ledger = self.parts.ledger
        if is_session(name):
            return ledger.find_session(name)
        try:
            return ledger.find(name)
        except NotFound:
            for find in (ledger.find_session, ledger.find_run):
                with contextlib.suppress(NotFound):
                    return find(name)
            raise

    def verify_log(self) -> list[Text]:
        """Every place where the ledger is not what was written; empty when all holds together."""
        return verify(self.parts.ledger)

    def recover_if_needed(self) -> None:
        if self.parts.ledger.unfinished() or self.parts.ledger.checking():
            try:
                self.recovered = tuple(self.plan.recover())
            except Busy:
                # Not cut off: somebody is carrying it out right now.
                return


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
    """The workspace that the path lies in; what a crash cut off is finished or taken back first.

    The files in `.agent/` are written a moment after a call, and when the workspace is closed; with
    `at_once`, before the call comes back.
    """
    environment = process_environment() if environment is None else environment
    root = find_root(Path(path))
    copies = places_of(root, environment).copies
    parts = assemble(
        root,
        environment,
        sinks=sinks,
        supervisors=lambda: supervisors_in(copies),
        person=person,
        clock=clock,
        on_progress=on_progress,
        at_once=at_once,
    )
    workspace = Workspace(parts)
    try:
        workspace.recover_if_needed()
    except BaseException:
        workspace.close()
        raise
    return workspace
