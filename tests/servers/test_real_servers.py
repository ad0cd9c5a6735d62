"""The reference servers of the Model Context Protocol, as people configure them."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tools.servers import FOLDER

from ringi.config.keys import Config
from ringi.policy.spec_kind import SpecKind
from ringi.runs.configured_tools import server_tools
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.mcp_servers import McpServers
from ringi.tree.action_spec import ActionSpec
from ringi.tree.file_state import OpStatus
from tests.helpers import approved, assert_whole, holds_soon, open_scratch, undo

PACKAGES = FOLDER / "node_modules" / "@modelcontextprotocol"
EVERYTHING = PACKAGES / "server-everything" / "dist" / "index.js"
FILES = PACKAGES / "server-filesystem" / "dist" / "index.js"
WAIT = 60.0
NODE = shutil.which("node") or ""

pytestmark = [
    pytest.mark.req("PP-15"),
    pytest.mark.skipif(
        os.environ.get("RINGI_SERVERS") != "1" or not NODE or not FILES.exists(), reason="make test-servers"
    ),
]


def command(script: Path, *words: str) -> str:
    return shlex.join([NODE, str(script), *words])


def tools(folder: Path, **servers: str) -> McpServers:
    named = tuple(f"{name}: {what}" for name, what in servers.items())
    return server_tools(Config(mcp_servers=named), dict(os.environ), folder)


def test_what_they_offer(tmp_path: Path):
    with tools(tmp_path, all=command(EVERYTHING), files=command(FILES, ".")) as servers:
        assert [(state.problem, state.left_out) for state in servers.states()] == [(None, ())] * 2
        effects = {tool.name: tool.effect for tool in servers.list_tools()}
    assert effects["files_read_text_file"] is ToolEffect.READS
    assert effects["files_write_file"] is effects["files_move_file"] is ToolEffect.OUTSIDE
    assert effects["all_echo"] is ToolEffect.READS


def test_files_are_read_in_their_folder_and_nowhere_else(tmp_path: Path):
    tmp_path.joinpath("a.txt").write_text("hello\n")
    with tools(tmp_path, files=command(FILES, ".")) as servers:
        assert servers.call("files_read_text_file", {"path": "a.txt"}, WAIT).text == "hello\n"
        assert (
            servers.call("files_read_text_file", {"path": "/etc/passwd"}, WAIT).error is ErrorKind.TOOL_ERROR
        )
        refused = servers.call("files_write_file", {"path": "a.txt", "content": ""}, WAIT)
        assert refused.error is ErrorKind.NOT_ALLOWED
    assert tmp_path.joinpath("a.txt").read_text() == "hello\n"


def test_calls_at_once_and_results_of_every_kind(tmp_path: Path):
    with tools(tmp_path, all=command(EVERYTHING)) as servers, ThreadPoolExecutor(8) as pool:
        servers.list_tools()
        found = pool.map(lambda n: servers.call("all_get-sum", {"a": n, "b": 1}, WAIT).text, range(20))
        assert list(found) == [f"The sum of {n} and 1 is {n + 1}." for n in range(20)]
        assert "[image]" in servers.call("all_get-tiny-image", {}, WAIT).text
        weather = servers.call("all_get-structured-content", {"location": "New York"}, WAIT)
        assert weather.error is None, "its result fits the schema it gave"
        assert "temperature" in weather.text
        assert "RINGI" not in servers.call("all_get-env", {}, WAIT).text


def test_a_long_call_is_given_up_and_the_server_goes_on(tmp_path: Path):
    with tools(tmp_path, all=command(EVERYTHING)) as servers:
        servers.list_tools()
        slow = servers.call("all_trigger-long-running-operation", {"duration": 60, "steps": 2}, 0.5)
        assert slow.error is ErrorKind.TIMEOUT
        assert servers.call("all_echo", {"message": "hi"}, WAIT).text == "Echo: hi"


def test_over_http(tmp_path: Path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, "PORT": str(port)}
    child = subprocess.Popen(
        [NODE, EVERYTHING, "streamableHttp"], env=environment, stdout=sys.stderr, stderr=sys.stderr
    )

    def listens() -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    try:
        assert holds_soon(listens)
        with tools(tmp_path, web=f"http://127.0.0.1:{port}/mcp") as servers:
            assert servers.call("web_echo", {"message": "hi"}, WAIT).text == "Echo: hi"
            assert servers.call("web_get-sum", {"a": 1, "b": 2}, WAIT).text == "The sum of 1 and 2 is 3."
    finally:
        child.kill()
        child.wait()


def test_an_approved_call_writes_and_is_undone(tmp_path: Path):
    with open_scratch(tmp_path, RINGI_MCP_SERVERS=f"files: {command(FILES, '.')}") as workspace:
        made = workspace.places.root / "made.txt"
        arguments = {"path": "made.txt", "content": "by a tool\n"}
        plan_id = approved(workspace, ActionSpec(SpecKind.CALL, tool="files_write_file", arguments=arguments))
        assert not made.exists()
        (outcome,) = workspace.plan.execute(plan_id).results
        assert (outcome.status, made.read_text()) == (OpStatus.DONE, "by a tool\n")
        assert_whole(workspace)
        undo(workspace, plan_id)
        assert not made.exists()
        wrong = ActionSpec(SpecKind.CALL, tool="files_write_file", arguments={"path": "x"})
        report = workspace.plan.set_action_specs(workspace.plan.propose("Another"), [wrong])
        assert "/content is missing" in report.issues[0]
