"""A plan whose files a person changed meanwhile: base, theirs and ours merged into a new version.

The base is what the proposer saw; its bytes are kept with the plan. Where both changed the same, a person
decides; until then their own version stays, and no conflict marker is ever written.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET

from ringi.approvals.document import files_of
from ringi.errors import PathRefused, StorageFailed
from ringi.patch.conflict import Clash, Conflict, ConflictChoice, Decision
from ringi.patch.merge import Conflicted, ConflictedFile, MergedFile, RegionKind, assemble, merge_file
from ringi.patch.render import FileSide, Rendered, render, render_move
from ringi.plans.document import PlanDocument
from ringi.plans.effects import MERGEABLE, NOTHING, Invalid, Known, effects_of, git_mode, pack, rules_of
from ringi.plans.validate import Basis, SeenBefore, Since
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt, Encoding
from ringi.tree.file_state import FileState, Touched
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_OF_LINES: Final = frozenset([Clash.TEXT, Clash.LINE_ENDS])
_KEEPING: Final = frozenset([ConflictChoice.OURS, ConflictChoice.BOTH])
Key = tuple[str, str, int]


class OpenConflict(NamedTuple):
    """Something that a person has to decide."""

    about: Conflict
    number: int
    """Among those of its file, from 0."""
    now: str
    """Hash of the person's file: a decision is about these bytes."""
    base: Sequence[bytes] = ()
    mine: Sequence[bytes] = ()
    theirs: Sequence[bytes] = ()
    """Empty if it cannot be shown in lines."""

    @property
    def key(self) -> Key:
        return self.about.spec_id, self.now, self.number

    @property
    def place(self) -> str:
        return f"{self.about.path}:{self.about.line}" if self.about.line else self.about.path

    @property
    def in_lines(self) -> bool:
        """Whether it can be edited, and both sides be taken."""
        return self.about.kind in _OF_LINES


Decisions = Mapping[Key, Decision]
UNDECIDED: Final[Decisions] = MappingProxyType({})


class FileMerge(NamedTuple):
    """A file of a plan that a person changed since its proposer saw it."""

    spec: ActionSpecExt
    state: FileState | None
    """The person's file."""
    base: FileSide | None
    mine: FileSide | None
    theirs: FileSide | None
    result: MergedFile | ConflictedFile

    def lines(self, decisions: Decisions) -> int:
        """How many lines that the person wrote since stay."""
        text = self.result.text
        if text is None:
            return 0
        given = iter([decisions.get(one.key, ConflictChoice.OURS) for one in self.conflicts])
        count = 0
        for region in text.regions:
            conflict = region.kind is RegionKind.CONFLICT
            if region.kind is RegionKind.SAME or (conflict and next(given, None) not in _KEEPING):
                continue
            count += len(region.written)
        return count

    @property
    def conflicts(self) -> tuple[OpenConflict, ...]:
        if isinstance(self.result, MergedFile):
            return ()
        return tuple(self._conflicts(self.result))

    def _conflicts(self, result: ConflictedFile) -> Iterator[OpenConflict]:
        now = self.state.sha256 if self.state else ""
        path, spec_id = self.spec.base.path, self.spec.id
        if not isinstance(result.text, Conflicted):
            yield OpenConflict(Conflict(spec_id, path, 0, result.clashes[0]), 0, now)
            return
        if result.text.across_line_ends is not None:
            yield OpenConflict(Conflict(spec_id, path, 0, Clash.LINE_ENDS), 0, now)
            return
        number = 0
        for number, region in enumerate(result.text.conflicts):
            about = Conflict(spec_id, path, region.place.ours + 1, Clash.TEXT)
            yield OpenConflict(about, number, now, region.base, region.ours, region.theirs)
        if Clash.MODE in result.clashes:
            yield OpenConflict(Conflict(spec_id, path, 0, Clash.MODE), number + 1, now)

    def resolve(self, decisions: Decisions) -> FileSide | None:
        """The merged file; where nothing is decided, the person's version stays."""
        result = self.result
        if isinstance(result, MergedFile):
            return result.side
        conflicts = self.conflicts
        given = [decisions.get(one.key, ConflictChoice.OURS) for one in conflicts]
        if conflicts[0].about.kind is Clash.TEXT and isinstance(result.text, Conflicted):
            return self._assemble(result, result.text, given)
        if conflicts[0].about.kind is Clash.MODE and result.data is not None:
            return FileSide(result.data, self._mode(given[0]))
        return self._whole(result, given[0])

    def _assemble(self, result: ConflictedFile, text: Conflicted, given: list[Decision]) -> FileSide:
        count = len(text.conflicts)
        data = assemble(text.regions, given[:count])
        return FileSide(data, result.mode or self._mode(given[-1]))

    def _mode(self, decision: Decision) -> str:
        side = self.theirs if decision is ConflictChoice.THEIRS else self.mine
        return side.mode if side else ""

    def _whole(self, result: ConflictedFile, decision: Decision) -> FileSide | None:
        if decision is ConflictChoice.THEIRS:
            return self.theirs
        side = self.mine or self.theirs
        if isinstance(decision, bytes) and side is not None:
            return FileSide(decision, side.mode)
        if decision is ConflictChoice.BOTH and isinstance(result.text, Conflicted) and side is not None:
            return FileSide(result.text.across_line_ends or side.data, side.mode)
        return self.mine

    def render(self, decisions: Decisions = UNDECIDED) -> Rendered:
        """The difference between the person's file and the merged one."""
        side, old_path = self.resolve(decisions), self.spec.old_path
        if old_path and self.mine and side:
            return render_move(old_path, self.spec.base.path, self.mine, side)
        return NOTHING if side == self.mine else render(self.spec.base.path, self.mine, side)


