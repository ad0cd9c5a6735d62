"""What `ringi acp` loads before it starts the agent: an editor waits for it."""

import subprocess
import sys

SCRIPT = (
    "import sys; import ringi.cli.main, ringi.editor.command; from ringi.editor.work import Wish, Work;"
    " print(*sys.modules)"
)
NOT_YET = (
    "asyncio",
    "grimp",
    "httpx",
    "mcp",
    "pydantic",
    "ringi.context",
    "ringi.coordinator",
    "ringi.forges",
    "ringi.llm",
    "ringi.mcp",
    "ringi.planning.",
    "ringi.runner",
    "ringi.telemetry",
    "ringi.usecases.forge",
    "tree_sitter",
    "yaml",
)
NEEDED = {"ringi.planning.levels"}
MOST_OF_OURS = 250


def test_nothing_is_loaded_that_the_agent_can_start_without():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "ringi.usecases.beside" in loaded
    assert sorted(name for name in loaded - NEEDED if name.startswith(NOT_YET)) == []
    ours = [name for name in loaded if name.split(".")[0] == "ringi"]
    assert len(ours) <= MOST_OF_OURS, "an editor waits for each: load it where it is used"
