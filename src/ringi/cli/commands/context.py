"""`ringi run --context`: what a model would be shown of the project."""

from typing import Final

from ringi.cli.app import App
from ringi.kernel.lines import Style
from ringi.kernel.text import Text, translate, visible
from ringi.project.context import FileKind, Gathered
from ringi.sessions.view import restless_words

_KINDS: Final = {
    FileKind.SOURCE: Text("source"),
    FileKind.TEST: Text("test"),
    FileKind.DOC: Text("document"),
    FileKind.OTHER: Text("other"),
}


def show_context(app: App, request: str) -> None:
    """Exactly what a model would be sent about the project for a request."""
    found = app.workspace.code.gather(request)
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
        ui.line("; ".join(map(translate, (_KINDS[file.kind], *why))), style="dim", indent=4)
    ui.line()
    ui.line(Text("This would be sent, about {count} tokens:", count=f"{found.tokens:,}"))
    for line in found.text.splitlines():
        ui.line(Text("{line}", line=line), indent=2)
