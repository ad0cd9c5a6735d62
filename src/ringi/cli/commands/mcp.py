"""`ringi mcp`: the plan tool for agents that speak the Model Context Protocol."""

import sys

import click

from ringi.cli.app import App, pass_app
from ringi.mcp.start import SOCKET, relay, serve


@click.command()
@click.option("--as", "label", metavar="LABEL", default="", help="Who proposes, as people will read it.")
@pass_app
def mcp(app: App, label: str) -> None:
    """Serve the plan tool to agents over MCP.

    They propose, read, wait and carry out what you approved. Only you approve; no tool does it.
    """
    if path := app.environment.get(SOCKET):
        relay(path)
        return
    app.ui.out = sys.stderr  # standard output belongs to the protocol
    if not serve(app.environment, app.start, label):
        raise click.exceptions.Exit(1)
