"""The real file system, with somebody at work right before its calls."""

import os
from collections.abc import Callable
from typing import Any

from ringi.kernel.fs import OsFileSystem

Hook = Callable[[int, str], None]
"""Gets the number of the call, from 1, and its name; what it raises is what the call raises."""


def _hooked(name: str) -> Callable[..., Any]:
    original = getattr(UnsyncedFileSystem, name)

    def call(self: "HookedFileSystem", *arguments: object) -> object:
        self.calls.append(name)
        self.hook(len(self.calls), name)
        return original(self, *arguments)

    return call


class UnsyncedFileSystem(OsFileSystem):
    """For tests in which no power fails: waiting for the disk would only make them slow."""

    def sync_file(self, at: int, name: str) -> None:
        self.close(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=at))

    def sync_folder(self, folder: int) -> None:
        self.folder_entry(folder)

    def sync_everything(self, folder: int) -> None:
        self.folder_entry(folder)


class HookedFileSystem(UnsyncedFileSystem):
    """`close` is left alone: it neither changes nor fails anything that matters."""

    def __init__(self, hook: Hook = lambda *_: None) -> None:
        self.hook = hook
        self.calls: list[str] = []

    open_root = _hooked("open_root")
    open_folder = _hooked("open_folder")
    entry = _hooked("entry")
    names = _hooked("names")
    read = _hooked("read")
    create = _hooked("create")
    give = _hooked("give")
    make_folder = _hooked("make_folder")
    remove_folder = _hooked("remove_folder")
    remove = _hooked("remove")
    link = _hooked("link")
    move = _hooked("move")
    exchange = _hooked("exchange")
    sync_file = _hooked("sync_file")
    sync_folder = _hooked("sync_folder")
    sync_everything = _hooked("sync_everything")
