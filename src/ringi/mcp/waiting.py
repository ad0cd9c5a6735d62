"""Until a person decides or changes something, without keeping anything busy."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final, NamedTuple

import anyio

from ringi.domain.answer import PlanAnswer
from ringi.errors import Busy
from ringi.mcp import wording
from ringi.mcp.answers import Waited, waited
from ringi.mcp.worker import Worker
from ringi.text import Text

if TYPE_CHECKING:
    from ringi.api import Workspace

_PAUSE_SEC: Final = 0.075
_LOOK_ANYWAY_SEC: Final = 2.0
"""A request expires without anybody writing anything."""
_PROGRESS_SEC: Final = 5.0
_REMEMBERED: Final = 1000
_MOST_WAITING: Final = 100


class Client(NamedTuple):
    """Of the one call that waits."""

    progress: Callable[[float, float | None, str], Awaitable[None]]
    gone: Callable[[], Awaitable[bool]]


class _Look(NamedTuple):
    revision: int
    answer: PlanAnswer


class Waiting:
    """Remembers what the proposer was told, so that nothing said between two calls is missed."""

    def __init__(self, reading: Worker) -> None:
        self._reading = reading
        self._told: dict[str, tuple[object, ...]] = {}
        self._now = 0

    def told(self, answer: PlanAnswer) -> None:
        self._told.pop(answer.plan_id, None)
        self._told[answer.plan_id] = _news(answer)
        if len(self._told) > _REMEMBERED:
            del self._told[next(iter(self._told))]

    async def wait(self, name: str, seconds: float, client: Client) -> Waited:
        if self._now >= _MOST_WAITING:
            raise Busy(holder=Text("{count} calls wait already", count=self._now))
        self._now += 1
        try:
            return await self._wait(name, seconds, client)
        finally:
            self._now -= 1

    async def _wait(self, name: str, seconds: float, client: Client) -> Waited:
        plan_id = await self._reading.call(lambda workspace: workspace.plan.find(name))
        look = await self._look(plan_id)
        known = self._told.get(plan_id, _news(look.answer))
        begun = looked = anyio.current_time()
        shown = begun - _PROGRESS_SEC
        while wording.undecided(look.answer) and _news(look.answer) == known:
            now = anyio.current_time()
            left = begun + seconds - now
            if left <= 0:
                break
            if now - shown >= _PROGRESS_SEC:
                shown = now
                await client.progress(now - begun, seconds, wording.clean(wording.next_step(look.answer)))
            await anyio.sleep(min(_PAUSE_SEC, left))
            if now - looked >= _LOOK_ANYWAY_SEC or await self._revision(plan_id) != look.revision:
                look, looked = await self._look(plan_id), now
                if await client.gone():
                    break
        self.told(look.answer)
        return waited(
            look.answer,
            call_again=wording.undecided(look.answer),
            next_step=wording.next_step(look.answer),
        )

    async def _revision(self, plan_id: str) -> int:
        return await self._reading.call(lambda workspace: workspace.plan.revision(plan_id))

    async def _look(self, plan_id: str) -> _Look:
        def look(workspace: "Workspace") -> _Look:
            # The number first: what comes between is seen by the next look.
            return _Look(workspace.plan.revision(plan_id), workspace.plan.answer(plan_id))

        return await self._reading.call(look)


def _news(answer: PlanAnswer) -> tuple[object, ...]:
    """What a person can add without deciding."""
    return answer.feedback, answer.comments, answer.changed
