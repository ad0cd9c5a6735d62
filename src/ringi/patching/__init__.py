"""Differences between texts: read, applied, written, turned round. Text in, text out, on bytes."""

import importlib
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from ringi.patching.apply import FileOutcome, apply_patch, outcome
    from ringi.patching.mend import normalise
    from ringi.patching.model import FilePatch, Hunk, Kind, Patch
    from ringi.patching.parse import parse_patch
    from ringi.patching.render import Changed, Rendered, Side, is_binary, render_patch
    from ringi.patching.rework import drop_hunks, reverse
    from ringi.patching.write import dump

__all__ = [
    "Changed",
    "FileOutcome",
    "FilePatch",
    "Hunk",
    "Kind",
    "Patch",
    "Rendered",
    "Side",
    "apply_patch",
    "drop_hunks",
    "dump",
    "is_binary",
    "normalise",
    "outcome",
    "parse_patch",
    "render_patch",
    "reverse",
]

_PLACES: Final = {
    **dict.fromkeys(("FileOutcome", "apply_patch", "outcome"), "apply"),
    **dict.fromkeys(("FilePatch", "Hunk", "Kind", "Patch"), "model"),
    **dict.fromkeys(("Changed", "Rendered", "Side", "is_binary", "render_patch"), "render"),
    **dict.fromkeys(("drop_hunks", "reverse"), "rework"),
    "dump": "write",
    "normalise": "mend",
    "parse_patch": "parse",
}


def __getattr__(name: str) -> Any:
    # Loaded on first use: most commands need the rendering alone.
    if name in _PLACES:
        return getattr(importlib.import_module(f"ringi.patching.{_PLACES[name]}"), name)
    raise AttributeError(name)
