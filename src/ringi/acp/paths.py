"""Paths in messages: each is checked, and if the copy is not at the project's own path, mapped."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from ringi.acp.protocol import INVALID_PARAMS, RpcError
from ringi.kernel.text import Text, shorten_path

LONGEST_PATH: Final = 4096
# The fields of the protocol that hold a path or a list of them; texts are left as they are.
_FIELDS: Final = frozenset(["cwd", "path", "oldPath", "newPath", "rootUri", "uri", "additionalDirectories"])
_FILE: Final = "file://"


class ProjectPaths:
    """The project as the editor names it, and where the agent finds its copy."""

    def __init__(self, root: Path, seen: Path) -> None:
        self._root = root
        self._seen = seen

    @property
    def mapped(self) -> bool:
        return self._root != self._seen

    def inside(self, path: str) -> str:
        """Relative to the project; empty for the project itself. Raises RpcError."""
        if len(os.fsencode(path)) > LONGEST_PATH:
            words = Text("{path} is longer than the system allows: {limit} bytes.",
                         path=shorten_path(path), limit=LONGEST_PATH)  # fmt: skip
            raise RpcError(INVALID_PARAMS, words)
        if "\0" in path or not path.startswith("/"):
            raise RpcError(INVALID_PARAMS, Text("{path} is not an absolute path.", path=repr(path)))
        plain = Path(os.path.normpath(path))
        for base in (self._root, self._seen):
            if plain.is_relative_to(base):
                return _relative(plain, base)
        if named := self._find_link(plain):
            return _relative(plain, named)
        words = Text(
            "{path} is outside of {root}. ringi serves files of the project's copy only.",
            path=path,
            root=self._root,
        )
        raise RpcError(INVALID_PARAMS, words)

    def _find_link(self, path: Path) -> Path | None:
        """The part of the path that names the project through a link."""
        try:
            root = self._root.stat()
            for parent in (*reversed(path.parents), path):
                if os.path.samestat(parent.stat(), root):
                    return parent
        except OSError:  # nothing is there
            pass
        return None

    def for_agent(self, path: str) -> str:
        return os.path.normpath(self._seen / self.inside(path))

    def to_agent(self, value: object) -> Any:
        return _map_value(value, _moving(self._root, self._seen))

    def to_editor(self, value: object) -> Any:
        return _map_value(value, _moving(self._seen, self._root))

    def at_project(self, name: str) -> str:
        return str(self._root / name)


def _relative(path: Path, base: Path) -> str:
    found = str(path.relative_to(base))
    return "" if found == "." else found


def _moving(source: Path, target: Path) -> Callable[[str], str]:
    pairs = [(str(source), str(target)), (_FILE + quote(str(source)), _FILE + quote(str(target)))]

    def move(text: str) -> str:
        for old, new in pairs:
            if text == old or text.startswith((old + "/", old + "?", old + "#")):
                return new + text[len(old) :]
        return text

    return move


def _map_value(value: object, move: Callable[[str], str], field: str = "") -> Any:
    if isinstance(value, str):
        return move(value) if field in _FIELDS else value
    if isinstance(value, list):
        return [_map_value(one, move, field) for one in value]
    if isinstance(value, dict):
        return {name: _map_value(one, move, name) for name, one in value.items()}
    return value
