"""Commits that name no agent and bring what a run wrote, though the file has changed since the run read it.

Bytes are not the same then, so lines decide. Whether it was approved is another question.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Final

from ringi.approvals.statement import FileAt, PathChange
from ringi.patch.merge import MergedFile, merge_file
from ringi.patch.parse import parse_patch
from ringi.patch.render import FileSide
from ringi.provenance.chain import Merge
from ringi.provenance.commits import PathHistory
from ringi.provenance.notes_of_clone import Made
from ringi.provenance.ports import History
from ringi.provenance.replay import part_of
from ringi.provenance.verdict import Level

_TWO: Final = 2
_Change = tuple[FileAt, FileAt]
_Lines = Counter[bytes]


def find_agent_commits(
    history: History, known: PathHistory, made: Sequence[Made], base: Iterable[PathChange]
) -> Mapping[str, Made]:
    """By commit, the run whose lines it brings.

    What `base`, or a commit of the range that names its agent, has brought before is spared: a person may
    bring it again. So is a merge that is nothing but one, or in which a person had to resolve a conflict.
    """
    wrote = [(one, lines) for one in made if (lines := _lines_written(one))]
    changes = [*_list_silent(known)] if wrote else []
    added = _Added(history, (way for _, ways in changes for way in ways))
    found = [
        (oid, one, lines)
        for oid, ways in changes
        for one, lines in wrote
        if any(_is_most(lines, added.by(way)) for way in ways)
    ]
    if not found:
        return {}
    before = [(step.before, step.after) for step in base]
    named = [(start, end) for start, end, oid in known.assisted if oid not in known.runs]
    earlier = _Added(history, [*before, *named])
    merges = {one.evidence.commit: one for one in known.merges}

    def is_spared(oid: str, one: Made, lines: _Lines) -> bool:
        merge = merges.get(oid)
        if merge and _is_plain(history, one.path, merge):
            return True
        return any(_is_most(lines, earlier.by(way)) for way in (before if merge else [*before, *named]))

    return {oid: one for oid, one, lines in found if not is_spared(oid, one, lines)}


class _Added:
    """The lines that each change adds; none if the clone lacks its bytes."""

    def __init__(self, history: History, ways: Iterable[_Change]) -> None:
        wanted = {state.blob for state in chain.from_iterable(ways)} - {""}
        self._data = history.contents(wanted) if wanted else {}
        self._known: dict[_Change, _Lines] = {}

    def by(self, way: _Change) -> _Lines:
        if way not in self._known:
            before, after = (b"" if not state.blob else self._data.get(state.blob) for state in way)
            known = before is not None and after is not None
            self._known[way] = _lines(after or b"") - _lines(before or b"") if known else Counter()
        return self._known[way]


def _list_silent(known: PathHistory) -> Iterable[tuple[str, list[_Change]]]:
    for link in known.links:
        if link.level is Level.UNASSISTED:
            yield link.evidence.commit, [(link.before, link.after)]
    for merge in known.merges:
        if merge.evidence.level is Level.UNASSISTED and merge.after not in merge.before:
            yield merge.evidence.commit, [(before, merge.after) for before in merge.before]


def _is_plain(history: History, path: str, merge: Merge) -> bool:
    if len(merge.parents) != _TWO:
        return True
    ours, theirs = merge.parents
    base = history.base_of(ours, theirs)
    if not base or base != history.base_of(theirs, ours):  # they have several, or none
        return True
    was, one, other, now = (
        history.file(commit, path) for commit in (base, ours, theirs, merge.evidence.commit)
    )
    mode = merge.after.mode
    found = merge_file(*(None if data is None else FileSide(data, mode) for data in (was, one, other)))
    return not isinstance(found, MergedFile) or (found.side and found.side.data) == now


def _is_most(wanted: _Lines, added: _Lines) -> bool:
    """By length, since short lines prove little."""
    return 2 * _weight(wanted & added) > _weight(wanted)


def _lines_written(made: Made) -> _Lines:
    part = part_of(made.diff, made.path)
    hunks = parse_patch(part).files[0].hunks if part else ()
    rows = [row for hunk in hunks for row in hunk.body.split(b"\n")]
    added, gone = (b"\n".join(row[1:] for row in rows if row[:1] == sign) for sign in (b"+", b"-"))
    return _lines(added) - _lines(gone)


def _lines(data: bytes) -> _Lines:
    return Counter(filter(None, map(bytes.strip, data.splitlines())))


def _weight(lines: _Lines) -> int:
    return sum(len(line) * count for line, count in lines.items())
