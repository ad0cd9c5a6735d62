"""The files of a snapshot that may be sent."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Final

from ringi.project.context import Definition, FileKind

_DEEPEST: Final = 1


class ProjectSource:
    """`kinds` has the paths that may be sent, sorted. `read` gives the lines of one, masked and made visible:
    none if it is not text or too large. `outline` gives its definitions, in their order.
    """

    def __init__(
        self,
        kinds: Mapping[str, FileKind],
        read: Callable[[str], Sequence[str]],
        outline: Callable[[str], Sequence[Definition]],
    ) -> None:
        self.kinds = kinds
        self.read = read
        self.outline = outline

    @property
    def paths(self) -> Iterator[str]:
        return iter(self.kinds)

    @cached_property
    def tests(self) -> tuple[str, ...]:
        return tuple(path for path, kind in self.kinds.items() if kind is FileKind.TEST)

    @cached_property
    def top(self) -> Mapping[str, str]:
        """The files at the top level, by their name in lower case."""
        return {lower: path for lower, path in self._near.items() if "/" not in path}

    @cached_property
    def _near(self) -> Mapping[str, str]:
        near = [path for path in self.kinds if path.count("/") <= _DEEPEST]
        return {path.lower(): path for path in reversed(near)}

    def find(self, *names: str) -> Iterator[str]:
        """Those of these that there are, whatever their case; at most one folder deep."""
        return (self._near[name] for name in names if name in self._near)

    def text(self, name: str) -> str:
        """Of a file at the top level; empty if there is none."""
        path = self.top.get(name)
        return "\n".join(self.read(path)) if path else ""
