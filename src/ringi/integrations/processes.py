"""Everything below this process, and the end of it.

On Linux this process adopts whatever a command orphans (as a child subreaper), so that a daemon is found
below it and ended too; elsewhere the command's process group is ended.
"""

import contextlib
import errno
import math
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

_GRACE: Final = 0.5  # seconds between SIGTERM and SIGKILL
_PATIENCE: Final = 5.0  # seconds of SIGKILL before a process counts as a survivor
_PAUSE: Final = 0.01
_SET_CHILD_SUBREAPER: Final = 36
_GET_CHILD_SUBREAPER: Final = 37

# Variables that would lead git to another repository than the one it is started in.
GIT_PLACES: Final = frozenset(
    f"GIT_{name}"
    for name in (
        "DIR", "WORK_TREE", "INDEX_FILE", "OBJECT_DIRECTORY", "ALTERNATE_OBJECT_DIRECTORIES",
        "COMMON_DIR", "NAMESPACE", "PREFIX", "CEILING_DIRECTORIES",
    )
)  # fmt: skip
# Whoever can put a program into a folder of PATH must not decide which signatures count or what a sandbox is.
SYSTEM_PATH: Final = os.pathsep.join(
    ["/usr/bin", "/bin", "/usr/local/bin", "/opt/homebrew/bin", "/run/current-system/sw/bin"]
)
# Orphans come to this process without a note of who started them, so two commands cannot run side by side.
_ONE_AT_A_TIME: Final = threading.Lock()


class Stat(NamedTuple):
    """A process as Linux shows it; a number is used again, a number with its start time is not."""

    pid: int
    parent: int
    start: int
    name: str
    dead: bool

    @property
    def identity(self) -> tuple[int, int]:
        return self.pid, self.start


def read_stat(pid: int) -> Stat | None:
    try:
        line = Path(f"/proc/{pid}/stat").read_bytes()
    except OSError:
        return None
    # The name may hold spaces and brackets; whatever follows its last bracket holds none.
    head, _, tail = line.rpartition(b")")
    fields = tail.split()
    # A process whose first thread has ended looks like a zombie while its other threads run.
    dead = fields[0] in {b"Z", b"X"} and int(fields[17]) <= 1
    name = head.partition(b"(")[2].decode(errors="replace")
    return Stat(pid, int(fields[1]), int(fields[19]), name, dead)


class Family:
    """The processes below this one that were not there when it was made."""

    main: subprocess.Popen[bytes] | None = None

    def __init__(self) -> None:
        self._on_linux = sys.platform == "linux" and read_stat(os.getpid()) is not None
        self._spared = frozenset(found.identity for found in _below({})) if self._on_linux else frozenset()
        self._ended = False

    def spare(self, pid: int) -> None:
        """It is a child of this process too, but none of the command's."""
        if found := read_stat(pid):
            self._spared |= {found.identity}

    def start(
        self,
        argv: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        *,
        stdin: int,
        output: int,
        errors: int | None = None,
        before: Callable[[], None] | None = None,
    ) -> subprocess.Popen[bytes]:
        try:
            self.main = subprocess.Popen(
                argv,
                cwd=cwd,
                env=env,
                stdin=stdin,
                stdout=output,
                stderr=output if errors is None else errors,
                start_new_session=True,
                preexec_fn=before,  # noqa: PLW1509  # one system call, which takes no locks
            )
        except PermissionError:
            # Also said of a command that is nowhere, if one folder of the path may not be searched.
            if "/" not in argv[0] and shutil.which(argv[0], os.F_OK, env.get("PATH", os.defpath)) is None:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), argv[0]) from None
            raise
        return self.main

    def alive(self) -> list[Stat]:
        """Reaps on the way what this process adopted and what has ended since."""
        if not self._on_linux:
            return []
        main = self.main.pid if self.main else 0
        found = _below(self._spared)
        for process in found:
            if process.dead and process.parent == os.getpid() and process.pid != main:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(process.pid, os.WNOHANG)
        return [process for process in found if not process.dead]

    def end(self) -> tuple[int, int]:
        """How many had to be ended, apart from the command itself, and how many would not end."""
        if self._ended:
            return 0, 0
        self._ended = True
        if not self._on_linux:
            return end_group(self.main) if self.main else (0, 0)
        told: set[tuple[int, int]] = set()
        forbidden: set[tuple[int, int]] = set()
        kill_at, give_up = math.inf, math.inf
        seen_none = 0
        # Twice, because a process can slip through one reading of the table by forking during it.
        while seen_none < 2 and time.monotonic() < give_up:  # noqa: PLR2004  # said above
            alive = [process for process in self.alive() if process.identity not in forbidden]
            seen_none = 0 if alive else seen_none + 1
            late = time.monotonic() >= kill_at
            for process in alive:
                if (late or process.identity not in told) and not _end(process, at_once=late):
                    forbidden.add(process.identity)
                told.add(process.identity)
            if alive:
                # From here, not from the start: with many processes the first look alone can take that long.
                kill_at = min(kill_at, time.monotonic() + _GRACE)
                give_up = kill_at + _PATIENCE
                time.sleep(_PAUSE)
        main = self.main.pid if self.main else 0
        return sum(pid != main for pid, _ in told), len(self.alive())


