"""Somebody who types what the program tells them to, again and again, whatever was killed."""

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ringi.engine.run_state import RunPhase
from ringi.plans.document import PlanStatus
from ringi.runs.document import StopCode
from tests.crash.killing import KILLED, Driver
from tests.crash.office import Office

MOST = 40
"""Commands until a run has to be at its end."""
ASKING = {StopCode.CALL_WAITS, StopCode.APPROVAL_NEEDED, StopCode.HELP_NEEDED}
WAITING = {PlanStatus.PENDING_REVIEW, PlanStatus.APPROVED}


class Done(NamedTuple):
    code: int
    document: Any
    errors: str

    @property
    def error(self) -> str:
        found: str = self.document.get("error", {}).get("code", "") if isinstance(self.document, dict) else ""
        return found


class Persistent:
    """Begins a run, and goes on with it until it is completed."""

    def __init__(
        self, office: Office, driver: Driver, begin: Sequence[str], said: str, was_called: Callable[[], bool]
    ) -> None:
        """`said` is what they say when they are asked for help."""
        self._office, self._driver = office, driver
        self._begin, self._said, self._was_called = begin, said, was_called
        self._told = office.root.parent.parent / "told"
        self._told.mkdir(exist_ok=True)
        self.kills = 0
        self.calls: list[int] = []
        """Of functions, by command that was not killed."""
        self.stops: list[str] = []
        """Where somebody was needed, beside approvals of what is done."""

    def leads(self, moments: Iterator[int]) -> None:
        """To the end; `moments` says how many calls each command lives."""
        self.kills, self.calls, self.stops, self._has_said = 0, [], [], False
        words: Sequence[str] | None = self._begin
        for _ in range(MOST):
            killed = self._typed(words, next(moments, 0)) is None
            words = self._after(words[0], words[1:], killed=killed)
            if words is None:
                return
        raise AssertionError(f"no end: {self.stops}")

    def _typed(self, words: Sequence[str], calls: int = 0) -> Done | None:
        """None if it was killed."""
        task = {**self._office.task(), "words": ["--json", *words], "told": str(self._told), "calls": calls}
        code = self._driver.run(task)
        if code == KILLED:
            self.kills += 1
            self._office.look()
            return None
        out, errors = ((self._told / name).read_text() for name in ("out", "errors"))
        self.calls.append(int((self._told / "calls").read_text()))
        return Done(code, json.loads(out) if out.strip() else None, errors)

    def _must(self, *words: str) -> Done:
        done = self._typed(words)
        assert done is not None
        assert done.code in {0, 3}, (words, done)
        return done

    def _after(self, command: str, words: Sequence[str], *, killed: bool) -> Sequence[str] | None:
        """What they type next; None if it is completed."""
        if command == "execute":
            self._settle(words[0])
        elif command == "approve" and not killed:
            return "execute", words[0]
        found = self._must("status").document
        key = str(self._office.key.path)
        if found["runs"]:
            return self._go_on(found["runs"][0], key)
        if found["planning"]:
            return "plan", "--resume", found["planning"][0]["sessionId"], "--approve", "--sign", key
        return self._begin

    def _go_on(self, run: Mapping[str, Any], key: str) -> Sequence[str] | None:
        self._office.desk.run_id = run["run_id"]
        if run["phase"] == RunPhase.COMPLETED:
            return None
        stop = run["stop"]["reason_code"] if "stop" in run else ""
        assert stop in {"", *ASKING}, run
        if stop and stop != StopCode.APPROVAL_NEEDED and self.stops[-1:] != [stop]:
            self.stops.append(stop)
        if stop == StopCode.HELP_NEEDED and not self._has_said:
            self._must("feedback", self._said)
            self._has_said = True
        if stop in {StopCode.CALL_WAITS, StopCode.APPROVAL_NEEDED}:
            waiting = [one for one in self._must("list").document if one["status"] in WAITING]
            if waiting:
                return "approve", f"p{waiting[0]['number']}", "--sign", key
        return ("continue",)

    def _settle(self, plan: str) -> None:
        """Whoever cannot know whether a call was made looks, and says so."""
        if self._must("recover").error == "unknown_command":
            self._must("recover", plan, "--done" if self._was_called() else "--again", "s1")
            self._must("execute", plan)


def spread(whole: int, part: int, parts: int) -> Iterator[int]:
    """The first somewhere in this part of the whole course, the others anywhere; a few in all."""
    chance = random.Random(part)
    yield 1 + (whole * part + chance.randrange(whole)) // parts
    for _ in range(3):
        yield 1 + chance.randrange(whole)
