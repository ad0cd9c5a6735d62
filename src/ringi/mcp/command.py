"""`ringi mcp`: the plan tool for agents that speak the Model Context Protocol."""

import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TextIO

import click

from ringi.errors import NoExtra
from ringi.text import Text

SOCKET = "RINGI_MCP_SOCKET"
"""Set for an agent that works in a sandbox: the server waits outside of it."""


class Printer(Protocol):
    out: TextIO

    def line(self, text: Text | str = "", *, style: str = "", indent: int = 0) -> None: ...


class App(Protocol):
    @property
    def environment(self) -> Mapping[str, str]: ...
    @property
    def start(self) -> Path: ...
    @property
    def ui(self) -> Printer: ...


@click.command()
@click.option("--as", "label", metavar="LABEL", default="", help="Who proposes, as people will read it.")
@click.option(
    "--http",
    "port",
    is_flag=False,
    flag_value=0,
    type=click.IntRange(0, 65535),
    metavar="[PORT]",
    help="Serve on this machine over HTTP, not on standard input and output; any free port if none is named.",
)
@click.option("--host", default="127.0.0.1", help="With --http: 127.0.0.1 or ::1.")
@click.pass_obj
def mcp(app: App, label: str, port: int | None, host: str) -> None:
    """Serve the plan tool to agents over MCP.

    They propose, look, wait and carry out what you approved. Approving is yours alone; no tool does it.
    """
    if port is None and (path := app.environment.get(SOCKET)):
        from ringi.mcp.pipe import lead  # noqa: PLC0415  # without the server, which is elsewhere

        lead(path)
        return
    if find_spec("mcp") is None:
        raise NoExtra(what=Text("The MCP server"), extra="mcp")
    app.ui.out = sys.stderr  # standard output belongs to the protocol
    if not (_on_stdio(app, label) if port is None else _on_http(app, label, host, port)):
        raise click.exceptions.Exit(1)


def _on_stdio(app: App, label: str) -> bool:
    from ringi.mcp import running  # noqa: PLC0415  # a second of imports

    return running.on_stdio(running.Settings(app.environment, app.start, label))


def _on_http(app: App, label: str, host: str, port: int) -> bool:
    from ringi.mcp.loopback import listen  # noqa: PLC0415  # only for HTTP

    listening, address = listen(host, port)
    from ringi.mcp import running  # noqa: PLC0415  # a second of imports, once the address is fine

    return running.on_http(running.Settings(app.environment, app.start, label), listening, address, app.ui)
