"""What several commands print about a plan."""

import click

from ringi.beside.copies import copy_of_plan
from ringi.beside.resume import needs_editor, refuse_closed
from ringi.cli.app import App
from ringi.engine.run_state import OVER
from ringi.errors import Refused
from ringi.kernel.text import Text
from ringi.plans.document import PlanComparison, PlanDocument, PlanPreview, PlanRef, ValidationReport
from ringi.plans.facts import facts_of
from ringi.plans.view import difference_line, issue_lines, plan_lines


def describe(app: App, ref: PlanRef, document: PlanDocument, preview: PlanPreview) -> None:
    app.ui.show(plan_lines(facts_of(app.workspace, ref, document, preview)))


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


def tell_report(app: App, report: ValidationReport, name: str) -> None:
    """Prints one line for each issue; ends the command if there are any."""
    if report.ok:
        return
    app.ui.show(issue_lines(report))
    app.ui.next_step(f"ringi specs {name} --file FILE")
    raise click.exceptions.Exit(Refused.exit_code)


def tell_sent_back(app: App, plan_id: str, name: str) -> None:
    app.ui.line(Text("{plan} sent back with your feedback.", plan=name))
    if not tell_agent(app, plan_id, name) and not tell_caller(app, plan_id):
        app.ui.next_step(f"ringi show {name}")


def tell_agent(app: App, plan_id: str, name: str) -> bool:
    """How its agent goes on with a plan that was sent back; False if it has no copy."""
    copy = copy_of_plan(app.workspace, plan_id)
    if copy is None:
        return False
    if copy.is_running or needs_editor(copy):
        app.ui.line(Text("In your editor, the agent is told with your next prompt."), indent=2)
    else:
        app.ui.line(Text("Let the agent continue in the same copy, with your feedback:"), indent=2)
        app.ui.next_step(f"ringi with --resume {name}")
    return True


def require_open(app: App, *plan_ids: str) -> None:
    """Raises if nobody can decide about one of them as it is, with the command that goes on."""
    if app.workspace.person.agent() is None:  # else it is told first that a person decides
        for plan_id in plan_ids:
            refuse_closed(app.workspace, plan_id)


def tell_caller(app: App, plan_id: str) -> bool:
    """How the run goes on that waited for this call; False if it is no call, or the run is over."""
    run_id = app.workspace.plan.ref(plan_id).called_by
    if not run_id or app.workspace.planning.run(run_id).phase in OVER:
        return False
    app.ui.line(Text("The run that wanted this call can go on:"), indent=2)
    app.ui.next_step(f"ringi continue {run_id}")
    return True


def tell_discarded(app: App, plan_id: str, name: str) -> None:
    app.ui.line(Text("{plan} discarded. It can still be seen, and made a new plan:", plan=name))
    app.ui.next_step(f"ringi show {name}")
    app.ui.next_step(f"ringi propose --fork {name}")
    tell_caller(app, plan_id)
