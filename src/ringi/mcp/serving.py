"""Four threads: the main one changes things, another one looks, a third one plans, a fourth one talks.

Only the main thread hears signals, and a command that a plan runs must end with one.
"""

import asyncio
import contextlib
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, Final

import anyio

from ringi.mcp.worker import Workers

_ENDING_SEC: Final = 1.0
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Ending:
    """How the talking is ended from another thread."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end: Callable[[], object] = lambda: None

    def by(self, end: Callable[[], object]) -> None:
        """Called where it talks."""
        self._loop, self._end = asyncio.get_running_loop(), end

    def now(self) -> None:
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # it has ended by itself
                self._loop.call_soon_threadsafe(self._end)


Talk = Callable[[Ending], Coroutine[Any, Any, None]]


def serve(workers: Workers, talk: Talk) -> bool:
    """Until the client goes or a signal comes. False where the talking broke off by a mistake."""
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
