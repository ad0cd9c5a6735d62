"""The threads of a server: each owns an open workspace, and calls wait in its queue.

Changes run in the main thread: only it handles signals, and a signal must end the command a plan runs.
"""

import asyncio
import contextlib
import gc
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self, TypeVar

import anyio

from ringi.errors import Interrupted
from ringi.kernel.places import (
    Places,
    find_root,
    places_of,
    project_file,
    signers_file,
    trust_file,
    user_file,
)
from ringi.mcp.handshake import SIGNALS

if TYPE_CHECKING:  # loaded by the first call, after a client was greeted
    from ringi.app.api import Workspace
    from ringi.approvals.person import PersonChannel

T = TypeVar("T")
_ENDING_SEC: Final = 1.0
_LOOK_SEC: Final = 2.0
_Stamp = tuple[int, ...] | None


class _WorkerJob(NamedTuple):
    work: "Callable[[Workspace], Any]"
    future: "asyncio.Future[Any]"

    def settle(self, result: object, error: Exception | None) -> None:
        # The client may have left, or the server may be ending.
        with contextlib.suppress(RuntimeError):
            self.future.get_loop().call_soon_threadsafe(_settle, self.future, result, error)


def _settle(future: "asyncio.Future[Any]", result: object, error: Exception | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class Worker:
    """If the workspace cannot be opened, the call fails and the next call tries again."""

    def __init__(
        self, opener: "Callable[[], Workspace]", is_current: Callable[[], bool] = lambda: True
    ) -> None:
        self._opener = opener
        self._is_current = is_current
        self._jobs: SimpleQueue[_WorkerJob | None] = SimpleQueue()
        self._workspace: Workspace | None = None
        self._stopping = False

    async def call(self, work: "Callable[[Workspace], T]") -> T:
        """If cancelled before its turn it never runs; if cancelled later it still runs to the end."""
        return await self.begin(work)

    def begin(self, work: "Callable[[Workspace], T]") -> "asyncio.Future[T]":
        """Like `call`, without waiting."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put(_WorkerJob(work, future))
        return future

    def run(self) -> None:
        """Call it in the thread that owns the workspace; returns after `stop`."""
        try:
            while not self._stopping:
                job = self._next()
                if job is not None and not job.future.cancelled():
                    with _HandingOver(self, job):
                        job.settle(job.work(self._open()), None)
        finally:
            self._close()

    def _next(self) -> _WorkerJob | None:
        """None now and then: the system may hand a signal to another thread, which wakes nobody here."""
        try:
            return self._jobs.get(timeout=_LOOK_SEC)
        except Empty:
            return None

    @property
    def stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        """From any thread or a signal handler: finishes the current call and takes no more."""
        self._stopping = True
        self._jobs.put(None)

    def _open(self) -> "Workspace":
        if self._workspace is not None and not self._is_current():
            self._close()
        if self._workspace is None:
            gc.enable()  # disabled at the start; from here on there is garbage to collect
            self._workspace = self._opener()
        return self._workspace

    def _close(self) -> None:
        closing, self._workspace = self._workspace, None
        if closing is not None:
            closing.close()


class _HandingOver:
    """Passes an error to the caller; the thread continues."""

    def __init__(self, worker: Worker, job: _WorkerJob) -> None:
        self._worker = worker
        self._job = job

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        if isinstance(error, Interrupted):  # a signal ended the command that was running
            self._worker.stop()
        self._job.settle(None, error)
        return True


class Workers(NamedTuple):
    """Reads continue during an execution, and both continue while a model works."""

    reading: Worker
    changing: Worker
    planning: Worker


class Opening:
    """Keeps a workspace open between calls while a command typed now would open the same one."""

    def __init__(
        self, start: Path, environment: Mapping[str, str], client: "Callable[[], PersonChannel]"
    ) -> None:
        self._start = start
        self._environment = environment
        self._client = client
        self._files: tuple[Path, ...] = ()
        self._settings: list[_Stamp] = []
        self._ledger: tuple[Path, _Stamp] | None = None

    def open(self) -> "Workspace":
        from ringi.app.api import open_workspace  # noqa: PLC0415  # after a client was greeted

        places = places_of(find_root(self._start), self._environment)
        self._files = self._deciding(places)
        self._settings = list(map(_stamp, self._files))  # before they are read
        workspace = open_workspace(self._start, environment=self._environment, person=self._client())
        self._ledger = places.database, _identity(places.database)  # after it was made
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


def run(workers: Workers, talk: Talk) -> bool:
    """Until the client leaves or a signal comes. False if the protocol thread failed."""
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
    for number in SIGNALS:
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
