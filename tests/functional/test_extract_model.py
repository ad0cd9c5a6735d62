"""`--extract --with-model`: what the text leaves open is asked of the model, and marked as its own."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer, Request, Say
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


def test_it_belongs_to_extract(desk: Desk, plan: str) -> None:
    for words in (("propose", plan, "--with-model"), ("specs", "p1", "--with-model")):
        refused = desk.run(*words)
        assert refused.returncode == 2
        assert "--with-model belongs to --extract" in refused.stderr


# The model sees the files that the plan names, and is asked again about a patch that does not fit

ROWS = "".join(f"row {number}\n" for number in range(1, 41))
CHANGE = "# Rows\n\nIn data/rows.txt, row 20 becomes row twenty. Leave .env alone.\n"
SECRET = "TOKEN=4f8Qz7Lm2Xc9Vb3Nk6Hj1Gd5"


@pytest.fixture
def rows(desk: Desk, tmp_path: Path) -> str:
    (desk.root / "data").mkdir()
    (desk.root / "data" / "rows.txt").write_text(ROWS)
    (desk.root / ".env").write_text(f"{SECRET}\n")
    (tmp_path / "rows.md").write_text(CHANGE)
    return str(tmp_path / "rows.md")


def proposed(desk: Desk, server: ModelServer, plan: str) -> subprocess.CompletedProcess[str]:
    given = {**server.environment(), "RINGI_MODEL": "openai:m"}
    return desk.run("--json", "propose", plan, "--extract", "--with-model", **given)


def test_a_patch_of_a_guarded_file_hints_at_nothing(desk: Desk, rows: str):
    def answer(request: Request) -> Say:
        guess = "--- a/.env\n+++ b/.env\n@@ -1 +1 @@\n-TOKEN=guess\n+TOKEN=\n"
        return Say({"specs": [{"kind": "patch", "path": ".env", "content": guess}]})

    with ModelServer([answer]) as server:
        proposed(desk, server, rows)
    _, second = server.requests
    assert SECRET not in second.text
    assert "there is no line" not in second.text
    assert ".env: it does not fit the file" in second.text
