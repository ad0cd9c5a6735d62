"""How a plan is described wherever a person looks at it or decides about it."""

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec import UNSET

from ringi.cli.app import App
from ringi.cli.results import show_results, show_text
from ringi.domain.approval import Act, Approval, ProofKind
from ringi.domain.change_plan import ChangeFacts
from ringi.domain.plan import (
    ALL_SPECS,
    CHANGING,
    OPEN,
    ActionSpecExt,
    CheckFailure,
    DiffSummary,
    PlanDocument,
    PlannedChecks,
    PlanPreview,
    PlanRef,
    PlanStatus,
    SpecKind,
    SpecSelection,
    comments_now,
    risk_of,
    selected,
)
from ringi.errors import NoCommit, NoSandbox
from ringi.plans.commit import TRAILERS, Announced, outcome_of
from ringi.text import Text, stored
from ringi.views import words
from ringi.wiring.assemble import commands_of

if TYPE_CHECKING:
    from ringi.api import Workspace

BY_MODEL: Final = Text("made by the model from the plan's text")
_ON_FAILURE: Final = {
    CheckFailure.UNDO: Text("if one fails, everything is taken back"),
    CheckFailure.KEEP: Text("if one fails, what was written stays"),
}


def describe(app: App, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> None:
    ui, state = app.ui, document.state
    ui.line(Text("{name}  {title}", name=ref.name, title=document.plan.title), style="bold")
    ui.line(
        Text(
            "{status} · {proposer} · version {version} · {when}",
            status=words.status(ref),
            proposer=document.plan.proposer,
            version=document.plan.version,
            when=words.moment(document.plan.created_at),
        ),
        style="dim",
        indent=2,
    )
    if not state.action_specs:
        _describe_text(app, document.plan.content)
    _describe_specs(app, document, preview)
    if document.change:
        _describe_change(app, document.change, ref)
    _describe_surroundings(app, document, preview)
    _describe_checks(app, document)
    _describe_commit(app, document)
    for given_back in state.feedback:
        ui.line(Text("its proposer is told: {text}", text=given_back.text), indent=2)
    for comment in comments_now(document):
        where = Text("{path}:{line}: {text}", path=comment.path, line=comment.line, text=comment.text)
        ui.line(Text("your comment on {where}", where=where), indent=2)
    _describe_approvals(app, document)
    _describe_last_execution(app, document)


def totals(app: App, document: PlanDocument, selection: SpecSelection = ALL_SPECS) -> None:
    """The line that a person decides by; of a part of a plan only its risk."""
    found, risk = document.state.previews, risk_of(document, selection)
    if found is None:
        return
    size = words.size(len(found.files), found.added, found.removed)
    if not selection.all:
        chosen = ", ".join(spec.id for spec in selected(document.state.action_specs, selection))
        size = Text("only {specs} of it", specs=chosen)
    line = Text("{size}   {risk}", size=size, risk=words.RISK[risk])
    app.ui.line(line, style=words.RISK_STYLE[risk], indent=2)


def _describe_text(app: App, content: str) -> None:
    app.ui.line(Text("only a text so far, without specs:"), indent=2)
    show_text(app, content, first=True)


def _describe_specs(app: App, document: PlanDocument, preview: PlanPreview) -> None:
    ui, specs = app.ui, document.state.action_specs
    runs = any(spec.base.kind is SpecKind.RUN for spec in specs)
    how = sandbox(app.workspace) if runs else None
    by_model = set(document.state.from_model or ())
    for number, (spec, part) in enumerate(zip(specs, preview.diffs, strict=True), 1):
        ui.line(_spec_line(number, spec, part), style=words.RISK_STYLE[part.risk], indent=2)
        for note in terms(spec, how, by_model=spec.id in by_model):
            ui.line(note, indent=7)
        for given in part.reasons:
            ui.line(words.reason(part.path, given), indent=7)
        if not spec.validated:
            ui.line(Text("cannot be carried out: {why}", why=stored(spec.notes)), style="red", indent=7)


def _spec_line(number: int, spec: ActionSpecExt, part: DiffSummary) -> Text:
    # After some were dropped, the ids keep gaps; they are what --only takes.
    label = f"{number}." if spec.id == f"s{number}" else f"{number}. [{spec.id}]"
    risk = words.RISK[part.risk]
    if spec.base.kind not in CHANGING or spec.base.kind is SpecKind.MKDIR:
        return Text("{number} {action}  {risk}", number=label, action=words.action(spec), risk=risk)
    size = Text("binary") if part.binary else f"+{part.added} -{part.removed}"
    return Text(
        "{number} {action}  {size}  {risk}", number=label, action=words.action(spec), size=size, risk=risk
    )


def terms(spec: ActionSpecExt, how: Text | None, *, by_model: bool = False) -> Iterator[Text]:
    """What else of a spec is approved, beside what it does to its files."""
    if by_model:
        yield BY_MODEL
    if spec.base.kind is SpecKind.RUN and how is not None:
        seconds, folder = spec.base.timeout_sec or 0, spec.base.path or "."
        yield Text("in {folder}, at most {seconds} s, {how}", folder=folder, seconds=seconds, how=how)
    if spec.base.arguments is not None:
        yield Text("with {arguments}", arguments=json.dumps(spec.base.arguments, ensure_ascii=False))
    if mode := _new_mode(spec):
        yield Text("permission bits become {mode}", mode=mode)
    if spec.base.optional:
        yield Text("optional: where it fails, the rest goes on")


def sandbox(workspace: "Workspace") -> Text:
    """What is approved together with a command."""
    config, environment = workspace.configuration.config, workspace.parts.environment
    try:
        inside = commands_of(workspace.places, config, environment).sandboxed()
    except NoSandbox as error:
        return Text("not at all: {why}", why=Text(error.message, **error.details))
    return Text("in a sandbox without network") if inside else Text("NOT in a sandbox")


def _new_mode(spec: ActionSpecExt) -> str | None:
    if spec.before and spec.after and spec.before.mode != spec.after.mode:
        return spec.after.mode
    return spec.base.mode or None


def _describe_change(app: App, facts: ChangeFacts, ref: PlanRef) -> None:
    ui = app.ui
    ui.line(Text("change plan: {why}", why=words.TRIGGER[facts.basis.trigger]), indent=2)
    for found in facts.basis.related_diagnostics:
        ui.line(words.diagnostic(found), indent=4)
    affected = facts.scope.affected_files
    if affected:
        ui.line(Text("files that depend on it: {files}", files=words.some(affected)), indent=2)
    else:
        ui.line(Text("no other file depends on it"), indent=2)
    line = Text("risk by the rules of change plans: {risk}", risk=words.RISK[facts.risk.level])
    ui.line(line, style=words.RISK_STYLE[facts.risk.level], indent=2)
    for reason in facts.risk.reasons:
        ui.line(Text("{reason}", reason=reason), indent=4)
    for given in filter(None, [facts.explanation.summary, facts.explanation.details]):
        ui.line(Text("its proposer says: {words}", words=given), style="dim", indent=2)
    if facts.superseded_at:
        ui.line(Text("! superseded: the project changed since"), style="yellow", indent=2)
        ui.next_step(f"ringi propose --again {ref.name}")


def _describe_surroundings(app: App, document: PlanDocument, preview: PlanPreview) -> None:
    """What of the workspace and of other plans stands in its way, and what it could not take along."""
    ui, status = app.ui, document.state.status
    for path in preview.stale if status not in {PlanStatus.COMPLETED, PlanStatus.PROPOSED} else ():
        ui.line(Text("! {path} changed since the proposer saw it", path=path), style="yellow", indent=2)
    for other in preview.overlaps:
        line = Text("! {plan} changes {paths} too", plan=other.name, paths=words.some(other.paths))
        ui.line(line, style="yellow", indent=2)
    for left in document.plan.left_out:
        ui.line(Text("! not in the plan: {left}", left=left), style="yellow", indent=2)


def _describe_checks(app: App, document: PlanDocument) -> None:
    ui, state = app.ui, document.state
    if state.planned_checks and state.status is not PlanStatus.COMPLETED:
        _describe_planned(app, state.planned_checks)
    for result in state.checks:
        ui.line(words.check(result), style="green" if result.exit_code == 0 else "red", indent=2)
        if result.exit_code != 0:
            show_text(app, result.output)
    if document.plan.version > 1 and not state.checks and state.status is PlanStatus.PENDING_REVIEW:
        ui.line(Text("no check has run on exactly these bytes"), style="dim", indent=2)


def _describe_planned(app: App, planned: PlannedChecks) -> None:
    for command in planned.before:
        app.ui.line(Text("checked before it is carried out: {command}", command=command), indent=2)
    for command in planned.after:
        app.ui.line(Text("checked afterwards: {command}", command=command), indent=2)
    if planned.after:
        app.ui.line(_ON_FAILURE[planned.on_failure], indent=4)


def _describe_commit(app: App, document: PlanDocument) -> None:
    """What follows when it is carried out: a person approves that too."""
    state, ui = document.state, app.ui
    if not state.commit or state.status not in OPEN:
        return
    try:
        found = app.workspace.plan.announced_commit(document.plan.id)
    except NoCommit as error:
        ui.line(Text("! {why}", why=Text(error.message, **error.details)), style="yellow", indent=2)
        return
    if found is None:
        return
    ui.line(commit_line(found), indent=2)
    show_text(app, found.subject.message.partition("\n")[2].strip("\n"), first=True, indent=4)
    ui.line(Text("with the lines {names}", names=", ".join(TRAILERS)), style="dim", indent=4)
    for line in mixed_lines(found):
        ui.line(line, style="yellow", indent=4)


def commit_line(found: Announced) -> Text:
    subject = found.subject
    hooks = Text("hooks: {hooks}", hooks=", ".join(subject.hooks)) if subject.hooks else Text("no hooks")
    branch, title = subject.branch or Text("a detached HEAD"), subject.message.partition("\n")[0]
    return Text("then commits on {branch}: {title} ({hooks})", branch=branch, title=title, hooks=hooks)


def mixed_lines(found: Announced) -> Iterator[Text]:
    for path in found.mixed:
        yield Text("! {path} has changes that are not committed yet; they go into the same commit", path=path)


def _describe_approvals(app: App, document: PlanDocument) -> None:
    if not document.state.approvals:
        return
    given = {approval.timestamp: approval for approval in _approvals(app, document)}
    for entry in document.state.approvals:
        line = Text("approved by {who}, {when}", who=entry.approver, when=words.moment(entry.timestamp))
        app.ui.line(line, indent=2)
        if (approval := given.get(entry.timestamp)) is not None:
            app.ui.line(proof(approval), indent=4)
            if approval.note:
                app.ui.line(Text("note: {note}", note=approval.note), indent=4)
        if not entry.selection.all:
            app.ui.line(Text("only {specs}", specs=", ".join(entry.selection.ids)), indent=4)


def _approvals(app: App, document: PlanDocument) -> tuple[Approval, ...]:
    return app.workspace.parts.ledger.approvals(document.plan.id)


def proof(approval: Approval) -> Text:
    """How it is known that a person said yes, and how much that is worth."""
    record = approval.proof
    if record.kind is ProofKind.SIGNED:
        return Text("signed with a listed key of {name} (strong)", name=record.principal or record.user)
    if record.kind is ProofKind.GRANT:
        return Text("covered by the standing approval {grant}", grant=(record.grant or "")[:8])
    return Text("typed by {user} at {terminal} (weak)", user=record.user, terminal=record.channel)


def _describe_last_execution(app: App, document: PlanDocument) -> None:
    """What the commands and readings said; of the files only those that were not written."""
    if not document.state.executions:
        return
    done = [
        execution.result
        for execution in app.workspace.parts.ledger.executions(document.plan.id)
        if execution.result and execution.intent.kind is Act.EXECUTE
    ]
    if not done:
        return
    outcome = outcome_of(app.workspace.log(document.plan.id)) if document.state.commit else None
    last = msgspec.structs.replace(done[-1], commit=outcome or UNSET)
    line = (
        Text("carried out {when}", when=words.moment(last.finished_at))
        if last.overall_success
        else Text("carried out in part {when}", when=words.moment(last.finished_at))
    )
    app.ui.line(line, indent=2)
    specs = {spec.id: spec for spec in document.state.action_specs}
    show_results(app, last, specs, files=not last.overall_success)
