"""`ringi metrics` on ledgers that real runs made; the figures are counted by hand here."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.kernel import codec
from ringi.metrics.document import FigureName, Metrics
from tests.fakes.model_server import ModelServer, Say
from tests.functional import warm
from tests.functional.beside_desk import walled
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step, git, project
from tests.helpers import PATIENCE_SEC, create

F = FigureName
HOSTILE = '<script src="http://evil.example/x.js">alert(1)</script>"\'\x1b[31m\u202e password=hunter2xyzzy12'
VERDICT = '{"passed": true, "findings": [{"severity": "note", "message": "a name could be better"}]}'
SUB = "printf '\\n\\ndef sub(a, b):\\n    return a - b\\n' >> calc.py"


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


def ringi(root: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **variables}
    return warm.run([*warm.RINGI, *words], cwd=root, env=environment, timeout=PATIENCE_SEC)


def of(found: Metrics, name: FigureName) -> tuple[float | None, int]:
    return found.figure(name).value, found.figure(name).of


@pytest.mark.req("PP-21", "PP-26")
@walled
def test_a_run_whose_first_try_failed(place: Path):
    twice = f'if grep -q "exit code" "$1"; then {FIX}; else echo "# wrong" >> calc.py; fi'
    desk = RunDesk(project(place / "app"), implementer=by_step(twice, SUB), reviewer=f"echo '{VERDICT}'")
    desk.start(a_plan(a_step(1), a_step(2)))
    assert desk.go().phase == "needs_input"
    assert desk.decide("S01", "S02").phase == "completed"
    with desk.open() as workspace:
        plan = workspace.plan.propose_specs("More", [create("b.py", "b = 1\n")], proposer=HOSTILE)
        workspace.plan.reject(plan, HOSTILE)
    before = git(desk.root, "rev-parse", "HEAD"), git(desk.root, "status", "--porcelain")
    done = ringi(desk.root, "metrics", "--json", PATH="/nonexistent")
    assert done.returncode == 0, done.stderr
    found = codec.decode_foreign(done.stdout.encode(), Metrics, "metrics")
    assert of(found, F.TASK_COMPLETION_RATE) == (1.0, 1)
    assert of(found, F.FIRST_TRY_SUCCESS_RATE) == (1.0, 1)
    assert of(found, F.PLANNING_ACCURACY) == (1.0, 1)
    # The first try of S01 went wrong, and the second was right.
    assert of(found, F.ERROR_RECOVERY_RATE) == (1.0, 1)
    assert of(found, F.SUBTASKS_SIMPLE) == (2, 1)
    # Two steps, each judged once with a remark, and one plan that a person rejected.
    assert found.figure(F.REVIEW_REMARKS).parts == {"reviewer": 2, "people": 1}
    assert of(found, F.REVIEW_REMARKS) == (1.0, 3)
    # The run, its two steps, and one no.
    assert of(found, F.REJECT_RATE) == (0.25, 4)
    assert of(found, F.SYNTAX_ERRORS) == (0.0, 3)
    # Programs do not say what they took: 3 turns at steps, 2 of the reviewer.
    calls = found.figure(F.LLM_CALLS)
    assert (calls.value, calls.without) == (None, 5)
    [run] = found.tasks
    assert run.execution_sec > 0
    assert found.figure(F.TOTAL_TIME).value == pytest.approx(run.execution_sec + run.reflection_sec, abs=0.01)
    assert before == (git(desk.root, "rev-parse", "HEAD"), git(desk.root, "status", "--porcelain"))
    text = ringi(desk.root, "metrics", "--since", "1h").stdout
    assert "✓ tasks completed" in text
    assert "no data yet" in text
    assert "target >90%" in text
    assert "\x1b" not in text
    assert "hunter2" not in text + done.stdout
    assert "Nothing is recorded since" in ringi(desk.root, "metrics", "--since", "2999-01-01").stdout


@pytest.mark.req("PP-13", "PP-21")
def test_what_a_model_took_is_counted_with_its_material(place: Path, monkeypatch: pytest.MonkeyPatch):
    patch = "--- a/calc.py\n+++ b/calc.py\n@@ -2 +2 @@\n-    return a - b\n+    return a + b\n"
    desk = RunDesk(project(place / "app"))
    with ModelServer([Say({"read": ["test_calc.py"], "done": False}), Say({"patch": patch})]) as server:
        for name, value in server.environment().items():
            monkeypatch.setenv(name, value)
        desk.configure(
            f"roles: {{implementer: {{model: 'openai:gpt-5'}}}}\n"
            f"llm: {{base_url: '{server.url}/v1', prices: ['openai:gpt-5 1 10']}}\n"
        )
        desk.start(a_plan(a_step(1)))
        assert desk.go().phase == "needs_input"
        assert desk.decide("S01").phase == "completed"
        asked = len(server.requests)
    with desk.open() as workspace:
        found = workspace.metrics()
        [attempt] = workspace.store.runs.get(desk.run_id).steps[0].attempts
    spent = attempt.spent
    assert (spent.calls, of(found, F.LLM_CALLS)) == (asked, (asked, 1))
    assert 0 < spent.material_tokens < spent.input_tokens
    cost = (spent.input_tokens + 10 * spent.output_tokens) / 1_000_000
    assert found.figure(F.API_COST).value == pytest.approx(cost)
    beside = spent.input_tokens + spent.output_tokens - spent.material_tokens
    assert of(found, F.TASK_TOKENS) == (beside, 1)
    assert found.figure(F.TASK_TOKENS).met is True
