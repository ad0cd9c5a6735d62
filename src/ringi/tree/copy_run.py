"""Commands run in a work copy, never in the workspace; their results refer to one tree.

Agents, checks, repeated checks and diagnostics all run this way. An agent's copy outlives it; the others
get scratch copies, which are removed when they are done.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Final, Self

import msgspec
from msgspec import UNSET, UnsetType

from ringi.config.keys import Config
from ringi.errors import CopyFailed, Interrupted, NoSandbox, PathRefused, StorageFailed
from ringi.kernel.document import prepare
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.places import Places
from ringi.kernel.process.capture import CommandResult, OutputLimit, last, run, shell
from ringi.kernel.process.environment import GIT_PLACES, WITH_VARIABLE, without_forge_tokens
from ringi.kernel.process.start import RunningCommand, start_command
from ringi.kernel.process.terminal import Ended, Listener, run_in_terminal
from ringi.kernel.text import Text, why_failed, without_codes
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.commands import Invocation, WorkspaceCommands, commands_in
from ringi.tree.copy import Supervisor, WorkCopy, put
from ringi.tree.copy_mounts import mounts_of_copy
from ringi.tree.copy_renewal import imprint_of, renew
from ringi.tree.ctime_manifest import Imprint
from ringi.tree.difference import TreeDifference
from ringi.tree.editable_installs import Doubt, no_doubt, why_unreliable
from ringi.tree.tree import Tree

# A copy with this mark contains no work of a person: if its process was killed, the next command removes it.
SCRATCH: Final = "ringi diagnostics"
RUN: Final = "ringi run"
"""The copy of a run: the run removes it."""
_KEPT_OUTPUT: Final = 16_384
_IMPRINT: Final = "imprint"

Files = Mapping[str, tuple[bytes, int] | None]
"""Bytes and permission bits; None for a deleted file."""
Progress = Callable[[Text], None]


Enclosing = Callable[[Invocation], Invocation]
"""Wraps a command in a sandbox."""


def _as_it_is(invocation: Invocation) -> Invocation:
    return invocation


class CopyEffect(Enum):
    """What commands did to the files of a copy."""

    NOTHING = auto()
    ADDED = auto()
    """New files outside the project's own, such as build output."""
    REWRITTEN = auto()


