"""The project's state (CP-10): captured from the workspace, with what an editor adds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import msgspec
from msgspec import UNSET

from ringi.errors import BadDocument, PushStale, Refused, StorageFailed
from ringi.kernel.codec import canonical, digest
from ringi.kernel.system import milliseconds
from ringi.kernel.text import Text, storable
from ringi.plans.change import take_state
from ringi.policy.files import critical_files, mutable_state_files
from ringi.project.analysis import dependencies_of
from ringi.project.dependencies import analyser, is_final
from ringi.project.diagnose import DiagnosedTree, commands_of, diagnose
from ringi.project.diagnostics import merge
from ringi.project.state import Diagnostic, EditorState, Gap, GapCode, ProjectState, StateSource, Unsaved
from ringi.tree.snapshot import Listing, Snapshot, Snapshots

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

Progress = Callable[[Text], None]


class CaptureResult(NamedTuple):
    state: ProjectState
    superseded: tuple[str, ...] = ()
    """Short names of change plans that were made from an earlier state."""
    outside: int = 0
    """Diagnostics left out because they are about no file of the project."""


def snapshot_id(workspace: Workspace) -> str:
    return _snapshots(workspace).take().id


def _snapshots(workspace: Workspace) -> Snapshots:
    return Snapshots(workspace.places.state, workspace.places.root)


def capture(
    workspace: Workspace,
    *,
    editor: EditorState | None = None,
    on_progress: Progress = lambda _: None,
) -> CaptureResult:
    """Records the current project as the newest state; change plans made from another one are superseded.

    If nothing can have changed, the newest state stays as it is.
    """
    snapshots = _snapshots(workspace)
    snapshot = snapshots.take()
    if editor and editor.snapshot_id not in {None, snapshot.id}:
        raise PushStale(pushed=editor.snapshot_id, found=snapshot.id)
    settings = _settings(workspace)
    known = workspace.store.states.newest(snapshot.id)
    if known and known.settings != settings:
        known = None
    if known and not editor and _needs_no_look(workspace, known):
        return CaptureResult(known)
    listing = snapshots.files(snapshot)
    paths = [file.path for file in listing.files]
    inside = frozenset(paths)
    if known:
        dependencies = known.dependencies
    else:
        on_progress(
            Text(
                "reading the dependencies of 1 file …",
                "reading the dependencies of {count} files …",
                count=len(paths),
            )
        )
        dependencies = dependencies_of(workspace.places, workspace.tree, snapshots, snapshot, listing.files)
    diagnosed = diagnose(
        workspace,
        commands_of(workspace.config),
        DiagnosedTree(snapshot.id, snapshot.tree, inside),
        environment=workspace.environment,
        on_command=lambda command: on_progress(Text("running {command} …", command=command)),
    )
    gaps = (*_unread(snapshot, listing), *_absent(snapshots), *diagnosed.gaps)
    gaps += tuple(_editor_gaps(workspace, editor)) if editor else ()
    pushed = [_with_project_path(workspace, item) for item in editor.diagnostics] if editor else []
    ours = [item for item in pushed if item.file in inside]
    risk = workspace.config.risk
    state = ProjectState(
        snapshot_id=snapshot.id,
        captured_at=milliseconds(workspace.clock.now()),
        source=StateSource.EDITOR if editor else StateSource.WORKSPACE,
        files=listing.files,
        diagnostics=merge([diagnosed.diagnostics, ours]),
        dependencies=dependencies,
        critical_files=critical_files(paths, risk.critical),
        mutable_state_files=mutable_state_files(paths, risk.mutable),
        complete=not gaps,
        gaps=gaps,
        settings=settings if is_final(dependencies) else "",
    )
    outside = diagnosed.outside + len(pushed) - len(ours)
    return CaptureResult(state, tuple(take_state(workspace, state)), outside)


def state_now(workspace: Workspace, on_progress: Progress = lambda _: None) -> ProjectState:
    """The newest state if it still matches the files; otherwise captures a new one.

    What an editor reported about this snapshot stays valid, including its unsaved files.
    """
    newest = workspace.store.states.newest()
    if newest is None or not (newest.complete or newest.source is StateSource.EDITOR):
        return capture(workspace, on_progress=on_progress).state
    if newest.settings != _settings(workspace) or newest.snapshot_id != snapshot_id(workspace):
        return capture(workspace, on_progress=on_progress).state
    return newest


def _needs_no_look(workspace: Workspace, known: ProjectState) -> bool:
    """Whether capturing it again would find the same: no command and no editor has a say in it."""
    from_files = known.source is StateSource.WORKSPACE and known.complete
    return from_files and not commands_of(workspace.config)


def _settings(workspace: Workspace) -> str:
    config = workspace.config
    commands, form = commands_of(config), config.diagnostics.format
    parts = (commands, form, config.risk.critical, config.risk.mutable, analyser())
    return digest(canonical(parts))


def _unread(snapshot: Snapshot, listing: Listing) -> list[Gap]:
    unreadable = [Gap(GapCode.UNREADABLE, storable(path)) for path in snapshot.unreadable]
    return unreadable + [Gap(GapCode.UNREADABLE, storable(path), "not UTF-8") for path in listing.not_utf8]


def _absent(snapshots: Snapshots) -> list[Gap]:
    absent = snapshots.not_checked_out()
    return [Gap(GapCode.NOT_CHECKED_OUT, storable(absent[0]), str(len(absent)))] if absent else []


def _editor_gaps(workspace: Workspace, editor: EditorState) -> Iterator[Gap]:
    """A file outside the project is no concern of it."""
    for given in editor.unsaved:
        one = Unsaved(given) if isinstance(given, str) else given
        path = _in_project(workspace, one.path)
        if path is not None and not _is_saved(workspace, path, one):
            yield Gap(GapCode.UNSAVED, path)
    if not editor.complete:
        yield Gap(GapCode.EDITOR, editor.editor)


def _is_saved(workspace: Workspace, path: str, given: Unsaved) -> bool:
    """Whether the file holds what the editor has, whatever the editor says."""
    text = UNSET if given.text is UNSET else digest(given.text.encode("utf-8", "surrogatepass"))
    wanted = text or (given.sha256 and given.sha256.lower())
    if not wanted:
        return False
    if given.sha256 and given.sha256.lower() != wanted:
        why = Text("the sha256 of {path} is not that of its text", path=given.path)
        raise BadDocument(what=Text("the editor's data"), why=why, see="ringi check --schema editor-state")
    try:
        found = workspace.tree.look(path)
    except (Refused, StorageFailed, OSError):
        return False
    return found is not None and found.state.sha256 == wanted


def _with_project_path(workspace: Workspace, item: Diagnostic) -> Diagnostic:
    """About a path in the project, if it is one."""
    path = _in_project(workspace, item.file)
    return item if path is None else msgspec.structs.replace(item, file=path)


def _in_project(workspace: Workspace, path: str) -> str | None:
    """Below the root, also if it was named in full; None if it is elsewhere."""
    root = str(workspace.places.root)
    whole = os.path.normpath(os.path.join(root, path))  # noqa: PTH118  # a link stays as it was named
    return whole[len(root) + 1 :] if whole.startswith(root + os.sep) and "\0" not in path else None
