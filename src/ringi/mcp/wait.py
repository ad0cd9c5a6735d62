"""Long calls: they wait until a person decides or changes something, or the model has done its part.

Waiting blocks no thread and no other call.
"""

import asyncio
import threading
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ringi.errors import Busy, Interrupted
from ringi.kernel.text import Text
from ringi.mcp import answers
from ringi.mcp.answers import Waited
from ringi.mcp.render import english
from ringi.mcp.worker import Worker
from ringi.models.prompt import ModelProgress
from ringi.plans.document import PlanAnswer
from ringi.plans.reading import answer_for_clients
from ringi.sessions import view as session_view

if TYPE_CHECKING:
    from ringi.app.api import Workspace
    from ringi.sessions.document import SessionRef, SessionView
    from ringi.sessions.tool import PlanningTool

_PAUSE_SEC: Final = 0.075
_LOOK_ANYWAY_SEC: Final = 2.0
"""Poll, because a request expires without anything being written."""
_PROGRESS_SEC: Final = 5.0
_MODEL_PAUSE_SEC: Final = 0.05
_MODEL_PROGRESS_SEC: Final = 1.0
_REMEMBERED: Final = 1000
_MOST_WAITING: Final = 100


Progress = Callable[[float, float | None, str], Awaitable[None]]
"""Tells the client of a waiting call how long it waited, how long it will at most, and for what."""


class _Look(NamedTuple):
    revision: int
    answer: PlanAnswer


class WaitForPerson:
    """Remembers what the proposer has seen, so that nothing said between two calls is missed."""

    def __init__(self, reading: Worker) -> None:
        self._reading = reading
        self._told: dict[str, tuple[object, ...]] = {}
        self._now = 0

    def note_seen(self, answer: PlanAnswer) -> None:
        self._told.pop(answer.plan_id, None)
        self._told[answer.plan_id] = _news(answer)
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]

    async def wait(self, name: str, seconds: float, progress: Progress) -> Waited:
        if self._now >= _MOST_WAITING:
            raise Busy(holder=Text("1 call waits already", "{count} calls wait already", count=self._now))
        self._now += 1
        try:
            return await self._wait(name, seconds, progress)
        finally:
            self._now -= 1

    async def _wait(self, name: str, seconds: float, progress: Progress) -> Waited:
        plan_id = await self._reading.call(lambda workspace: workspace.plan.find(name))
        look = await self._look(plan_id)
        known = self._told.get(plan_id, _news(look.answer))
        begun = looked = anyio.current_time()
        shown = begun - _PROGRESS_SEC
        while answers.is_undecided(look.answer) and _news(look.answer) == known:
            now = anyio.current_time()
            left = begun + seconds - now
            if left <= 0:
                break
            if now - shown >= _PROGRESS_SEC:
                shown = now
                await progress(now - begun, seconds, answers.next_step(look.answer))
            await anyio.sleep(min(_PAUSE_SEC, left))
            if now - looked >= _LOOK_ANYWAY_SEC or await self._revision(plan_id) != look.revision:
                look, looked = await self._look(plan_id), now
        self.note_seen(look.answer)
        return answers.wait_answer(look.answer)

    async def _revision(self, plan_id: str) -> int:
        return await self._reading.call(lambda workspace: workspace.plan.revision(plan_id))

    async def _look(self, plan_id: str) -> _Look:
        def look(workspace: "Workspace") -> _Look:
            # Read the revision first: the next look then sees any change in between.
            return _Look(workspace.plan.revision(plan_id), answer_for_clients(workspace, plan_id))

        return await self._reading.call(look)


def _news(answer: PlanAnswer) -> tuple[object, ...]:
    """What a person can add without deciding."""
    return answer.feedback, answer.comments, answer.changed


class SessionNow(NamedTuple):
    view: "SessionView"
    working: bool
    """The model is still working for it in this server."""


