"""`ringi fork`, `ringi revert` and `ringi compare`: the versions of a plan."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.specs import tell_report
from ringi.domain.answer import PlanComparison
from ringi.text import Text
from ringi.views.plan import difference_line


@click.command()
@click.argument("plan")
@click.option(
    "--version", type=click.IntRange(1), metavar="N", help="Of this version; without it the newest."
)
@click.option("--as", "proposer", metavar="LABEL", default="", help="Who proposes it.")
@pass_app
def fork(app: App, plan: str, version: int | None, proposer: str) -> None:
    """Make a new plan from a version of another.

    Its specs are computed for the files as they are now.
    """
    tool = app.workspace.plan
    source = tool.find(plan)
    ref = tool.ref(app.workspace.versions.fork(source, version, proposer=proposer))
    if app.ui.as_json:
        app.ui.document(ref)
        return
    line = Text("{plan} is a new plan, made from {source}.", plan=ref.name, source=tool.ref(source).name)
    app.ui.line(line)
    app.ui.next_step(f"ringi show {ref.name}")


@click.command()
@click.argument("plan")
@click.argument("version", type=click.IntRange(1))
@pass_app
def revert(app: App, plan: str, version: int) -> None:
    """Give a plan the specs of an earlier version.

    That makes a new version of it; the others stay.
    """
    tool = app.workspace.plan
    plan_id = tool.find(plan)
    report = app.workspace.versions.revert(plan_id, version)
    ref = tool.ref(plan_id)
    if app.ui.as_json:
        app.ui.document(report)
    tell_report(app, report, ref.name)
    line = Text("{plan} is as in version {old} again; this is version {new}.",
                plan=ref.name, old=version, new=ref.version)  # fmt: skip
    app.ui.line(line)
    app.ui.next_step(f"ringi review {ref.name}")


@click.command()
@click.argument("plan")
@click.argument("version", type=click.IntRange(1))
@click.argument("other", type=click.IntRange(1), required=False)
@click.option("--with", "other_plan", metavar="PLAN", help="A version of this plan instead of the same one.")
@pass_app
def compare(app: App, plan: str, version: int, other: int | None, other_plan: str | None) -> None:
    """Compare two versions of a plan, or of two plans.

    Without OTHER, with the newest one.
    """
    found = app.workspace.versions.compare(plan, version, other, other_plan=other_plan)
    if app.ui.as_json:
        app.ui.document(found)
        return
    show_comparison(app, found)


def show_comparison(app: App, found: PlanComparison, *, most: int | None = None) -> None:
    """Prints at most `most` lines of each diff."""
    ui, tool = app.ui, app.workspace.plan
    line = Text(
        "{plan} version {version} → {other} version {later}",
        plan=tool.ref(found.plan_id).name,
        version=found.version,
        other=tool.ref(found.other_plan_id).name,
        later=found.other_version,
    )
    ui.line(line, style="bold")
    if not found.differences:
        ui.line(Text("Both would do the same."), indent=2)
    for difference in found.differences:
        ui.show([difference_line(difference)])
        if difference.diff:
            ui.diff(difference.diff, most=most)
    ui.next_step(f"ringi show {tool.ref(found.other_plan_id).name}")
