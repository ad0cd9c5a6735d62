"""`ringi run --context`: exactly what a model would be sent."""

import json
import subprocess
from pathlib import Path

import pytest

import ringi
from tests.functional.desk import RINGI, Desk

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


def test_people_get_the_list_and_the_text(tool: Desk):
    done = tool.run("run", "--context", "sort the rows of src/tool/tables.py")
    assert done.returncode == 0, done.stderr
    assert " 1  src/tool/tables.py" in done.stdout
    text = tool.json("run", "--context", "sort the rows of src/tool/tables.py")["text"]
    assert "".join(f"  {line}\n" if line else "  \n" for line in text.split("\n")[:-1]) in done.stdout


def test_it_reads_a_request_from_standard_input(tool: Desk):
    done = subprocess.run(
        [*RINGI, "--json", "run", "--context", "-"],
        cwd=tool.root,
        input="sort the rows of src/tool/tables.py",
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == tool.json("run", "--context", "sort the rows of src/tool/tables.py")
    assert tool.run("run", "--context", " ").returncode == 2


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


@pytest.mark.parametrize("tokens", [1, 20, 100, 400, 3000])
def test_the_budget_holds(tool: Desk, tokens: int):
    with ringi.open_workspace(tool.root) as workspace:
        found = workspace.code.gather("sort the rows of tables", tokens=tokens).context
        assert found.tokens <= tokens
        assert found.text == "" or found.text.endswith("\n")
        assert len(workspace.code.gather("tables", limit=1).context.files) == 1


def test_what_is_shown_only_because_there_is_room_was_not_found(tool: Desk):
    with ringi.open_workspace(tool.root) as workspace:
        gathered = workspace.code.gather("qwertz")
        assert gathered.context.files
        assert gathered.project.found == ()


def test_from_python(tool: Desk):
    with ringi.open_workspace(tool.root) as workspace:
        found = workspace.context("sort the rows of src/tool/tables.py", limit=2)
        assert found.files[0].path == "src/tool/tables.py"
        gathered = workspace.code.gather("sort the rows of src/tool/tables.py")
        assert gathered.project.test_commands == ("make test", "pytest")
        assert gathered.project.rules == ("AGENTS.md",)
        assert gathered.project.changelog == "CHANGELOG.md"
        assert gathered.project.found[0].path == "src/tool/tables.py"
        assert gathered.snapshot == workspace.code.snapshot()
        assert workspace.code.has("src/tool")
        assert workspace.code.has("src/tool/tables.py")
        assert not workspace.code.has("src/tool/missing.py")
        shown = workspace.code.read(["src/tool/tables.py", "src/missing.py", ".env"], 300)
        assert "2      def sort_rows(self, rows):" in shown
        assert "## src/missing.py: there is no such file" in shown
        assert KEY not in shown
