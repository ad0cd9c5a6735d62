"""The MCP server over standard input and output: the whole way, every protocol version, and no way around."""

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import anyio
import jsonschema
import mcp_types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.functional.desk import Desk, Terminal
from tests.functional.mcp_desk import MODERN, OLDEST, SPEC, RawClient, approve, talks

talk = talks

VERSIONS = (OLDEST, mcp_types.version.KNOWN_PROTOCOL_VERSIONS[-1])
"""The first and the last; those between differ in nothing that is said here."""
PLANNING = [
    "planning_start",
    "planning_bring",
    "planning_answer",
    "planning_decide",
    "planning_get",
    "planning_outline",
    "task",
    "issue",
    "feedback",
]
NAMES = [
    "propose",
    "set_action_specs",
    "preview",
    "request_approval",
    "wait",
    "execute",
    "get_state",
    "get_current",
    "list",
    "mark_pending",
    "discard",
    "clear_current",
]


SCRIPT = "echo to the output; cat; while [ ! -e go ]; do sleep 0.05; done; echo done > made.txt"


async def through(client: Client, root: Path) -> None:
    """From propose to executed; a person approves in another process."""
    made = await client.call_tool("plan_propose", {"content": "Change the readme", "rationale": "to try it"})
    name = made.structured_content["name"]
    report = await client.call_tool("plan_set_action_specs", {"plan_id": name, "specs": [SPEC]})
    assert report.structured_content["ok"]
    preview = await client.call_tool("plan_preview", {"plan_id": name})
    assert "+# Changed" in preview.structured_content["diffs"][0]["diff"]
    early = await client.call_tool("plan_execute", {"plan_id": name})
    assert early.is_error
    assert json.loads(early.content[0].text)["error"]["code"] == "not_approved"
    asked = await client.call_tool("plan_request_approval", {"plan_id": name})
    assert asked.structured_content["person_types"] == f"ringi review {name}"
    early = await client.call_tool("plan_execute", {"plan_id": name})
    assert early.is_error
    assert (root / "README.md").read_text() == "# Sample\n"
    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, approve, root, name)
        answer = await client.call_tool("plan_wait", {"plan_id": name, "seconds": 60})
    assert answer.structured_content["outcome"] == "approved"
    assert not answer.structured_content["call_again"]
    done = await client.call_tool("plan_execute", {"plan_id": name})
    assert not done.is_error, done
    assert done.structured_content["status"] == "completed"
    assert (root / "README.md").read_text() == "# Changed\n"
    assert "completed" in (root / ".agent/logs/plans/index.json").read_text()


@pytest.mark.req("PT-4", "PT-9")
@pytest.mark.slow
def test_a_real_client_gets_there_with_a_person_and_not_without(repo: Path):
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "ringi", "mcp"], env=dict(os.environ), cwd=str(repo)
    )

    async def main() -> None:
        async with Client(stdio_client(server)) as client:
            tools = (await client.list_tools()).tools
            assert [tool.name for tool in tools] == [*(f"plan_{name}" for name in NAMES), *PLANNING]
            await through(client, repo)

    anyio.run(main)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_protocol_version(talk, version: str):
    client = talk()
    told = client.greet(version)
    if version == MODERN:
        assert version in told["supportedVersions"]
    else:
        assert told["protocolVersion"] == version
    assert told["instructions"].startswith("ringi controls changes")
    tools = {tool["name"]: tool for tool in client.request("tools/list")["result"]["tools"]}
    name = client.waiting_plan()
    calls: dict[str, dict[str, Any]] = {
        "plan_get_state": {"plan_id": name},
        "plan_preview": {"plan_id": name},
        "plan_list": {},
        "plan_get_current": {},
        "plan_wait": {"plan_id": name, "seconds": 0},
    }
    for tool, arguments in calls.items():
        jsonschema.validate(client.fine(tool, **arguments), tools[tool]["outputSchema"])
    assert client.refused("plan_execute", plan_id=name)["code"] == "not_approved"
    assert client.end() == 0


def answers_of(client: RawClient, name: str) -> str:
    """Everything that the server tells about a plan."""
    said = [client.call(tool, plan_id=name) for tool in ("plan_get_state", "plan_preview", "plan_wait")]
    said += [client.call("plan_list"), client.call("plan_get_current")]
    return json.dumps(said)


def check_progress_and_cancel(client: RawClient, name: str) -> None:
    arguments = {"plan_id": name, "seconds": 0.2}
    params = {"name": "plan_wait", "arguments": arguments, "_meta": {"progressToken": "t"}}
    waiting = client.ask("tools/call", params)
    other = client.begin("plan_wait", plan_id=name, seconds=300)
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": other}})
    assert client.hear(waiting)["result"]["structuredContent"]["outcome"] is None
    told = [notice["params"] for notice in client.notices if notice["method"] == "notifications/progress"]
    assert told[0]["progressToken"] == "t"
    assert f"ringi review {name}" in told[0]["message"]


