"""Real file systems that lose power: in a file each, mounted, stopped by the kernel, mounted again.

The kernel's own switch is used (FS_IOC_SHUTDOWN, without a flush of the journal): from then on nothing more
reaches the disk, and what was only in memory is gone with the unmounting. The next mount replays the journal,
as the next start of a machine would.
"""

import contextlib
import ctypes
import fcntl
import os
import shutil
import signal
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self

from ringi.kernel.fs import OsFileSystem
from tests.fakes.power import Power

_SHUTDOWN: Final = 0x8004587D
_NEW_MOUNTS: Final = 0x00020000
_WITHOUT_FLUSH: Final = struct.pack("I", 2)


class System(NamedTuple):
    name: str
    megabytes: int
    make: tuple[str, ...]
    package: str
    """That brings the program, on Debian, Fedora and most others."""


EXT4: Final = System("ext4", 48, ("mkfs.ext4", "-q", "-F"), "e2fsprogs")
# mkfs.xfs makes none below 300.
XFS: Final = System("xfs", 320, ("mkfs.xfs", "-q", "-f"), "xfsprogs")


class CannotShow(Exception):
    """Why no power can be lost here."""


@cache
def mount_privately() -> None:
    """From now on mounts are this process's own: whatever ends it, none of them stays behind."""
    if sys.platform != "linux" or os.geteuid() != 0:
        raise CannotShow("only root on Linux can mount file systems and shut them down")
    # Where that is not allowed, mounting itself says why.
    if ctypes.CDLL(None).unshare(_NEW_MOUNTS) == 0:
        _refusal("mount", "--make-rprivate", "/")


class Disk:
    """Mounted from entering to leaving, whatever happens between; made of a sparse file."""

    def __init__(self, folder: Path, system: System) -> None:
        if not shutil.which(system.make[0]):
            raise CannotShow(f"there is no {system.make[0]} here: install the package {system.package}")
        self.path = folder / "mounted"
        self._image = folder / "image"
        self.path.mkdir(parents=True)
        with self._image.open("wb") as image:
            image.truncate(system.megabytes * 1024 * 1024)
        _run(*system.make, self._image)

    def __enter__(self) -> Self:
        self.mount()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.path.is_mount() and _refusal("umount", self.path):
            # A failed test may still hold a file open; the kernel lets go of the rest when that is closed.
            _run("umount", "--lazy", self.path)
        self._image.unlink()

    def mount(self) -> None:
        # The loop device is the kernel's to find, and it goes with the unmounting.
        _run("mount", "-o", "loop", self._image, self.path)

    def unmount(self) -> None:
        _run("umount", self.path)

    def sync(self) -> None:
        with _open(self.path) as descriptor:
            OsFileSystem().sync_everything(descriptor)

    def commit(self) -> None:
        """As when a neighbour syncs a file: the journal goes to the disk, with everybody's names."""
        with (self.path / "neighbour").open("ab", buffering=0) as file:
            file.write(b".")
            os.fsync(file)

    def lose_power(self) -> None:
        with _open(self.path) as descriptor:
            fcntl.ioctl(descriptor, _SHUTDOWN, _WITHOUT_FLUSH)

    def power_again(self) -> None:
        self.unmount()
        self.mount()


@contextlib.contextmanager
def _open(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _run(*command: str | Path) -> None:
    if why := _refusal(*command):
        raise CannotShow(f"{command[0]} failed: {why}")


def _refusal(*command: str | Path) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return (done.stderr.strip() or f"exit code {done.returncode}") if done.returncode else ""


class RealPower(Power):
    """Takes the disks and this process down before the n-th operation."""

    def __init__(self, disks: Sequence[Disk] = (), cut: int | None = None, *, busy: bool = False) -> None:
        super().__init__()
        self._at = cut
        self._disks = disks
        self._busy = busy

    def tick(self) -> None:
        self.count += 1
        if self.count == self._at:
            self.lose()

    def lose(self) -> None:
        for disk in self._disks:
            if self._busy:
                disk.commit()
            disk.lose_power()
        # No handler and no clean-up may run any more.
        os.kill(os.getpid(), signal.SIGKILL)


def _powered(name: str) -> Callable[..., Any]:
    original = getattr(OsFileSystem, name)

    def call(self: "PoweredFileSystem", *arguments: object) -> object:
        self.power.tick()
        return original(self, *arguments)

    return call


READING: Final = frozenset({"open_root", "open_folder", "close", "entry", "folder_entry", "names", "read"})
"""A cut before one of these leaves the same disk as one before the next write, and is not tried."""


class PoweredFileSystem(OsFileSystem):
    """The program's own."""

    def __init__(self, power: Power) -> None:
        self.power = power

    create = _powered("create")
    give = _powered("give")
    make_folder = _powered("make_folder")
    remove_folder = _powered("remove_folder")
    remove = _powered("remove")
    link = _powered("link")
    move = _powered("move")
    exchange = _powered("exchange")
    sync_file = _powered("sync_file")
    sync_folder = _powered("sync_folder")
    sync_everything = _powered("sync_everything")


class CarelessFileSystem(PoweredFileSystem):
    """As a program that commits its intent before what it staged is on the disk, and is careful only then."""

    intended: Callable[[], bool] = staticmethod(lambda: True)
    """Whether an intent is committed that has no result yet."""

    def sync_file(self, at: int, name: str) -> None:
        self._sync(super().sync_file, at, name)

    def sync_folder(self, folder: int) -> None:
        self._sync(super().sync_folder, folder)

    def sync_everything(self, folder: int) -> None:
        self._sync(super().sync_everything, folder)

    def _sync(self, sync: Callable[..., None], *arguments: object) -> None:
        if self.intended():
            sync(*arguments)
        else:
            self.power.tick()
