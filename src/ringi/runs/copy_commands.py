"""A command that a model chose, run in its copy: in the sandbox, without gh and without secrets."""

import shlex
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from ringi.agents.sandbox import AgentSandbox, enclose
from ringi.agents.state import SandboxContext
from ringi.engine.plan_checks import dangers
from ringi.kernel.process.capture import CommandResult, last
from ringi.kernel.process.program import in_copy
from ringi.policy.gh import runs_gh
from ringi.policy.masking import without_secrets
from ringi.runs.role_command import without_gh
from ringi.tools.effects import ErrorKind
from ringi.tree.commands import Invocation
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_run import CopyRun

_E = ErrorKind
_KEPT_OUTPUT: Final = 65_536


class CopyCommands(NamedTuple):
    workspace: SandboxContext
    environment: Mapping[str, str]
    mask: Callable[[str], str]
    sandbox: AgentSandbox
    log: Callable[[bytes], None] = lambda _: None
    """Gets what commands print."""

    @property
    def runs(self) -> bool:
        """A command could print any file of the copy and its history."""
        return self.sandbox.bwrap is not None and not self.workspace.config.context.never_send


def refused(argv: Sequence[str]) -> tuple[ErrorKind, str] | None:
    """Why it is not even tried. The sandbox confines the rest."""
    if not argv or not argv[0].strip():
        return _E.INVALID_ARGUMENTS, "argv must begin with the name of a program."
    line = shlex.join(argv)
    if "\0" in line or not _is_utf8(line):
        return _E.INVALID_ARGUMENTS, "argv has characters that no program can be given."
    if runs_gh(line):
        return _E.NOT_ALLOWED, "gh is never run. Leave what it does to the person."
    if found := dangers(" ".join(argv)):
        return _E.NOT_ALLOWED, f"The command is refused: {', '.join(found)}. Do without it."
    return None


def _is_utf8(text: str) -> bool:
    try:
        return bool(text.encode())
    except UnicodeEncodeError:
        return False


def run_in_copy(
    copy: WorkCopy, commands: CopyCommands, argv: Sequence[str], timeout_sec: float
) -> CommandResult:
    """Raises NoSuchProgram, StorageFailed, Interrupted."""
    workspace = commands.workspace
    without = without_gh(workspace, copy, without_secrets(commands.environment))

    def enclosing(invocation: Invocation) -> Invocation:
        return enclose(
            workspace, copy, commands.sandbox, invocation,
            visible=[without.visible], terminal=False, covered=without.covered,
        )  # fmt: skip

    return CopyRun(copy, without.environment, enclosing=enclosing).run(
        in_copy(argv, copy.folder_of_commands, workspace.places.root / copy.record.start),
        timeout_sec=timeout_sec,
        output=last(_KEPT_OUTPUT),
        on_output=commands.log,
    )