class CopyRun:
    """A copy, and the commands run in it."""

    def __init__(
        self,
        copy: WorkCopy,
        environment: Mapping[str, str],
        difference: TreeDifference | None = None,
        enclosing: Enclosing = _as_it_is,
        doubt: Doubt = no_doubt,
    ) -> None:
        """`difference` is what the copy contains now; by default, what the workspace contained then.

        `doubt` names what leads a command to the workspace's own files, see `find_editable_installs`.
        """
        self.copy = copy
        self.difference = difference or TreeDifference(copy.base, copy.base, (), ())
        self._environment = environment
        self._enclosing = enclosing
        self._doubt = doubt
        self.settled = True
        """Nothing of what was started here runs any more."""

    @property
    def tree(self) -> str:
        """The tree that results refer to."""
        return self.difference.tree

    def run(
        self,
        command: str | Sequence[str],
        *,
        timeout_sec: float,
        output: OutputLimit,
        errors: OutputLimit | None = None,
        env: Mapping[str, str] | None = None,
        on_output: Callable[[bytes], None] = lambda _: None,
    ) -> CommandResult:
        """A shell command, or the words of one. `env` replaces `environment`.

        It has no token of a forge. Only the agent that a person starts in their terminal has theirs.
        """
        argv = shell(command) if isinstance(command, str) else tuple(command)
        passed = without_forge_tokens(self.environment if env is None else env)
        inside = self._enclosing(Invocation(argv, passed))
        self.settled = False
        try:
            with _in_words(self.copy.folder):
                ran = run(
                    inside.argv,
                    cwd=self.copy.folder_of_commands,
                    env=inside.env,
                    timeout_sec=timeout_sec,
                    output=output,
                    errors=errors,
                    confined=inside.confined,
                    mark=self.copy.id,
                    on_output=on_output,
                )
        except Interrupted as error:
            self.settled = error.details.get("survivors") == 0
            raise
        self.settled = ran.survivors == 0
        return ran

    def check(self, command: str, timeout_sec: float, phase: CheckPhase | UnsetType = UNSET) -> CheckResult:
        ran = self.run(command, timeout_sec=timeout_sec, output=last(_KEPT_OUTPUT))
        took, limit = round(ran.duration_sec, 3), timeout_sec if ran.timed_out else UNSET
        doubt, printed = self._doubt(command) or UNSET, without_codes(ran.text)
        return CheckResult(command, ran.exit_code, took, self.tree, printed, phase, limit, doubt)

    def run_in_terminal(
        self, argv: Sequence[str], more: Mapping[str, str], *, output: int, listener: Listener | None = None
    ) -> Ended:
        """Raises OSError if the command cannot be started."""
        inside = self._enclosing(Invocation(tuple(argv), {**self.environment, **more}))
        return run_in_terminal(
            inside.argv,
            cwd=self.copy.folder_of_commands,
            env=inside.env,
            output=output,
            listener=listener,
            takes_terminal=inside.takes_terminal,
            confined=inside.confined,
            mark=self.copy.id,
        )

    def start(
        self, argv: Sequence[str], more: Mapping[str, str], *, stdin: int, stdout: int, stderr: int
    ) -> contextlib.AbstractContextManager[RunningCommand]:
        """A command that runs beside its caller, until the block ends. Raises OSError."""
        inside = self._enclosing(Invocation(tuple(argv), {**self.environment, **more}))
        return start_command(
            inside.argv,
            cwd=self.copy.folder_of_commands,
            env=inside.env,
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            confined=inside.confined,
            mark=self.copy.id,
        )

    @property
    def environment(self) -> dict[str, str]:
        """The person's, without variables that would lead a program from the copy back to the workspace."""
        leading_back = GIT_PLACES | {"OLDPWD"}
        kept = {name: value for name, value in self._environment.items() if name not in leading_back}
        return {**kept, "PWD": str(self.copy.folder_of_commands), WITH_VARIABLE: self.copy.id}

    def find_effect(self) -> CopyEffect:
        try:
            now = self.copy.difference()
        except CopyFailed:  # a command deleted its copy or made it unreadable
            return CopyEffect.REWRITTEN
        if now.tree == self.tree:
            return CopyEffect.NOTHING
        before = {change.path: change for change in self.difference.changes}
        after = {change.path: change for change in now.changes}
        rewritten = any(
            before.get(path) != after.get(path)
            for path in before.keys() | after.keys()
            if path in before or after[path].before is not None
        )
        # For instance a file that became a link.
        left_out = [path for path, why in now.left_out if (path, why) not in self.difference.left_out]
        return CopyEffect.REWRITTEN if rewritten or self.copy.began_with(left_out) else CopyEffect.ADDED


