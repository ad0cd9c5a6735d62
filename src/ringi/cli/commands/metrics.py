"""`ringi metrics`: how well plans, runs and decisions go."""

from datetime import UTC, datetime
from typing import Final

import click

from ringi.cli.app import App, pass_app
from ringi.cli.arguments import Moment, span_of
from ringi.cli.ui import width
from ringi.kernel.system import timestamp
from ringi.kernel.text import show_value
from ringi.metrics import view as words
from ringi.metrics.document import Metrics

_WIDEST: Final = 50
"""Columns of a label; longer ones push the rest of their row."""


@click.command()
@click.option("--since", type=Moment(), metavar="DATE|7d", help="Only what began or was decided since then.")
@pass_app
def metrics(app: App, since: str | None) -> None:
    """Show how well plans, runs and decisions go, each figure with its target.

    Everything comes from what is recorded in the ledger; what is not known is not guessed. The targets are
    those of the configuration.
    """
    found = app.workspace.metrics(_from(app, since))
    if app.ui.as_json:
        app.ui.document(found)
    elif words.is_empty(found):
        app.ui.show(words.empty_lines(found))
    else:
        _show(app, found)


def _from(app: App, since: str | None) -> str:
    """As the ledger writes moments."""
    if since is None:
        return ""
    seconds = span_of(since)
    if seconds is not None:
        return app.workspace.clock.after(-seconds)
    return timestamp(datetime.fromisoformat(since).astimezone(UTC))


def _show(app: App, found: Metrics) -> None:
    ui = app.ui
    ui.line(words.title(found))
    for group in found.groups:
        rows = [*words.rows(group)]
        cells = [[show_value(one) for one in (row.label, row.value, row.target)] for row in rows]
        widths = [min(_WIDEST, max(width(row[column]) for row in cells)) for column in range(3)]
        ui.line()
        ui.show([words.group_title(group)])
        for row, given in zip(rows, cells, strict=True):
            padded = [cell + " " * (size - width(cell)) for cell, size in zip(given, widths, strict=True)]
            ui.line(
                f"{row.mark} {'  '.join([*padded, show_value(row.basis)]).rstrip()}",
                style=row.style,
                indent=2,
            )
            if row.parts:
                ui.line(show_value(row.parts), style="dim", indent=6)
    ui.show(words.agent_lines(found))
    ui.show(words.reason_lines(found))