def file_merge(workspace: Workspace, spec: ActionSpecExt) -> FileMerge | None:
    """None if it cannot be merged."""
    source = _source(spec)
    if source is None:
        return None
    base = workspace.store.get_bytes(source.before.sha256) if source.before else b""
    if base is None:
        return None
    try:
        found = workspace.tree.look(source.path)
        seen = {source.path: Known(source.before, base)} if source.before else {}
        theirs = effects_of(spec.base, seen.get, rules_of(workspace), based=True)[0].new
        if source.path != spec.base.path and workspace.tree.look(spec.base.path) is not None:
            return None
    except (Invalid, PathRefused, StorageFailed):
        return None
    state = found.state if found else None
    sides = (
        _side(base if source.before else None, source.before),
        _side(found.data if found else None, state),
        _side(theirs, spec.after),
    )
    return FileMerge(spec, state, *sides, merge_file(*sides))


def _source(spec: ActionSpecExt) -> Touched | None:
    """The file whose lines are merged: the spec's own, or the one it renames."""
    if not spec.validated or spec.base.kind not in MERGEABLE:
        return None
    own, *others = spec.touched
    if not others:
        return own
    renamed = own.before is None and len(others) == 1 and others[0].after is None
    return others[0] if renamed else None


def find_changed_files(workspace: Workspace, document: PlanDocument) -> tuple[str, ...]:
    """Those that differ from what the proposer saw.

    None for a step of a run: the steps before it change them, and it is stale only when its turn comes.
    """
    if document.step:
        return ()
    specs = [spec for spec in document.state.action_specs if spec.validated]
    return tuple(find_differing(workspace.tree, files_of(specs)))


def is_changed(spec: ActionSpecExt, changed: Container[str]) -> bool:
    return spec.validated and any(file.path in changed for file in spec.touched)


def _side(data: bytes | None, state: FileState | None) -> FileSide | None:
    return None if data is None or state is None else FileSide(data, git_mode(state.mode))


def merges_of(workspace: Workspace, document: PlanDocument) -> list[FileMerge]:
    """Of every file that changed since its proposer saw it and that can be merged; reads files only."""
    changed = find_changed_files(workspace, document)
    specs = [spec for spec in document.state.action_specs if is_changed(spec, changed)]
    found = [file_merge(workspace, spec) for spec in specs]
    return [one for one in found if one is not None]


