"""`ringi list`."""

from collections.abc import Sequence

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one
from ringi.cli.ui import cut, terminal_columns
from ringi.kernel.text import Text, translate
from ringi.plans import words
from ringi.plans.document import PlanRef, PlanStatus


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
@click.option("--pending", is_flag=True, help="Only those that wait for a decision.")
@pass_app
def list_(app: App, limit: int, everything: bool, statuses: tuple[str, ...], pending: bool) -> None:
    """List the plans, newest first.

    Discarded plans are left out, unless asked for with `--status discarded`.
    """
    if pending:
        if statuses:
            raise choose_one("--pending", "--status")
        _list_pending(app)
        return
    most = None if everything else limit
    if statuses:
        refs = [ref for ref in app.plans.refs(discarded=True) if ref.status in statuses][:most]
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


def _list_pending(app: App) -> None:
    refs = [ref for ref in app.plans.refs(waiting=True) if ref.status is PlanStatus.PENDING_REVIEW]
    if app.ui.as_json:
        app.ui.document(refs)
    elif refs:
        show_table(app, refs)
        app.ui.next_step(f"ringi review {refs[0].name}")
    else:
        app.ui.line(Text("No plan waits for a decision."))
        app.ui.next_step("ringi list")


def show_table(app: App, refs: Sequence[PlanRef]) -> None:
    """The steps and calls of a run are below its title, in their order, where the newest of them is."""
    order: dict[str, list[PlanRef]] = {}
    for ref in refs:
        order.setdefault(_run_of(ref) or ref.id, []).insert(0, ref)
    runs = _titles(app, [name for name, group in order.items() if _run_of(group[0])])
    rows: list[list[str]] = []
    styles: list[str] = []
    above: dict[int, Text] = {}
    columns = terminal_columns(app.ui.out)
    for name, group in order.items():
        if name in runs:
            title = cut(runs[name], columns - len(name) - 3) if columns else runs[name]
            above[len(rows)] = Text("{title}   {run}", title=title, run=name)
        for ref in group:
            rows.append(_row(ref))
            styles.append("bold" if ref.status is PlanStatus.PENDING_REVIEW else "")
    app.ui.table(rows, styles, above, columns=columns)


def _run_of(ref: PlanRef) -> str:
    return ref.step.run_id if ref.step else ref.called_by or ""


def _row(ref: PlanRef) -> list[str]:
    return [
        f"  {ref.name}" if _run_of(ref) else ref.name,
        translate(words.status(ref)),
        translate(words.size(ref.files, ref.added, ref.removed)),
        translate(words.RISK[ref.risk]),
        f"{ref.step.step_id}  {ref.title}" if ref.step else ref.title,
    ]


def _titles(app: App, run_ids: Sequence[str]) -> dict[str, str]:
    if not run_ids:
        return {}
    from ringi.cli.runs import reading  # noqa: PLC0415  # most plans are not of a run
    from ringi.engine.instruction import title_of  # noqa: PLC0415

    with reading(app) as reader:
        return {run_id: title_of(reader.ledger.runs.get(run_id).instruction) for run_id in run_ids}


def tell_no_plans(app: App) -> None:
    app.ui.line(words.NO_PLANS)
    app.ui.next_step("ringi with -- COMMAND")
