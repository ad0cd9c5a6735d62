"""`ringi init` and `ringi doctor`."""

from pathlib import Path

import click

from ringi.api import beside
from ringi.api import doctor as clinic
from ringi.api.setup import initialise
from ringi.api.workspace import Workspace
from ringi.cli.app import App, pass_app
from ringi.cli.ui import shown, translated
from ringi.errors import NoWorkspace
from ringi.text import Text
from ringi.workspace.copy import WorkCopy

_MARKS = {clinic.Mark.GOOD: ("✓", "green"), clinic.Mark.NOTE: ("!", "yellow"), clinic.Mark.BAD: ("✗", "red")}


@click.command()
@pass_app
def init(app: App) -> None:
    """Make this folder a workspace.

    Writes a commented configuration where there is none, and looks whether all is well.
    """
    root = _root_or_here(app)
    made = initialise(root)
    if app.ui.as_json:
        app.ui.document({"workspace": str(root), "made": [str(path) for path in made]})
        return
    for path in made:
        app.ui.line(Text("made {path}", path=str(path.relative_to(root))))
    app.ui.line(Text("✓ {path} is a workspace", path=str(root)), style="green")
    bad = [finding for finding in clinic.examine(root, app.environment) if finding.mark is clinic.Mark.BAD]
    for finding in bad:
        _show(app, finding)
    app.ui.next_step("ringi doctor" if bad else "ringi with -- COMMAND")


def _root_or_here(app: App) -> Path:
    try:
        return app.root
    except NoWorkspace:
        if not app.start.is_dir():
            raise
        return app.start.resolve()


@click.command()
@click.option("--repair", is_flag=True, help="Mend what can be mended.")
@click.option("--adopt", is_flag=True, help="Take over the ledger after the project was moved.")
@pass_app
def doctor(app: App, repair: bool, adopt: bool) -> None:
    """Check that everything is well; behind every ✗ stands the command that mends it."""
    if adopt:
        app.ui.line(clinic.adopt(app.root, app.environment), style="green")
    if repair:
        for done in clinic.repair(
            app.root, app.environment, lambda workspace, copy: _take(app, workspace, copy)
        ):
            app.ui.line(Text("mended: {what}", what=done), style="green")
    findings = clinic.examine(app.root, app.environment)
    if app.ui.as_json:
        app.ui.document(
            [
                {"mark": finding.mark, "text": str(finding.text), "mend": str(finding.mend)}
                for finding in findings
            ]
        )
    else:
        for finding in findings:
            _show(app, finding)
    if any(finding.mark is clinic.Mark.BAD for finding in findings):
        raise click.exceptions.Exit(1)


def _show(app: App, finding: clinic.Finding) -> None:
    mark, style = _MARKS[finding.mark]
    app.ui.line(f"{mark} {translated(finding.text)}", style=style)
    if finding.mend:
        app.ui.line(f"→ {shown(finding.mend)}", indent=4)


def _take(app: App, workspace: Workspace, copy: WorkCopy) -> Text:
    if not copy.tree.is_dir():
        copy.remove()
        return Text("a work copy that was empty is forgotten")
    command = copy.record.command or ("ringi", "with")
    taken = beside.take(workspace, copy, command, environment=app.environment)
    if taken.left_out:
        copy.mark_taken()
    else:
        copy.remove()
    if taken.plan is None:
        return Text("an unused work copy was removed")
    return Text("an agent's work copy became plan {plan}", plan=taken.plan.name)
