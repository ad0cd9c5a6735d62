"""What models may take: by phase, in all and in dollars, counted before each call, told before the first."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.engine.run_state import RunPhase
from ringi.errors import BudgetUsed
from ringi.models.budget import SpentOn, by_phase
from ringi.models.prompt import Budget, Material, ModelAnswer, ModelProgress, OnProgress, Prompt
from ringi.models.usage import Purpose, TokenUsage
from ringi.runs.document import StopCode
from ringi.runs.role_model import BudgetedModel, BudgetLimit, ModelLimits
from tests.fakes.model_server import ModelServer, Request
from tests.functional import warm
from tests.functional.run_desk import FILES, RunDesk, a_plan, a_step, at_home, project
from tests.helpers import PATIENCE_SEC
from tests.tables import each

PATCH = """\
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,2 @@
 def add(a, b):
-    return a - b
+    return a + b
"""
DESIGN: Mapping[str, Any] = {
    "summary": "It adds.",
    "acceptance_criteria": [{"given": "2 and 3", "when": "added", "then": "it is 5"}],
    "target_paths": [{"path": "calc.py"}],
    "test_commands": ["python3 test_calc.py"],
}


MORE = {f"add_{n}.py": f"def add_{n}(a, b):\n    return add(a, b) + {n}\n" * 6 for n in range(40)}
"""Much to read."""


def answers(request: Request) -> Any:
    return DESIGN if "acceptance_criteria" in json.dumps(request.schema) else {"patch": PATCH}


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield project(base / "project", {**FILES, **MORE})


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelServer]:
    with ModelServer([answers]) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        yield server


def configure(desk: RunDesk, server: ModelServer, **runs: object) -> None:
    desk.configure(
        json.dumps(
            {
                "model": "openai:gpt-5",
                "roles": {name: {"model": "openai:gpt-5"} for name in ("planner", "implementer")},
                "llm": {"base_url": f"{server.url}/v1", "prices": ["openai:gpt-5 1 10"]},
                "runs": runs,
            }
        )
    )


def ringi(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return warm.run([*warm.RINGI, *words], cwd=root, timeout=PATIENCE_SEC)


@pytest.mark.req("PP-13")
def test_it_is_told_before_it_is_spent_and_afterwards_by_phase(root: Path, server: ModelServer):
    desk = RunDesk(root)
    key = desk.key()
    configure(desk, server, max_tokens=100_000, budget={"planning_tokens": 5_000})
    done = ringi(root, "run", "Make add in calc.py add", "--sign", str(key.path))
    assert done.returncode == 3, done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("Models: at most")]
    assert told[0] == "Models: at most 100,000 tokens, $1.00"
    assert "tokens, $0.9" in told[1]
    assert "· spent so far: " in told[1]
    [run_id] = [one["run_id"] for one in [json.loads(done.stdout)]]
    document = json.loads(ringi(root, "--json", "status", run_id).stdout)
    planned, phases = document["planned"], document["tokens_by_phase"]
    assert document["budget"] == {"tokens": 100_000, "planning_tokens": 5_000}
    assert phases["planning"] == planned["planning_tokens"] > 0
    assert phases["execution"] > 0
    assert phases["reflection"] == 0
    assert planned["material_tokens"] > 1_000, "much was shown"
    assert planned["dollars"] > 0
    desk.run_id = run_id
    spent = desk.run().spent
    assert spent.calls == len(server.requests) == 2
    assert sum(phases.values()) + spent.material_tokens == spent.input_tokens + spent.output_tokens
    shown = ringi(root, "status", run_id).stdout
    whole = f"{spent.input_tokens + spent.output_tokens:,} of 100,000"
    assert f"planning {phases['planning']:,} of 5,000" in " ".join(shown.split())
    assert whole in " ".join(shown.split())
    report = " ".join(ringi(root, "report", run_id).stdout.split())
    assert f"planning {phases['planning']:,} of 5,000 · execution {phases['execution']:,}" in report


@pytest.mark.req("PP-13")
@each(
    ("runs", "key"),
    [
        ({"budget": {"planning_tokens": 300}}, "runs.budget.planning_tokens"),
        ({"max_tokens": 400}, "runs.max_tokens"),
        ({"max_dollars": 0.0001}, "runs.max_dollars"),
    ],
)
def test_a_session_and_a_planner_ask_nobody_beyond_their_budget(
    root: Path, server: ModelServer, runs: dict[str, object], key: str
):
    configure(RunDesk(root), server, **runs)
    done = ringi(root, "plan", "Make it add")
    assert done.returncode == 1
    assert f"{key} allows no further call" in done.stderr
    assert "ringi plan --resume" in done.stderr
    done = ringi(root, "run", "Make it add")
    assert f"{key} allows no further call" in done.stderr
    assert not server.requests


@pytest.mark.req("PP-13")
def test_a_step_stops_at_the_budget_of_its_phase(root: Path, server: ModelServer):
    desk = RunDesk(root)
    configure(desk, server, budget={"execution_tokens": 300})
    desk.start(a_plan(a_step(1)))
    run = desk.go()
    assert run.stop
    assert (run.phase, run.stop.reason_code) == (RunPhase.NEEDS_INPUT, StopCode.BUDGET_EXCEEDED)
    assert "runs.budget.execution_tokens" in run.stop.message
    assert not server.requests
    configure(desk, server, budget={"execution_tokens": 20_000})
    assert desk.go(retry=True).steps[0].status == "proposed"


class Counting:
    """Says what every call took."""

    name, sees_project = "counting", True

    def __init__(self, taken: list[tuple[int, int]]) -> None:
        self._taken = taken
        self.calls = 0

    def ask(self, prompt: Prompt, _kind: type, _budget: Budget, on_progress: OnProgress) -> ModelAnswer[Any]:
        read, written = self._taken[self.calls]
        self.calls += 1
        usage = TokenUsage(1, read, written)
        on_progress(ModelProgress(0.0, written, spent=usage))
        return ModelAnswer(str(prompt.purpose), usage, (), self.name)


PURPOSES = st.sampled_from([Purpose.REVIEW, Purpose.STEP, Purpose.VERDICT, Purpose.REFLECTION])


@pytest.mark.req("PP-13")
@given(
    calls=st.lists(
        st.tuples(PURPOSES, st.integers(1, 3_000), st.integers(1, 500), st.text(max_size=50)), max_size=8
    ),
    most=st.integers(0, 6_000),
    phase=st.sampled_from(SpentOn),
)
def test_phases_add_up_and_no_call_begins_beyond_one(
    calls: list[tuple[Purpose, int, int, str]], most: int, phase: SpentOn
):
    model = Counting([(read, written) for _, read, written, _ in calls])
    caller = BudgetedModel(
        model, ModelLimits((BudgetLimit("it", tokens=most, phase=phase),), (1.0, 2.0)), Budget(1.0, 100)
    )
    for purpose, _, _, text in calls:
        before = by_phase(caller.spent)[phase]
        try:
            caller.ask(Prompt(purpose, "rules", (Material("files", text), Material("brief", text))), str)
        except BudgetUsed:
            continue
        assert before <= most
    spent = caller.spent
    assert sum(by_phase(spent).values()) + spent.material_tokens == spent.input_tokens + spent.output_tokens
    assert spent.calls == model.calls
    assert spent.input_tokens == caller.used.input_tokens
