"""Processes of the program that need not load it: copies of one that has, and waits for words.

Most of a short command's time goes into starting Python and loading modules, and the tests start thousands of
them. A copy is a process like any other: a child of the tests, with its own number, arguments, terminal and
signals. The one it was copied from never opened a ledger and has no threads. What Python decides when it
starts (encodings, where modules are found) has to be the same; otherwise, and with RINGI_COLD=1, Python is
started.
"""

import atexit
import fcntl
import inspect
import json
import os
import re
import socket
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pexpect
from ptyprocess import PtyProcess

from tests.helpers import ROOT

RINGI = [sys.executable, "-m", "ringi"]
_COLD = os.environ.get("RINGI_COLD") == "1" or sys.platform != "linux"
_ROOM = 8192
"""For the arguments that other processes see."""
_MOST = 100_000
_DECIDED_AT_START = re.compile("PYTHON|LC_|LANG$")
_ENVIRONMENT = {
    **{name: value for name, value in os.environ.items() if not name.startswith(("LC_", "LANG"))},
    "LANG": "C.UTF-8",  # what every test has that does not ask for something else
}
_PATIENCE_SEC = 120
_SERVER = Path(__file__).with_name("warm_program.py")
_ONE_AT_A_TIME = threading.Lock()
_PARAMETERS = list(inspect.signature(subprocess.Popen._execute_child).parameters)[1:]
_PIPES = ("p2cread", "p2cwrite", "c2pread", "c2pwrite", "errread", "errwrite")
_PLAIN = {"executable": None, "preexec_fn": None, "shell": False, "pass_fds": (), "start_new_session": False}


class Popen(subprocess.Popen):
    """As it is, but a process of the program may be a copy."""

    def _execute_child(self, *given: Any) -> None:
        named = dict(zip(_PARAMETERS, given, strict=True))
        pid = None
        if all(named[name] == value for name, value in _PLAIN.items()):
            ends = named["p2cread"], named["c2pwrite"], named["errwrite"]
            streams = [number if end == -1 else end for number, end in enumerate(ends)]
            pid = _start(named["args"], named["cwd"], named["env"], streams)
        if pid is None:
            super()._execute_child(*given)
            return
        self.pid, self._child_created = pid, True
        self._close_pipe_fds(*(named[name] for name in _PIPES))


def run(
    argv: list[str], *, timeout: float, given: str | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """As subprocess.run, with what it printed."""
    if given is not None:
        options["stdin"] = subprocess.PIPE
    with Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options) as process:
        try:
            out, errors = process.communicate(given, timeout=timeout)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(argv, process.returncode, out, errors)


class Spawn(pexpect.spawn):
    """As above, at a terminal."""

    def _spawnpty(self, args: Sequence[bytes | str], **options: Any) -> PtyProcess:
        master, slave = os.openpty()
        rows, columns = options["dimensions"]
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        words = [os.fsdecode(word) for word in args]
        pid = _start(words, options["cwd"], options["env"], [slave] * 3, terminal=True)
        os.close(slave)
        if pid is None:
            os.close(master)
            return super()._spawnpty(args, **options)
        return PtyProcess(pid, master)


def _start(
    argv: Any,
    cwd: str | os.PathLike[str] | None,
    environment: Mapping[str, str] | None,
    streams: Sequence[int],
    *,
    terminal: bool = False,
) -> int | None:
    """The number of a copy; None if it has to be started."""
    if _COLD or not isinstance(argv, list) or argv[: len(RINGI)] != RINGI:
        return None
    environment = os.environ if environment is None else environment
    if _decided(environment) != _decided(_ENVIRONMENT) or not Path(cwd or ".").is_dir():
        return None
    os.umask(umask := os.umask(0o77))
    order = {
        "argv": [os.fsdecode(word) for word in argv],
        "cwd": str(Path(cwd or ".").absolute()),
        "env": dict(environment),
        "umask": umask,
        "terminal": terminal,
    }
    message = json.dumps(order).encode()
    if len(message) > _MOST or sum(len(os.fsencode(word)) + 1 for word in argv) > _ROOM:
        return None
    with _ONE_AT_A_TIME:
        if (program := _program()) is None:
            return None
        socket.send_fds(program, [message], list(streams))
        pid = program.recv(100)
    assert pid, "the loaded program has ended; RINGI_COLD=1 does without it"
    return int(pid)


def _decided(environment: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in environment.items() if _DECIDED_AT_START.match(name)}


@cache
def _program() -> socket.socket | None:
    """None if this system cannot do it."""
    ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    argv = [sys.executable, str(_SERVER), str(its.fileno()), "x" * _ROOM]
    options = {"cwd": ROOT, "env": _ENVIRONMENT, "pass_fds": [its.fileno()]}
    nothing = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    atexit.register(_end, subprocess.Popen(argv, **options, **nothing), ours)
    its.close()
    ours.settimeout(_PATIENCE_SEC)
    return ours if ours.recv(100) == b"ready" else None


def _end(program: "subprocess.Popen[bytes]", ours: socket.socket) -> None:
    """It ends when nobody can send it words any more."""
    ours.close()
    program.wait(_PATIENCE_SEC)
