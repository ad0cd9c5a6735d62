"""The promises about the process of a task: time beside that of actions, syncs, what is saved."""

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import msgspec

from bench import other, plans
from bench.measure import Figure, ratio, size, take_turns
from bench.scratch import scratch
from ringi.engine.process import ProcessPhase
from ringi.kernel.system import SystemClock
from ringi.ledger.vault import SealedFiles
from ringi.models.cached import AnswerCache, CachedModel
from ringi.models.prompt import Budget, LanguageModel, ModelAnswer, OnProgress, Prompt
from ringi.models.usage import TokenUsage
from ringi.runs.process.context import ProcessContext
from ringi.runs.role_model import BudgetedModel, ModelLimits
from ringi.tools.effects import ToolEffect
from ringi.tools.ports_process import ToolResult
from tests.fakes.model_server import tokens
from tests.unit.runs.process_desk import ProcessDesk, ScriptedTools, plan

_ACTIONS: Final = 20
_WIDTH: Final = 10
_SECONDS: Final = size(100, 10) / 1000
_ROUNDS: Final = size(5, 1)
_LOOKS: Final = size(12, 2)
_FILE: Final = "".join(f"def part_{number}(value):\n    return value + {number}\n" for number in range(180))
_AT_ONCE: Final = {"width": _WIDTH}
_NO_REFLECTION: Final = {"planning.reflection.enabled": False}
_UNLIMITED: Final = 10_000_000


def figures() -> Iterator[Figure]:
    yield from at_once()
    yield from syncs()
    yield from saved()


def at_once() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        desks = [planned(Path(folder, str(number)), _ACTIONS, together=True) for number in range(_ROUNDS)]
        waiting = iter(desks)
        pair = take_turns(_ROUNDS, lambda: carried_out(next(waiting)), _ideal)
    name = f"{_ACTIONS} actions of {_SECONDS * 1000:g} ms, {_WIDTH} at once ÷ threads that only wait"
    yield ratio(name, pair, 1.2)


def _ideal() -> None:
    with ThreadPoolExecutor(_WIDTH) as pool:
        list(pool.map(time.sleep, [_SECONDS] * _ACTIONS))


def syncs() -> Iterator[Figure]:
    """Of one action among many: what a process with more of them calls more often."""
    if not shutil.which("strace"):
        print("strace is not installed; the sync calls are not counted", file=sys.stderr)
        return
    few, many, calls = size(5, 1), size(45, 3), {}
    for actions in (few, many):
        with scratch() as (root, environment):
            script = (
                "import pathlib; from bench import process\n"
                f"process.carried_out(process.planned(pathlib.Path({str(root)!r}), {actions}))\n"
            )
            calls[actions] = plans.counted(script, other.ROOT, environment)
    yield Figure("sync calls of an action", (calls[many] - calls[few]) / (many - few), 3, unit="")


def saved() -> Iterator[Figure]:
    """The same two tasks, the second of them twice, with and without what is to save tokens and time."""
    with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
        ours, without = (
            _worked(Path(folder, name), bounds, cached=cached)
            for name, bounds, cached in (
                ("ours", _AT_ONCE, True),
                ("without", {"width": 1, "context_tokens": _UNLIMITED}, False),
            )
        )
    detail = f"{ours[0]:,} against {without[0]:,} tokens"
    yield Figure("prompt tokens with cache and shortened results ÷ without", ours[0] / without[0], 0.6,
                 detail=detail)  # fmt: skip
    yield ratio("time with cache and actions at once ÷ without", (ours[1], without[1]), 0.8)


def _worked(folder: Path, bounds: dict[str, int], *, cached: bool) -> tuple[int, float]:
    """Tokens that were sent, and seconds. A model that is asked takes as long as an action."""
    folder.mkdir()
    start, model = time.perf_counter(), _Model()
    answers = AnswerCache(
        SealedFiles(folder), SystemClock(), 3_600.0, lambda _: True, lambda _: False, lambda _: None
    )
    asked = CachedModel(model, answers, "") if cached else model
    for number, words in enumerate(("Look at it", "Look again", "Look again")):
        desk = _Looking(folder / str(number), asked, words, bounds)
        assert desk.go().phase is ProcessPhase.COMPLETION
        desk.ledger.close()
    carried_out(planned(folder / "planned", _ACTIONS, together=True, bounds=bounds))
    return model.sent, time.perf_counter() - start


class _Model:
    """Reads one file after another, then ends. Thinks as long as an action takes."""

    name = "scripted:reader"
    sees_project = False

    def __init__(self) -> None:
        self.sent = 0

    def ask(
        self, prompt: Prompt, kind: type[Any], budget: Budget, on_progress: OnProgress
    ) -> ModelAnswer[Any]:
        del budget, on_progress
        text = "\n".join([prompt.rules, *(one.text for one in prompt.material), prompt.task])
        self.sent += tokens(text)
        time.sleep(_SECONDS)
        looked = sum(f"file_{number}.py (success)" in text for number in range(_LOOKS))
        said: dict[str, Any] = {"note": "seen"}
        if looked < _LOOKS:
            said = {"read": [f"file_{looked}.py"], "done": False}
        usage = TokenUsage(requests=1, input_tokens=tokens(text))
        return ModelAnswer(msgspec.convert(said, kind), usage, (), self.name)


class _Looking(ProcessDesk):
    def __init__(self, folder: Path, model: LanguageModel, words: str, bounds: dict[str, int]) -> None:
        super().__init__(folder, config=_NO_REFLECTION, bounds=bounds)
        self.tools.files = {f"file_{number}.py": _FILE for number in range(_LOOKS)}
        self.task = self.task._replace(words=words)
        self._caller = BudgetedModel(model, ModelLimits((), None), Budget(60.0, 4_000))

    def services(self) -> ProcessContext:
        return super().services()._replace(model=self._caller)


class _Slow(ScriptedTools):
    def __init__(self, seconds: float) -> None:
        super().__init__(slow=ToolEffect.READS)
        self._seconds = seconds

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        del name, arguments, timeout_sec
        time.sleep(self._seconds)
        return ToolResult("done")


def planned(
    folder: Path, actions: int, *, together: bool = False, bounds: dict[str, int] = _AT_ONCE
) -> ProcessDesk:
    """A plan of so many actions, each of which takes 100 ms if they are independent, else no time."""
    desk = ProcessDesk(folder, config=_NO_REFLECTION, bounds=bounds)
    desk.tools = _Slow(_SECONDS if together else 0)
    parts = [{"id": f"task_{at}"} for at in range(1, actions + 1)] if together else ()
    desk.task = desk.task._replace(plan=plan(*[{"tool": "slow", "arguments": {}}] * actions, parts=parts))
    return desk


def carried_out(desk: ProcessDesk) -> None:
    assert desk.go().phase is ProcessPhase.COMPLETION
