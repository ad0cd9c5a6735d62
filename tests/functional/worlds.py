"""The same machine with less: without bubblewrap, or with a kernel that makes no namespaces.

Each answers with words to put before a command. As a script, this file runs a command under a filter that
refuses new namespaces, as the kernel does in most containers.
"""

import ctypes
import errno
import os
import platform
import shutil
import struct
import subprocess
import sys

import pytest

# Numbers of clone, clone3 and unshare.
_CALLS = {"x86_64": (56, 435, 272), "aarch64": (220, 435, 97)}
_NAMESPACES = 0x7E020000
_LOAD, _EQUAL, _ANY_BIT, _ANSWER = 0x20, 0x15, 0x45, 0x06
_ALLOWED, _FAILS = 0x7FFF0000, 0x00050000
_NO_NEW_PRIVILEGES, _SET_FILTER = 38, 22


def without_bubblewrap() -> tuple[str, ...]:
    bwrap = shutil.which("bwrap", path="/usr/bin:/bin")
    if bwrap is None:
        return ()
    # What is mounted there cannot be executed, so it is not found.
    hidden = f'mount --bind /dev/null {bwrap} && exec "$@"'
    words = ("unshare", "--mount", *(() if os.geteuid() == 0 else ("--map-root-user",)), "sh", "-c", hidden)
    tried = subprocess.run([*words, "sh", "true"], capture_output=True, check=False)
    if tried.returncode != 0:
        pytest.skip(f"bubblewrap cannot be hidden here: {tried.stderr!r}")
    return (*words, "sh")


def without_namespaces() -> tuple[str, ...]:
    if platform.machine() not in _CALLS or sys.platform != "linux":
        pytest.skip("the numbers of the system calls are not known here")
    if shutil.which("bwrap", path="/usr/bin:/bin") is None:
        pytest.skip("bubblewrap is not installed")
    return (sys.executable, __file__)


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_void_p))


def _refuse_namespaces() -> None:
    clone, clone3, unshare = _CALLS[platform.machine()]
    # Code, steps to skip if true, steps to skip if not, value.
    steps = [
        (_LOAD, 0, 0, 0),
        (_EQUAL, 0, 1, clone3),
        (_ANSWER, 0, 0, _FAILS | errno.ENOSYS),  # its flags are not visible here; callers fall back on clone
        (_EQUAL, 1, 0, clone),
        (_EQUAL, 0, 3, unshare),
        (_LOAD, 0, 0, 16),  # the first argument
        (_ANY_BIT, 0, 1, _NAMESPACES),
        (_ANSWER, 0, 0, _FAILS | errno.EPERM),
        (_ANSWER, 0, 0, _ALLOWED),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    libc = ctypes.CDLL(None, use_errno=True)
    program = _Filter(len(steps), ctypes.addressof(code))
    if libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0) or libc.prctl(_SET_FILTER, 2, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the filter was refused")


if __name__ == "__main__":
    _refuse_namespaces()
    os.execvp(sys.argv[1], sys.argv[1:])
