"""The program, loaded once: waits for words, and copies itself into a process that runs with them.

The copy is a child of whoever started this one (CLONE_PARENT), as if it had been started there.
"""

import atexit
import contextlib
import ctypes
import fcntl
import gc
import importlib
import json
import os
import pkgutil
import platform
import signal
import socket
import sys
import termios
import threading
from pathlib import Path
from typing import Any, NoReturn

import ringi
from ringi.cli import main  # before the module of that name is loaded

MOST = 1 << 20
_GET_TID_ADDRESS = 40
_CLONE = {"x86_64": 56, "aarch64": 220}
_PARENT, _CLEAR_TID, _SET_TID = 0x8000, 0x200000, 0x1000000
_C = ctypes.PyDLL(None, use_errno=True)


def serve(line: socket.socket) -> None:
    arguments = _Arguments()
    tid = ctypes.c_void_p()
    if platform.machine() not in _CLONE or _C.prctl(_GET_TID_ADDRESS, ctypes.byref(tid)) != 0:
        return
    _load()
    line.send(b"ready")
    while True:
        message, descriptors, _, _ = socket.recv_fds(line, MOST, 3)
        if not message:
            return
        if _copied(tid) == 0:
            _run(json.loads(message), descriptors, line, arguments)
        for descriptor in descriptors:
            os.close(descriptor)


def _load() -> None:
    sys.path[:] = [place for place in sys.path if place not in {"", str(Path(__file__).parent)}]
    for module in pkgutil.walk_packages(ringi.__path__, "ringi."):
        if not module.name.endswith(".__main__"):
            importlib.import_module(module.name)
    gc.collect()
    gc.freeze()


def _copied(tid: ctypes.c_void_p) -> int:
    """As fork, but for the parent of the copy."""
    flags = ctypes.c_long(_PARENT | _CLEAR_TID | _SET_TID | signal.SIGCHLD)
    nothing = ctypes.c_void_p()
    rest = (tid, nothing) if platform.machine() == "x86_64" else (nothing, tid)
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = _C.syscall(ctypes.c_long(_CLONE[platform.machine()]), flags, nothing, nothing, *rest)
    if pid == 0:
        ctypes.pythonapi.PyOS_AfterFork_Child()
    else:
        ctypes.pythonapi.PyOS_AfterFork_Parent()
        assert pid > 0, os.strerror(ctypes.get_errno())
    return int(pid)


class _Arguments:
    """Where the system keeps what others see as the arguments of this process."""

    def __init__(self) -> None:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
        self._start, self._end = int(fields[45]), int(fields[46])

    def set(self, argv: list[str]) -> None:
        data = b"".join(os.fsencode(word) + b"\0" for word in argv)
        room = self._end - self._start
        assert len(data) <= room
        ctypes.memmove(self._start, data.ljust(room, b"\0"), room)


def _run(order: dict[str, Any], descriptors: list[int], line: socket.socket, shown: _Arguments) -> NoReturn:
    code = 1
    try:
        shown.set(order["argv"])
        if order["terminal"]:
            os.setsid()
            fcntl.ioctl(descriptors[0], termios.TIOCSCTTY, 0)
        for number, descriptor in enumerate(descriptors):
            os.dup2(descriptor, number)
        for descriptor in descriptors:
            os.close(descriptor)
        os.umask(order["umask"])
        os.chdir(order["cwd"])
        os.environ.clear()
        os.environ.update(order["env"])
        sys.orig_argv = order["argv"]
        sys.argv = order["argv"][2:]
        _open_streams()
        line.send(str(os.getpid()).encode())
        line.close()
        code = main()
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 1
    except BaseException:  # noqa: BLE001  # as Python itself would
        sys.excepthook(*sys.exc_info())
    finally:
        os._exit(code)


def _open_streams() -> None:
    """As Python opens them when it starts."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        old = getattr(sys, name)
        buffering = 1 if name == "stderr" or os.isatty(number) else -1
        new = open(  # noqa: SIM115  # open to the end
            number, "rw"[number > 0], buffering, encoding=old.encoding, errors=old.errors, closefd=False
        )
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt), socket.socket(fileno=int(sys.argv[1])) as ours:
        serve(ours)
