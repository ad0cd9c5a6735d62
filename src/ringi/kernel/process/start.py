"""Starts a command under a supervisor of its own, which reports how the command ended."""

import contextlib
import errno
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from ringi.kernel.process.signals import STOPPING, hold_back
from ringi.kernel.process.supervisor import (
    AT_TERMINAL,
    END,
    END_AT_ONCE,
    GRACE,
    PATIENCE,
    SETTLING,
    Stat,
    below,
    order,
    processes,
)

_KILLED: Final = 128 + signal.SIGKILL
_PAUSE: Final = 0.01
CHECK_EVERY: Final = 1.0  # seconds between two looks at a supervisor; somebody may have stopped it
_SLACK: Final = 5.0  # extra seconds for the supervisor, beyond what it gives the processes
# Isolated from modules of the same names in a person's or a project's folders: about 15 ms.
_SCRIPT: Final = (sys.executable, "-I", "-S", "-c")
_IMPORTED: Final = "import sys; sys.path.append(sys.argv[1]); import supervisor; supervisor."
_SUPERVISOR: Final = (*_SCRIPT, _IMPORTED + "main(*map(int, sys.argv[2:]))", str(Path(__file__).parent))
JOB: Final = (*_SCRIPT, _IMPORTED + "main_of_job(*sys.argv[2:])", str(Path(__file__).parent))
"""Before the words of a command in a session of its own: lets it be stopped, see `supervisor`."""
# Python itself may need these to start. Only the command gets the other variables.
_LIBRARIES: Final = ("LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "DYLD_FALLBACK_LIBRARY_PATH")


class Leftovers(NamedTuple):
    ended: int = 0
    """Processes that had to be ended, besides the command itself."""
    survivors: int = 0
    """Processes that could not be ended, for instance another user's."""


class RunningCommand:
    """A running command. Its descriptor is readable when there is a report."""

    exit_code: int | None = None
    """128 + n if signal n killed it."""

    def __init__(self, supervisor: "subprocess.Popen[bytes]", control: int, report: int, mark: bytes) -> None:
        self._supervisor = supervisor
        self._control = control
        self._report = report
        self._mark = mark
        self._heard = b""
        self._pid = 0
        self._started = False
        self._lost = False
        self._leftovers: Leftovers | None = None
        self._closed = False

    def fileno(self) -> int:
        return self._report

    @property
    def over(self) -> bool:
        return self.exit_code is not None or self._lost

    def send(self, what: bytes) -> None:
        while what:
            what = what[os.write(self._control, what) :]

    def hear(self) -> None:
        """Waits for the next report and records it."""
        said = os.read(self._report, 4096)
        self._lost = not said
        *lines, self._heard = (self._heard + said).split(b"\n")
        for line in lines:
            what, *numbers = line.split()
            if what == b"forked":
                self._pid = int(numbers[0])
            elif what == b"started":
                self._started = True
            elif what == b"failed":
                number, self._leftovers = int(numbers[0]), Leftovers()
                raise OSError(number, os.strerror(number))
            elif what == b"exited":
                self.exit_code = int(numbers[0])
            elif what == b"ended":
                self._leftovers = Leftovers(*map(int, numbers))

    def wait_for_start(self) -> None:
        """Raises OSError if the command cannot be started."""
        while not self._started and not self._lost:
            self.keep_alive()
            ready, _, _ = select.select([self._report], [], [], CHECK_EVERY)
            if ready:
                self.hear()
        if not self._pid:
            raise OSError(errno.ECHILD, "the process that supervises it ended first", _SUPERVISOR[0])

    def keep_alive(self) -> None:
        """Continues the supervisor if somebody stopped it; to be called every `CHECK_EVERY` seconds."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            # The pid cannot be another process's: we have not waited for it yet.
            os.kill(self._supervisor.pid, signal.SIGCONT)

    def end(self, *, also: Sequence[int] = (), in_a_hurry: Callable[[], bool] = lambda: False) -> Leftovers:
        """Ends the command and all it started, and waits; at once if somebody is in a hurry.

        Checks the hurry again whenever one of the descriptors `also` is readable.
        """
        if not self._closed:
            self._tell(END)
            try:
                self._wait_for_end(also, in_a_hurry)
            except KeyboardInterrupt:
                self._tell(END_AT_ONCE)
                self._wait_for_end((), lambda: False)
                raise
            finally:
                self._close()
        return self._leftovers or Leftovers()

    def _wait_for_end(self, also: Sequence[int], in_a_hurry: Callable[[], bool]) -> None:
        until = time.monotonic() + SETTLING + GRACE + PATIENCE + _SLACK
        told = False
        while self._leftovers is None and not self._lost and (left := until - time.monotonic()) > 0:
            self.keep_alive()
            ready, _, _ = select.select([self._report, *also], [], [], min(left, CHECK_EVERY))
            if self._report in ready:
                self.hear()
            elif in_a_hurry() and not told:
                self._tell(END_AT_ONCE)
                told, also = True, ()

    def _close(self) -> None:
        self._closed = True
        if self._leftovers is None:
            # Somebody killed it to escape, or stops it again and again. As long as it lives, it still adopts.
            self._leftovers = self._end_all() if self._pid else Leftovers()
            self._supervisor.kill()
        self._supervisor.wait()
        os.close(self._control)
        os.close(self._report)
        if self.exit_code is None:
            self.exit_code = _KILLED

    def _end_all(self) -> Leftovers:
        """Kills what we can find of a command without the help of its supervisor.

        That is its session, the processes with its mark, and those its supervisor has adopted. If somebody
        killed the supervisor, a process that shed both session and mark stays.
        """
        told = self._alive()
        until = time.monotonic() + PATIENCE
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._pid, signal.SIGKILL)
        while found := self._alive():
            if time.monotonic() > until:
                return Leftovers(len(told - {self._pid}), len(found))
            told |= found
            for pid in found:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(_PAUSE)
        return Leftovers(len(told - {self._pid}))

    def _alive(self) -> set[int]:
        adopted = below(self._supervisor.pid)
        marked = [process for process in processes() if _is_of(process, self._pid, self._mark)]
        return {process.pid for process in (*adopted, *marked) if not process.dead}

    def _tell(self, what: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it is ending already
            self.send(what)


@contextlib.contextmanager
def start_command(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: int,
    stdout: int,
    stderr: int,
    at_terminal: bool = False,
    confined: int = 0,
    mark: str = "",
) -> Iterator[RunningCommand]:
    """The command, in a session of its own; all its processes end with the block.

    With `at_terminal`, standard input is a terminal that becomes the session's. `confined` is what
    `sandbox.confinement` says if the command is a sandbox, else 0. The `mark` is something in
    the environment that no other process has: it helps to find survivors if the supervisor was killed.
    Raises OSError, and ValueError for characters that no system accepts.
    """
    wanted = order(_encode(argv), _encode_pairs(env), confined | (AT_TERMINAL if at_terminal else 0))
    command = _supervise(cwd, (stdin, stdout, stderr), os.fsencode(mark))
    try:
        with contextlib.suppress(BrokenPipeError):  # its report is read next
            command.send(wanted)
        try:
            command.wait_for_start()
        except OSError as error:
            raise _not_started(error, argv[0], env) from None
        yield command
    finally:
        command.end()


def _supervise(cwd: Path, streams: tuple[int, int, int], mark: bytes) -> RunningCommand:
    with contextlib.ExitStack() as theirs, contextlib.ExitStack() as ours:
        control, told = os.pipe()
        theirs.callback(os.close, control)
        ours.callback(os.close, told)
        report, said = os.pipe()
        ours.callback(os.close, report)
        theirs.callback(os.close, said)
        stdin, stdout, stderr = streams
        # Ctrl-C reaches it until it has its own session; the supervisor unblocks the signals.
        with hold_back(STOPPING):
            supervisor = subprocess.Popen(
                [*_SUPERVISOR, str(control), str(said)],
                cwd=cwd,
                env={name: os.environ[name] for name in _LIBRARIES if name in os.environ},
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                pass_fds=(control, said),
                start_new_session=True,
            )
        ours.pop_all()
        return RunningCommand(supervisor, told, report, mark)


def _encode(words: Sequence[str]) -> list[bytes]:
    encoded = [os.fsencode(word) for word in words]
    if any(b"\0" in word for word in encoded):
        raise ValueError("embedded null byte")
    return encoded


def _encode_pairs(env: Mapping[str, str]) -> dict[bytes, bytes]:
    names, values = _encode(list(env)), _encode(list(env.values()))
    if any(not name or b"=" in name for name in names):
        raise ValueError("illegal environment variable name")
    return dict(zip(names, values, strict=True))


def _not_started(error: OSError, program: str, env: Mapping[str, str]) -> OSError:
    number, words = error.errno or 0, error.strerror
    # Also the error for a missing command if a folder of PATH cannot be searched.
    denied = number == errno.EACCES and "/" not in program
    if denied and shutil.which(program, os.F_OK, env.get("PATH", os.defpath)) is None:
        number, words = errno.ENOENT, os.strerror(errno.ENOENT)
    return OSError(number, words, error.filename or program)


def _is_of(process: Stat, pid: int, mark: bytes) -> bool:
    if pid in {process.group, process.session}:
        return True
    try:
        return bool(mark) and mark in Path(f"/proc/{process.pid}/environ").read_bytes()
    except OSError:  # already gone, or another user's
        return False
