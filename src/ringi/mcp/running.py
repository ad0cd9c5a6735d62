"""A server put together and run."""

import os
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

import anyio

from ringi.mcp.loopback import Address
from ringi.mcp.opening import Opening
from ringi.mcp.server import PlanServer, Surroundings
from ringi.mcp.serving import Ending, serve
from ringi.mcp.stdio import claim_wire, messages
from ringi.mcp.worker import Worker, Workers
from ringi.text import Text

if TYPE_CHECKING:  # loaded by the first call, after a client was greeted
    from ringi.workspace.places import Places


_ERRORS: Final = 2
"""Standard error: the one stream that may be a terminal."""


class Settings(NamedTuple):
    environment: Mapping[str, str]
    start: Path
    label: str


class Printer(Protocol):
    def line(self, text: Text | str = "", *, style: str = "", indent: int = 0) -> None: ...


def on_stdio(settings: Settings) -> bool:
    wire = claim_wire()
    workers = _workers(settings)
    server = PlanServer(workers, _surroundings(settings)).server

    async def talk(ending: Ending) -> None:
        reading = anyio.CancelScope()
        ending.by(reading.cancel)
        async with messages(wire, reading) as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    return serve(workers, talk)


def on_http(settings: Settings, listening: socket, address: Address, printer: Printer) -> bool:
    from ringi.mcp import http  # noqa: PLC0415  # a web server that only this needs

    with listening:
        token = http.token_of(settings.environment)
        workers = _workers(settings)
        server = PlanServer(workers, _surroundings(settings)).server
        talk = http.talking(server, listening, address, token.value)
        printer.line(Text("Serving on {address}", address=address.url))
        if token.made:
            header = f"Authorization: Bearer {token.value}"
            printer.line(Text("Every request needs the header {header}", header=header), indent=2)
        if token.place:
            printer.line(Text("The token stands in {path}", path=str(token.place)), indent=2)
        return serve(workers, talk)


def _workers(settings: Settings) -> Workers:
    def worker() -> Worker:
        opening = Opening(settings.start, settings.environment)
        return Worker(opening.open, opening.is_current)

    return Workers(worker(), worker(), worker())


def _surroundings(settings: Settings) -> Surroundings:
    parent = os.getppid()

    def places() -> "Places":
        from ringi.workspace.places import find_root, places_of  # noqa: PLC0415  # see above

        return places_of(find_root(settings.start), settings.environment)

    def hidden() -> Iterable[str]:
        found = places()
        return str(found.state), str(found.states)

    return Surroundings(
        label=settings.label,
        requester=cache(lambda: requester_of(parent, places())),
        hidden=hidden,
        asked=_asked(settings),
    )


def requester_of(parent: int, places: "Places") -> str:
    """An agent that `ringi with` started, where that is what started us; empty for the user."""
    from ringi.process.program import program_name  # noqa: PLC0415  # see above
    from ringi.process.table import process_start  # noqa: PLC0415  # see above
    from ringi.workspace.copy import WorkCopy  # noqa: PLC0415  # see above

    for copy in WorkCopy.all(places.copies):
        running, command = copy.record.supervisor, copy.record.command
        if running and command and running.pid == parent and process_start(parent) == running.start:
            return f"with:{program_name(command)}"
    return ""


def _asked(settings: Settings) -> Callable[[str, str, str], None]:
    def tell(how: str, words: Text) -> None:
        from ringi.integrations.notify import notify  # noqa: PLC0415  # only where somebody is asked

        notify(how, words, environment=settings.environment, output=_ERRORS)

    def asked(how: str, name: str, title: str) -> None:
        words = Text("{plan} waits for you: {title}", plan=name, title=title)
        # A desktop that does not answer holds up nobody else.
        threading.Thread(target=tell, args=(how, words), daemon=True).start()

    return asked
