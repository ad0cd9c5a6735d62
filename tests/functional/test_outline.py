"""`ringi run --outline`: what would be done about a request, at a terminal, in JSON, Python and MCP."""

import json
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.functional.desk import Desk
from tests.functional.mcp_desk import talks

talk = talks

REQUEST = "add an install section to README.md"
FILES = {
    "README.md": "# Tool\n\nIt greets.\n",
    "src/greet.py": 'def greet():\n    return "SECRET_BODY"\n',
    "tests/test_greet.py": "from src.greet import greet\n",
    "pyproject.toml": '[project]\nname = "tool"\n',
    "CHANGELOG.md": "# Changelog\n",
    "Makefile": "test:\n\tpytest -q\n",
}
PLAN: dict[str, Any] = {
    "goal_understanding": {"main_objective": "Say how it is installed", "success_criteria": ["It says how"]},
    "task_decomposition": {
        "reasoning": "one file",
        "subtasks": [
            {"id": "task_1", "description": "Check it", "required_tools": ["run"], "reads": ["README.md"]},
            {
                "id": "task_2",
                "description": "Write it",
                "required_tools": ["patch"],
                "writes": [{"path": "README.md"}],
            },
        ],
    },
    "action_plan": {"actions": [{"task_id": "task_2", "tool": "patch", "purpose": "Add the section"}]},
}


@pytest.fixture
def project(repo: Path) -> Path:
    for name, text in FILES.items():
        (repo / name).parent.mkdir(exist_ok=True)
        (repo / name).write_text(text)
    subprocess.run(["git", "add", "-A"], cwd=repo, check=True)
    return repo


def model(folder: Path, answer: object) -> str:
    """Answers everything with this, and counts the calls."""
    folder.mkdir(exist_ok=True)
    (folder / "answer.json").write_text(json.dumps(answer))
    script = folder / "model.sh"
    script.write_text(
        f"cat > /dev/null\necho call >> {shlex.quote(str(folder / 'calls'))}\n"
        f"cat {shlex.quote(str(folder / 'answer.json'))}\n"
    )
    return f"command:sh {shlex.quote(str(script))}"


def calls(folder: Path) -> int:
    return len((folder / "calls").read_text().split())


@pytest.mark.req("PP-2", "PP-5", "PP-6")
def test_one_call_and_the_reader_after_the_writer(project: Path, desk: Desk, tmp_path: Path):
    done = desk.run("--json", "run", "--outline", REQUEST, RINGI_MODEL=model(tmp_path / "model", PLAN))
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert calls(tmp_path / "model") == found["calls"] == 1
    assert found["outcome"] == "planned"
    assert found["plan"]["action_plan"]["execution_order"] == ["task_2", "task_1"]
    assert "README.md" in [file["path"] for file in found["context"]]
    assert found["usage"]["outline"]["requests"] == 1
    (tmp_path / "planning.json").write_text(json.dumps(found["planning_json"]))
    assert desk.run("check", str(tmp_path / "planning.json")).returncode == 0
    [step] = found["planning_json"]["steps"]
    assert (step["scope"]["target_paths"], step["commands"]["unit"]) == (["README.md"], ["make test"])
    assert found["planning_json"]["base_branch"] == desk.git("symbolic-ref", "--short", "HEAD").strip()
    assert (project / "README.md").read_text() == FILES["README.md"]


@pytest.mark.req("PP-10", "PP-16")
@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (
            {"goal_understanding": PLAN["goal_understanding"] | {"clarification_needed": ["Which one?"]}},
            3,
            "Which one?",
        ),
        ({"task_decomposition": {"subtasks": []}}, 1, "could not be planned"),
        (
            {
                "task_decomposition": {
                    "subtasks": [{"id": "a", "description": "x", "required_tools": ["ha\u0441k"]}]
                }
            },
            6,
            "unknown_tool a",
        ),
    ],
)
def test_outcomes_have_words_and_codes(
    project: Path, desk: Desk, tmp_path: Path, change: dict[str, Any], code: int, words: str
):
    done = desk.run("run", "--outline", REQUEST, RINGI_MODEL=model(tmp_path / "model", PLAN | change))
    assert (done.returncode, words in done.stdout) == (code, True), done.stdout + done.stderr
    assert calls(tmp_path / "model") <= 2


@pytest.mark.req("PP-11", "PP-15", "PP-28")
def test_the_configuration_counts(project: Path, desk: Desk, tmp_path: Path):
    folder = project / ".agent"
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text("planning:\n  security:\n    forbidden_tools: ['pat*']\n")
    name = model(tmp_path / "model", PLAN)
    done = desk.run("run", "--outline", REQUEST, RINGI_MODEL=name)
    assert done.returncode == 6, done.stdout + done.stderr
    assert "forbidden_tool task_2" in done.stdout
    off = desk.run("--json", "run", "--outline", REQUEST, RINGI_MODEL=name, PLANNING_ENABLED="false")
    found = json.loads(off.stdout)
    assert (found["calls"], found["context"]) == (0, [])
    assert [task["description"] for task in found["plan"]["task_decomposition"]["subtasks"]] == [REQUEST]


@pytest.mark.req("PP-2")
def test_over_mcp_only_paths_of_the_context_leave(talk, project: Path):
    client = talk(root=project)
    client.greet()
    whole = client.call("planning_outline", request="make greet say goodbye")
    found = whole["structuredContent"]
    assert found["outcome"] == "planned"
    assert "src/greet.py" in found["files"]
    assert "src/greet.py" in [one["path"] for task in found["tasks"] for one in task["writes"]]
    assert "SECRET_BODY" not in json.dumps(whole)
    unclear = client.fine("planning_outline", request="??")
    assert unclear["outcome"] == "unclear_goal"
    assert unclear["questions"]
    assert unclear["tasks"] == []
