"""The supervisor of one command: a small process of ours between ringi and the command.

It adopts every orphan of the command instead of init, however it was detached. The kernel's switch for that
(PR_SET_CHILD_SUBREAPER) applies to a whole process, so each command has a supervisor of its own. It ends all
of them when the command ends, when ringi says so, and when ringi dies: then ringi's end of the pipe closes,
even after `kill -9`. It never sees what the command prints.

macOS has nothing like it: there we end the command's process group, and processes that left the group stay.

ringi runs this file as a script for every command (see `start`), so it imports little, and nothing of ours.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing typing takes longer than all of this
    from collections.abc import Callable
    from typing import Any

SETTLING = 0.5  # seconds in which processes may end by themselves after their command
GRACE = 0.5  # seconds between SIGTERM and SIGKILL
PATIENCE = 5.0  # seconds of SIGKILL before a process counts as a survivor
END, END_AT_ONCE = b".", b"!"
AT_TERMINAL, OWN_KEYS, SCOPED = 1, 2, 4
"""How a command starts: at a terminal that becomes its own; with none of the keys that the kernel keeps for
the person's session; unable to connect to sockets without a file outside."""
_PAUSE = 0.01
_MOST_TRIES = 10
_SET_PARENT_DEATH_SIGNAL = 1
_SET_CHILD_SUBREAPER = 36
_SET_NO_NEW_PRIVILEGES = 38
_JOIN_SESSION_KEYRING = 1
# The numbers of x86-64 and, for Landlock, of every architecture.
_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_LANDLOCK_CREATE_RULESET, _LANDLOCK_RESTRICT_SELF = 444, 446
_LANDLOCK_VERSION = 1
_LANDLOCK_SCOPES = 6  # the first version that knows them
_SCOPE_ABSTRACT_SOCKETS = 1
# Killing the supervisor would free the command, so ignore signals. Only the pipe counts.
_NOT_HEARD = (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)
_FOREVER = float("inf")


class Stat:
    """A process as Linux shows it; a pid is reused, a pid with its start time is not."""

    __slots__ = ("dead", "group", "name", "parent", "pid", "session", "start", "stopped")

    def __init__(self, pid: int, line: bytes) -> None:
        # The name may hold spaces and brackets; what follows its last bracket has none.
        head, _, tail = line.rpartition(b")")
        fields = tail.split()
        self.pid = pid
        self.name = head.partition(b"(")[2].decode(errors="replace")
        self.parent, self.group, self.session = int(fields[1]), int(fields[2]), int(fields[3])
        self.start = int(fields[19])
        self.stopped = fields[0] == b"T"
        # A process whose main thread has ended looks like a zombie while other threads run.
        self.dead = fields[0] in {b"Z", b"X"} and int(fields[17]) <= 1

    @property
    def identity(self) -> tuple[int, int]:
        return self.pid, self.start


def read_stat(pid: int) -> Stat | None:
    try:
        with open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # noqa: PTH123  # pathlib takes long to load
            return Stat(pid, file.read())
    except OSError:
        return None


