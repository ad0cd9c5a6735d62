"""`ringi check`."""

from gettext import gettext as _

import click

from ringi.app.schemas import SCHEMAS, json_schema
from ringi.cli.app import App, pass_app
from ringi.cli.arguments import STDIN, read_named
from ringi.errors import NotFound
from ringi.kernel.codec import MAX_DOCUMENT_BYTES
from ringi.kernel.problems import Level, Problem, ProblemRow
from ringi.kernel.text import Text, show_value
from ringi.runs.check_document import CheckedDocument, DocumentKind, check_document

EXIT_REFUSED = 6
_NAMES = {
    DocumentKind.RUN_PLAN: Text("planning.json, the plan of a run"),
    DocumentKind.CHANGE_PLAN: Text("a change plan"),
    DocumentKind.SESSION: Text("a planning session"),
    DocumentKind.PLAN: Text("a plan"),
    DocumentKind.SPECS: Text("a list of action specs"),
    DocumentKind.REQUEST: Text("a request"),
}


@click.command()
@click.argument("file", metavar="[FILE|-]", required=False)
@click.option(
    "--schema",
    metavar="[NAME]",
    is_flag=False,
    flag_value="",
    default=None,
    help="Instead, print the JSON Schema of a document; without NAME, the names.",
)
@pass_app
def check(app: App, file: str | None, schema: str | None) -> None:
    """Say what a document is and everything that is wrong with it.

    FILE is a planning.json, a change plan, a planning session, a plan, a list of action specs, or a
    request in Markdown. Nothing is changed, and no workspace is needed.
    """
    if (file is None) == (schema is None):
        raise click.UsageError(_("Name a FILE to check, or --schema"))
    if file is None:
        _print_schema(app, schema or "")
        return
    checked = check_document(
        read_named(file, most_bytes=2 * MAX_DOCUMENT_BYTES), "" if file == STDIN else file
    )
    if checked.kind is not None:
        what = Text("{file} is read as {kind}", file=file, kind=_NAMES[checked.kind])
        app.ui.line(what, style="bold")
    if app.ui.as_json:
        rows = [ProblemRow(one.code, one.level, one.path, str(one.message)) for one in checked.problems]
        app.ui.document(rows)
    else:
        _tell(app, checked)
    if not checked.ok:
        raise click.exceptions.Exit(EXIT_REFUSED)


def _print_schema(app: App, name: str) -> None:
    if name in SCHEMAS:
        app.ui.document(json_schema(name))
    elif name:
        raise NotFound(what=Text("schema"), name=name, see="ringi check --schema")
    elif app.ui.as_json:
        app.ui.document(list(SCHEMAS))
    else:
        for known in SCHEMAS:
            app.ui.line(known)


def _tell(app: App, checked: CheckedDocument) -> None:
    for one in checked.problems:
        app.ui.line(_row(one), style="red" if one.level is Level.FAIL else "yellow")
    failures = sum(one.level is Level.FAIL for one in checked.problems)
    warnings = len(checked.problems) - failures
    if failures:
        app.ui.line(
            Text("✗ failures: {failures}, warnings: {warnings}", failures=failures, warnings=warnings)
        )
    elif warnings:
        app.ui.line(Text("✓ valid, warnings: {warnings}", warnings=warnings), style="green")
    else:
        app.ui.line(Text("✓ valid"), style="green")


def _row(one: Problem) -> str:
    words = show_value(
        one.message if one.level is Level.FAIL else Text("{message} (warning)", message=one.message)
    )
    return f"{one.code} {show_value(one.path)} {words}"
