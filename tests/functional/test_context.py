"""`ringi run --context`: exactly what a model would be sent."""

import json
from pathlib import Path

import pytest

import ringi
from tests.functional.desk import Desk
from tests.tables import each

pytestmark = pytest.mark.req("PP-1")

KEY = "sk-" + "live" + "4f8Qz7Lm2Xc9Vb3Nk6Hj1Gd5"


def project(root: Path) -> None:
    files = {
        "README.md": "# Tool\n\nTool turns reports into tables.\n",
        "AGENTS.md": "# Rules\n\nRun the tests before you stop.\n",
        "CHANGELOG.md": "# Changes\n\n## Unreleased\n\n- nothing yet\n",
        "Makefile": "test:\n\tpytest\n",
        "src/tool/tables.py": "class Table:\n    def sort_rows(self, rows):\n        return sorted(rows)\n",
        "src/tool/reports.py": "def read_report(path):\n    return path\n",
        "tests/test_tables.py": "def test_sort():\n    pass\n",
        ".gitignore": "ignored/\n*.log\n",
        "ignored/tables.py": "HIDDEN_BY_GIT = 1\n",
        "tables.log": "HIDDEN_BY_GIT\n",
        ".env": f"TABLES_KEY={KEY}\n",
        "src/tool/tables_config.py": f'API_KEY = "{KEY}"\nTABLES = 1\n',
    }
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


@pytest.fixture
def tool(desk: Desk) -> Desk:
    project(desk.root)
    return desk


def test_it_shows_what_the_project_is_and_the_files_that_fit(tool: Desk):
    found = tool.json("run", "--context", "sort the rows of src/tool/tables.py by date")
    assert list(found) == ["files", "tokens", "text"]
    assert list(found["files"][0]) == ["path", "score", "kind", "why"]
    first = found["files"][0]
    assert (first["path"], first["kind"]) == ("src/tool/tables.py", "source")
    assert first["why"]
    assert "about: Tool turns reports into tables.\n" in found["text"]
    assert "tested with: make test · pytest\n" in found["text"]
    assert "def sort_rows(self, rows):" in found["text"]
    assert 0 < found["tokens"] <= 3000


def test_nothing_is_sent_that_must_not_be(tool: Desk):
    request = "tables tables.log .env TABLES_KEY HIDDEN_BY_GIT src/tool/tables_config.py"
    found = tool.json("run", "--context", request)
    assert "HIDDEN_BY_GIT" not in found["text"]
    assert KEY not in json.dumps(found)
    paths = {file["path"] for file in found["files"]}
    assert "src/tool/tables_config.py" in paths
    assert not paths & {".env", "ignored/tables.py", "tables.log"}
    config = tool.root / ".agent" / "config.yaml"
    config.parent.mkdir(exist_ok=True)
    config.write_text("context: {never_send: ['src/tool/**']}\n")
    found = tool.json("run", "--context", request)
    assert not {file["path"] for file in found["files"]} & {"src/tool/tables.py", "src/tool/tables_config.py"}
    assert "sort_rows" not in found["text"]


@each("tokens", [1, 20, 100, 400, 3000])
def test_the_budget_holds(tool: Desk, tokens: int):
    with ringi.open_workspace(tool.root) as workspace:
        found = workspace.code.gather("sort the rows of tables", tokens=tokens).context
        assert found.tokens <= tokens
        assert found.text == "" or found.text.endswith("\n")
        assert len(workspace.code.gather("tables", limit=1).context.files) == 1
