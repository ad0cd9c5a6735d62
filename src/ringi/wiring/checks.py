"""Checks run in a work copy, never in the workspace (rule 1)."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

from ringi.domain.plan import CheckPhase, CheckResult
from ringi.errors import CopyFailed, NoSandbox, PathRefused, StorageFailed
from ringi.fs import OsFileSystem
from ringi.ports import Commands
from ringi.process.environment import GIT_PLACES, WITH_VARIABLE
from ringi.process.run import last, run, shell
from ringi.process.table import process_start
from ringi.text import Text
from ringi.workspace.places import Places
from ringi.workspace.tree import Tree

if TYPE_CHECKING:
    from ringi.workspace.copy import Difference, WorkCopy

# What is marked so holds nothing of a person, and whoever comes next removes it if its process was killed.
MARK: Final = "ringi diagnostics"
_KEPT_OUTPUT: Final = 16_384

Files = Mapping[str, tuple[bytes, int] | None]
Progress = Callable[[Text], None]


class CopyChecks:
    """The commands run one after another in one copy, until one of them fails.

    What a command leaves beside the project's files is there for the next one, as a build is for a test.
    Where it rewrites the files themselves, the next one gets a fresh copy: its answer is to be about the
    bytes in question, not about those that a formatter made of them.
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
        """`commands_in` runs what a plan brings along, in a sandbox where there is one."""
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
        with _Copies(self._places, files, self._carry, self._on_progress) as copies:
            for command in commands:
                results.append(self._run(command, copies.current(), phase))
                if results[-1].exit_code:
                    break
        return tuple(results)

    def _run(self, command: str, laid: "_Laid", phase: CheckPhase) -> CheckResult:
        self._on_progress(Text("running {command} …", command=command))
        if phase is CheckPhase.DRY and self._commands_in is not None and self.sandboxed():
            return self._run_inside(self._commands_in(laid.copy.tree), command, laid)
        with _in_words(laid.copy.folder):
            ended = run(
                shell(command),
                cwd=laid.copy.tree,
                env=environment_in(laid.copy, self._environment),
                timeout_sec=self._timeout_sec,
                output=last(_KEPT_OUTPUT),
                mark=laid.copy.id,
            )
        duration = round(ended.duration_sec, 3)
        return CheckResult(command, ended.exit_code, duration, laid.difference.tree, ended.text, phase)

    def _run_inside(self, commands: Commands, command: str, laid: "_Laid") -> CheckResult:
        argv = ["/bin/sh", "-c", command]
        ran = commands.run(argv, "", timeout_sec=self._timeout_sec, sandboxed=True)
        tree, duration = laid.difference.tree, round(ran.duration_sec, 3)
        return CheckResult(command, ran.exit_code, duration, tree, ran.output, CheckPhase.DRY)


def environment_in(copy: "WorkCopy", environment: Mapping[str, str]) -> dict[str, str]:
    """The person's, with nothing that would lead a program from the copy back to the workspace."""
    kept = {name: value for name, value in environment.items() if name != "OLDPWD" and name not in GIT_PLACES}
    return {**kept, "PWD": str(copy.tree), WITH_VARIABLE: copy.id}


class _Laid(NamedTuple):
    copy: "WorkCopy"
    difference: "Difference"
    """Between the workspace and the copy with the files laid over it."""


class _Copies:
    """The copy of the moment; it goes when the block ends, however that is."""

    def __init__(self, places: Places, files: Files, carry: Sequence[str], on_progress: Progress) -> None:
        self._places = places
        self._files = files
        self._carry = carry
        self._on_progress = on_progress
        self._copy: WorkCopy | None = None
        self._laid: _Laid | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def current(self) -> _Laid:
        if self._laid is None or _rewritten(self._laid):
            self._remove()
            with _in_words(self._places.copies):
                self._laid = self._make()
        return self._laid

    def _make(self) -> _Laid:
        from ringi.workspace.copy import Difference, WorkCopy  # noqa: PLC0415  # only where a check runs
        from ringi.workspace.copy_record import Supervisor  # noqa: PLC0415  # see above

        places = self._places
        remove_abandoned(places.copies)
        copy = self._copy = WorkCopy.make(
            places.root,
            places.state,
            places.copies,
            carry=self._carry,
            supervisor=Supervisor(os.getpid(), process_start(os.getpid()) or ""),
            command=[MARK],
            on_progress=self._on_progress,
        )
        # What a check writes must not become a plan after a crash.
        copy.mark_taken()
        if not self._files:
            return _Laid(copy, Difference(copy.base, copy.base, (), ()))
        lay_over(Tree(OsFileSystem(), copy.tree), self._files)
        return _Laid(copy, copy.difference())

    def _remove(self) -> None:
        copy, self._copy, self._laid = self._copy, None, None
        if copy is None:
            return
        try:
            copy.remove()
        except (StorageFailed, OSError) as error:
            # What the checks said stands all the same; whoever removes the next copy tries again.
            why = error.details["why"] if isinstance(error, StorageFailed) else _why(error)
            self._on_progress(Text("{path} cannot be removed: {why}", path=str(copy.folder), why=why))


def remove_abandoned(copies: Path) -> None:
    """Copies of ours whose process was killed."""
    from ringi.workspace.copy import WorkCopy  # noqa: PLC0415  # only where a check runs

    for copy in WorkCopy.all(copies):
        running = copy.record.supervisor
        if copy.record.command == (MARK,) and running and process_start(running.pid) != running.start:
            with contextlib.suppress(StorageFailed):  # in the way of nobody
                copy.remove()


def lay_over(tree: Tree, files: Files) -> None:
    """Puts the files into the tree, through no link; what is None goes, with the folders it leaves empty."""
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


def _rewritten(laid: _Laid) -> bool:
    """Whether files of the project are not as they were. New ones beside them do no harm."""
    try:
        now = laid.copy.difference()
    except CopyFailed:  # a command deleted its copy, or made something of it that cannot be read
        return True
    if now.tree == laid.difference.tree:
        return False
    before = {change.path: change for change in laid.difference.changes}
    after = {change.path: change for change in now.changes}
    return now.left_out != laid.difference.left_out or any(
        before.get(path) != after.get(path)
        for path in before.keys() | after.keys()
        if path in before or after[path].before is not None
    )


@contextlib.contextmanager
def _in_words(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageFailed(what=str(place), why=_why(error)) from None


def _why(error: OSError) -> str:
    return error.strerror or str(error)
