"""A person who is always there, and a clock that moves only when it is asked."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from ringi.kernel.system import Clock
from ringi.kernel.text import Text


class SeatedPerson:
    def refusal(self) -> Text | None:
        return None

    def agent(self) -> Text | None:
        return None

    def name(self) -> str:
        return "test terminal"

    def since(self) -> str:
        return ""

    def user(self) -> str:
        return "person"

    def requester(self) -> str:
        return f"user:{self.user()}"


class NoTerminal(SeatedPerson):
    """A script, started by nobody that is known as an agent."""

    def refusal(self) -> Text | None:
        return Text("there is no terminal")


class AgentAtWork(SeatedPerson):
    def __init__(self, requester: str = "user:hanako") -> None:
        self._requester = requester

    def requester(self) -> str:
        return self._requester

    def refusal(self) -> Text | None:
        return self.agent()

    def agent(self) -> Text | None:
        return Text("an agent is at work here")


class SteppingClock:
    """A second passes at every look."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._now = start

    def now(self) -> str:
        self._now += timedelta(seconds=1)
        return _text(self._now)

    def after(self, seconds: float) -> str:
        return _text(self._now + timedelta(seconds=seconds))


class InterruptingClock:
    """When it is first looked at, somebody else does something."""

    def __init__(self, clock: Clock, meanwhile: Callable[[], None]) -> None:
        self._clock = clock
        self._meanwhile = [meanwhile]

    def now(self) -> str:
        while self._meanwhile:
            self._meanwhile.pop()()
        return self._clock.now()

    def after(self, seconds: float) -> str:
        return self._clock.after(seconds)


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
