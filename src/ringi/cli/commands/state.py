"""`ringi state`: what is known about the project."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import document_in, read_named
from ringi.errors import NoState
from ringi.kernel.text import Text
from ringi.plans import capture as project
from ringi.plans.capture import CaptureResult
from ringi.project.state import Diagnostic, EditorState, ProjectState, why

_SHOWN = 5


@click.group()
def state() -> None:
    """Look at the project: files, diagnostics, dependencies, and whether all of it is known."""


@state.command()
@pass_app
def capture(app: App) -> None:
    """Record the project's state now; change plans made from an earlier one are superseded."""
    _tell(app, project.capture(app.workspace, on_progress=app.tell_progress))


@state.command()
@pass_app
def show(app: App) -> None:
    """Show the newest project state, and whether the files are still like that."""
    newest = app.workspace.project_state()
    if newest is None:
        raise NoState
    if app.ui.as_json:
        app.ui.document(newest)
        return
    describe(app, newest)
    if project.snapshot_id(app.workspace) != newest.snapshot_id:
        app.ui.line(Text("! the files changed since"), style="yellow", indent=2)
        app.ui.next_step("ringi state capture")


@state.command()
@click.argument("file", metavar="FILE|-")
@pass_app
def push(app: App, file: str) -> None:
    """Add what an editor knows: its diagnostics and unsaved files. The rest is read again."""
    pushed = document_in(read_named(file), EditorState, file, "editor-state")
    _tell(app, project.capture(app.workspace, editor=pushed))


def _tell(app: App, captured: CaptureResult) -> None:
    if app.ui.as_json:
        app.ui.document(captured.state)
    else:
        describe(app, captured.state)
    if captured.outside:
        text = Text(
            "1 diagnostic left out: it is not about a file of the project",
            "{count} diagnostics left out: they are not about files of the project",
            count=captured.outside,
        )
        app.ui.line(text, style="yellow")
    for name in captured.superseded:
        app.ui.line(Text("! {plan} was made from an earlier state: superseded", plan=name), style="yellow")
        app.ui.next_step(f"ringi propose --again {name}")


def describe(app: App, found: ProjectState) -> None:
    ui = app.ui
    ui.line(Text("snapshot {id}", id=found.snapshot_id), style="bold")
    ui.line(Text("1 file", "{count} files", count=len(found.files)), indent=2)
    edges = sum(len(used) for used in found.dependencies.uses.values())
    ui.line(Text("1 dependency between files", "{count} dependencies between files", count=edges), indent=2)
    _list(
        app,
        Text(
            "1 file could not be analysed",
            "{count} files could not be analysed",
            count=len(found.dependencies.unanalysed),
        ),
        [f"{file.file}: {file.why}" for file in found.dependencies.unanalysed],
    )
    _list(
        app,
        Text("1 diagnostic", "{count} diagnostics", count=len(found.diagnostics)),
        [_format_diagnostic(item) for item in found.diagnostics],
    )
    _list(
        app,
        Text("1 critical file", "{count} critical files", count=len(found.critical_files)),
        found.critical_files,
    )
    _list(
        app,
        Text(
            "1 file that holds state", "{count} files that hold state", count=len(found.mutable_state_files)
        ),
        found.mutable_state_files,
    )
    if found.complete:
        ui.line(Text("✓ complete"), style="green", indent=2)
    for gap in found.gaps:
        ui.line(Text("! incomplete: {why}", why=why(gap)), style="yellow", indent=2)


def _format_diagnostic(item: Diagnostic) -> str:
    place = item.file if item.line is None else f"{item.file}:{item.line}"
    return f"{place}: {item.message}"


def _list(app: App, title: Text, lines: "list[str] | tuple[str, ...]") -> None:
    if not lines:
        return
    app.ui.line(title, indent=2)
    for line in lines[:_SHOWN]:
        app.ui.line(Text("{line}", line=line), indent=4)
    if len(lines) > _SHOWN:
        app.ui.line(Text("… and {count} more", count=len(lines) - _SHOWN), indent=4)
