"""`ringi schema`."""

import click

from ringi.app.schemas import SCHEMAS, json_schema
from ringi.cli.app import App, pass_app
from ringi.errors import NotFound
from ringi.kernel.text import Text


@click.command()
@click.argument("name", required=False)
@pass_app
def schema(app: App, name: str | None) -> None:
    """Print the JSON Schema of a document; without NAME, the names."""
    if name is None:
        if app.ui.as_json:
            app.ui.document(list(SCHEMAS))
            return
        for known in SCHEMAS:
            app.ui.line(known)
        return
    if name not in SCHEMAS:
        raise NotFound(what=Text("schema"), name=name, see="ringi schema")
    app.ui.document(json_schema(name))