def processes() -> list[Stat]:
    """Every visible process; none without /proc."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208  # see above
    except OSError:
        return []
    return [found for name in names if name.isdigit() and (found := read_stat(int(name)))]


def main(control: int, report: int) -> None:
    for descriptor in (control, report):
        os.set_inheritable(descriptor, False)
    argv, environment, how = _order(control)
    command = SupervisedCommand(control, report)
    command.start(argv, environment, how)
    command.supervise()


def _order(control: int) -> tuple[list[bytes], dict[bytes, bytes], int]:
    head = b""
    while not head.endswith(b"\n"):
        head += _read(control, 1)
    size, count, how = map(int, head.split())
    data = b""
    while len(data) < size:
        data += _read(control, size - len(data))
    words = data.split(b"\0")[:-1]
    return words[:count], dict(word.split(b"=", 1) for word in words[count:]), how


def _read(control: int, most: int) -> bytes:
    data = os.read(control, most)
    if not data:  # ringi died meanwhile
        sys.exit(1)
    return data


def order(argv: list[bytes], environment: dict[bytes, bytes], how: int) -> bytes:
    """What `_order` reads."""
    words = [*argv, *(name + b"=" + value for name, value in environment.items())]
    data = b"".join(word + b"\0" for word in words)
    return b"%d %d %d\n" % (len(data), len(argv), how) + data


class SupervisedCommand:
    def __init__(self, control: int, report: int) -> None:
        self._control = control
        self._report = report
        self._pid = 0
        self._exit_code: int | None = None
        self._is_job = False
        self._libc = _adopt_orphans()

    def start(self, argv: list[bytes], environment: dict[bytes, bytes], how: int) -> None:
        self._is_job = bool(how & AT_TERMINAL)
        self._wakeup, writer = os.pipe()
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        heard = [number for number in _NOT_HEARD if signal.signal(number, signal.SIG_IGN) != signal.SIG_IGN]
        failure, failed = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            self._become(argv, environment, how, heard, failed)
        os.close(failed)
        if problem := os.read(failure, 16):
            self._say(b"failed " + problem)
            os._exit(1)
        os.close(failure)
        self._say(b"started")
        self._let_go()

    def _become(
        self,
        argv: list[bytes],
        environment: dict[bytes, bytes],
        how: int,
        heard: list[signal.Signals],
        failed: int,
    ) -> None:
        try:
            # A shell without job control ignores interrupts for whatever it starts with `&`; Python itself
            # ignores the last two.
            for number in (*heard, signal.SIGINT, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, _NOT_HEARD)
            if how & AT_TERMINAL:
                os.login_tty(0)
            else:
                os.setsid()
            # Before the command runs: it may kill its supervisor at once.
            self._say(b"forked %d" % os.getpid())
            if self._libc:
                self._libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
                _confine(self._libc, how)
            if how & OWN_KEYS:
                argv = _without_gone(argv)
            if how & AT_TERMINAL and not _is_job():
                os.close(failed)
                os._exit(_keep_job())
            os.execvpe(argv[0], argv, environment)  # noqa: S606  # that is what it is for
        except OSError as error:
            os.write(failed, b"%d" % (error.errno or 0))
        finally:
            os._exit(127)

    @staticmethod
    def _let_go() -> None:
        """Releases its folder and pipes, so that they can be removed and closed."""
        os.chdir("/")
        nothing = os.open(os.devnull, os.O_RDWR)
        for descriptor in (0, 1, 2):
            os.dup2(nothing, descriptor)

    def supervise(self) -> None:
        at_once = False
        while self._exit_code is None:
            ready, _, _ = select.select([self._control, self._wakeup], [], [])
            if self._wakeup in ready:
                os.read(self._wakeup, 4096)
            if self._control in ready:
                at_once = os.read(self._control, 1) == END_AT_ONCE
                break
            self._reap()
        if self._exit_code is not None:
            self._let_settle()
        leftovers, survivors = self._end(at_once=at_once) if self._libc else self._end_group()
        self._say(b"ended %d %d" % (leftovers, survivors))
        os._exit(0)

    def _let_settle(self) -> None:
        """Waits for what ends with the command, a moment later: the inner process of a sandbox does."""
        until = time.monotonic() + SETTLING
        while self._reap() and time.monotonic() < until:
            time.sleep(_PAUSE)

    def _reap(self) -> bool:
        """False if nothing is left: without children we have no descendants either."""
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return True
                if pid == self._pid:
                    code = os.waitstatus_to_exitcode(status)
                    self._exit_code = code if code >= 0 else 128 - code
                    self._say(b"exited %d" % self._exit_code)
        except ChildProcessError:
            return False

    def _end(self, *, at_once: bool) -> tuple[int, int]:
        """How many had to be ended, besides the command itself, and how many survived."""
        told: set[tuple[int, int]] = set()
        own = {self._pid}
        if self._is_job:
            own |= {process.pid for process in processes() if process.parent == self._pid}
        forbidden: set[tuple[int, int]] = set()
        kill_at = 0.0 if at_once else _FOREVER
        give_up, tries = _FOREVER, 0
        # Not by the clock alone: while somebody stops us again and again, time passes and nothing is killed.
        while self._reap() and (time.monotonic() < give_up or tries < _MOST_TRIES):
            alive = [process for process in below(os.getpid()) if not process.dead]
            if alive and all(process.identity in forbidden for process in alive):
                break
            if self._in_a_hurry():
                kill_at = 0.0
            late = time.monotonic() >= kill_at
            tries += late
            for process in alive:
                if (late or process.identity not in told) and not _end(process, at_once=late):
                    forbidden.add(process.identity)
                told.add(process.identity)
            # From here, not from the start: with many processes the first scan alone can take that long.
            kill_at = min(kill_at, time.monotonic() + GRACE)
            give_up = min(give_up, max(kill_at, time.monotonic()) + PATIENCE)
            time.sleep(_PAUSE)
        survivors = [process for process in below(os.getpid()) if not process.dead]
        return sum(pid not in own for pid, _ in told), len(survivors)

    def _end_group(self) -> tuple[int, int]:
        was_over = self._exit_code is not None
        ended, survivors = end_group(self._pid, self._reap)
        return ended if was_over else 0, survivors

    def _in_a_hurry(self) -> bool:
        ready, _, _ = select.select([self._control], [], [], 0)
        return bool(ready) and os.read(self._control, 1) == END_AT_ONCE

    def _say(self, what: bytes) -> None:
        try:  # noqa: SIM105  # contextlib takes long to load
            os.write(self._report, what + b"\n")
        except BrokenPipeError:  # ringi is gone; the work here stays the same
            pass


def main_of_job(*argv: str) -> None:
    """In a sandbox: becomes the leader of the session that was made there."""
    if _is_job():
        try:
            os.execv(argv[0], argv)  # noqa: S606  # that is what it is for
        except OSError as error:
            os.write(2, os.fsencode(f"{argv[0]}: {error.strerror}\n"))
        os._exit(127)
    os._exit(_keep_job())


_job = 0


def _is_job() -> bool:
    """Splits a session's leader in two: True in the job, which runs in front of the terminal.

    The system lets Ctrl-Z stop only a process whose parent belongs to the same session.
    """
    global _job  # noqa: PLW0603  # there is one in a process
    signal.signal(signal.SIGTTOU, signal.SIG_IGN)  # or changing the terminal's job would stop us
    _job = os.fork()
    if _job:
        return False
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    return True


def _keep_job() -> int:
    """Stops with the job and continues it when continued; the job's exit code."""
    for number in (signal.SIGHUP, signal.SIGTERM):  # whatever ends the job, it is the job's end that counts
        signal.signal(number, signal.SIG_IGN)
    while True:
        _, status = os.waitpid(_job, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        os.kill(os.getpid(), signal.SIGSTOP)  # this is what ringi sees
        try:
            os.tcsetpgrp(0, _job)
            os.killpg(_job, signal.SIGCONT)
        except OSError:  # it has ended meanwhile
            pass


def _adopt_orphans() -> Any:
    """The C library; None if this system cannot adopt orphans."""
    if sys.platform != "linux" or read_stat(os.getpid()) is None:
        return None
    import ctypes  # noqa: PLC0415  # only there

    libc = ctypes.CDLL(None)
    libc.prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # If ringi dies while we are stopped, this continues us, and we see its end of the pipe closed.
    libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGCONT, 0, 0, 0)
    return libc