def _below(spared: Collection[tuple[int, int]]) -> list[Stat]:
    """Every descendant of this process, without the spared ones and what is below those."""
    children: dict[int, list[Stat]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208  # names, many times over
        if name.isdigit() and (found := read_stat(int(name))) and found.identity not in spared:
            children.setdefault(found.parent, []).append(found)
    below = children.pop(os.getpid(), [])
    for process in below:  # grows while it is walked
        below += children.pop(process.pid, [])
    return below


def _end(process: Stat, *, at_once: bool) -> bool:
    """False if that is forbidden."""
    now = read_stat(process.pid)
    if now is None or now.identity != process.identity:
        return True
    try:
        os.kill(process.pid, signal.SIGKILL if at_once else signal.SIGTERM)
        if not at_once:
            os.kill(process.pid, signal.SIGCONT)  # a stopped process acts on SIGTERM when it goes on
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def end_group(command: subprocess.Popen[bytes]) -> tuple[int, int]:
    """For systems without orphans coming here: the group counts as one process."""
    was_over = command.poll() is not None
    signalled = 0
    for number, seconds in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, _PATIENCE)):
        until = time.monotonic() + seconds
        try:
            os.killpg(command.pid, number)
            signalled = int(was_over)
            while time.monotonic() < until:
                command.poll()
                os.killpg(command.pid, 0)
                time.sleep(_PAUSE)
        except (ProcessLookupError, PermissionError):  # the second: on macOS, a group of zombies
            return signalled, 0
    return signalled, 1


@contextlib.contextmanager
def adopting() -> Iterator[Family]:
    """Processes that other threads start meanwhile would be taken for the command's."""
    with _ONE_AT_A_TIME, _subreaper():
        family = Family()
        try:
            yield family
        finally:
            family.end()


@contextlib.contextmanager
def _subreaper() -> Iterator[None]:
    if sys.platform != "linux":
        yield
        return
    import ctypes  # noqa: PLC0415  # 5 ms that only a started command needs

    prctl = ctypes.CDLL(None, use_errno=True).prctl
    before = ctypes.c_int(0)
    prctl(_GET_CHILD_SUBREAPER, ctypes.byref(before), 0, 0, 0)
    prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        prctl(_SET_CHILD_SUBREAPER, before.value, 0, 0, 0)


def exit_code_of(command: subprocess.Popen[bytes]) -> int:
    try:
        code = command.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        # Another user's process that we may not end: nobody will wait for it any more.
        command.returncode = code = -signal.SIGKILL
    return code if code >= 0 else 128 - code
