"""The tests of a step of a run on its plan as it is now, as the run itself tests.

A review may have changed the step since the run tested it. What is tested again is what would be committed:
the files of the run's branch with the plan's own, at the project's path, in the sandbox of the run's roles.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ringi.agents.sandbox import agent_sandbox, enclose
from ringi.agents.state import SandboxContext
from ringi.errors import NoSandbox
from ringi.kernel.text import Text
from ringi.plans.check import CheckRunner
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.commands import Invocation
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_run import Enclosing, Files, ScratchCopies
from ringi.tree.copy_steps import files_to
from ringi.tree.editable_installs import why_unreliable


class StepChecks:
    """`branch` is the folder in which the steps of the run are carried out.

    Checks for real, before and after an execution, are handed on.
    """

    def __init__(
        self,
        workspace: SandboxContext,
        branch: Path,
        environment: Mapping[str, str],
        timeout_sec: float,
        for_real: CheckRunner,
        on_progress: Callable[[Text], None] = lambda _: None,
    ) -> None:
        self._workspace = workspace
        self._branch = branch
        self._environment = environment
        self._timeout_sec = timeout_sec
        self._for_real = for_real
        self._on_progress = on_progress

    def uses_sandbox(self) -> bool:
        try:
            return agent_sandbox(self._workspace).bwrap is not None
        except NoSandbox:
            return False

    def __call__(
        self, commands: Sequence[str], files: Files, phase: CheckPhase, reviewer: int = 0
    ) -> tuple[CheckResult, ...]:
        if phase is not CheckPhase.DRY:
            return self._for_real(commands, files, phase, reviewer)
        workspace, inside = self._workspace, self.uses_sandbox()
        results: list[CheckResult] = []
        with ScratchCopies(
            workspace.places,
            self._environment,
            carry=workspace.config.beside.carry,
            files=files,
            first=lambda copy: files_to(copy, copy.shadow.capture().tree, self._branch),
            enclosing=self._enclosing,
            doubt=why_unreliable(workspace.places.root, self._environment, sandboxed=inside),
            keep_for=Supervisor.of(reviewer) if inside and reviewer else None,
            on_progress=self._on_progress,
        ) as copies:
            for command in commands:
                copy_run = copies.current()
                self._on_progress(Text("running {command} …", command=command))
                results.append(copy_run.check(command, self._timeout_sec, phase))
                if not results[-1].passed:
                    break
        return tuple(results)

    def _enclosing(self, copy: WorkCopy) -> Enclosing:
        box = agent_sandbox(self._workspace)

        def enclosing(invocation: Invocation) -> Invocation:
            return enclose(self._workspace, copy, box, invocation, terminal=False)

        return enclosing
