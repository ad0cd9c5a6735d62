"""Effects as diffs."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from ringi.domain.plan import FileState
from ringi.patching.render import Rendered, Side, render, render_move
from ringi.plans.effects import Effect, git_mode

NOTHING: Final = Rendered(b"", 0, 0, binary=False)
_HUNK: Final = re.compile(rb"@@ -[0-9,]+ \+([0-9]+)")


def rendering(effects: Sequence[Effect]) -> Rendered:
    """One diff for what one spec does; a rename or a copy is shown as such."""
    if not effects or any(state and state.folder for state in (effects[0].before, effects[0].after)):
        return NOTHING
    if len(effects) > 1 and effects[0].after is None:
        effects = effects[::-1]  # a move names its source first
    first = effects[0]
    new = _side(first.new, first.after)
    if len(effects) == 1:
        return render(first.path, _side(first.old, first.before), new)
    other = effects[1]
    old = _side(other.old, other.before)
    if old is None or new is None:
        return NOTHING
    return render_move(other.path, first.path, old, new, copy=other.after is not None)


def difference(
    path: str, old: bytes | None, before: FileState | None, new: bytes | None, after: FileState | None
) -> Rendered:
    return render(path, _side(old, before), _side(new, after))


def _side(data: bytes | None, state: FileState | None) -> Side | None:
    return Side(data, git_mode(state.mode)) if data is not None and state is not None else None


def numbered(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Every line of a text, with its number."""
    return enumerate(data.removesuffix(b"\n").split(b"\n"), 1)


def added_lines(diff: bytes) -> Iterator[tuple[int, bytes]]:
    """Each line that a diff of one file adds, with its number in the new file."""
    at = 0
    for line in diff.split(b"\n"):
        if line.startswith(b"@@ ") and (found := _HUNK.match(line)):
            at = int(found[1])
        elif at and line.startswith(b"+"):
            yield at, line[1:]
            at += 1
        elif at and line.startswith(b" "):
            at += 1
