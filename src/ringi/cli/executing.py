"""`ringi execute`: carry out what was approved."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.results import carry_out, show_text
from ringi.errors import Refused
from ringi.text import Text
from ringi.views import words


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
            show_text(app, result.output)
    if any(result.exit_code != 0 for result in results):
        ui.next_step(f"ringi show {name} --diff")
        raise click.exceptions.Exit(Refused.exit_code)
    if not results:
        ui.line(Text("No check is configured: checks.before, checks.after"))
    ui.next_step(f"ringi review {name}")
