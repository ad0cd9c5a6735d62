"""A server put together and run in four threads: changing, looking, planning, talking.

The main thread changes things: only it hears signals, and a command that a plan runs must end with one.
"""

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import anyio
from mcp.server.lowlevel import Server

from ringi.mcp.server import PlanServer, Surroundings
from ringi.mcp.worker import Worker, Workers
from ringi.text import Text
from ringi.workspace.places import (
    Places,
    find_root,
    places_of,
    project_file,
    signers_file,
    trust_file,
    user_file,
)

if TYPE_CHECKING:
    from ringi.api import Workspace

_ENDING_SEC: Final = 1.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_ERRORS: Final = 2
"""Standard error: the one stream that may be a terminal."""
_Stamp = tuple[int, ...] | None


class Opening:
    """A workspace stays open from call to call, as long as a command typed now would open the same."""

    def __init__(self, start: Path, environment: Mapping[str, str]) -> None:
        self._start = start
        self._environment = environment
        self._files: tuple[Path, ...] = ()
        self._settings: list[_Stamp] = []
        self._ledger: tuple[Path, _Stamp] | None = None

    def open(self) -> "Workspace":
        from ringi.api import open_workspace  # noqa: PLC0415  # after a client was greeted
        from ringi.store.connection import DATABASE  # noqa: PLC0415  # as above

        places = places_of(find_root(self._start), self._environment)
        self._files = self._deciding(places)
        self._settings = list(map(_stamp, self._files))  # before they are read
        workspace = open_workspace(self._start, environment=self._environment)
        ledger = places.state / DATABASE
        self._ledger = ledger, _identity(ledger)  # after it was made
        return workspace

    def is_current(self) -> bool:
        """Not if the ledger was replaced, or somebody changed a setting or what is trusted."""
        if self._ledger is None or self._settings != list(map(_stamp, self._files)):
            return False
        path, known = self._ledger
        return _identity(path) == known

    def _deciding(self, places: Places) -> tuple[Path, ...]:
        users = (user_file(self._environment), trust_file(self._environment))
        return project_file(places.root), signers_file(places.root), *(path for path in users if path)


def _stamp(path: Path) -> _Stamp:
    try:
        found = os.stat(path)  # noqa: PTH116  # three times as fast, and at every call
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def _identity(path: Path) -> _Stamp:
    stamp = _stamp(path)
    return stamp and stamp[:2]


class Ending:
    """How the talking is ended from another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None

    def by(self, end: Callable[[], object]) -> None:
        """Called in the thread that talks."""
        self._loop, self._end = asyncio.get_running_loop(), end

    def now(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._end)


Talk = Callable[[Ending], Coroutine[Any, Any, None]]


def _run(workers: Workers, talk: Talk) -> bool:
    ending, ended = Ending(), threading.Event()

    def talking() -> None:
        try:
            anyio.run(talk, ending)
            ended.set()
        finally:
            workers.changing.stop()

    # They must not keep a process alive that is to end.
    talker = threading.Thread(target=talking, name="talking", daemon=True)
    reader = threading.Thread(target=workers.reading.run, name="reading", daemon=True)
    planner = threading.Thread(target=workers.planning.run, name="planning", daemon=True)
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # as nohup does, and it is meant
            signal.signal(number, lambda *_: workers.changing.stop())
    for thread in (reader, planner, talker):
        thread.start()
    try:
        workers.changing.run()
    finally:
        ending.now()
        workers.planning.stop()  # a model that works is told to end, and is not waited for
        talker.join(_ENDING_SEC)
        workers.reading.stop()
        for thread in (reader, planner):
            thread.join(_ENDING_SEC)
    return ended.is_set() or talker.is_alive()  # one that hangs at a client's pipe is no mistake


class Settings(NamedTuple):
    environment: Mapping[str, str]
    start: Path
    label: str


def serve(settings: Settings, talk: Callable[[Server[Any]], Talk]) -> bool:
    """Until the client goes or a signal comes. False if the talking broke off by a mistake."""
    workers = _workers(settings)
    server = PlanServer(workers, _surroundings(settings)).server
    return _run(workers, talk(server))


def _workers(settings: Settings) -> Workers:
    def worker() -> Worker:
        opening = Opening(settings.start, settings.environment)
        return Worker(opening.open, opening.is_current)

    return Workers(worker(), worker(), worker())


def _surroundings(settings: Settings) -> Surroundings:
    parent = os.getppid()

    def places() -> Places:
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


def requester_of(parent: int, places: Places) -> str:
    """The agent that `ringi with` started, if it started us; empty for the user."""
    from ringi.process.ancestors import process_start  # noqa: PLC0415  # as above
    from ringi.process.program import program_name  # noqa: PLC0415  # after a client was greeted
    from ringi.workspace.copy import WorkCopy  # noqa: PLC0415  # as above

    for copy in WorkCopy.all(places.copies):
        running, command = copy.record.supervisor, copy.record.command
        if running and command and running.pid == parent and process_start(parent) == running.start:
            return f"with:{program_name(command)}"
    return ""


def _asked(settings: Settings) -> Callable[[str, str, str], None]:
    def tell(how: str, words: Text) -> None:
        from ringi.integrations.notify import notify  # noqa: PLC0415  # only if somebody is asked

        notify(how, words, environment=settings.environment, output=_ERRORS)

    def asked(how: str, name: str, title: str) -> None:
        words = Text("{plan} waits for you: {title}", plan=name, title=title)
        # A desktop that does not answer holds up nobody else.
        threading.Thread(target=tell, args=(how, words), daemon=True).start()

    return asked
