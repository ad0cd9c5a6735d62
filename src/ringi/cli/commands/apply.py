"""`ringi apply`."""

from pathlib import Path

import click

from ringi.beside.copies import remove_settled
from ringi.cli.app import App
from ringi.cli.commands.approve import approve_signed, require_version, seen_version
from ringi.cli.commands.execute import carry_out
from ringi.cli.commands.review import decide, is_over, wish_commit
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import require_open
from ringi.cli.review_dialogue import ApplyPrompter
from ringi.tree.action_spec import ALL_SPECS


@click.command()
@click.argument("plan", type=PLAN)
@click.option("--commit", is_flag=True, help="Commit what is approved, too.")
@click.option("--sign", metavar="KEY", type=click.Path(path_type=Path), help="Sign with this SSH key.")
@seen_version
@click.pass_context
def apply(ctx: click.Context, plan: str, commit: bool, sign: Path | None, seen: int | None) -> None:
    """Show a plan, ask, and carry it out.

    The same questions as in ringi review. The answer has to be typed by a person at a terminal. With --sign,
    the signature of a key that is listed is the answer, and nothing else is asked; name the version that you
    looked at with --seen, because its proposer may have made another since.
    """
    app: App = ctx.obj
    plan_id = app.find_plan(plan)
    if seen is not None:
        require_version(app, app.workspace.plan.get(plan_id), seen)
    if sign is None:
        decide(ctx, plan_id, full=False, prompter=ApplyPrompter, commit=commit)
        return
    ref = app.workspace.plan.ref(plan_id)
    if is_over(app, ref, commit=commit):
        return
    if not app.workspace.plan.approved_already(plan_id, ALL_SPECS):
        require_open(app, plan_id)
    if commit:
        wish_commit(app, plan_id)
    approve_signed(app, plan_id, sign, seen)
    carry_out(app, plan_id, ref.name)
    remove_settled(app.workspace)
