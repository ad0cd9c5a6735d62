"""Units, which are done completely or not at all: a group or a single spec; and their order."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.document import Act
from ringi.plans.execution import ExecutionIntent, Step, words_of
from ringi.policy.spec_kind import CHANGING
from ringi.tree.action_spec import ActionSpecExt
from ringi.tree.file_state import FileChange


class ExecutionUnit(NamedTuple):
    number: int
    changes: tuple[FileChange, ...]
    optional: bool


def number_units(
    specs: Sequence[ActionSpecExt], *, sandboxed: bool | UnsetType
) -> tuple[tuple[FileChange, ...], tuple[Step, ...]]:
    """The changes and the steps of these specs, each with its position."""
    changes: list[FileChange] = []
    steps: list[Step] = []
    for number, (_, some) in enumerate(groupby(specs, key=_UnitPosition())):
        unit = list(some)
        changes += _changes(unit, number)
        steps += (_step(spec, number, sandboxed) for spec in unit if spec.base.kind not in CHANGING)
    return tuple(changes), tuple(steps)


class _UnitPosition:
    """Neighbours of one group share a position; every other spec has its own."""

    def __init__(self) -> None:
        self._count = 0

    def __call__(self, spec: ActionSpecExt) -> str | int:
        self._count += 1
        return self._count if spec.base.group is None else spec.base.group


def _changes(specs: Sequence[ActionSpecExt], unit: int) -> list[FileChange]:
    found = [
        FileChange(spec.id, file.path, file.before, file.after, unit, True if spec.base.optional else UNSET)
        for spec in specs
        for file in spec.touched
        if file.before != file.after
    ]
    # A folder comes before its contents.
    return sorted(found, key=lambda change: (0, change.path.count("/")) if change.folder else (1, 0))


def _step(spec: ActionSpecExt, unit: int, sandboxed: bool | UnsetType) -> Step:  # as approved
    base = spec.base
    seconds = base.timeout_sec or 0
    return Step(
        unit,
        spec.id,
        base.kind,
        base.path,
        words_of(base),
        seconds,
        base.optional,
        sandboxed,
        base.tool_digest or UNSET,
    )


def units_of(changes: Sequence[FileChange]) -> list[ExecutionUnit]:
    """In order; changes without a number are one unit."""
    found: dict[int, list[FileChange]] = {}
    for change in changes:
        found.setdefault(change.unit or 0, []).append(change)
    return [
        ExecutionUnit(number, tuple(some), optional=bool(some[0].optional))
        for number, some in sorted(found.items())
    ]


def stops(intent: ExecutionIntent, unit: ExecutionUnit) -> bool:
    """Whether a failure of the unit stops those after it; an undo restores all it can."""
    return not unit.optional and intent.kind is not Act.UNDO


def segments(intent: ExecutionIntent) -> Iterator[list[ExecutionUnit] | Step]:
    """Groups neighbouring units of files, so that their folders are synced once; steps come one by one."""
    waiting: list[ExecutionUnit] = []
    steps = intent.steps or ()
    parts: list[ExecutionUnit | Step] = sorted([*units_of(intent.changes), *steps], key=_number)
    for part in parts:
        if isinstance(part, ExecutionUnit):
            waiting.append(part)
            continue
        if waiting:
            yield waiting
            waiting = []
        yield part
    if waiting:
        yield waiting


def _number(part: ExecutionUnit | Step) -> int:
    return part.unit if isinstance(part, Step) else part.number
