"""`--extract --with-model`: what the text leaves open is asked of the model, and marked as its own."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.functional.desk import Desk

pytestmark = pytest.mark.req("PT-14")

PLAN = """\
# Greet politely

```text notes.txt
polite
```

```python
print("good day")
```
"""
GREETING = {"kind": "write", "path": "app/hello.py", "content": 'print("good day")\n', "line": 7}
MARK = "made by the model from the plan's text"


@pytest.fixture
def plan(tmp_path: Path) -> str:
    (tmp_path / "plan.md").write_text(PLAN)
    return str(tmp_path / "plan.md")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that answers with what stands in its file; it fails where there is none."""
    said = tmp_path / "said.json"
    program = tmp_path / "model.py"
    program.write_text(f"import sys\nsys.stdin.read()\nprint(open({str(said)!r}).read())\n")
    monkeypatch.setenv("RINGI_MODEL", f"command:{shlex.join([sys.executable, str(program)])}")
    say(said, GREETING)
    return said


def say(said: Path, *specs: dict[str, Any]) -> None:
    said.write_text(json.dumps({"specs": specs}))


def test_what_was_not_placed_becomes_a_spec_that_is_marked(desk: Desk, plan: str, model: Path) -> None:
    assert model.exists()
    assert "was not placed" in desk.run("propose", plan, "--extract").stdout
    done = desk.run("specs", "p1", "--extract", "--with-model")
    assert done.returncode == 0, done.stderr
    assert "The model added specs: 1." in done.stdout
    assert "was not placed" not in done.stdout
    listed = desk.run("specs", "p1").stdout.splitlines()
    assert [MARK in line for line in listed if line.startswith("s")] == [False, True]
    assert MARK in desk.run("show", "p1").stdout
    assert desk.json("show", "p1")["state"]["from_model"] == ["s2"]
    assert [spec.get("from_model") for spec in desk.json("specs", "p1")] == [None, True]
    assert not (desk.root / "notes.txt").exists()


def test_a_plan_is_proposed_with_the_models_help(desk: Desk, plan: str, model: Path) -> None:
    made = desk.json("propose", plan, "--extract", "--with-model")
    assert (made["status"], made["unplaced"], made["from_model"]) == ("pending_review", [], ["s2"])
    say(model, {**GREETING, "path": "../outside.py"})
    refused = desk.run("propose", plan, "--extract", "--with-model")
    assert refused.returncode == 6
    assert "✗ s2 ../outside.py" in refused.stdout


def test_a_model_that_fails_changes_nothing(desk: Desk, plan: str, model: Path) -> None:
    desk.run("propose", plan, "--extract")
    before = desk.json("show", "p1")
    model.write_text("I would rather not.")
    failed = desk.run("specs", "p1", "--extract", "--with-model")
    assert failed.returncode == 1
    assert "p1 stays as it is" in failed.stdout
    assert "ringi specs p1 --extract" in failed.stdout
    assert desk.json("show", "p1") == before
    kept = desk.run("--json", "propose", plan, "--extract", "--with-model")
    assert json.loads(kept.stdout)["error"]["code"] == "bad_model_answer"
    assert desk.json("show", "p2")["state"]["status"] == "proposed"
    assert desk.run("specs", "p2", "--extract").returncode == 0


def test_without_a_model_it_says_so(desk: Desk, plan: str) -> None:
    done = desk.run("propose", plan, "--extract", "--with-model")
    assert done.returncode == 0, done.stderr
    assert "No model is configured" in done.stdout
    assert "line 7 was not placed" in done.stdout


def test_it_belongs_to_extract(desk: Desk, plan: str) -> None:
    for words in (("propose", plan, "--with-model"), ("specs", "p1", "--with-model")):
        refused = desk.run(*words)
        assert refused.returncode == 2
        assert "--with-model belongs to --extract" in refused.stderr
