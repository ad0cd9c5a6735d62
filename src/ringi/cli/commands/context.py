"""`ringi context`: what a model would be shown of the project."""

from gettext import gettext as _
from typing import Final

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import STDIN, read_named, require_text
from ringi.kernel.lines import Style
from ringi.kernel.text import Text, translated, visible
from ringi.project.context import FileKind, Gathered
from ringi.sessions.view import restless_words

_KINDS: Final = {
    FileKind.SOURCE: Text("source"),
    FileKind.TEST: Text("test"),
    FileKind.DOC: Text("document"),
    FileKind.OTHER: Text("other"),
}


@click.command()
@click.argument("request", metavar="TEXT|-")
@click.option("--tokens", type=click.IntRange(min=1), metavar="N", help="At most so many tokens of text.")
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="At most so many files.")
@pass_app
def context(app: App, request: str, tokens: int | None, limit: int | None) -> None:
    """Show exactly what a model would be sent about the project for a request."""
    require_text(request)
    if request == STDIN:
        request = read_named(STDIN).decode("utf-8", "replace")
    if not request.strip():
        raise click.UsageError(_("Say what the change is about"))
    found = app.workspace.code.gather(request, tokens=tokens, limit=limit)
    if app.ui.as_json:
        app.ui.document(found.context)
    else:
        _tell(app, found)


def _tell(app: App, gathered: Gathered) -> None:
    ui, found = app.ui, gathered.context
    if gathered.restless:
        ui.prose(restless_words(gathered.restless), Style.WARNING, mark="! ")
    if not found.files:
        ui.line(
            Text("No file fits this request; a model would see only what the project is."), style="yellow"
        )
    for number, (file, why) in enumerate(zip(found.files, gathered.why, strict=True), 1):
        ui.line(f"{number:>2}  {visible(file.path)}", style="bold")
        ui.line("; ".join(map(translated, (_KINDS[file.kind], *why))), style="dim", indent=4)
    ui.line()
    ui.line(Text("This would be sent, about {count} tokens:", count=f"{found.tokens:,}"))
    for line in found.text.splitlines():
        ui.line(Text("{line}", line=line), indent=2)
