"""The cache of model answers: what `ringi doctor --cache` shows, and how commands pass by it."""

from typing import Any

import click

from ringi.cli.app import App
from ringi.kernel.text import Text
from ringi.models.cache import KeptCounts

_KILOBYTE = 1024


def no_cache(command: Any) -> Any:
    """The option of every command that plans."""
    return click.option(
        "--no-cache",
        is_flag=True,
        expose_value=False,
        callback=_read_nothing,
        help="Ask the model anew, whatever it answered before.",
    )(command)


def _read_nothing(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        app: App = ctx.find_object(App)  # type: ignore[assignment]  # every command has one
        app.workspace.cache.reads = False


def show_cache(app: App) -> None:
    found = app.workspace.cache.counts()
    if app.ui.as_json:
        app.ui.document(found)
        return
    _show(app, found)


def _show(app: App, found: KeptCounts) -> None:
    ui = app.ui
    kept = {"answers": found.answers, "plans": found.plans, "size": -(-found.bytes // _KILOBYTE)}
    ui.line(Text("Answers kept: {answers}, plans: {plans}, {size} KB", **kept))
    saved = {"calls": found.saved_calls, "tokens": f"{found.saved_tokens:,}"}
    ui.line(Text("Calls saved so far: {calls}, tokens: {tokens}", **saved))
    if (why := app.workspace.cache.why_not()) is not None:
        ui.line(Text("! off: {why}", why=why), style="yellow")
    elif found.answers or found.plans:
        ui.next_step("ringi doctor --clear-cache")


def clear_cache(app: App) -> None:
    """All of it, and the key it was encrypted with."""
    count = app.workspace.cache.clear()
    if app.ui.as_json:
        app.ui.document({"removed": count})
    app.ui.line(Text("✓ removed: {count}", count=count), style="green")
