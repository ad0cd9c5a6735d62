"""`ringi why`: the approval, the step and the request behind one line."""

import os
from gettext import gettext as _
from pathlib import Path
from typing import Final

import click

from ringi.cli.app import App, pass_app
from ringi.errors import NotFound, NoWorkspace
from ringi.kernel.fs import read_bounded
from ringi.kernel.text import Text
from ringi.provenance.clone import open_clone
from ringi.provenance.view import why_lines
from ringi.provenance.why import why as reason_of
from ringi.provenance.why import with_ledger

_LARGEST: Final = 64 * 1024 * 1024


@click.command()
@click.argument("place", metavar="FILE:LINE")
@pass_app
def why(app: App, place: str) -> None:
    """Name the approval and the request behind a line.

    By the notes in the repository, in any clone; where the ledger is, also the decisions that led to it. A
    line that is in no commit yet has no proof in a clone: ringi log says which plans wrote to the file.
    """
    name, _colon, number = place.rpartition(":")
    if not name or not number.isdecimal():
        raise click.UsageError(_("Name a file and a line: ringi why FILE:LINE"))
    try:
        root = app.root
    except NoWorkspace:  # a bare repository
        root = app.start
    file = Path(os.path.realpath(app.start / name))
    if not file.is_relative_to(os.path.realpath(root)):
        raise NotFound(what=Text("file in {folder}", folder=str(root)), name=name, see="git ls-files")
    path = str(file.relative_to(os.path.realpath(root)))
    with open_clone(app.start, app.environment) as found:
        told = reason_of(found.history, found.signing, path, int(number), _bytes(file))
    if app.has_ledger:
        told = with_ledger(told, app.workspace)
    if app.ui.as_json:
        app.ui.document(told)
    else:
        app.ui.show(why_lines(told))


def _bytes(file: Path) -> bytes | None:
    try:
        return read_bounded(file, _LARGEST)
    except OSError:
        return None
