"""Everything known about a plan besides its document, for the views."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from msgspec import UNSET

from ringi.approvals.document import Act
from ringi.errors import NoCommit
from ringi.plans import words
from ringi.plans.commit import Announced, announce, outcome_of
from ringi.plans.document import OPEN, PlanDocument, PlanPreview, PlanRef
from ringi.plans.execution import ExecutionResult
from ringi.plans.view import PlanFacts
from ringi.policy.spec_kind import SpecKind

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def facts_of(workspace: Workspace, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> PlanFacts:
    state = document.state
    runs = any(spec.base.kind is SpecKind.RUN for spec in state.action_specs)
    return PlanFacts(
        ref,
        document,
        preview,
        sandbox=words.sandbox(workspace.commands) if runs else None,
        commit=_commit(workspace, document) if state.commit and state.status in OPEN else None,
        approvals=workspace.store.approvals.of(document.plan.id) if state.approvals else (),
        last_result=_last_result(workspace, document) if state.executions else None,
    )


def _commit(workspace: Workspace, document: PlanDocument) -> Announced | NoCommit | None:
    try:
        return announce(workspace, document)
    except NoCommit as error:
        return error


def _last_result(workspace: Workspace, document: PlanDocument) -> ExecutionResult | None:
    done = [
        execution.result
        for execution in workspace.store.executions.of(document.plan.id)
        if execution.result and execution.intent.kind is Act.EXECUTE
    ]
    if not done:
        return None
    outcome = outcome_of(workspace.log(document.plan.id)) if document.state.commit else None
    return msgspec.structs.replace(done[-1], commit=outcome or UNSET)
