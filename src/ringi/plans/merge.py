"""A plan whose files a person changed meanwhile: base, theirs and ours merged into a new version.

The base is what the proposer saw; its bytes are kept with the plan. Lines that a person wrote are never lost:
if both changed the same lines, the person's stay and the place is named.
"""

from typing import Final, NamedTuple

import msgspec

from ringi.domain.approval import files_of
from ringi.domain.plan import ActionSpec, ActionSpecExt, FileState, PlanDocument, SpecKind
from ringi.errors import PathRefused, StorageFailed
from ringi.patching.file_merge import ConflictedFile, merge_file
from ringi.patching.merge import Choice, Conflicted, Merged, RegionKind, assembled
from ringi.patching.render import Side
from ringi.plans.effects import Invalid, Known, effects_of, packed
from ringi.plans.propose import MERGEABLE
from ringi.plans.services import Services
from ringi.text import Text
from ringi.workspace.tree import differing

_EXECUTABLE: Final = 0o100


class MergedSpecs(NamedTuple):
    specs: tuple[ActionSpec, ...]
    """What is left to do to the files as they are now."""
    lines: int = 0
    """Lines that the person wrote since, in the files that were merged."""
    kept: tuple[str, ...] = ()
    """Where both changed the same and the person's version stays: paths, with the line if there is one."""
    unknown: tuple[str, ...] = ()
    """Files that changed and cannot be merged, because nobody knows what the proposer saw."""


def merged_specs(services: Services, document: PlanDocument) -> MergedSpecs:
    """Reads files only; a spec whose files are as the proposer saw them stays as it is."""
    done = [_merged_spec(services, spec) for spec in document.state.action_specs]
    return MergedSpecs(
        tuple(spec for one in done for spec in one.specs),
        sum(one.lines for one in done),
        tuple(place for one in done for place in one.kept),
        tuple(path for one in done for path in one.unknown),
    )


def _merged_spec(services: Services, spec: ActionSpecExt) -> MergedSpecs:
    if not differing(services.tree, files_of([spec])):
        return MergedSpecs((spec.base,))
    path = spec.base.path
    if spec.base.kind not in MERGEABLE or len(spec.touched) != 1:
        return MergedSpecs((spec.base,), unknown=(path,))
    base = services.store.get_bytes(spec.before.sha256) if spec.before else b""
    if base is None:
        return MergedSpecs((spec.base,), unknown=(path,))
    try:
        found = services.tree.look(path)
        seen = {path: Known(spec.before, base)} if spec.before else {}
        theirs = effects_of(spec.base, seen.get, services.rules, based=True)[0]
    except (Invalid, PathRefused, StorageFailed):
        return MergedSpecs((spec.base,), unknown=(path,))
    ours = found.data if found else None
    return _joined(spec, base if spec.before else None, (found.state if found else None, ours), theirs.new)


def _joined(
    spec: ActionSpecExt, base: bytes | None, now: tuple[FileState | None, bytes | None], theirs: bytes | None
) -> MergedSpecs:
    state, ours = now
    path, mine = spec.base.path, _side(ours, state)
    result = merge_file(_side(base, spec.before), mine, _side(theirs, spec.after))
    if isinstance(result, ConflictedFile):
        if not isinstance(result.text, Conflicted) or mine is None:
            return MergedSpecs((), kept=(path,))
        data = assembled(result.text.regions, [Choice.OURS] * len(result.text.conflicts))
        places = [f"{path}:{region.place.ours + 1}" for region in result.text.conflicts]
        return MergedSpecs(_spec(spec, data, mine), _written(result.text), tuple(places))
    lines = _written(result.text) if result.text else 0
    if result.side == mine:
        return MergedSpecs((), lines)
    if result.side is None:
        return MergedSpecs((msgspec.structs.replace(spec.base, content=None, kind=SpecKind.DELETE),), lines)
    return MergedSpecs(_spec(spec, result.side.data, mine, result.side.mode), lines)


def _spec(spec: ActionSpecExt, data: bytes, mine: Side | None, mode: str = "") -> tuple[ActionSpec, ...]:
    """A spec that writes the merged file; none if it is that already."""
    if mine is not None and mine.data == data and mode in {"", mine.mode}:
        return ()
    content, encoding = packed(data)
    bits = spec.base.mode or (
        spec.after.mode if spec.after and mode not in {"", mine and mine.mode} else None
    )
    kind = SpecKind.CREATE if mine is None else SpecKind.WRITE
    return (msgspec.structs.replace(spec.base, kind=kind, content=content, encoding=encoding, mode=bits),)


def _side(data: bytes | None, state: FileState | None) -> Side | None:
    if data is None or state is None:
        return None
    return Side(data, "100755" if int(state.mode, 8) & _EXECUTABLE else "100644")


def _written(text: Merged | Conflicted) -> int:
    kept = (region for region in text.regions if region.kind is not RegionKind.SAME)
    return sum(len(region.written) for region in kept)


def told(merged: MergedSpecs) -> Text:
    if merged.kept:
        places = ", ".join(merged.kept)
        return Text("Merged; you both changed the same at {places}, and yours stays.", places=places)
    if merged.lines == 1:
        return Text("Merged with 1 line of yours.")
    return Text("Merged with {count} lines of yours.", count=merged.lines)