class ScratchCopies:
    """A copy of the workspace with some files replaced; a fresh one on request.

    It is removed when the block ends, also by an error. If it is kept for somebody, it waits for their next
    block, which brings it to the same state as a fresh one but much faster. That needs a sandbox: commands
    outside one could change what we know about the copy.
    """

    def __init__(
        self,
        places: Places,
        environment: Mapping[str, str],
        *,
        carry: Sequence[str] = (),
        start: str = "",
        files: Files | None = None,
        first: Callable[[WorkCopy], Files] = lambda _: {},
        enclosing: Callable[[WorkCopy], Enclosing] = lambda _: _as_it_is,
        doubt: Doubt = no_doubt,
        keep_for: Supervisor | None = None,
        on_progress: Progress = lambda _: None,
    ) -> None:
        """`start` is the subfolder in which commands start.

        `first` is what is laid over the copy before the files, such as those of another branch.
        """
        self._places = places
        self._environment = environment
        self._carry = carry
        self._start = start
        self._files = files or {}
        self._first = first
        self._enclosing = enclosing
        self._doubt = doubt
        self._keep_for = keep_for
        self._on_progress = on_progress
        self._copy: WorkCopy | None = None
        self._imprint: Imprint | None = None
        self._run: CopyRun | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.discard()

    def current(self) -> CopyRun:
        """The same copy again, or a fresh one if a command rewrote its files."""
        if self._run is None or self._run.find_effect() is CopyEffect.REWRITTEN:
            self.discard()
            with _in_words(self._places.copies):
                self._run = self._make()
        return self._run

    def _make(self) -> CopyRun:
        remove_abandoned(self._places.copies)
        copy = self._copy = self._reuse_kept() or WorkCopy.make(
            self._places.root,
            self._places.state,
            self._places.copies,
            carry=self._carry,
            supervisor=Supervisor.this_process(),
            command=[SCRATCH],
            start=self._start,
            on_progress=self._on_progress,
        )
        # What a command writes must not become a plan after a crash.
        copy.note(taken=True, kept_for=self._keep_for)
        # Before the files are laid over it: the next block has others.
        self._imprint = imprint_of(copy) if self._keep_for else None
        files = {**self._first(copy), **self._files}
        if files:
            lay_over(Tree(OsFileSystem(), copy.tree), files)
        difference = copy.difference() if files else None
        return CopyRun(copy, self._environment, difference, self._enclosing(copy), self._doubt)

    def _reuse_kept(self) -> WorkCopy | None:
        places = self._places
        for copy in list_kept(places.copies, self._keep_for) if self._keep_for else ():
            imprint = _take_imprint(copy.folder / _IMPRINT)
            if imprint is None and copy.is_running:
                continue
            copy.note(supervisor=Supervisor.this_process())
            again = imprint and renew(
                copy, imprint, places.root, places.state, carry=self._carry, on_progress=self._on_progress
            )
            if again:
                return again
            _remove(copy, self._on_progress)
        return None

    def discard(self) -> None:
        """Unless it can be kept."""
        copy, settled = self._copy, self._run is not None and self._run.settled
        self._copy, self._run = None, None
        if copy is None:
            return
        if settled and self._imprint is not None:
            with contextlib.suppress(StorageFailed):
                put(copy.folder / _IMPRINT, msgspec.msgpack.encode(self._imprint))
                return
        _remove(copy, self._on_progress)


def _take_imprint(path: Path) -> Imprint | None:
    """Not there while somebody works in the copy, or if they were killed: then nobody knows what runs."""
    try:
        data = path.read_bytes()
        path.unlink()
        return msgspec.msgpack.decode(data, type=prepare(Imprint))
    except (OSError, msgspec.MsgspecError):
        return None


