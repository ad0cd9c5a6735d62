"""`ringi execute`: carry out what was approved and show the result."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import tell_caller
from ringi.errors import CommitFailed, NoCurrentPlan, Refused, UnknownCommand
from ringi.kernel.text import Text
from ringi.ledger.subject import elsewhere
from ringi.plans import words
from ringi.plans.result_view import (
    describe_abort,
    end_line,
    excerpt,
    files_written,
    restore_words,
    result_lines,
)


def carry_out(app: App, plan_id: str, name: str, *, files: bool = False) -> None:
    """Executes what was approved and shows the result; with `files`, every file by name."""
    document = app.workspace.plan.get(plan_id)
    result = app.workspace.plan.execute(plan_id)
    specs = {spec.id: spec for spec in document.state.action_specs}
    if app.ui.as_json:
        app.ui.document(result)
    app.ui.show(result_lines(result, specs, files=files or not result.overall_success))
    if not result.overall_success:
        error = describe_abort(result, specs, name)
        if not isinstance(error, UnknownCommand):  # its hint says the next command
            app.ui.line(Text("The rest can be executed again under the same approval:"), indent=2)
            app.ui.next_step(f"ringi execute {name}")
            tell_caller(app, plan_id)
        app.fail(error)
    if document.step and elsewhere(document.step):
        told = Text("✓ {step} is committed on the run's branch", step=document.step.step_id)
        app.ui.line(told, style="green")
        return
    app.ui.show([end_line(result, specs, name)])
    if tell_caller(app, plan_id):
        return
    if not files_written(result, specs):
        app.ui.next_step(f"ringi show {name}")
        return
    if result.commit and not result.commit.commit:
        app.fail(CommitFailed(plan=name, why=restore_words(result.commit.last_line)))
    app.ui.next_step(f"ringi undo {name}")


@click.command()
@click.argument("plan", type=PLAN, required=False)
@click.option("--dry-run", is_flag=True, help="Only run the checks, on copies; your files stay as they are.")
@pass_app
def execute(app: App, plan: str | None, dry_run: bool) -> None:
    """Carry out exactly what a person approved, and nothing else.

    Without PLAN, it takes the current one: ringi current.
    """
    plan_id = app.find_plan(plan) if plan is not None else _current(app)
    name = app.workspace.plan_name(plan_id)
    for note in app.workspace.config.notes:
        app.ui.line(Text("! {note}", note=note), style="yellow")
    if dry_run:
        _dry_run(app, plan_id, name)
        return
    carry_out(app, plan_id, name, files=True)


def _current(app: App) -> str:
    ref = app.workspace.plan.get_current()
    if ref is None:
        raise NoCurrentPlan
    return ref.id


def _dry_run(app: App, plan_id: str, name: str) -> None:
    ui = app.ui
    ui.line(Text("Checking on copies …"), style="dim")
    results = app.workspace.plan.check(plan_id)
    if ui.as_json:
        ui.document(results)
    for result in results:
        ui.line(words.check(result), style="green" if result.passed else "red")
        if not result.passed:
            ui.show(excerpt(result.output))
    if any(result.exit_code != 0 for result in results):
        ui.next_step(f"ringi show {name} --diff")
        raise click.exceptions.Exit(Refused.exit_code)
    if not results:
        ui.line(Text("No check is configured: checks.before, checks.after"))
    ui.next_step(f"ringi review {name}")
