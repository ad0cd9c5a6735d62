"""A title for a plan that nobody named: one sentence about what it changes."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Final

from ringi.domain.plan import ActionSpec, SpecKind

_CHANGE: Final = "Change"
_VERBS: Final[Mapping[SpecKind, str]] = {
    SpecKind.CREATE: "Add",
    SpecKind.MKDIR: "Add",
    SpecKind.DELETE: "Delete",
    SpecKind.MOVE: "Move",
    SpecKind.READ: "Read",
    SpecKind.ANALYZE: "Analyse",
}


def title_of_specs(specs: Sequence[ActionSpec]) -> str:
    """Empty if they name no file."""
    named = [spec for spec in specs if spec.path]
    verbs = {_VERBS.get(spec.kind, _CHANGE) for spec in named}
    return title_of_paths([spec.path for spec in named], verbs.pop() if len(verbs) == 1 else _CHANGE)


def title_of_paths(paths: Sequence[str], verb: str = _CHANGE) -> str:
    if len(paths) <= 1:
        return f"{verb} {paths[0]}" if paths else ""
    folder = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    where = f" in {folder}" if folder else ""
    return f"{verb} {len(paths)} files{where}"
