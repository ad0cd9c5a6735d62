"""`ringi execute`: carry out what was approved and show the result."""

from typing import NoReturn

import click

from ringi.cli.app import App, pass_app
from ringi.domain.execution import ExecutionResult, OpStatus
from ringi.domain.plan import SpecKind
from ringi.errors import CommitFailed, ExecutionAborted, Refused
from ringi.plans.commit import last_line
from ringi.text import Text, stored
from ringi.views import words
from ringi.views.result import Specs, excerpt, is_file, result_lines, said


def carry_out(app: App, plan_id: str, name: str, *, files: bool = False) -> None:
    """Executes what was approved and shows the result; with `files`, every file by name."""
    document = app.workspace.plan.get(plan_id)
    result = app.workspace.plan.execute(plan_id)
    specs = {spec.id: spec for spec in document.state.action_specs}
    if app.ui.as_json:
        app.ui.document(result)
    app.ui.show(result_lines(result, specs, files=files or not result.overall_success))
    if not result.overall_success:
        _tell_aborted(app, result, specs, name)
    count = sum(is_file(outcome, specs) for outcome in result.results if outcome.status is OpStatus.DONE)
    commands = any(spec.base.kind is SpecKind.RUN for spec in specs.values())
    if count:
        made = result.commit and result.commit.commit
        app.ui.line(_committed(count) if made else words.written(count, commands=commands), style="green")
        if result.commit and not made:
            app.fail(CommitFailed(plan=name, why=said(last_line(result.commit.why))))
        app.ui.next_step(f"ringi undo {name}")
        return
    app.ui.line(Text("✓ done; no file was written by the plan itself"), style="green")
    app.ui.next_step(f"ringi show {name}")


def _committed(count: int) -> Text:
    if count == 1:
        return Text("✓ 1 file written and committed; your other staged changes stay staged")
    return Text("✓ {count} files written and committed; your other staged changes stay staged", count=count)


def _tell_aborted(app: App, result: ExecutionResult, specs: Specs, name: str) -> NoReturn:
    troubled = [
        outcome
        for outcome in result.results
        if outcome.detail and not (outcome.spec_id in specs and specs[outcome.spec_id].base.optional)
    ]
    aborted = ExecutionAborted(plan=name, why=stored(troubled[0].detail if troubled else ""))
    app.ui.line(Text("The rest can be executed again under the same approval:"), indent=2)
    app.ui.next_step(f"ringi execute {name}")
    app.fail(aborted)


@click.command()
@click.argument("plan")
@click.option("--dry-run", is_flag=True, help="Only run the checks, on copies; your files stay as they are.")
@pass_app
def execute(app: App, plan: str, dry_run: bool) -> None:
    """Carry out exactly what a person approved, and nothing else."""
    plan_id = app.workspace.plan.find(plan)
    name = app.workspace.plan_name(plan_id)
    for note in app.workspace.configuration.notes:
        app.ui.line(Text("! {note}", note=note), style="yellow")
    if dry_run:
        _dry_run(app, plan_id, name)
        return
    carry_out(app, plan_id, name, files=True)


def _dry_run(app: App, plan_id: str, name: str) -> None:
    ui = app.ui
    ui.line(Text("Checking on copies …"), style="dim")
    results = app.workspace.plan.check(plan_id)
    if ui.as_json:
        ui.document(results)
    for result in results:
        passed = result.exit_code == 0
        ui.line(words.check(result), style="green" if passed else "red")
        if not passed:
            ui.show(excerpt(result.output))
    if any(result.exit_code != 0 for result in results):
        ui.next_step(f"ringi show {name} --diff")
        raise click.exceptions.Exit(Refused.exit_code)
    if not results:
        ui.line(Text("No check is configured: checks.before, checks.after"))
    ui.next_step(f"ringi review {name}")
