"""A plan in the forms that other programs read: a patch, an editor's edit, a change plan's document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ringi.errors import NoSuchForm
from ringi.kernel.text import Text
from ringi.patch.workspace_edit import WorkspaceEdit, workspace_edit
from ringi.plans.change import as_edited_file
from ringi.plans.change_plan import ChangePlan
from ringi.plans.document import change_plan_of
from ringi.plans.effects import rendering
from ringi.plans.preview import effects
from ringi.policy.spec_kind import CHANGING, SpecKind

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def as_patch(workspace: Workspace, plan_id: str) -> bytes:
    """The plan as one patch for `git apply`; raises, with the name, if a file is binary."""
    _require_only_files(workspace, plan_id)
    pieces = []
    for found in effects(workspace, workspace.plan.stored(plan_id)):
        rendered = rendering(found)
        if rendered.binary:
            why = Text("{path} is not text", path=found[0].path)
            raise NoSuchForm(plan=workspace.plan_name(plan_id), why=why)
        pieces.append(rendered.diff)
    return b"".join(pieces)


def as_workspace_edit(workspace: Workspace, plan_id: str) -> WorkspaceEdit:
    _require_only_files(workspace, plan_id)
    files = [as_edited_file(found) for found in effects(workspace, workspace.plan.stored(plan_id))]
    return workspace_edit(files, workspace.places.root.as_uri())


def _require_only_files(workspace: Workspace, plan_id: str) -> None:
    """Leaves nothing out silently: a patch cannot hold a command, a reading or an empty folder."""
    for spec in workspace.plan.get_state(plan_id).action_specs:
        if spec.base.kind not in CHANGING or spec.base.kind is SpecKind.MKDIR:
            why = Text("{spec} ({kind}) changes no content of a file", spec=spec.id, kind=str(spec.base.kind))
            raise NoSuchForm(plan=workspace.plan_name(plan_id), why=why)


def as_change_plan(workspace: Workspace, plan_id: str) -> ChangePlan:
    found = change_plan_of(workspace.plan.get(plan_id))
    if found is None:
        raise NoSuchForm(plan=workspace.plan_name(plan_id), why=Text("it is not a change plan"))
    return found
