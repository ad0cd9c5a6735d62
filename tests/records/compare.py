"""Records as files, and how the program of today differs from them."""

import difflib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
KINDS = ("cli", "help", "mcp", "python", "schemas", "keys")
_MOST_LINES = 200


class Comparison(NamedTuple):
    same: tuple[str, ...]
    differ: tuple[str, ...]
    missing: tuple[str, ...]
    """Recorded, and not there any more."""
    new: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        return not (self.differ or self.missing or self.new)


def read_all() -> dict[str, str]:
    files = [path for kind in KINDS for path in sorted((HERE / kind).rglob("*.txt"))]
    return {path.relative_to(HERE).with_suffix("").as_posix(): path.read_text("utf-8") for path in files}


def write(recorded: Mapping[str, str], found: Mapping[str, str]) -> None:
    """`recorded` are the files that may go if nothing was found for them."""
    for name in {*recorded} - {*found}:
        (HERE / f"{name}.txt").unlink()
    for name, text in found.items():
        path = HERE / f"{name}.txt"
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")


def compare(recorded: Mapping[str, str], found: Mapping[str, str]) -> Comparison:
    both = sorted({*recorded} & {*found})
    return Comparison(
        same=tuple(name for name in both if recorded[name] == found[name]),
        differ=tuple(name for name in both if recorded[name] != found[name]),
        missing=tuple(sorted({*recorded} - {*found})),
        new=tuple(sorted({*found} - {*recorded})),
    )


def describe(verdict: Comparison, recorded: Mapping[str, str], found: Mapping[str, str]) -> Iterator[str]:
    """A diff for each record, then one line about all."""
    for name in verdict.differ:
        old, new = recorded[name].splitlines(), found[name].splitlines()
        rows = list(difflib.unified_diff(old, new, f"{name} as recorded", f"{name} now", lineterm="", n=2))
        yield from rows[:_MOST_LINES]
        if len(rows) > _MOST_LINES:
            yield f"… and {len(rows) - _MOST_LINES} lines more"
        yield ""
    yield from (f"missing: {name}" for name in verdict.missing)
    yield from (f"new: {name}" for name in verdict.new)
    total = len({*recorded} | {*found})
    yield (
        f"{total} records: {len(verdict.same)} as recorded, {len(verdict.differ)} differ, "
        f"{len(verdict.missing)} missing, {len(verdict.new)} new"
    )
