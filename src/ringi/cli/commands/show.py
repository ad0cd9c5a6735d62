"""`ringi show`."""

import re
from gettext import gettext as _

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import choose_one, only_with, require_text
from ringi.cli.commands.list_ import tell_no_plans
from ringi.cli.plan_names import PLAN
from ringi.cli.plan_output import describe, show_comparison, tell_agent
from ringi.kernel.text import Text, translate
from ringi.plans import export
from ringi.plans.review_document import review_document
from ringi.plans.reviewed_plan import ReviewedPlan
from ringi.plans.status import is_sent_back
from ringi.plans.view import next_step


class _Versions(click.ParamType[tuple[int, int | None]]):
    name = "A[..B]"

    def convert(
        self, value: str, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int | None]:
        found = re.fullmatch(r"([1-9][0-9]{0,8})(?:\.\.([1-9][0-9]{0,8}))?", value)
        if found is None:
            self.fail(_("{value} is not {form}").format(value=value, form=self.name), param, ctx)
        return int(found[1]), int(found[2]) if found[2] else None


@click.command()
@click.argument("plan", type=PLAN, required=False)
@click.option("--diff", is_flag=True, help="With the changes, line by line.")
@click.option("--delta", is_flag=True, help="Only what changed since the version that was approved last.")
@click.option("--since", is_flag=True, help="Only what was changed in its files since it was carried out.")
@click.option(
    "--compare", type=_Versions(), help="Two versions of it, or one with the newest; see also --with."
)
@click.option("--with", "other_plan", type=PLAN, metavar="PLAN", help="With --compare: B is of this plan.")
@click.option(
    "--as",
    "form",
    type=click.Choice(["review", "change-plan", "workspace-edit", "patch"]),
    help="In another form: all that an editor draws, the specification's document, an editor's edit, or a"
    " patch for git apply.",
)
@click.option(
    "--file", "files", metavar="PATH", multiple=True, help="With --as review: only these files of it."
)
@pass_app
def show(
    app: App,
    plan: str | None,
    diff: bool,
    delta: bool,
    since: bool,
    compare: tuple[int, int | None] | None,
    other_plan: str | None,
    form: str | None,
    files: tuple[str, ...],
) -> None:
    """Show a plan: what it changes, how risky it is, what became of it."""
    _check_options(compare, other_plan, form, files, ways=diff + delta + since)
    tool = app.workspace.plan
    refs = tool.list(limit=1)
    if plan is None and not refs:
        if app.ui.as_json:
            app.ui.document(None)
        tell_no_plans(app)
        return
    plan_id = tool.find(plan) if plan is not None else refs[0].id
    if compare is not None:
        found = app.workspace.versions.compare(plan_id, *compare, other_plan=other_plan)
        app.ui.document(found) if app.ui.as_json else show_comparison(app, found)
        return
    app.switch_to(plan_id)
    tool = app.workspace.plan
    if form:
        _show_as(app, plan_id, form, files)
    elif delta:
        _show_delta(app, plan_id)
    elif since:
        _show_since(app, plan_id)
    elif app.ui.as_json:
        app.ui.document(tool.preview(plan_id) if diff else tool.get(plan_id))
    else:
        _show(app, plan_id, diff=diff)


def _check_options(
    compare: object, other_plan: str | None, form: str | None, files: tuple[str, ...], *, ways: int
) -> None:
    if ways + (form is not None) + (compare is not None) > 1:
        raise choose_one("--diff", "--delta", "--since", "--compare", "--as")
    for option, value, other, given in (
        ("--with", other_plan, "--compare", compare is not None),
        ("--file", files, "--as review", form == "review"),
    ):
        if value and not given:
            raise only_with(option, other)


def _show(app: App, plan_id: str, *, diff: bool) -> None:
    tool, ref = app.workspace.plan, app.workspace.plan.ref(plan_id)
    document, preview = tool.get(plan_id), tool.preview(plan_id)
    describe(app, ref, document, preview)
    for part in preview.diffs if diff else ():
        if part.diff:
            app.ui.line()
            app.ui.diff(part.diff, yours=part.your_lines)
    if is_sent_back(document):
        tell_agent(app, plan_id, ref.name)
    if step := next_step(document, ref.name):
        app.ui.next_step(step)


def _show_delta(app: App, plan_id: str) -> None:
    found = app.workspace.versions.delta(plan_id)
    name = app.workspace.plan_name(plan_id)
    if app.ui.as_json:
        app.ui.document(found)
    elif found is None:
        app.ui.line(Text("No version of {plan} was approved yet.", plan=name))
        app.ui.next_step(f"ringi show {name} --diff")
    else:
        show_comparison(app, found)


def _show_since(app: App, plan_id: str) -> None:
    ui, name = app.ui, app.workspace.plan_name(plan_id)
    found = app.workspace.plan.later_changes(plan_id)
    if ui.as_json:
        ui.document(found)
        return
    if not found:
        ui.line(Text("The files are as {plan} left them.", plan=name))
    for path, diff in found.items():
        if diff:
            ui.diff(diff)
        else:
            ui.line(Text("{path} is no longer a file that can be compared", path=path), indent=2)
        ui.line()
    ui.next_step(f"ringi undo {name}")


def _show_as(app: App, plan_id: str, form: str, files: tuple[str, ...]) -> None:
    if form == "review":
        require_text(*files)
        app.ui.document(review_document(ReviewedPlan(app.workspace, plan_id), translate, files))
    elif form == "patch":
        patch = export.as_patch(app.workspace, plan_id)
        if app.ui.as_json:
            app.ui.document({"patch": patch.decode("utf-8", "backslashreplace")})
        else:
            app.ui.patch(patch)
    elif form == "workspace-edit":
        app.ui.document(export.as_workspace_edit(app.workspace, plan_id))
    else:
        app.ui.document(export.as_change_plan(app.workspace, plan_id))