def open_conflicts(workspace: Workspace, document: PlanDocument) -> tuple[OpenConflict, ...]:
    return tuple(conflict for merge in merges_of(workspace, document) for conflict in merge.conflicts)


class MergedSpecs(NamedTuple):
    specs: tuple[ActionSpec, ...]
    """What is left to do to the files as they are now."""
    basis: Basis
    """Those files."""
    seen: Mapping[str, bytes]
    """Their bytes, by hash."""
    since: Since
    lines: int = 0
    """Lines that the person wrote since, in the files that were merged."""
    kept: tuple[str, ...] = ()
    """Where both changed the same and the person's version stays: paths, with the line if there is one."""
    unknown: tuple[str, ...] = ()
    """Files that changed and cannot be merged, because what the proposer saw is not kept."""


def merge_specs(
    workspace: Workspace, document: PlanDocument, decisions: Decisions = UNDECIDED
) -> MergedSpecs:
    """Reads files only; a spec whose files are as the proposer saw them stays as it is."""
    specs: list[ActionSpec] = []
    basis: dict[str, FileState | None] = {}
    seen: dict[str, bytes] = {}
    since: dict[str, SeenBefore] = {}
    lines, kept, unknown = 0, list[str](), list[str]()
    moved_on = find_changed_files(workspace, document)
    for spec in document.state.action_specs:
        path, changed = spec.base.path, is_changed(spec, moved_on)
        merge = file_merge(workspace, spec) if changed else None
        if spec.base.kind in MERGEABLE and (changed or spec.since is not UNSET):
            since[path] = find_seen_before(workspace, spec)
        if merge is not None:
            basis |= {path: None, spec.old_path or path: merge.state}
            if merge.state and merge.mine:
                seen[merge.state.sha256] = merge.mine.data
            specs += _spec(merge, merge.resolve(decisions))
            lines += merge.lines(decisions)
            kept += [one.place for one in merge.conflicts if _stays(decisions.get(one.key))]
        elif changed:
            specs.append(spec.base)
            unknown.append(path)
        else:
            basis |= {file.path: file.before for file in spec.touched}
            specs.append(spec.base)
    return MergedSpecs(tuple(specs), basis, seen, since, lines, tuple(kept), tuple(unknown))


def _stays(decision: Decision | None) -> bool:
    return decision in {None, ConflictChoice.OURS}


def find_seen_before(workspace: Workspace, spec: ActionSpecExt) -> SeenBefore:
    """The file that the proposer saw, whatever it was merged with since."""
    wanted = spec.since
    if wanted is UNSET:
        source = _source(spec)
        wanted = source.before.sha256 if source and source.before else ""
    return SeenBefore(wanted, workspace.store.get_bytes(wanted) if wanted else b"")


def _spec(merge: FileMerge, side: FileSide | None) -> tuple[ActionSpec, ...]:
    """A spec that writes the merged file; none if it is that already."""
    spec, mine, old_path = merge.spec, merge.mine, merge.spec.old_path
    if side is None or (side == mine and not old_path):
        gone = {"kind": SpecKind.DELETE, "content": None, "encoding": Encoding.UTF8, "mode": None}
        return () if side == mine else (msgspec.structs.replace(spec.base, **gone),)
    if old_path and mine:
        content, encoding = pack(render_move(old_path, spec.base.path, mine, side).diff)
        return (msgspec.structs.replace(spec.base, content=content, encoding=encoding),)
    content, encoding = pack(side.data)
    bits = spec.after.mode if spec.after and (mine is None or side.mode != mine.mode) else None
    if bits is None and merge.state and spec.before and merge.state.mode == spec.before.mode:
        bits = spec.base.mode
    kind = SpecKind.CREATE if mine is None else SpecKind.WRITE
    return (msgspec.structs.replace(spec.base, kind=kind, content=content, encoding=encoding, mode=bits),)