@pytest.mark.req("PT-4")
def test_waiting_and_what_a_person_says(talk, repo: Path, isolated: Path):
    client = talk("--as", "the demo agent")
    client.greet()
    name = client.waiting_plan()
    nothing = client.fine("plan_wait", plan_id=name, seconds=0.3)
    assert (nothing["outcome"], nothing["call_again"]) == (None, True)
    check_progress_and_cancel(client, name)
    # Other calls go on meanwhile.
    waiting = client.begin("plan_wait", plan_id=name, seconds=60)
    assert client.fine("plan_get_state", plan_id=name)["status"] == "pending_review"
    assert Desk(repo).run("reject", name, "--feedback", "Say why, \x1b[31mplease").returncode == 0
    declined = client.hear(waiting)["result"]
    found = declined["structuredContent"]
    assert (found["outcome"], found["status"], found["call_again"]) == ("declined", "proposed", False)
    assert found["feedback"][0]["text"] == "Say why, \x1b[31mplease"
    assert "\x1b" not in declined["content"][0]["text"]
    assert "Say why" in declined["content"][0]["text"]
    # Another version, another request; the first words do not wake it again.
    spec = {**SPEC, "content": "# Why\n", "description": "because"}
    assert client.fine("plan_set_action_specs", plan_id=name, specs=[spec])["version"] == 2
    client.fine("plan_request_approval", plan_id=name)
    assert client.fine("plan_wait", plan_id=name, seconds=0.2)["outcome"] is None
    approve(repo, name)
    assert client.fine("plan_wait", plan_id=name, seconds=60)["outcome"] == "approved"
    told = answers_of(client, name)
    ledger = Desk(repo).json("show", name)
    assert ledger["plan"]["proposer"] == "the demo agent"
    assert ledger["plan"]["requester"].startswith("user:")
    for secret in ("signature", "statement", "digest", "after_event", str(isolated)):
        assert secret not in told
    assert client.fine("plan_execute", plan_id=name)["result"]["overall_success"]
    assert client.refused("plan_execute", plan_id=name)["code"] == "already_done"


def test_no_tool_approves_and_no_answer_could(talk, repo: Path):
    client = talk()
    client.greet()
    tools = client.request("tools/list")["result"]["tools"]
    assert {tool["name"] for tool in tools} == {*(f"plan_{name}" for name in NAMES), *PLANNING}
    hints = {tool["name"].removeprefix("plan_"): tool["annotations"] for tool in tools}
    reading = {name for name, hint in hints.items() if hint["readOnlyHint"]}
    assert reading == {"preview", "wait", "get_state", "get_current", "list", "planning_get"}
    assert {name for name, hint in hints.items() if hint["destructiveHint"]} == {"execute", "discard"}
    name = client.waiting_plan()
    for tool in ("plan_approve", "plan_reject", "plan_undo", "approve"):
        error = client.hear(client.begin(tool, plan_id=name))["error"]
        assert error["code"] == -32602
    for extra in ({"proof": {"digest": "0", "answer": "y"}}, {"approver": "me"}, {"force": True}):
        assert client.refused("plan_execute", plan_id=name, **extra)["code"] == "bad_document"
        assert client.refused("plan_request_approval", plan_id=name, **extra)["code"] == "bad_document"
    asked = client.fine("plan_request_approval", plan_id=name)
    state = Desk(repo).json("show", name)["state"]
    assert state["approvals"] == []
    # A person's answer to a high risk begins with these characters; they stand on their screen only.
    assert not re.search(r"[0-9a-f]{64}", json.dumps(asked))
    assert client.refused("plan_execute", plan_id=name)["code"] == "not_approved"
    assert (repo / "README.md").read_text() == "# Sample\n"


@pytest.mark.slow
def test_a_plan_may_run_commands_and_the_wire_stays_clean(talk, repo: Path, monkeypatch):
    client = talk(RINGI_RUN_SANDBOX="off")
    client.greet()
    run = {"kind": "run", "argv": ["sh", "-c", SCRIPT]}
    name = client.waiting_plan(run)
    person = Terminal(repo, ("approve", name), {"RINGI_RUN_SANDBOX": "off"})
    wanted = person.wanted()
    person.type(wanted)
    assert person.end()[0] == 0
    executing = client.begin("plan_execute", plan_id=name)
    assert client.fine("plan_get_state", plan_id=name)["name"] == name  # looking goes on meanwhile
    (repo / "go").touch()
    done = client.hear(executing)["result"]
    assert done["structuredContent"]["result"]["results"][0]["output"] == "to the output\n"
    assert (repo / "made.txt").read_text() == "done\n"
