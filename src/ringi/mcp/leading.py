"""Planning sessions, step by step; where the model works for minutes, nobody else waits for it."""

import asyncio
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ringi.domain.prompt import Working
from ringi.errors import Busy, Interrupted
from ringi.mcp import planning_wording, wording
from ringi.mcp.waiting import Client
from ringi.mcp.worker import Worker
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.api import Workspace
    from ringi.domain.session import SessionRef
    from ringi.domain.session_view import SessionView
    from ringi.planning.tool import PlanningTool

_PROGRESS_SEC: Final = 1.0
_PAUSE_SEC: Final = 0.05
_MOST_WAITING: Final = 100


class Led(NamedTuple):
    view: "SessionView"
    working: bool
    """The model works for it here, and goes on doing so."""


class _Turn:
    """One step in the worker: it can be taken back until it begins, and its model stopped after that."""

    def __init__(self, step: "Callable[[PlanningTool], SessionView]", is_ending: Callable[[], bool]) -> None:
        self._step = step
        self._is_ending = is_ending
        self._lock = threading.Lock()
        self._begun = False
        self._stopped = False
        self.saved: SessionView | None = None
        """After the step; from then on nothing is lost."""
        self.working = Working(0.0, 0)

    def __call__(self, workspace: "Workspace") -> "SessionView":
        with self._lock:
            if self._stopped:
                raise _others()
            self._begun, self._thread = True, threading.get_ident()
        tool = workspace.planning
        self.saved = self._step(tool)
        try:
            return tool.go_on(self.saved.session_id, self._hear)
        except (Busy, Interrupted):  # another process lets it go on, or the client does not want it any more
            return tool.view(self.saved.session_id)

    def _hear(self, working: Working) -> None:
        if self._stopped or self._is_ending():
            raise Interrupted
        self.working = working

    def withdraw(self) -> bool:
        """Whether nothing of it was done, nor will be."""
        with self._lock:
            self._stopped = self._stopped or not self._begun
            return not self._begun

    def stop(self) -> None:
        """What was saved stays so; the model ends when it is heard of next, or what it says is saved too."""
        with self._lock:
            self._stopped = True


def _others() -> Busy:
    return Busy(holder=Text("the model works for another planning session"))


class _Running(NamedTuple):
    turn: _Turn
    future: "asyncio.Future[SessionView]"


class Leading:
    def __init__(self, reading: Worker, planning: Worker) -> None:
        self._reading = reading
        self._planning = planning
        self._running: list[_Running] = []

    async def take(
        self, step: "Callable[[PlanningTool], SessionView]", seconds: float, client: Client
    ) -> Led:
        """Cancelled by the client, the model stops; after `seconds`, it does not."""
        if len(self._running) >= _MOST_WAITING:
            raise _others()
        turn = _Turn(step, lambda: self._planning.stopping)
        running = _Running(turn, self._planning.begin(turn))
        self._running.append(running)
        running.future.add_done_callback(lambda _: self._ended(running))
        try:
            heard = await _heard(running, seconds, client)
            while heard and not turn.saved and not running.future.done():
                if self._running[0] is not running and turn.withdraw():
                    raise _others()
                await asyncio.wait([running.future], timeout=_PAUSE_SEC)
        except asyncio.CancelledError:
            turn.stop()
            raise
        if not heard:
            turn.stop()
        if running.future.done():
            return Led(running.future.result(), working=False)
        if turn.saved is None:  # the client has gone before its turn came
            raise _others()
        return Led(turn.saved, working=True)

    def _ended(self, running: _Running) -> None:
        self._running.remove(running)
        if not running.future.cancelled():
            running.future.exception()  # where nobody is left to hear of it, the session tells

    async def look(self, name: str, seconds: float, client: Client) -> Led:
        view = await self._view(name)
        running = self._of(view.session_id)
        if running is None:
            return Led(view, working=False)
        await _heard(running, seconds, client)
        return Led(await self._view(view.session_id), working=self._of(view.session_id) is not None)

    async def open_sessions(self) -> "list[SessionRef]":
        return await self._reading.call(lambda workspace: workspace.planning.list(open_only=True))

    async def _view(self, name: str) -> "SessionView":
        return await self._reading.call(lambda workspace: workspace.planning.view(name))

    def _of(self, session_id: str) -> _Running | None:
        return next(
            (one for one in self._running if one.turn.saved and one.turn.saved.session_id == session_id), None
        )


async def _heard(running: _Running, seconds: float, client: Client) -> bool:
    """Waits, and tells how far it is. False where the client has gone meanwhile."""
    begun = anyio.current_time()
    while not running.future.done():
        passed = anyio.current_time() - begun
        if passed >= seconds:
            break
        await asyncio.wait([running.future], timeout=min(_PROGRESS_SEC, seconds - passed))
        if running.future.done():
            break
        passed, working = anyio.current_time() - begun, running.turn.working
        words = planning_wording.progress(passed, working.output_tokens, working.note)
        await client.progress(passed, None, wording.clean(words))
        if await client.gone():
            return False
    return True
