"""One thread owns an open workspace; calls wait in its queue."""

import asyncio
import contextlib
import gc
from collections.abc import Callable
from queue import SimpleQueue
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple, Self, TypeVar

from ringi.errors import Interrupted

if TYPE_CHECKING:  # loaded by the first call, after a client was greeted
    from ringi.api import Workspace

T = TypeVar("T")


class _Job(NamedTuple):
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
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._workspace: Workspace | None = None
        self._stopping = False

    async def call(self, work: "Callable[[Workspace], T]") -> T:
        """If cancelled before its turn it never runs; if cancelled later it still runs to the end."""
        return await self.begin(work)

    def begin(self, work: "Callable[[Workspace], T]") -> "asyncio.Future[T]":
        """Like `call`, without waiting."""
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._jobs.put(_Job(work, future))
        return future

    def run(self) -> None:
        """Call it in the thread that owns the workspace; returns after `stop`."""
        try:
            while not self._stopping and (job := self._jobs.get()) is not None:
                if not job.future.cancelled():
                    with _HandingOver(self, job):
                        job.settle(job.work(self._opened()), None)
        finally:
            self._close()

    @property
    def stopping(self) -> bool:
        return self._stopping

    def stop(self) -> None:
        """From any thread or a signal handler: finishes the current call and takes no more."""
        self._stopping = True
        self._jobs.put(None)

    def _opened(self) -> "Workspace":
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

    def __init__(self, worker: Worker, job: _Job) -> None:
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
