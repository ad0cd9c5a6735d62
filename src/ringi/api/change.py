"""From a patch, new contents or two trees to a plan or a change plan, and a plan in the forms others read."""

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from ringi.api.project import state_now
from ringi.api.workspace import Workspace
from ringi.domain.change_plan import FileDiff, Trigger
from ringi.domain.change_view import ChangePlan, change_plan_of
from ringi.domain.plan import ActionSpec, Encoding, SpecKind
from ringi.domain.workspace_edit import WorkspaceEdit
from ringi.errors import ChangeRefused, NoBasis, NoDiff, NotAnEdit, NotFound, PatchMismatch
from ringi.patching import Patch, dump, normalise, parse_patch, render_patch
from ringi.patching.render import Changed, Side
from ringi.patching.workspace_edit import workspace_edit
from ringi.plans.changing import GROUP, Change, edited_file
from ringi.plans.effects import git_mode
from ringi.plans.rendering import rendering
from ringi.text import Text
from ringi.workspace.dependencies import dependents
from ringi.workspace.snapshot import Snapshots

_NEW_FILE: Final = "100644"
_LINK: Final = "120000"


def propose_patch(workspace: Workspace, content: str, patch: bytes, *, proposer: str = "") -> str:
    """An ordinary plan of one group; nothing is kept where one of the patches does not apply."""
    specs = [_spec(path, data) for path, data in split(patch)]
    return workspace.plan.propose_specs(content, specs, proposer=proposer)


def propose_change(workspace: Workspace, change: Change) -> str:
    """A change plan on the project as it is now."""
    state = state_now(workspace)
    return workspace.plan.propose_change(
        change, state, lambda targets: dependents(state.dependencies, targets)
    )


def propose_again(workspace: Workspace, plan_id: str) -> str:
    """The plan carried over to the project as it is now, as a new one; its diffs must still apply."""
    document = workspace.plan.get(plan_id)
    plan = document.plan
    if document.change:
        found = change_plan_of(document)
        diffs = found.changes if found else ()
        change = Change(
            plan.content, diffs, document.change.basis, document.change.explanation, plan.proposer
        )
        return propose_change(workspace, change)
    specs = [spec.base for spec in document.state.action_specs]
    return workspace.plan.propose_specs(plan.content, specs, proposer=plan.proposer)


def split(patch: bytes) -> list[tuple[str, bytes]]:
    """One patch for each file, with its path."""
    return [(file.path, dump(Patch((file,)))) for file in parse_patch(patch).files]


def file_diffs(patch: bytes) -> tuple[FileDiff, ...]:
    """As a change plan carries them; only text that an editor can hold."""
    diffs = []
    for path, data in split(patch):
        try:
            diffs.append(FileDiff(path, data.decode()))
        except UnicodeDecodeError:
            raise NotAnEdit(path=path, why=Text("it is not UTF-8")) from None
    return tuple(diffs)


def trigger_of(word: str) -> Trigger:
    try:
        return Trigger(word)
    except ValueError:
        raise NoBasis(found=word) from None


def _spec(path: str, patch: bytes) -> ActionSpec:
    try:
        return ActionSpec(SpecKind.PATCH, path, patch.decode(), group=GROUP)
    except UnicodeDecodeError:
        import base64  # noqa: PLC0415  # only for text in another encoding

        content = base64.b64encode(patch).decode()
        return ActionSpec(SpecKind.PATCH, path, content, encoding=Encoding.BASE64, group=GROUP)


def normalised(workspace: Workspace, patch: bytes) -> bytes:
    """A patch as a model wrote it, made exact against the files as they are."""

    def read(path: str) -> bytes | None:
        found = workspace.parts.tree.look(path)
        return found.data if found else None

    return normalise(patch, read)


def patch_of_contents(workspace: Workspace, contents: Mapping[str, bytes | None]) -> bytes:
    """The patch that leads from the workspace to these contents; None stands for a file that goes away."""
    changes = []
    for path, data in contents.items():
        found = workspace.parts.tree.look(path)
        if found is None and data is None:
            raise NotFound(what=Text("file"), name=path, see="git ls-files")
        old = Side(found.data, git_mode(found.state.mode)) if found else None
        new = Side(data, old.mode if old else _NEW_FILE) if data is not None else None
        if old != new:
            changes.append(Changed(path, old, new))
    return _rendered(changes)


def patch_to_tree(workspace: Workspace, folder: Path) -> bytes:
    """The patch that makes the workspace like the folder; what either of them ignores stays out of it."""
    with tempfile.TemporaryDirectory(prefix="ringi-") as scratch:
        return patch_between(
            Snapshots(workspace.places.state, workspace.places.root), Snapshots(Path(scratch), folder)
        )


def patch_between(before: Snapshots, after: Snapshots) -> bytes:
    """The patch that leads from one tree to another."""
    old, new = before.take(), after.take()
    old_files, new_files = before.files(old), after.files(new)
    known, wanted = set(old_files.files), set(new_files.files)
    for file in known ^ wanted:
        if file.mode == _LINK:
            raise PatchMismatch(path=file.path, why=Text("it is a symbolic link"))
    if odd := {*old_files.not_utf8} ^ {*new_files.not_utf8} or {*old.unreadable, *new.unreadable}:
        raise PatchMismatch(path=min(odd), why=Text("it cannot be part of a patch"))
    sides = {file.path: Side(data, file.mode) for file, data in before.contents(old, known - wanted)}
    others = {file.path: Side(data, file.mode) for file, data in after.contents(new, wanted - known)}
    return _rendered([Changed(path, sides.get(path), others.get(path)) for path in sorted({*sides, *others})])


def _rendered(changes: Sequence[Changed]) -> bytes:
    if not changes:
        raise NoDiff
    return render_patch(changes)


def title_of_patch(patch: bytes) -> str:
    """What to call a change that nobody gave a name."""
    paths = [file.path for file in parse_patch(patch).files]
    if len(paths) == 1:
        return f"Change {paths[0]}"
    return f"Change {paths[0]} and {len(paths) - 1} more"


def as_patch(workspace: Workspace, plan_id: str) -> bytes:
    """All of the plan as one patch that `git apply` takes; binary files are refused by name."""
    pieces = []
    for effects in workspace.plan.effects(plan_id):
        rendered = rendering(effects)
        if rendered.binary:
            raise ChangeRefused(why=Text("{path} is not text", path=effects[0].path))
        pieces.append(rendered.diff)
    return b"".join(pieces)


def as_workspace_edit(workspace: Workspace, plan_id: str) -> WorkspaceEdit:
    files = [edited_file(effects) for effects in workspace.plan.effects(plan_id)]
    return workspace_edit(files, workspace.places.root.as_uri())


def as_change_plan(workspace: Workspace, plan_id: str) -> ChangePlan:
    found = change_plan_of(workspace.plan.get(plan_id))
    if found is None:
        raise ChangeRefused(why=Text("nothing says what it is for; it is an ordinary plan"))
    return found
