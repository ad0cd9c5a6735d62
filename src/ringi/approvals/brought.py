"""Commits that name no agent and bring what a run wrote, though the file has changed since the run read it.

Bytes are not the same then, so lines decide. Whether somebody may have approved it is another question.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from ringi.approvals.chain import Merge
from ringi.approvals.commits import PathHistory
from ringi.approvals.notes import Made
from ringi.domain.provenance import FileAt, Step
from ringi.domain.provenance_verdict import Level
from ringi.errors import BadPatch
from ringi.patching.file_merge import MergedFile, merge_file
from ringi.patching.parse import parse_patch
from ringi.patching.render import Side
from ringi.ports.provenance import History

_TWO: Final = 2
_Change = tuple[FileAt, FileAt]
_Lines = Counter[bytes]


def brought_by(
    history: History, known: PathHistory, made: Sequence[Made], base: Iterable[Step]
) -> Mapping[str, Made]:
    """By commit, the run whose lines it brings.

    What `base`, or a commit of the range that names its agent, has brought before is spared: a person may
    bring it again. So is a merge that is nothing but one, or in which somebody had to decide.
    """
    wrote = [(one, lines) for one in made if (lines := _written(one))]
    changes = [*_silent(known)] if wrote else []
    if not changes:
        return {}
    data = dict(history.contents(_blobs(way for _, ways in changes for way in ways)))
    found: dict[str, tuple[Made, _Lines]] = {}
    for oid, ways in changes:
        for one, lines in wrote:
            if oid not in found and any(_brings(lines, way, data) for way in ways):
                found[oid] = one, lines
    if not found:
        return {}
    before = [(step.before, step.after) for step in base]
    named = [(start, end) for start, end, oid in known.assisted if oid not in known.runs]
    data |= history.contents(_blobs([*before, *named]) - data.keys())
    merges = {one.evidence.commit: one for one in known.merges}

    def is_spared(oid: str, one: Made, lines: _Lines) -> bool:
        merge = merges.get(oid)
        if merge and _is_plain(history, one.path, merge, data):
            return True
        return any(_brings(lines, way, data) for way in (before if merge else [*before, *named]))

    return {oid: one for oid, (one, lines) in found.items() if not is_spared(oid, one, lines)}


def _silent(known: PathHistory) -> Iterable[tuple[str, list[_Change]]]:
    for link in known.links:
        if link.level is Level.UNASSISTED:
            yield link.evidence.commit, [(link.before, link.after)]
    for merge in known.merges:
        if merge.evidence.level is Level.UNASSISTED and merge.after not in merge.before:
            yield merge.evidence.commit, [(before, merge.after) for before in merge.before]


def _is_plain(history: History, path: str, merge: Merge, data: Mapping[str, bytes]) -> bool:
    if len(merge.parents) != _TWO:
        return True
    ours, theirs = merge.parents
    base = history.base_of(ours, theirs)
    if not base or base != history.base_of(theirs, ours):  # they have several, or none
        return True
    sides = (history.file(commit, path) for commit in (base, ours, theirs))
    mode = merge.after.mode
    found = merge_file(*(None if one is None else Side(one, mode) for one in sides))
    return not isinstance(found, MergedFile) or found.side == Side(data[merge.after.blob], mode)


def _blobs(ways: Iterable[_Change]) -> set[str]:
    return {state.blob for state in chain.from_iterable(ways)} - {""}


def _brings(wanted: _Lines, way: _Change, data: Mapping[str, bytes]) -> bool:
    """Most of what was written; by length, since short lines are anybody's."""
    before, after = (b"" if not state.blob else data.get(state.blob) for state in way)
    if before is None or after is None:
        return False
    added = _lines(after.splitlines()) - _lines(before.splitlines())
    return 2 * _weight(wanted & added) > _weight(wanted)


def _written(made: Made) -> _Lines:
    try:
        files = parse_patch(made.diff.encode()).files
    except (BadPatch, UnicodeEncodeError):
        return Counter()
    bodies = [hunk.body.split(b"\n") for file in files if file.new_path == made.path for hunk in file.hunks]
    rows = list(chain.from_iterable(bodies))
    added, gone = (_lines(row[1:] for row in rows if row[:1] == sign) for sign in (b"+", b"-"))
    return added - gone


def _lines(rows: Iterable[bytes]) -> _Lines:
    return Counter(filter(None, map(bytes.strip, rows)))


def _weight(lines: _Lines) -> int:
    return sum(len(line) * count for line, count in lines.items())
