"""Commands of a plan: run in the workspace, in a sandbox if there is one."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, Protocol

from ringi.config.keys import Config, RunConfig
from ringi.errors import NoSandbox, NoSuchProgram, PathRefused
from ringi.kernel.places import Places, own_folders
from ringi.kernel.process import sandbox
from ringi.kernel.process.capture import CommandResult, last, run
from ringi.kernel.process.environment import SYSTEM_PATH, harmless
from ringi.kernel.process.hidden import find_hidden
from ringi.kernel.process.program import program_of
from ringi.kernel.process.sandbox import How, Mount
from ringi.kernel.text import Text
from ringi.tree.copy_mounts import CopyMounts


class Commands(Protocol):
    """Runs commands in the workspace: no shell, no secrets, no process left behind."""

    def uses_sandbox(self) -> bool:
        """Whether a command would run in a sandbox now. Raises NoSandbox if one is required and missing."""

    def run(self, argv: Sequence[str], folder: str, *, timeout_sec: float, sandboxed: bool) -> CommandResult:
        """In a folder below the workspace; empty: itself. Raises NoSuchProgram, PathRefused or NoSandbox."""


class Invocation(NamedTuple):
    """How a command is started."""

    argv: tuple[str, ...]
    env: Mapping[str, str]
    takes_terminal: bool = False
    """The command takes control of the terminal itself."""
    confined: int = 0
    """See `started`."""


class WorkspaceCommands:
    def __init__(
        self,
        root: Path,
        environment: Mapping[str, str],
        settings: RunConfig,
        own: tuple[Path, ...],
        *,
        sandbox_path: str = SYSTEM_PATH,
    ) -> None:
        """`own` are our folders, which a command in the sandbox does not see either.

        Uses only the system's bwrap: one that somebody put into PATH may not be a sandbox.
        """
        self._sandbox_path = sandbox_path
        self._root = Path(os.path.realpath(root))
        self._environment = environment
        self._settings = settings
        self._own = own

    def uses_sandbox(self) -> bool:
        return self._bwrap() is not None

    def run(self, argv: Sequence[str], folder: str, *, timeout_sec: float, sandboxed: bool) -> CommandResult:
        cwd = self._folder(folder)
        inside = self.enclose(argv, cwd, self._environment, sandboxed=sandboxed)
        try:
            return run(
                inside.argv,
                cwd=cwd,
                env=inside.env,
                confined=inside.confined,
                timeout_sec=timeout_sec,
                output=last(self._settings.output_bytes),
            )
        except (OSError, ValueError) as error:  # ValueError: characters that no system accepts
            raise _not_startable(argv[0], error) from None

    def enclose(
        self,
        argv: Sequence[str],
        cwd: Path,
        environment: Mapping[str, str],
        *,
        sandboxed: bool = True,
        copy: CopyMounts | None = None,
    ) -> Invocation:
        """The command in the sandbox. Raises NoSandbox, NoSuchProgram.

        `copy` says where a copy is in the sandbox, if the root is one.
        """
        bwrap = self._bwrap() if sandboxed else None
        if sandboxed and bwrap is None:
            raise NoSandbox(why=Text("it is not there any more"))
        inside = copy.folder / cwd.relative_to(self._root) if copy and bwrap else cwd
        passed = self._command_environment(environment, inside)
        program = program_of(argv, cwd, passed)
        words = (str(program), *argv[1:])
        if bwrap is None:
            return Invocation(words, passed)
        # That folder is read-only in the sandbox; without the variable programs use /tmp.
        passed.pop("TMPDIR", None)
        # What any variable of the person's names, not only those that are passed on.
        unseen = find_hidden(self._environment, self._own)
        passed = {name: value for name, value in passed.items() if name not in unseen.variables}
        laid = copy.mounts if copy else (Mount(self._root, How.WRITE),)
        kept = () if copy else sandbox.list_protected(self._root)
        mounts = sandbox.mounts(sandbox.SandboxPlaces(laid, unseen, kept))
        if not all(sandbox.sees(mounts, path) for path in (program, Path(os.path.realpath(program)))):
            raise NoSuchProgram(name=Text("{name} that can be seen in the sandbox", name=str(program)))
        whole = (bwrap, *sandbox.arguments(mounts, inside), *words)
        return Invocation(whole, passed, confined=sandbox.confinement(bwrap))

    def _bwrap(self) -> str | None:
        if self._settings.sandbox == "off":
            return None
        found = sandbox.usable(self._sandbox_path)
        if isinstance(found, str):
            return found
        if self._settings.sandbox == "required":
            raise NoSandbox(why=found.why)
        return None

    def _folder(self, folder: str) -> Path:
        # Checked again now: it may have become a link since it was approved.
        plain = self._root / folder
        real = Path(os.path.realpath(plain))
        if not real.is_relative_to(self._root):
            raise PathRefused(path=folder, why=Text("it leads out of the workspace"))
        if real != plain:
            raise PathRefused(path=folder, why=Text("a link leads elsewhere"))
        if not real.is_dir():
            raise PathRefused(path=folder, why=Text("it is not a folder"))
        return real

    def _command_environment(self, environment: Mapping[str, str], cwd: Path) -> dict[str, str]:
        return {**harmless(environment, self._settings.environment), "PWD": str(cwd)}


def _not_startable(name: str, error: OSError | ValueError) -> NoSuchProgram:
    why = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return NoSuchProgram(name=Text("{name} that can be started ({why})", name=name, why=why))


def commands_in(
    root: Path, places: Places, config: Config, environment: Mapping[str, str]
) -> WorkspaceCommands:
    """Of a plan, in the workspace or in a copy of it."""
    return WorkspaceCommands(root, environment, config.run, own_folders(places, environment))
