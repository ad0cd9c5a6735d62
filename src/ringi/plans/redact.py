"""What is not sent to clients over MCP: the content of files that git ignores or that may hold credentials.

A diff shows what is in a file, so a plan that changes such a file would be a way to read it.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ringi.approvals.feedback import LineComment
from ringi.plans.answer_document import PlanAnswer
from ringi.plans.document import PlanDocument, PlanPreview, with_state
from ringi.plans.execute import execute
from ringi.plans.execution import ExecutionResult
from ringi.plans.reading import guarded, guarded_in, paths_in

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

NOT_SHOWN: Final = "(not shown: git ignores this file, or it may hold credentials)\n"


def execute_for_clients(workspace: Workspace, plan: str) -> ExecutionResult:
    """What it reads leaves with the answer, so it needs an approval. Raises ReadNotApproved."""
    return execute(workspace, workspace.plan.find(plan), leaves=True)


def preview_for_clients(workspace: Workspace, plan: str) -> PlanPreview:
    document, found = workspace.plan.get(plan), workspace.plan.preview(plan)
    hidden = _specs(document, guarded_in(workspace, document))
    diffs = (
        replace(part, diff=NOT_SHOWN) if part.spec_id in hidden and part.diff else part
        for part in found.diffs
    )
    return replace(found, diffs=tuple(diffs)) if hidden else found


def with_unquoted(workspace: Workspace, document: PlanDocument) -> PlanDocument:
    """Without the lines of such files that a person commented on."""
    comments = document.state.comments or ()
    hidden = guarded(workspace, (one.path for one in comments))
    return with_state(document, comments=_unquoted(comments, hidden)) if hidden else document


def answer_for_clients(workspace: Workspace, plan: str) -> PlanAnswer:
    answer = workspace.plan.answer(plan)
    paths = {one.path for one in answer.changed} | {one.path for one in answer.comments}
    hidden = guarded(workspace, paths)
    changed = (replace(one, diff=NOT_SHOWN) if one.path in hidden else one for one in answer.changed)
    comments = _unquoted(answer.comments, hidden)
    return replace(answer, changed=tuple(changed), comments=comments) if hidden else answer


def _unquoted(comments: Iterable[LineComment], paths: Container[str]) -> tuple[LineComment, ...]:
    return tuple(replace(given, quote="") if given.path in paths else given for given in comments)


def _specs(document: PlanDocument, paths: Iterable[str]) -> set[str]:
    found = set(paths)
    return {spec.id for spec in document.state.action_specs if found.intersection(paths_in(spec))}
