"""The commands that must succeed before or after a plan is executed."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ringi.domain.plan import CheckPhase, CheckResult
from ringi.errors import NoSandbox
from ringi.ports import Commands
from ringi.text import Text
from ringi.workspace.copy_run import CopyRun, Files, Progress, ScratchCopies
from ringi.workspace.places import Places


class CopyChecks:
    """Runs the commands one after another in one copy, until one fails.

    The next command sees what the one before left, as a test needs the build.
    """

    def __init__(
        self,
        places: Places,
        environment: Mapping[str, str],
        timeout_sec: float,
        *,
        carry: Sequence[str] = (),
        on_progress: Progress = lambda _: None,
        commands_in: Callable[[Path], Commands] | None = None,
    ) -> None:
        """`commands_in` runs the commands of a plan, in a sandbox if there is one."""
        self._places = places
        self._environment = environment
        self._timeout_sec = timeout_sec
        self._carry = carry
        self._on_progress = on_progress
        self._commands_in = commands_in

    def sandboxed(self) -> bool:
        try:
            return self._commands_in is not None and self._commands_in(self._places.root).sandboxed()
        except NoSandbox:
            return False

    def __call__(self, commands: Sequence[str], files: Files, phase: CheckPhase) -> tuple[CheckResult, ...]:
        results: list[CheckResult] = []
        with ScratchCopies(
            self._places,
            self._environment,
            carry=self._carry,
            files=files,
            on_progress=self._on_progress,
        ) as copies:
            for command in commands:
                results.append(self._run(command, copies.current(), phase))
                if results[-1].exit_code:
                    break
        return tuple(results)

    def _run(self, command: str, copy_run: CopyRun, phase: CheckPhase) -> CheckResult:
        self._on_progress(Text("running {command} …", command=command))
        if phase is CheckPhase.DRY and self._commands_in is not None and self.sandboxed():
            commands = self._commands_in(copy_run.copy.tree)
            return copy_run.check_with(commands, command, self._timeout_sec, phase)
        return copy_run.check(command, self._timeout_sec, phase)