class _WaitTurn:
    """One step in the worker: it can be withdrawn until it begins; after that its model can be stopped."""

    def __init__(self, step: "Callable[[PlanningTool], SessionView]", is_ending: Callable[[], bool]) -> None:
        self._step = step
        self._is_ending = is_ending
        self._lock = threading.Lock()
        self._begun = False
        self._stopped = False
        self.saved: SessionView | None = None
        """The session after the step, once that is saved."""
        self.working = ModelProgress(0.0, 0)

    def __call__(self, workspace: "Workspace") -> "SessionView":
        with self._lock:
            if self._stopped:
                raise _others()
            self._begun, self._thread = True, threading.get_ident()
        tool = workspace.planning
        self.saved = self._step(tool)
        try:
            return tool.go_on(self.saved.session_id, self._hear)
        except (Busy, Interrupted):  # another process runs it, or the client cancelled
            return tool.view(self.saved.session_id)

    def _hear(self, working: ModelProgress) -> None:
        if self._stopped or self._is_ending():
            raise Interrupted
        self.working = working

    def withdraw(self) -> bool:
        """True if it has not begun; it then never will."""
        with self._lock:
            self._stopped = self._stopped or not self._begun
            return not self._begun

    def stop(self) -> None:
        """Saved work stays. The model stops at its next report; if it finishes first, its reply is saved."""
        with self._lock:
            self._stopped = True


def _others() -> Busy:
    return Busy(holder=Text("the model works for another planning session"))


class _Running(NamedTuple):
    turn: _WaitTurn
    future: "asyncio.Future[SessionView]"


class WaitForModel:
    def __init__(self, reading: Worker, planning: Worker) -> None:
        self._reading = reading
        self._planning = planning
        self._running: list[_Running] = []

    async def take(
        self, step: "Callable[[PlanningTool], SessionView]", seconds: float, progress: Progress
    ) -> SessionNow:
        """If the client cancels, the model stops; after `seconds` it keeps working."""
        if len(self._running) >= _MOST_WAITING:
            raise _others()
        turn = _WaitTurn(step, lambda: self._planning.stopping)
        running = _Running(turn, self._planning.begin(turn))
        self._running.append(running)
        running.future.add_done_callback(lambda _: self._on_end(running))
        try:
            await _report(running, seconds, progress)
            while not turn.saved and not running.future.done():
                if self._running[0] is not running and turn.withdraw():
                    raise _others()
                await asyncio.wait([running.future], timeout=_MODEL_PAUSE_SEC)
        except asyncio.CancelledError:
            turn.stop()
            raise
        if running.future.done():
            return SessionNow(running.future.result(), working=False)
        assert turn.saved is not None  # noqa: S101  # as the loop above found
        return SessionNow(turn.saved, working=True)

    def _on_end(self, running: _Running) -> None:
        self._running.remove(running)
        if not running.future.cancelled():
            running.future.exception()  # retrieved, so asyncio does not complain; the session records it

    async def look(self, name: str, seconds: float, progress: Progress) -> SessionNow:
        view = await self._view(name)
        running = self._of(view.session_id)
        if running is None:
            return SessionNow(view, working=False)
        await _report(running, seconds, progress)
        return SessionNow(await self._view(view.session_id), working=self._of(view.session_id) is not None)

    async def open_sessions(self) -> "list[SessionRef]":
        return await self._reading.call(lambda workspace: workspace.planning.list(open_only=True))

    async def _view(self, name: str) -> "SessionView":
        return await self._reading.call(lambda workspace: workspace.planning.view(name))

    def _of(self, session_id: str) -> _Running | None:
        return next(
            (one for one in self._running if one.turn.saved and one.turn.saved.session_id == session_id), None
        )


async def _report(running: _Running, seconds: float, progress: Progress) -> None:
    """Waits, and tells the progress."""
    begun = anyio.current_time()
    while not running.future.done():
        passed = anyio.current_time() - begun
        if passed >= seconds:
            break
        await asyncio.wait([running.future], timeout=min(_MODEL_PROGRESS_SEC, seconds - passed))
        if running.future.done():
            break
        passed = anyio.current_time() - begun
        await progress(passed, None, english(session_view.progress(passed, running.turn.working)))
