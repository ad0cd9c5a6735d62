"""A plan with everything known about it, printed wherever a person looks at it or decides about it."""

import msgspec
from msgspec import UNSET

from ringi.cli.app import App
from ringi.domain.approval import Act
from ringi.domain.execution import ExecutionResult
from ringi.domain.plan import (
    ALL_SPECS,
    OPEN,
    PlanDocument,
    PlanPreview,
    PlanRef,
    SpecKind,
    SpecSelection,
)
from ringi.errors import NoCommit
from ringi.plans.commit import Announced, outcome_of
from ringi.views import words
from ringi.views.plan import PlanFacts, plan_lines, total_line


def describe(app: App, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> None:
    app.ui.show(plan_lines(facts_of(app, ref, document, preview)))


def totals(app: App, document: PlanDocument, selection: SpecSelection = ALL_SPECS) -> None:
    if (line := total_line(document, selection)) is not None:
        app.ui.show([line])


def facts_of(app: App, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> PlanFacts:
    workspace, state = app.workspace, document.state
    runs = any(spec.base.kind is SpecKind.RUN for spec in state.action_specs)
    return PlanFacts(
        ref,
        document,
        preview,
        sandbox=words.sandbox(workspace.services.commands) if runs else None,
        commit=_commit(app, document) if state.commit and state.status in OPEN else None,
        approvals=workspace.plan.approvals(document.plan.id) if state.approvals else (),
        last_result=_last_result(app, document) if state.executions else None,
    )


def _commit(app: App, document: PlanDocument) -> Announced | NoCommit | None:
    try:
        return app.workspace.plan.announced_commit(document.plan.id)
    except NoCommit as error:
        return error


def _last_result(app: App, document: PlanDocument) -> ExecutionResult | None:
    done = [
        execution.result
        for execution in app.workspace.plan.executions(document.plan.id)
        if execution.result and execution.intent.kind is Act.EXECUTE
    ]
    if not done:
        return None
    outcome = outcome_of(app.workspace.log(document.plan.id)) if document.state.commit else None
    return msgspec.structs.replace(done[-1], commit=outcome or UNSET)