def _remove(copy: WorkCopy, on_progress: Progress) -> None:
    try:
        copy.remove()
    except (StorageFailed, OSError) as error:
        # The commands' results still count; the next removal tries again.
        why = error.details["why"] if isinstance(error, StorageFailed) else why_failed(error)
        on_progress(Text("{path} cannot be removed: {why}", path=str(copy.folder), why=why))


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
        commands_in: Callable[[Path], WorkspaceCommands] | None = None,
    ) -> None:
        """`commands_in` has the sandbox of a plan's commands, for a folder."""
        self._places = places
        self._environment = environment
        self._timeout_sec = timeout_sec
        self._carry = carry
        self._on_progress = on_progress
        self._commands_in = commands_in

    def uses_sandbox(self) -> bool:
        try:
            return self._commands_in is not None and self._commands_in(self._places.root).uses_sandbox()
        except NoSandbox:
            return False

    def __call__(
        self, commands: Sequence[str], files: Files, phase: CheckPhase, reviewer: int = 0
    ) -> tuple[CheckResult, ...]:
        results: list[CheckResult] = []
        # Nobody has approved these bytes yet.
        inside = phase is CheckPhase.DRY and self.uses_sandbox()
        with ScratchCopies(
            self._places,
            self._environment,
            carry=self._carry,
            files=files,
            enclosing=self._sandbox if inside else lambda _: _as_it_is,
            # Before and after an execution the workspace itself has these bytes: nothing leads astray.
            doubt=self._doubt(sandboxed=inside) if phase is CheckPhase.DRY else no_doubt,
            keep_for=Supervisor.of(reviewer) if inside and reviewer else None,
            on_progress=self._on_progress,
        ) as copies:
            for command in commands:
                copy_run = copies.current()
                self._on_progress(Text("running {command} …", command=command))
                results.append(copy_run.check(command, self._timeout_sec, phase))
                if results[-1].exit_code:
                    break
        return tuple(results)

    def _doubt(self, *, sandboxed: bool) -> Doubt:
        return why_unreliable(self._places.root, self._environment, sandboxed=sandboxed)

    def _sandbox(self, copy: WorkCopy) -> Enclosing:
        def enclosing(invocation: Invocation) -> Invocation:
            if self._commands_in is None:
                return invocation
            home = Path(self._environment.get("HOME", ""))
            real = Path(os.path.realpath(home)) if home.is_absolute() else None
            place = mounts_of_copy(copy, self._places.root, real)
            commands = self._commands_in(copy.tree)
            inside = commands.enclose(invocation.argv, copy.tree, invocation.env, copy=place)
            return inside._replace(env={**inside.env, WITH_VARIABLE: copy.id})

        return enclosing


def _scratch(copies: Path) -> list[WorkCopy]:
    return [copy for copy in WorkCopy.all(copies) if copy.record.command == (SCRATCH,)]


def list_kept(copies: Path, process: Supervisor) -> list[WorkCopy]:
    return [copy for copy in _scratch(copies) if copy.record.kept_for == process]


def remove_abandoned(copies: Path) -> None:
    """Scratch copies whose process was killed."""
    for copy in _scratch(copies):
        users = (copy.record.supervisor, copy.record.kept_for)
        if copy.record.supervisor and not any(user and user.is_running for user in users):
            with contextlib.suppress(StorageFailed):  # it does no harm
                copy.remove()


def remove_kept(copies: Path) -> None:
    """Scratch copies that were kept for this process."""
    for copy in list_kept(copies, Supervisor.this_process()):
        with contextlib.suppress(StorageFailed, OSError):  # the next command tries again
            copy.remove(wait=False)


def lay_over(tree: Tree, files: Files) -> None:
    """Writes the files without following links; deletes those that are None, and emptied folders."""
    with tree.open_root() as root:
        for path in (path for path, content in files.items() if content is None):
            with contextlib.suppress(FileNotFoundError), tree.folder_of(path, root) as (folder, name):
                tree.fs.remove(folder, name)
            _remove_empty(tree, root, path.rpartition("/")[0])
        for path, content in files.items():
            if content is not None:
                with tree.folder_of(path, root, make=True) as (folder, name):
                    with contextlib.suppress(FileNotFoundError):
                        tree.fs.remove(folder, name)
                    tree.fs.create(folder, name, *content)


def _remove_empty(tree: Tree, root: int, path: str) -> None:
    with contextlib.suppress(OSError, PathRefused):  # not empty, or gone already
        while path:
            with tree.folder_of(path, root) as (folder, name):
                tree.fs.remove_folder(folder, name)
            path = path.rpartition("/")[0]


@contextlib.contextmanager
def _in_words(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(what=str(place), why=why_failed(error)) from None


def checks_of(
    places: Places, config: Config, environment: Mapping[str, str], on_progress: Progress
) -> CopyChecks:
    """The checks of a plan, in the sandbox of its commands."""
    return CopyChecks(
        places,
        environment,
        config.checks.timeout_sec,
        carry=config.beside.carry,
        on_progress=on_progress,
        commands_in=lambda root: commands_in(root, places, config, environment),
    )
