"""What stands in one file about others, before anybody knows which files those are."""

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, Protocol

import msgspec

from ringi.text import Text

LARGEST: Final = 2 * 1024 * 1024
"""Bytes of a source file; what is larger was made by a program."""

MISSING_EXTRA: Final = Text(
    "its language needs an extra that is not installed: {command}", command='pip install "ringi[graph]"'
)
GIVEN_UP: Final = Text("not tried yet: too many others could not be parsed; ask again")


class Found(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """The references of one content, as its language spells them, and why there may be others."""

    refs: tuple[str, ...] = ()
    why: str = ""


class Source(NamedTuple):
    key: str
    data: bytes


Extract = Callable[[Iterable[Source]], Iterator[tuple[str, Found]]]


class Resolver(Protocol):
    """Knows every file of the snapshot and finds those that are meant."""

    def uses(self, path: str, refs: tuple[str, ...]) -> Iterable[str]: ...


class Snapshot(NamedTuple):
    """All paths, and what was found in those that were read."""

    paths: frozenset[str]
    found: Mapping[str, Found]

    def named(self, *names: str) -> Iterator[tuple[str, tuple[str, ...]]]:
        """The folders of the files with these names, and what stands in them; outermost first."""
        hits = [path for path in self.found if path.rpartition("/")[2] in names]
        for path in sorted(hits, key=lambda path: (path.count("/"), path)):
            yield path.rpartition("/")[0], self.found[path].refs


def join(folder: str, name: str) -> str:
    """A path of the snapshot; empty for the root, and beginning with `..` where it leads out of it."""
    joined = posixpath.normpath(posixpath.join(folder, name))
    return "" if joined == "." else joined


def ancestors(folder: str) -> Iterator[str]:
    """The folder and all above it, innermost first; the root is the empty one."""
    while folder:
        yield folder
        folder = folder.rpartition("/")[0]
    yield ""


def why(text: Text) -> Found:
    return Found(why=str(text))
