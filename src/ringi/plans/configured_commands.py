"""A plan's commands and checks. The code that runs them is imported on first use: most calls run none."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ringi.config.keys import Config
from ringi.kernel.places import Places, own_folders

if TYPE_CHECKING:
    from ringi.runs.step_checks import StepChecks
    from ringi.tree.check_result import CheckPhase, CheckResult
    from ringi.tree.commands import CommandRun, WorkspaceCommands
    from ringi.tree.copy_run import CopyChecks, Files, Progress


class PlanCommands:
    def __init__(self, places: Places, config: Config, environment: Mapping[str, str]) -> None:
        self._places = places
        self._config = config
        self._environment = environment

    def sandboxed(self) -> bool:
        return self.in_folder(self._places.root).sandboxed()

    def run(self, argv: Sequence[str], folder: str, *, timeout_sec: float, sandboxed: bool) -> "CommandRun":
        return self.in_folder(self._places.root).run(
            argv, folder, timeout_sec=timeout_sec, sandboxed=sandboxed
        )

    def in_folder(self, root: Path) -> "WorkspaceCommands":
        """The workspace, or a copy of it."""
        from ringi.tree.commands import WorkspaceCommands  # noqa: PLC0415  # see the top

        own = own_folders(self._places, self._environment)
        return WorkspaceCommands(root, self._environment, self._config.run, own)


class ConfiguredChecks:
    def __init__(
        self, places: Places, config: Config, environment: Mapping[str, str], on_progress: "Progress"
    ) -> None:
        self._places = places
        self._config = config
        self._environment = environment
        self._on_progress = on_progress

    def sandboxed(self) -> bool:
        return self._loaded().sandboxed()

    def __call__(
        self, commands: Sequence[str], files: "Files", phase: "CheckPhase", reviewer: int = 0
    ) -> "tuple[CheckResult, ...]":
        return self._loaded()(commands, files, phase, reviewer)

    def _loaded(self) -> "CopyChecks":
        from ringi.tree.copy_run import CopyChecks  # noqa: PLC0415  # see the top

        return CopyChecks(
            self._places,
            self._environment,
            self._config.checks.timeout_sec,
            carry=self._config.beside.carry,
            on_progress=self._on_progress,
            commands_in=PlanCommands(self._places, self._config, self._environment).in_folder,
        )


class BranchChecks:
    """Of the steps of a run: in a dry run they are tested as the run itself tests them."""

    def __init__(
        self,
        places: Places,
        branch: Places,
        config: Config,
        environment: Mapping[str, str],
        on_progress: "Progress",
        timeout_sec: Callable[[], float],
    ) -> None:
        self._places = places
        self._branch = branch
        self._config = config
        self._environment = environment
        self._on_progress = on_progress
        self._timeout_sec = timeout_sec

    def sandboxed(self) -> bool:
        return self._made().sandboxed()

    def __call__(
        self, commands: Sequence[str], files: "Files", phase: "CheckPhase", reviewer: int = 0
    ) -> "tuple[CheckResult, ...]":
        return self._made()(commands, files, phase, reviewer)

    def _made(self) -> "StepChecks":
        from ringi.agents.project_reader import ProjectSettings  # noqa: PLC0415  # see the top
        from ringi.runs.step_checks import StepChecks  # noqa: PLC0415  # see the top

        for_real = ConfiguredChecks(self._branch, self._config, self._environment, self._on_progress)
        return StepChecks(
            ProjectSettings(self._places, self._config),
            self._branch.root,
            self._environment,
            self._timeout_sec(),
            for_real,
            self._on_progress,
        )


def supervisors_in(copies: Path) -> list[tuple[int, str, str]]:
    """Processes that run an agent in a work copy now, and its name. Nobody below one is a person."""
    from ringi.kernel.process.program import program_name  # noqa: PLC0415  # see the top
    from ringi.tree.copy import WorkCopy  # noqa: PLC0415  # see the top

    found = [(copy.record.supervisor, copy.record.command) for copy in WorkCopy.all(copies)]
    return [
        (running.pid, running.start, program_name(command) if command else "")
        for running, command in found
        if running
    ]
