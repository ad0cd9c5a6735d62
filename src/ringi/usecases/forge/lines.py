"""Which step of a run made, or removed, the line that somebody speaks of."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ringi.domain.feedback import Side
from ringi.patching.line_changes import Change, line_changes
from ringi.patching.merge import text_lines


class Bytes(NamedTuple):
    """A file before and after a step; None: it is not there."""

    old: bytes | None
    new: bytes | None


class StepFiles(NamedTuple):
    step_id: str
    files: Mapping[str, Bytes]


class Place(NamedTuple):
    step_id: str
    path: str
    line: int
    """From 1, on that side of what the step changed; 0: the file as a whole."""
    side: Side


def place_of(steps: Sequence[StepFiles], path: str, line: int, side: Side) -> Place | None:
    """`line` is of the file after all the steps, or before them; None if no step changed the file."""
    touching = [step for step in steps if path in step.files]
    if not touching:
        return None
    if line < 1:
        return Place(touching[-1].step_id, path, 0, side)
    ordered, moved = (touching, _later) if side is Side.OLD else (touching[::-1], _earlier)
    return _found(ordered, path, line, side, moved) or Place(touching[-1].step_id, path, 0, side)


def _found(
    steps: Sequence[StepFiles],
    path: str,
    line: int,
    side: Side,
    moved: Callable[[Sequence[Change], int], int | None],
) -> Place | None:
    """None if there is no such line. One that no step changed belongs to the first that is asked."""
    first: Place | None = None
    for step in steps:
        old, new = (text_lines(data or b"") for data in step.files[path])
        if line > len(old if side is Side.OLD else new):
            return first
        here = Place(step.step_id, path, line, side)
        before = moved(line_changes(old, new), line)
        if before is None:
            return here
        first, line = first or here, before
    return first


def _earlier(changes: Sequence[Change], line: int) -> int | None:
    """The number of a new line before these changes; None if they made it."""
    shift = 0
    for change in changes:
        if line <= change.new:
            break
        if line <= change.new_end:
            return None
        shift = change.old_end - change.new_end
    return line + shift


def _later(changes: Sequence[Change], line: int) -> int | None:
    """The number of an old line after these changes; None if they removed it."""
    return _earlier([Change(one.new, one.new_end, one.old, one.old_end) for one in changes], line)
