"""The plan tool put together by hand: the real ledger, any file system."""

import contextlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from msgspec.structs import replace

from ringi.app.store import Store
from ringi.app.workspace import Workspace
from ringi.approvals.document import TypedAnswer
from ringi.config.keys import LimitsConfig, RunConfig
from ringi.kernel.fs import FileSystem
from ringi.kernel.lock import FileLock
from ringi.kernel.system import new_id
from ringi.plans.execution import ExecutionResult
from ringi.plans.tool import PlanTool
from ringi.tree.action_spec import ActionSpec
from ringi.tree.commands import WorkspaceCommands
from ringi.tree.tree import Tree
from tests.fakes.models import ShownProject
from tests.fakes.people import SteppingClock
from tests.fakes.power import Power
from tests.fakes.workspaces import bare_workspace


class PoweredLedger(Store):
    """Its commits are on the disk at once; the power may fail right before and right after one."""

    def __init__(self, folder: Path, power: Power) -> None:
        super().__init__(
            folder, clock=SteppingClock(), ids=new_id, wait_sec=2.0, after_commit=lambda *_: None
        )
        # The power of the machine that runs the test does not fail.
        self.database.execute("PRAGMA synchronous = OFF")
        self._power = power

    @contextlib.contextmanager
    def transaction(self) -> Iterator[Store]:
        self._power.need()
        with super().transaction() as transaction:
            yield transaction
            self._power.tick()
        self._power.tick()


def with_most_bytes(workspace: Workspace, most: int) -> Workspace:
    """As if the configuration allowed files of at most so many bytes."""
    return workspace.replace(config=replace(workspace.config, limits=LimitsConfig(max_file_bytes=most)))


class World:
    def __init__(self, state: Path, root: Path, fs: FileSystem, power: Power | None = None) -> None:
        self.fs = fs
        self.ledger = PoweredLedger(state, power or Power())
        self.workspace = bare_workspace(
            state,
            root,
            self.ledger,
            tree=Tree(fs, root),
            lock=FileLock(state / "lock", 2.0),
            commands=WorkspaceCommands(root, dict(os.environ), RunConfig(sandbox="off"), ()),
            check=lambda *_: (),
            analyse=lambda path: path,
            mask=str,
            code=ShownProject({}, whole=True),
        )
        self.tool = PlanTool(self.workspace)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ledger.close()

    def approved(self, specs: Sequence[ActionSpec]) -> str:
        return approved(self.tool, specs)


def approved(tool: PlanTool, specs: Sequence[ActionSpec]) -> str:
    """The id of a plan that only waits to be executed."""
    plan_id = tool.propose("A change")
    report = tool.set_action_specs(plan_id, specs)
    assert report.ok, report.issues
    tool.approve(plan_id, "person", proof=answer_to(tool.ask(plan_id).digest))
    return plan_id


def answer_to(digest: str) -> TypedAnswer:
    return TypedAnswer(digest, digest[:6])


def undo(tool: PlanTool, plan_id: str) -> ExecutionResult:
    asked, _ = tool.ask_undo(plan_id)
    return tool.undo(plan_id, "person", answer_to(asked.digest))
