"""The promises about planning sessions: what they cost beside the model's own time, and what it is told."""

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from bench.measure import Figure, command, ratio, size, take_turns
from bench.scratch import opened, scratch
from ringi.models.prompt import Budget, Exchange, ModelAnswer, OnProgress, Prompt
from ringi.models.usage import TokenUsage
from ringi.sessions.document import DecisionPending, QuestionPending
from ringi.sessions.tool import PlanningTool
from tests.fakes.model_server import ModelServer, Request
from tests.fakes.models import DECISIONS, QUESTIONS, SUMMARY, WORDS

RINGI = str(Path(sys.executable).with_name("ringi"))
_SESSIONS = size(15, 1)
_MOST_MS = 20.0
_MOST_TOKENS = 2_000
# A hundred words, as somebody would write them.
INSTRUCTION = (
    "Add rate limiting to the public HTTP API of the report service. Every client is known by its token; "
    "each may make one hundred requests a minute, and bursts of twenty at once are fine. Whoever asks for "
    "more gets status 429 with a Retry-After header that is right to the second. The limits stand in the "
    "configuration and can differ between clients, because two partners have contracts of their own. "
    "Counters must survive a restart, since we deploy several times a day, but no new service may be "
    "needed for it. Administrators want to see who is near the limit. The old endpoints keep working."
)


class Instant:
    """Answers at once, so that only our own time is left."""

    name = "scripted:instant"
    sees_project = False

    def ask(
        self, prompt: Prompt, kind: type[Any], budget: Budget, on_progress: OnProgress
    ) -> ModelAnswer[Any]:
        del budget, on_progress
        said = WORDS[prompt.purpose]
        exchange = Exchange("\n".join([prompt.rules, *(text for _, text in prompt.material)]), str(said))
        return ModelAnswer(msgspec.convert(said, kind), TokenUsage(requests=1), (exchange,), self.name)


def figures() -> Iterator[Figure]:
    yield from overhead()
    yield from help_page()
    if importlib.util.find_spec("pydantic_ai") is None:
        print(
            "pydantic-ai is not installed; the prompts are not counted (make venv brings it)", file=sys.stderr
        )
        return
    yield from prompts()


def overhead() -> Iterator[Figure]:
    with scratch() as (root, environment), opened(root, environment) as workspace:
        tool = PlanningTool(workspace.replace(model=Instant))
        led(tool)
        taken = []
        for _ in range(_SESSIONS):
            start = time.perf_counter()
            turns = led(tool)
            workspace.flush()
            taken.append((time.perf_counter() - start) * 1000 / turns)
        yield Figure(
            "a turn of a planning session with an instant model",
            statistics.median(taken),
            _MOST_MS,
            unit=" ms",
            detail=f"{turns} turns, saves and logs included; the slowest session {max(taken):.2f} ms a turn",
        )


def led(tool: PlanningTool) -> int:
    """A whole session up to its review; answers with the number of turns."""
    session_id, turns = tool.start(INSTRUCTION).session_id, 1
    while True:
        view, turns = tool.go_on(session_id), turns + 1
        match view.pending:
            case QuestionPending():
                tool.answer(session_id, "as it says")
            case DecisionPending():
                tool.decide(session_id, "opt-a", "the simplest")
            case _:
                return turns
        turns += 1


def help_page() -> Iterator[Figure]:
    with scratch() as (root, environment):
        jobs = [
            command([RINGI, "plan", "--help"], cwd=root, env=environment),
            command([sys.executable, "-c", "pass"], cwd=root, env=environment),
        ]
        take_turns(2, *jobs)
        yield ratio("ringi plan --help ÷ python -c pass", take_turns(15, *jobs), 8)


def prompts() -> Iterator[Figure]:
    def answer(request: Request) -> Any:
        # By what stands first in the schema of the answer, wherever that was sent.
        sent = request.text + json.dumps(request.schema, separators=(",", ":"))
        for name, said in (("questions", QUESTIONS), ("decisions", DECISIONS), ("summary", SUMMARY)):
            if f'"properties":{{"{name}"' in sent:
                return said
        raise AssertionError(request.text)

    for kind in ("openai:bench", "anthropic:bench"):
        with scratch() as (root, environment), ModelServer(answer) as server:
            settings = {**environment, **server.environment(), "RINGI_MODEL": kind}
            with opened(root, settings) as workspace:
                led(workspace.planning)
            counted = [request.prompt_tokens for request in server.requests]
            yield Figure(
                f"tokens of all prompts of a session ({kind})",
                sum(counted),
                _MOST_TOKENS,
                unit=" tokens",
                detail=f"{' + '.join(map(str, counted))}, {len(INSTRUCTION.split())} words of instruction",
            )
