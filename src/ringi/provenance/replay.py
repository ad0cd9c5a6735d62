"""Approved diffs applied to other bytes than those that were approved, as a rebase does it.

Whatever they give must be exactly what is there: a byte more is not covered.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.approvals.statement import NOT_THERE, FileAt, PathChange
from ringi.errors import BadPatch, BinaryPatch, PatchMismatch
from ringi.kernel import codec
from ringi.patch.apply import apply_patch
from ringi.patch.merge import MergedFile, merge_file
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Patch, PatchKind, dump
from ringi.patch.render import FileDelta, FileSide, render_patch
from ringi.patch.repair import normalise
from ringi.provenance.chain import Link
from ringi.provenance.verdict import Evidence

MOST: Final = 50
"""How many approvals of one path are tried, the newest ones."""
_UNFIT: Final = (BadPatch, BinaryPatch, PatchMismatch)
_ALONE: Final = (PatchKind.CHANGED, PatchKind.NEW)


class Diff(NamedTuple):
    """How an approval changes one path."""

    step: PathChange
    patch: bytes
    """Its part of the approved diff."""
    evidence: Evidence


class _ReplayState(NamedTuple):
    at: FileAt
    data: bytes


def part_of(diff: str, path: str) -> bytes | None:
    """The part that changes this path only; None if there is none."""
    try:
        files = parse_patch(diff.encode()).files
    except (*_UNFIT, UnicodeEncodeError):
        return None
    found = [file for file in files if path in {file.old_path, file.new_path}]
    if len(found) != 1 or found[0].kind not in _ALONE:
        return None
    return dump(Patch((found[0],)))


def rerender_diff(diff: Diff, known: Mapping[str, bytes]) -> Diff | None:
    """The approved change as we would write it: these words are unsigned.

    None if the bytes before or after it are not known; see `learn`.
    """
    before, after = diff.step.before, diff.step.after
    data = None if before == NOT_THERE else known.get(before.blob)
    made = known.get(after.blob)
    if (data is None and before != NOT_THERE) or made is None:
        return None
    old = None if data is None else FileSide(data, before.mode)
    try:
        words = render_patch([FileDelta(diff.step.path, old, FileSide(made, after.mode))]).decode()
    except UnicodeDecodeError:
        return None
    patch = part_of(words, diff.step.path)
    return diff._replace(patch=patch) if patch else None


def learn(diffs: Iterable[Diff], known: dict[str, bytes]) -> None:
    """Adds the bytes that each of them made of bytes that are known: a clone has not always both.

    Their names prove them, no matter who wrote the diff.
    """
    waiting = list(diffs)
    while True:
        ready = [one for one in waiting if _is_known(one.step.before, known)]
        if not ready:
            return
        waiting = [one for one in waiting if not _is_known(one.step.before, known)]
        for one in ready:
            before, after = one.step.before, one.step.after
            if _is_known(after, known):
                continue
            made = _apply_diff(one, None if before == NOT_THERE else known[before.blob], exact=True)
            if made is not None and codec.blob_id(made, like=after.blob) == after.blob:
                known[after.blob] = made


def _is_known(at: FileAt, known: Mapping[str, bytes]) -> bool:
    return at == NOT_THERE or at.blob in known


class Replay:
    """Of one path. `diffs` come oldest first; `known` are contents by the blob that has them."""

    def __init__(self, diffs: Sequence[Diff], known: Mapping[str, bytes]) -> None:
        self._diffs = diffs[-MOST:]
        self._known = dict(known)
        self._given: dict[tuple[FileAt, int], _ReplayState | None] = {}
        learn(self._diffs, self._known)

    def links(self, before: FileAt, after: FileAt) -> tuple[Link, ...] | None:
        """Approvals that follow each other and lead from one state to the other; None if there are none.

        One that does not fit is left out.
        """
        found = self._find_way(before, after)
        return None if found is None else tuple(found.values())

    def steps(self, before: FileAt, after: FileAt) -> set[PathChange]:
        """Those approved changes that lead from one state to the other."""
        return {self._diffs[place].step for place in self._find_way(before, after) or ()}

    def _find_way(self, before: FileAt, after: FileAt) -> dict[int, Link] | None:
        data = b"" if before == NOT_THERE else self._known.get(before.blob)
        if data is None or after == NOT_THERE:
            return None
        for first in reversed(range(len(self._diffs))):
            state, links = _ReplayState(before, data), dict[int, Link]()
            for place in range(first, len(self._diffs)):
                given = self._apply_once(state, place, after.blob)
                if given is None:
                    continue
                links[place] = Link(state.at, given.at, _as_replayed(self._diffs[place].evidence))
                state = given
                if state.at == after:
                    return links
        return None

    def _apply_once(self, state: _ReplayState, place: int, like: str) -> _ReplayState | None:
        key = state.at, place
        if key not in self._given:
            self._given[key] = self._apply(state, self._diffs[place], like)
        return self._given[key]

    def _apply(self, state: _ReplayState, diff: Diff, like: str) -> _ReplayState | None:
        before, after = diff.step.before, diff.step.after
        if (before == NOT_THERE) is not (state.at == NOT_THERE):
            return None
        data = _apply_diff(diff, None if state.at == NOT_THERE else state.data)
        if data is None:
            data = self._merge(state, diff)
        if data is None:
            return None
        mode = after.mode if before.mode != after.mode else state.at.mode
        at = FileAt(mode, codec.blob_id(data, like=like))
        return _ReplayState(at, data) if at != state.at else None

    def _merge(self, state: _ReplayState, diff: Diff) -> bytes | None:
        """As git does it, if lines beside the approved ones have changed."""
        before, after = (self._known.get(one.blob) for one in (diff.step.before, diff.step.after))
        if before is None or after is None or state.data == before:
            return None
        mode = state.at.mode
        merged = merge_file(FileSide(before, mode), FileSide(state.data, mode), FileSide(after, mode))
        return merged.side.data if isinstance(merged, MergedFile) and merged.side else None


def _apply_diff(diff: Diff, data: bytes | None, *, exact: bool = False) -> bytes | None:
    """At the lines that it names, or at the only place where it fits."""

    def read(path: str) -> bytes | None:
        return data if path == diff.step.path else None

    try:
        patch = diff.patch if exact else normalise(diff.patch, read)
        return apply_patch(patch, read).get(diff.step.path)
    except _UNFIT:
        return None


def _as_replayed(evidence: Evidence) -> Evidence:
    return replace(evidence, replayed=True)
