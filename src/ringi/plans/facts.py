"""Everything known about a plan besides its document, for the views."""

import msgspec
from msgspec import UNSET

from ringi.app.context import OpenWorkspace
from ringi.approvals.document import Act
from ringi.errors import NoCommit
from ringi.plans import words
from ringi.plans.commit import Announced, announced, outcome_of
from ringi.plans.document import OPEN, PlanDocument, PlanPreview, PlanRef, SpecKind
from ringi.plans.execution import ExecutionResult
from ringi.plans.view import PlanFacts


def facts_of(
    workspace: OpenWorkspace, ref: PlanRef, document: PlanDocument, preview: PlanPreview
) -> PlanFacts:
    state = document.state
    runs = any(spec.base.kind is SpecKind.RUN for spec in state.action_specs)
    return PlanFacts(
        ref,
        document,
        preview,
        sandbox=words.sandbox(workspace.services.commands) if runs else None,
        commit=_commit(workspace, document) if state.commit and state.status in OPEN else None,
        approvals=workspace.services.store.approvals.of(document.plan.id) if state.approvals else (),
        last_result=_last_result(workspace, document) if state.executions else None,
    )


def _commit(workspace: OpenWorkspace, document: PlanDocument) -> Announced | NoCommit | None:
    try:
        return announced(workspace.services, document)
    except NoCommit as error:
        return error


def _last_result(workspace: OpenWorkspace, document: PlanDocument) -> ExecutionResult | None:
    done = [
        execution.result
        for execution in workspace.services.store.executions.of(document.plan.id)
        if execution.result and execution.intent.kind is Act.EXECUTE
    ]
    if not done:
        return None
    outcome = outcome_of(workspace.log(document.plan.id)) if document.state.commit else None
    return msgspec.structs.replace(done[-1], commit=outcome or UNSET)
