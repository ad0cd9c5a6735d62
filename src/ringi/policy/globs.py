"""Globs over paths, many at once."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase, translate
from functools import lru_cache
from typing import Final

_NEVER: Final = r"(?!)"
_PLAIN: Final = re.compile(r"[^*?\[]*")


def matches(path: str, glob: str) -> bool:
    """A glob without a slash names a file in any folder, `x/**` everything below a folder x anywhere.

    Case does not matter.
    """
    path, glob = path.lower(), glob.lower()
    if glob.endswith("/**") and f"/{glob[:-2]}" in f"/{path}":
        return True
    return fnmatchcase(path if "/" in glob else path.rsplit("/", 1)[-1], glob)


def within(path: str, globs: Sequence[str]) -> bool:
    """Narrower than `matches`: from the top of the workspace, case-sensitive, and * never matches a slash.

    Only ** matches any number of folders. A glob without a slash names a file in any folder.
    """
    parts = path.split("/")
    return any(
        _fits(parts, glob.split("/")) if "/" in glob else fnmatchcase(parts[-1], glob) for glob in globs
    )


def _fits(parts: Sequence[str], globs: Sequence[str]) -> bool:
    """Tracks every position of the path that the pattern so far can end at."""
    ends = {0}
    for glob in globs:
        if glob == "**":
            ends = set(range(min(ends), len(parts) + 1)) if ends else ends
        else:
            ends = {end + 1 for end in ends if end < len(parts) and fnmatchcase(parts[end], glob)}
    # Everything below a folder, not the folder itself.
    return len(parts) in ends and not (globs[-1] == "**" and len(parts) == min(ends))


class Globs:
    """Whether any of many globs matches, much faster than one by one."""

    def __init__(self, globs: Iterable[str]) -> None:
        lowered = [glob.lower() for glob in globs]
        names = [glob for glob in lowered if "/" not in glob]
        self._exact = frozenset(glob for glob in names if _PLAIN.fullmatch(glob))
        self._ends = tuple(glob[1:] for glob in names if glob[:1] == "*" and _PLAIN.fullmatch(glob[1:]))
        known = {*self._exact, *(f"*{end}" for end in self._ends)}
        self._names = _either(translate(glob) for glob in names if glob not in known)
        self._paths = _either(translate(glob) for glob in lowered if "/" in glob)
        self._folders = _either(re.escape(f"/{glob[:-2]}") for glob in lowered if glob.endswith("/**"))

    def match(self, path: str) -> bool:
        path = path.lower()
        name = path.rsplit("/", 1)[-1]
        return bool(
            name in self._exact
            or name.endswith(self._ends)
            or self._names.match(name)
            or self._folders.search(f"/{path}")
            or self._paths.match(path)
        )


def _either(expressions: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(expressions) or _NEVER)


@lru_cache(maxsize=64)
def globs(*given: Sequence[str]) -> Globs:
    """For all globs in these tuples; cached."""
    return Globs(glob for some in given for glob in some)


def inside(path: str, places: Iterable[str]) -> bool:
    """Whether it is one of these files and folders, or in one of them."""
    names = [place.strip("/") for place in places]
    return any(name in {"", ".", path} or path.startswith(f"{name}/") for name in names)
