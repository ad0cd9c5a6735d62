"""Whole tasks with the tools of the reference servers, and how they recover from an error."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ringi.engine.process import ActionState
from ringi.tools.effects import ErrorKind
from tests.functional.run_desk import at_home, project
from tests.functional.studio import FILES, Studio, is_done, outline, reflected
from tests.servers import test_real_servers as real
from tests.unit.runs.process_desk import plan

pytestmark = real.pytestmark
DONE = ActionState.SUCCESS


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        yield project(base / "project", FILES)


def servers() -> dict[str, str]:
    return {"all": real.command(real.EVERYTHING), "files": real.command(real.FILES, ".")}


@pytest.mark.req("PP-4", "PP-7")
def test_a_simple_task_with_their_tools(root: Path) -> None:
    def turn(text: str) -> dict[str, Any]:
        if "all_echo" not in text.partition(" results>")[2]:
            calls = [
                {"tool": "files_read_text_file", "arguments": '{"path": "README.md"}'},
                {"tool": "all_echo", "arguments": '{"message": "It adds."}'},
            ]
            return {"call": calls, "done": False}
        return {"files": [{"path": "README.md", "content": "# Calc\n\nIt adds.\n"}], "note": "said it"}

    words = "Say in README.md that it adds"
    studio = Studio(root, turn, first=outline((words, "write")), mcp_servers=servers())
    assert is_done(studio.carried_out(words))
    assert [(one.tool, one.state) for one in studio.records] == [
        ("files_read_text_file", DONE),
        ("all_echo", DONE),
        ("write", DONE),
    ]
    assert "# Calc" in studio.records[0].result
    assert "It adds." in studio.records[1].result


@pytest.mark.req("PP-8", "PP-9", "PP-28")
def test_a_file_that_their_tool_does_not_find(root: Path) -> None:
    search = {
        "type": "add_action", "before_task": "task_1", "description": "Search for the configuration",
        "tool": "files_search_files", "arguments": '{"path": ".", "pattern": "**/*.config.js"}',
    }  # fmt: skip
    read = {
        "type": "modify_action", "action_id": "task_1", "tool": "files_read_text_file",
        "arguments": '{"path": "config/app.config.js"}',
    }  # fmt: skip
    reflect = reflected("It is elsewhere.", search, read)
    studio = Studio(root, lambda _: {"note": "nothing left"}, reflect=reflect, mcp_servers=servers())
    given = plan({"tool": "files_read_text_file", "arguments": {"path": "src/config.js"}})
    process = studio.carried_out("Read the configuration", given)
    assert [(one.tool, one.state, one.error) for one in studio.records] == [
        ("files_read_text_file", ActionState.FAILURE, ErrorKind.TOOL_ERROR),
        ("files_search_files", DONE, None),
        ("files_read_text_file", DONE, None),
    ]
    assert "port: 80" in studio.records[-1].result
    assert process.revised == 1
    assert is_done(process)