def _confine(libc: Any, how: int) -> None:
    """Before the sandbox is made: what it cannot do itself. Both hold for all that comes of the process."""
    number = _KEYCTL.get(os.uname().machine)
    if how & OWN_KEYS and number:
        libc.syscall(number, _JOIN_SESSION_KEYRING, None)  # fails if the kernel has no keys; then all is well
    if how & SCOPED:
        rules = _ruleset(libc)
        libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        if rules < 0 or libc.syscall(_LANDLOCK_RESTRICT_SELF, rules, 0) < 0:
            raise PermissionError(1, "Landlock")
        os.close(rules)


def _without_gone(argv: list[bytes]) -> list[bytes]:
    """Without covers of sockets that have vanished meanwhile: bwrap would fail for want of a place."""
    kept: list[bytes] = []
    words = iter(argv)
    for word in words:
        kept.append(word)
        if word == b"--":
            break
        if kept[-3:-1] == [b"--ro-bind", b"/dev/null"] and not os.path.lexists(word):
            del kept[-3:]
    return [*kept, *words]


def _ruleset(libc: Any) -> int:
    import ctypes  # noqa: PLC0415  # loaded already

    # Two fields of no restrictions on files and ports, and what is out of scope.
    fields = (ctypes.c_uint64 * 3)(0, 0, _SCOPE_ABSTRACT_SOCKETS)
    return int(libc.syscall(_LANDLOCK_CREATE_RULESET, fields, ctypes.c_size_t(ctypes.sizeof(fields)), 0))


def scopes_work() -> bool:
    """Whether this kernel can keep a process from sockets without a file."""
    if sys.platform != "linux":
        return False
    import ctypes  # noqa: PLC0415  # only there

    version = ctypes.CDLL(None).syscall(_LANDLOCK_CREATE_RULESET, None, 0, _LANDLOCK_VERSION)
    return int(version) >= _LANDLOCK_SCOPES


def below(top: int) -> list[Stat]:
    children: dict[int, list[Stat]] = {}
    for process in processes():
        children.setdefault(process.parent, []).append(process)
    below = children.pop(top, [])
    for process in below:  # grows while it is walked
        below += children.pop(process.pid, [])
    return below


def _end(process: Stat, *, at_once: bool) -> bool:
    """False if we are not permitted to."""
    now = read_stat(process.pid)
    if now is None or now.identity != process.identity:
        return True
    try:
        os.kill(process.pid, signal.SIGKILL if at_once else signal.SIGTERM)
        if not at_once:
            os.kill(process.pid, signal.SIGCONT)  # a stopped process handles SIGTERM when it continues
    except ProcessLookupError:
        return True
    except PermissionError:
        return False
    return True


def end_group(group: int, reap: Callable[[], object]) -> tuple[int, int]:
    """Counts the group as one process: whether it had to be ended, and whether it survived."""
    signalled = 0
    for number, seconds in ((signal.SIGTERM, GRACE), (signal.SIGKILL, PATIENCE)):
        until = time.monotonic() + seconds
        try:
            os.killpg(group, number)
            signalled = 1
            while time.monotonic() < until:
                reap()
                os.killpg(group, 0)
                time.sleep(_PAUSE)
        except (ProcessLookupError, PermissionError):  # PermissionError: a group of zombies on macOS
            return signalled, 0
    return signalled, 1
