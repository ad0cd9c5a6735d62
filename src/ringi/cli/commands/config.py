"""`ringi config`."""

import click

from ringi.cli.app import App, pass_app
from ringi.cli.commands.signers import signers
from ringi.config.keys import KEYS, Config, KeyOrigin
from ringi.config.load import check_expressions, in_words, load
from ringi.kernel.text import Text, show_value, translate

_LONGEST = 60
_ORIGINS = {
    KeyOrigin.DEFAULT: Text("default"),
    KeyOrigin.USER: Text("your file"),
    KeyOrigin.PROJECT: Text("the project's file"),
    KeyOrigin.ENVIRONMENT: Text("environment"),
    KeyOrigin.IGNORED: Text("the project's file, ignored because not trusted"),
}


@click.group()
def config() -> None:
    """Show or check the configuration, and whose signatures count."""


config.add_command(signers)


def _load(app: App) -> Config:
    return load(app.root, app.environment)


@config.command("show")
@pass_app
def show(app: App) -> None:
    """Every key, its value, and where the value comes from."""
    config = _load(app)
    values = {name: (key.of(config), config.source(name)) for name, key in KEYS.items()}
    values |= config.by_task
    if app.ui.as_json:
        app.ui.document(
            {
                name: {
                    "value": value,
                    "from": source.origin,
                    "where": source.where,
                }
                for name, (value, source) in values.items()
            }
        )
        return
    rows = [
        [
            name,
            _short(in_words(value) or "—"),
            f"{translate(_ORIGINS[source.origin])} {source.where}".rstrip(),
        ]
        for name, (value, source) in values.items()
    ]
    app.ui.table(rows, [""] * len(rows))


def _short(words: str) -> str:
    """Long lists in full are for --json: on a screen they would push the source out of sight."""
    return words if len(words) <= _LONGEST else words[: _LONGEST - 1] + "…"


@config.command("check")
@pass_app
def check(app: App) -> None:
    """Read the configuration and say what is wrong with it."""
    config = _load(app)
    if config.trust is not None and not config.trust.trusted:
        check_expressions(app.root)
    if app.ui.as_json:
        app.ui.document(
            {
                "ok": True,
                "files": [str(path) for path in config.files],
                "notes": [str(n) for n in config.notes],
            }
        )
        return
    for note in config.notes:
        app.ui.line(f"! {show_value(note)}", style="yellow")
    for path in config.files:
        app.ui.line(Text("✓ {path}", path=str(path)), style="green")
    app.ui.line(Text("✓ the configuration is valid ({count} read)", count=len(config.files)), style="green")
