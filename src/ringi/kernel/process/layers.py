"""Private layers over folders: what a command writes there nobody else ever sees.

Started as a program of its own, it makes a mount namespace, lays an overlay over each folder and becomes the
command. It needs nothing but the standard library. Where the kernel forbids that, `trouble` says so.
"""

import ctypes
import errno
import functools
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

_NEW_MOUNTS: Final = 0x00020000
_NEW_USER: Final = 0x10000000
_PRIVATE: Final = 0x4000 | 0x40000  # with all below
_PROBE_SEC: Final = 10.0
_END: Final = "--"


class Layer(NamedTuple):
    lower: Path
    """The folder as it is; never written to."""
    private: Path
    """A folder for what is written, on a file system that supports it; made if it is missing."""

    @property
    def folder(self) -> Path:
        """Where both appear as one."""
        return self.private / "merged"


def command(layers: Sequence[Layer], argv: Sequence[str]) -> list[str]:
    """The same command, with the layers in place."""
    if not layers:
        return [*argv]
    words = [str(path) for layer in layers for path in layer]
    return [sys.executable, "-I", "-S", __file__, *words, _END, *argv]


def make(layer: Layer) -> None:
    for name in ("upper", "work", "merged"):
        (layer.private / name).mkdir(mode=0o700, parents=True, exist_ok=True)


@functools.cache
def work_here(scratch: Path) -> bool:
    """Whether the kernel lets us lay a layer in that folder. Tried once."""
    probe = Layer(scratch / "probe" / "lower", scratch / "probe")
    try:
        probe.lower.mkdir(parents=True, exist_ok=True)
        make(probe)
        tried = subprocess.run(
            command([probe], ["/bin/sh", "-c", f'touch "{probe.folder}/x" && test ! -e "{probe.lower}/x"']),
            env={},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_PROBE_SEC,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0


def _enter(layers: Sequence[Layer]) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    _check(libc.unshare(_NEW_MOUNTS if user == 0 else _NEW_USER | _NEW_MOUNTS))
    if user != 0:
        Path("/proc/self/setgroups").write_text("deny", encoding="ascii")
        Path("/proc/self/uid_map").write_text(f"{user} {user} 1", encoding="ascii")
        Path("/proc/self/gid_map").write_text(f"{group} {group} 1", encoding="ascii")
    _check(libc.mount(b"none", b"/", None, ctypes.c_ulong(_PRIVATE), None))
    for layer in layers:
        upper, work = layer.private / "upper", layer.private / "work"
        parts = {"lowerdir": layer.lower, "upperdir": upper, "workdir": work}
        options = ",".join(f"{name}={_escape(path)}" for name, path in parts.items()) + ",userxattr"
        _check(
            libc.mount(
                b"overlay", os.fsencode(layer.folder), b"overlay", ctypes.c_ulong(0), os.fsencode(options)
            )
        )


def _escape(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace(":", "\\:").replace(",", "\\,")


def _check(result: int) -> None:
    if result != 0:
        number = ctypes.get_errno() or errno.EPERM
        raise OSError(number, os.strerror(number))


def main(words: Sequence[str]) -> None:
    end = words.index(_END)
    paths = [Path(word) for word in words[:end]]
    _enter([Layer(lower, private) for lower, private in zip(paths[::2], paths[1::2], strict=True)])
    os.execv(words[end + 1], [*words[end + 1 :]])  # noqa: S606  # the caller's command


if __name__ == "__main__":
    main(sys.argv[1:])
