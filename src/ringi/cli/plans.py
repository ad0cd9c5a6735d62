"""`ringi list`, `ringi pending` and `ringi current`."""

from collections.abc import Sequence
from gettext import gettext as _

import click

from ringi.cli.app import App, pass_app
from ringi.cli.ui import translated
from ringi.domain.plan import PlanRef, PlanStatus
from ringi.text import Text
from ringi.views import words


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
@click.option(
    "--status",
    "statuses",
    type=click.Choice([str(status) for status in PlanStatus]),
    multiple=True,
    help="Only those with this status; may be given more than once.",
)
@pass_app
def list_(app: App, limit: int, everything: bool, statuses: tuple[str, ...]) -> None:
    """List the plans, newest first."""
    most = None if everything else limit
    if statuses:
        refs = [ref for ref in app.plans.refs() if ref.status in statuses][:most]
    else:
        refs = app.plans.refs(limit=most)
    if app.ui.as_json:
        app.ui.document(refs)
    elif refs:
        show_table(app, refs)
    elif statuses and app.plans.count():
        app.ui.line(Text("No plan has that status."))
        app.ui.next_step("ringi list")
    else:
        tell_no_plans(app)


@click.command()
@click.argument("plan", required=False)
@click.option("--off", is_flag=True, help="Take it off the list, without a decision.")
@pass_app
def pending(app: App, plan: str | None, off: bool) -> None:
    """List the plans that wait for a decision, or add PLAN to them."""
    if plan is None:
        if off:
            raise click.UsageError(_("--off needs a PLAN"))
        _list_pending(app)
        return
    tool = app.workspace.plan
    plan_id = tool.find(plan)
    tool.mark_pending(plan_id, not off)
    ref = tool.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(ref)
    elif off:
        app.ui.line(Text("{plan} does not wait any more.", plan=ref.name))
        app.ui.next_step(f"ringi pending {ref.name}")
    else:
        app.ui.line(Text("{plan} waits for a decision.", plan=ref.name))
        app.ui.next_step(f"ringi review {ref.name}")


def _list_pending(app: App) -> None:
    refs = [ref for ref in app.plans.refs(waiting=True) if ref.status is PlanStatus.PENDING_REVIEW]
    if app.ui.as_json:
        app.ui.document(refs)
        return
    if not refs:
        app.ui.line(Text("No plan waits for a decision."))
        app.ui.next_step("ringi list")
        return
    show_table(app, refs)
    app.ui.next_step(f"ringi review {refs[0].name}")


@click.command()
@click.option("--clear", is_flag=True, help="Unset the current plan; the plan itself stays as it is.")
@pass_app
def current(app: App, clear: bool) -> None:
    """Show the current plan: the one proposed last, until it is done."""
    tool = app.workspace.plan
    if clear:
        tool.clear_current()
    ref = tool.get_current()
    if app.ui.as_json:
        app.ui.document(ref)
    elif ref is None:
        app.ui.line(Text("No plan is the current one."))
        app.ui.next_step("ringi list")
    else:
        show_table(app, [ref])
        app.ui.next_step(f"ringi show {ref.name}")


def show_table(app: App, refs: Sequence[PlanRef]) -> None:
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


def tell_no_plans(app: App) -> None:
    app.ui.line(Text("There are no plans yet."))
    app.ui.next_step("ringi with -- COMMAND")
