"""A file system that loses power: it knows what has reached the disk and what only seemed to.

What was not synced may be there afterwards or not, each name in each folder and the bytes of each file
on their own. That is more disorder than most file systems allow; whoever survives it survives them all.
"""

import errno
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

from ringi.kernel.fs import Entry, EntryKind, NotRegular

T = TypeVar("T")
Choice = Callable[[Sequence[T]], T]
"""Picks what the disk holds, out of everything it could: the oldest first, the newest last."""

_UNFINISHED_MODE = 0o600
"""What a file has until its own mode is set."""


class PowerLoss(BaseException):
    """Nothing runs after this, no handler and no clean-up that would touch a file."""


class Power:
    """Fails before the n-th operation. Shared by all that stops working then."""

    def __init__(self, cut: int | None = None) -> None:
        self.count = 0
        self._cut = cut
        self._lost = False

    def tick(self) -> None:
        self.need()
        self.count += 1
        if self.count == self._cut:
            self._lost = True
            raise PowerLoss

    def need(self) -> None:
        if self._lost:
            raise PowerLoss


def nothing(options: Sequence[T]) -> T:
    return options[0]


def everything(options: Sequence[T]) -> T:
    return options[-1]


def some(seed: int) -> Choice:
    return random.Random(seed).choice


class Node:
    """A file or a folder, whatever it is called and wherever it lies."""

    _numbers = iter(range(1, 1 << 62))

    def __init__(self, kind: EntryKind, mode: int, data: bytes = b"") -> None:
        self.kind = kind
        self.mode = mode
        self.data = data
        self.owner = (0, 0)
        self.number = next(Node._numbers)
        self.gone = False
        self.names: dict[str, Node] = {}
        self.on_disk = False
        """Whether the bytes are; the names below a folder have `unsynced`."""
        self.unsynced: dict[str, list[Node | None]] = {}
        """By name: what the disk has, then everything that stood there since."""

    def name(self, name: str, node: "Node | None") -> None:
        old = self.names.get(name)
        self.unsynced.setdefault(name, [old]).append(node)
        if node is None:
            del self.names[name]
        else:
            self.names[name] = node

    def sync(self) -> None:
        self.on_disk = True
        self.unsynced.clear()

    def entry(self) -> Entry:
        return Entry(self.kind, self.mode, len(self.data), 1, self.number, *self.owner)

    def possible_contents(self) -> list[tuple[bytes, int]]:
        """As `create` may leave them: empty, cut off, or whole."""
        whole = (self.data, self.mode)
        if self.on_disk:
            return [whole]
        cut = self.data[: len(self.data) // 2]
        return [(b"", _UNFINISHED_MODE), (cut, _UNFINISHED_MODE), (self.data, _UNFINISHED_MODE), whole]


def _error(number: int, name: str = "") -> OSError:
    # OSError itself picks FileNotFoundError and the like.
    return OSError(number, os.strerror(number), name)


class MemoryFolders:
    """The reading half: folders by descriptor, what is in them, and what a test puts there beforehand."""

    def __init__(self, power: Power | None = None, root: Node | None = None) -> None:
        self.power = power or Power()
        self.root = root or Node(EntryKind.FOLDER, 0o755)
        self._open: dict[int, Node] = {}

    def open_root(self, path: Path) -> int:
        del path
        return self._opened(self.root)

    def open_folder(self, at: int, name: str) -> int:
        node = self._node(at, name)
        if node.kind is not EntryKind.FOLDER:
            raise _error(errno.ENOTDIR, name)
        return self._opened(node)

    def close(self, folder: int) -> None:
        self.power.need()
        del self._open[folder]

    def entry(self, at: int, name: str) -> Entry | None:
        node = self._folder(at).names.get(name)
        return node.entry() if node else None

    def folder_entry(self, folder: int) -> Entry:
        return self._folder(folder).entry()

    def names(self, at: int) -> list[str]:
        return list(self._folder(at).names)

    def read(self, at: int, name: str) -> tuple[bytes, Entry]:
        node = self._node(at, name)
        if node.kind is not EntryKind.FILE:
            raise NotRegular(errno.EINVAL, "not a regular file", name)
        return node.data, node.entry()

    def put(self, path: str, data: bytes, mode: int) -> None:
        """For a test's beginning: there, and on the disk."""
        *folders, name = path.split("/")
        at = self.root
        for part in folders:
            at.names.setdefault(part, Node(EntryKind.FOLDER, 0o755))
            at = at.names[part]
        at.names[name] = Node(EntryKind.FILE, mode, data)
        at.names[name].sync()

    def _folder(self, folder: int) -> Node:
        self.power.need()
        return self._open[folder]

    def _node(self, at: int, name: str) -> Node:
        node = self._folder(at).names.get(name)
        if node is None:
            raise _error(errno.ENOENT, name)
        return node

    def _opened(self, node: Node) -> int:
        self.power.need()
        number = max(self._open, default=2) + 1
        self._open[number] = node
        return number


class PowerLossFileSystem(MemoryFolders):
    def create(self, at: int, name: str, data: bytes, mode: int) -> None:
        folder = self._changing(at, name, there=False)
        folder.name(name, Node(EntryKind.FILE, mode, data))

    def give(self, at: int, name: str, owner: int, group: int) -> None:
        node = self._changing(at, name).names[name]
        node.owner, node.on_disk = (owner, group), False

    def make_folder(self, at: int, name: str, mode: int) -> None:
        folder = self._changing(at, name, there=False)
        folder.name(name, Node(EntryKind.FOLDER, mode & ~0o022))

    def remove_folder(self, at: int, name: str) -> None:
        folder = self._changing(at, name)
        node = folder.names[name]
        if node.kind is not EntryKind.FOLDER:
            raise _error(errno.ENOTDIR, name)
        if node.names:
            raise _error(errno.ENOTEMPTY, name)
        node.gone = True
        folder.name(name, None)

    def remove(self, at: int, name: str) -> None:
        folder = self._changing(at, name)
        if folder.names[name].kind is EntryKind.FOLDER:
            raise _error(errno.EISDIR, name)
        folder.name(name, None)

    def link(self, source: int, name: str, target: int, target_name: str) -> None:
        node = self._node(source, name)
        if node.kind is EntryKind.FOLDER:
            raise _error(errno.EPERM, name)
        self._changing(target, target_name, there=False).name(target_name, node)

    def move(self, source: int, name: str, target: int, target_name: str) -> None:
        node = self._node(source, name)
        there = self._folder(target).names.get(target_name)
        if there and there.kind is EntryKind.FOLDER:
            raise _error(errno.EISDIR, target_name)
        folder = self._changing(source, name)
        self._alive(target, target_name).name(target_name, node)
        folder.name(name, None)

    def exchange(self, source: int, name: str, target: int, target_name: str) -> None:
        one, other = self._node(source, name), self._node(target, target_name)
        self._changing(source, name).name(name, other)
        self._folder(target).name(target_name, one)

    def sync_file(self, at: int, name: str) -> None:
        node = self._node(at, name)
        self.power.tick()
        node.on_disk = True

    def sync_folder(self, folder: int) -> None:
        node = self._folder(folder)
        self.power.tick()
        node.sync()

    def sync_everything(self, folder: int) -> None:
        self._folder(folder)
        self.power.tick()
        for node in _below(self.root):
            node.sync()

    def after_power_loss(self, choice: Choice, power: Power | None = None) -> Self:
        """The file system as it may be found afterwards; all that is found there is on the disk."""
        return type(self)(power, _found(self.root, choice, {}))

    def _changing(self, at: int, name: str, *, there: bool = True) -> Node:
        folder = self._alive(at, name)
        if there and name not in folder.names:
            raise _error(errno.ENOENT, name)
        if not there and name in folder.names:
            raise _error(errno.EEXIST, name)
        self.power.tick()
        return folder

    def _alive(self, at: int, name: str) -> Node:
        folder = self._folder(at)
        if folder.gone:
            raise _error(errno.ENOENT, name)
        return folder


def _below(node: Node) -> list[Node]:
    return [node, *(found for child in node.names.values() for found in _below(child))]


def _found(node: Node, choice: Choice, known: dict[int, Node]) -> Node:
    if node.number in known:  # two names of one file agree
        return known[node.number]
    found = known[node.number] = Node(node.kind, node.mode)
    found.owner = node.owner
    if node.kind is EntryKind.FILE:
        found.data, found.mode = choice(node.possible_contents())
    for name in sorted(node.names.keys() | node.unsynced.keys()):
        child = choice(node.unsynced.get(name) or [node.names[name]])
        if child is not None:
            found.names[name] = _found(child, choice, known)
    found.sync()
    return found
