"""Assembles a server and runs it in four threads: for changes, reads, planning, and the protocol.

Changes run in the main thread: only it handles signals, and a signal must end the command a plan runs.
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
    """Keeps a workspace open between calls while a command typed now would open the same one."""

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
        """False if the ledger was replaced, or a setting or what is trusted changed."""
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
    """Ends the protocol thread from another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None

    def by(self, end: Callable[[], object]) -> None:
        """Called in the protocol thread."""
        self._loop, self._end = asyncio.get_running_loop(), end

    def now(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has already ended
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

    # Daemon threads: they must not keep a process alive that is ending.
    talker = threading.Thread(target=talking, name="talking", daemon=True)
    reader = threading.Thread(target=workers.reading.run, name="reading", daemon=True)
    planner = threading.Thread(target=workers.planning.run, name="planning", daemon=True)
    for number in _SIGNALS:
        if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it on purpose
            signal.signal(number, lambda *_: workers.changing.stop())
    for thread in (reader, planner, talker):
        thread.start()
    try:
        workers.changing.run()
    finally:
        ending.now()
        workers.planning.stop()  # tells a running model to end, without waiting for it
        talker.join(_ENDING_SEC)
        workers.reading.stop()
        for thread in (reader, planner):
            thread.join(_ENDING_SEC)
    return ended.is_set() or talker.is_alive()  # blocked on a client's pipe is not a failure


class Settings(NamedTuple):
    environment: Mapping[str, str]
    start: Path
    label: str


def serve(settings: Settings, talk: Callable[[Server[Any]], Talk]) -> bool:
    """Runs until the client leaves or a signal comes. False if the protocol thread failed."""
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
        # A desktop that does not answer must delay nobody.
        threading.Thread(target=tell, args=(how, words), daemon=True).start()

    return asked
