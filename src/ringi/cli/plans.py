"""`ringi list` and `ringi show`."""

import click

from ringi.cli import words
from ringi.cli.app import App, pass_app
from ringi.cli.ui import stored, translated
from ringi.domain.change_plan import ChangeFacts
from ringi.domain.plan import ActionSpecExt, PlanDocument, PlanPreview, PlanRef, PlanStatus
from ringi.text import Text


@click.command("list")
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    default=20,
    show_default=True,
    help="How many, newest first.",
)
@click.option("--all", "everything", is_flag=True, help="All of them.")
@pass_app
def list_(app: App, limit: int, everything: bool) -> None:
    """List the plans, newest first."""
    refs = app.plans.refs(limit=None if everything else limit)
    if app.ui.as_json:
        app.ui.document(refs)
        return
    if not refs:
        tell_no_plans(app)
        return
    rows = [
        [
            ref.name,
            translated(words.status(ref)),
            translated(words.size(ref.files, ref.added, ref.removed)),
            translated(words.RISK[ref.risk]),
            ref.title,
        ]
        for ref in refs
    ]
    app.ui.table(rows, ["bold" if ref.status is PlanStatus.PENDING_REVIEW else "" for ref in refs])


@click.command()
@click.argument("plan", required=False)
@click.option("--diff", is_flag=True, help="With the changes, line by line.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["change-plan", "workspace-edit", "patch"]),
    help="In another form: the specification's document, an editor's, or a patch for git apply.",
)
@pass_app
def show(app: App, plan: str | None, diff: bool, form: str | None) -> None:
    """Show a plan: what it changes, how risky it is, what became of it."""
    tool, ledger = app.workspace.plan, app.workspace.parts.ledger
    refs = tool.list(limit=1)
    if not (plan or refs):
        tell_no_plans(app)
        return
    plan_id = ledger.find(plan) if plan else refs[0].id
    document = tool.get(plan_id)
    if form:
        _show_as(app, plan_id, form)
        return
    if app.ui.as_json:
        app.ui.document(tool.preview(plan_id) if diff else document)
        return
    preview = tool.preview(plan_id)
    describe(app, ledger.ref(plan_id), document, preview)
    if diff:
        for part in preview.diffs:
            app.ui.line()
            app.ui.diff(part.diff)
    if document.state.status in {PlanStatus.PENDING_REVIEW, PlanStatus.ABORTED}:
        app.ui.next_step(f"ringi review {ledger.ref(plan_id).name}")


def _show_as(app: App, plan_id: str, form: str) -> None:
    from ringi.api import change  # noqa: PLC0415  # only for these forms

    if form == "patch":
        patch = change.as_patch(app.workspace, plan_id)
        if app.ui.as_json:
            app.ui.document({"patch": patch.decode("utf-8", "backslashreplace")})
        else:
            app.ui.patch(patch)
    elif form == "workspace-edit":
        app.ui.document(change.as_workspace_edit(app.workspace, plan_id))
    else:
        app.ui.document(change.as_change_plan(app.workspace, plan_id))


def tell_no_plans(app: App) -> None:
    app.ui.line(Text("There are no plans yet."))
    app.ui.next_step("ringi with -- COMMAND")


def describe(app: App, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> None:
    ui, state = app.ui, document.state
    ui.line(Text("{name}  {title}", name=ref.name, title=document.plan.title), style="bold")
    ui.line(
        Text(
            "{status} · {proposer} · version {version} · {when}",
            status=words.status(ref),
            proposer=document.plan.proposer,
            version=document.plan.version,
            when=document.plan.created_at[:16].replace("T", " "),
        ),
        style="dim",
        indent=2,
    )
    _describe_files(app, document, preview)
    if document.change:
        _describe_change(app, document.change, ref)
    for path in preview.stale if state.status not in {PlanStatus.COMPLETED, PlanStatus.PROPOSED} else ():
        ui.line(Text("! {path} changed since the proposer saw it", path=path), style="yellow", indent=2)
    for left in document.plan.left_out:
        ui.line(Text("! not in the plan: {left}", left=left), style="yellow", indent=2)
    for result in state.checks:
        ui.line(words.check(result), style="green" if result.exit_code == 0 else "red", indent=2)
    if document.plan.version > 1 and not state.checks and state.status is PlanStatus.PENDING_REVIEW:
        ui.line(Text("no check has run on exactly these bytes"), style="dim", indent=2)
    for given_back in state.feedback:
        ui.line(Text("sent back with: {text}", text=given_back.text), indent=2)
    for entry in state.approvals:
        ui.line(
            Text(
                "approved by {who}, {when}", who=entry.approver, when=entry.timestamp[:16].replace("T", " ")
            ),
            indent=2,
        )


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


def _new_mode(spec: ActionSpecExt) -> str | None:
    if spec.before and spec.after and spec.before.mode != spec.after.mode:
        return spec.after.mode
    return spec.base.mode or None


def _describe_files(app: App, document: PlanDocument, preview: PlanPreview) -> None:
    ui = app.ui
    for number, (spec, part) in enumerate(zip(document.state.action_specs, preview.diffs, strict=True), 1):
        size = Text("binary") if part.binary else f"+{part.added} -{part.removed}"
        line = Text(
            "{number}. {action}  {size}  {risk}",
            number=number,
            action=words.action(spec),
            size=size,
            risk=words.RISK[part.risk],
        )
        ui.line(line, style=words.RISK_STYLE[part.risk], indent=2)
        if mode := _new_mode(spec):
            ui.line(Text("permission bits become {mode}", mode=mode), indent=7)
        for given in part.reasons:
            ui.line(words.reason(part.path, given), indent=7)
        if not spec.validated:
            ui.line(Text("cannot be carried out: {why}", why=stored(spec.notes)), style="red", indent=7)
