"""The program as a server: MCP for agents, ACP for editors."""

import contextlib
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.records.scene import FIX, Scene

VERSION = "2025-06-18"
AGENT = Path(__file__).resolve().parents[2] / "fakes" / "acp_agent.py"


class Line:
    """JSON-RPC over standard input and output, one request at a time."""

    def __init__(self, scene: Scene, *words: str) -> None:
        scene.program.tick()
        argv = [str(scene.program.ringi), *words]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
        self.process = subprocess.Popen(argv, cwd=scene.project, env=scene.variables, text=True, **pipes)
        self._number = 0

    def send(self, **message: Any) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self.process.stdin.flush()

    def ask(self, method: str, **params: Any) -> list[dict[str, Any]]:
        """Everything that comes up to the answer, which is the last."""
        self._number += 1
        self.send(id=self._number, method=method, params=params)
        heard: list[dict[str, Any]] = []
        assert self.process.stdout
        for line in self.process.stdout:
            heard.append(json.loads(line))
            if heard[-1].get("id") == self._number and "method" not in heard[-1]:
                return heard
        raise RuntimeError(f"no answer to {method}: {heard}")


@contextlib.contextmanager
def connect(scene: Scene, *words: str) -> Iterator[Line]:
    line = Line(scene, *words)
    try:
        yield line
    finally:
        assert line.process.stdin
        line.process.stdin.close()
        try:
            line.process.wait(60)
        except subprocess.TimeoutExpired:
            line.process.kill()
            line.process.wait()


def keep(scene: Scene, name: str, *heard: Any) -> None:
    scene.save_text(name, "\n".join(json.dumps(_plain(one), indent=1, ensure_ascii=False) for one in heard))


def _plain(message: Any) -> Any:
    """Text that is JSON is written as such, and the number of the request left out."""
    if isinstance(message, dict):
        return {key: _plain(value) for key, value in message.items() if key not in {"jsonrpc", "id"}}
    if isinstance(message, list):
        return [_plain(one) for one in message]
    if isinstance(message, str) and message.startswith("{"):
        with contextlib.suppress(ValueError):
            return {"as JSON": _plain(json.loads(message))}
    return message


def greet(line: Line) -> Any:
    client = {"name": "recorder", "version": "1"}
    answer = line.ask("initialize", protocolVersion=VERSION, capabilities={}, clientInfo=client)[-1]
    line.send(method="notifications/initialized")
    return answer


def tools(scene: Scene) -> None:
    """Every tool of the MCP server, once as it should be and once refused."""
    scene.make_project()
    key = scene.list_key()
    called: set[tuple[str, str]] = set()
    with connect(scene, "mcp", "--as", "recorder") as line:
        keep(scene, "mcp/initialize", greet(line))
        listed = line.ask("tools/list")[-1]["result"]["tools"]
        for tool in listed:
            keep(scene, f"mcp/tools/{tool['name']}", tool)
        keep(scene, "mcp/unknown-method", line.ask("nothing/such")[-1])

        def call(tool: str, form: str, **arguments: Any) -> Any:
            answer = line.ask("tools/call", name=tool, arguments=arguments)[-1]
            keep(scene, f"mcp/{tool}/{form}", {"arguments": arguments}, answer)
            called.add((tool, "refusal" if form.startswith("refusal") else form))
            return answer.get("result", {}).get("structuredContent", {})

        _call_plans(scene, call, key)
        _call_planning(call)
    missing = [(tool["name"], form) for tool in listed for form in ("success", "refusal")
               if (tool["name"], form) not in called]  # fmt: skip
    keep(scene, "mcp/not-called", missing)
    with connect(scene, "--lang", "ja", "mcp") as line:
        keep(scene, "mcp/japanese/initialize", greet(line))
        for name, arguments in (("plan_get_state", {"plan_id": "p9"}), ("plan_list", {})):
            answer = line.ask("tools/call", name=name, arguments=arguments)[-1]
            keep(scene, f"mcp/japanese/{name}", answer)


def _call_plans(scene: Scene, call: Any, key: str) -> None:
    specs = [{"kind": "patch", "path": "calc.py", "content": FIX}]
    call("plan_get_current", "refusal")
    call("plan_propose", "success", content="Fix the sum\n\nIt subtracts.")
    call("plan_propose", "refusal", content="")
    call("plan_set_action_specs", "success", plan_id="p1", specs=specs)
    call(
        "plan_set_action_specs",
        "refusal",
        plan_id="p1",
        specs=[{"kind": "write", "path": "../x", "content": ""}],
    )
    call("plan_preview", "success", plan_id="p1")
    call("plan_preview", "refusal", plan_id="p9")
    call("plan_request_approval", "success", plan_id="p1")
    call("plan_request_approval", "refusal", plan_id="p9")
    call("plan_execute", "refusal", plan_id="p1")
    call("plan_wait", "refusal", plan_id="p9", seconds=0)
    call("plan_wait", "waits", plan_id="p1", seconds=0)
    scene.do("approve", "p1", "--sign", key)
    call("plan_wait", "success", plan_id="p1", seconds=0)
    call("plan_execute", "success", plan_id="p1")
    call("plan_get_state", "success", plan_id="p1")
    call("plan_get_state", "refusal", plan_id="p9")
    call("plan_propose", "second", content="Another")
    call("plan_get_current", "success")
    call("plan_list", "success")
    call("plan_list", "refusal", limit=0)
    call("plan_mark_pending", "success", plan_id="p2", pending=True)
    call("plan_mark_pending", "refusal", plan_id="p9", pending=True)
    call("plan_clear_current", "success")
    call("plan_clear_current", "refusal", more=1)
    call("plan_discard", "success", plan_id="p2")
    call("plan_discard", "refusal", plan_id="p1")


def _call_planning(call: Any) -> None:
    began = call("planning_start", "success", instruction="Print the total below the report", seconds=60)
    call("planning_start", "refusal", instruction="")
    session = began["session"]["session_id"] if "session" in began else began.get("session_id", "")
    call("planning_get", "success", session_id=session)
    call("planning_get", "refusal", session_id="ffffffff")
    call("planning_decide", "refusal", session_id=session, option="opt-z")
    call("planning_answer", "success", session_id=session, answer="python3 calc.py prints 5", seconds=60)
    call("planning_answer", "refusal", session_id="ffffffff", answer="x")
    brought = call("planning_start", "bring", instruction="Make add right", bring=True)
    own = brought["session"]["session_id"] if "session" in brought else brought.get("session_id", "")
    call("planning_bring", "refusal", session_id=own, decisions=[])
    question = {"type": "scope", "question": "Which files?", "context": "", "options": ["One", "All"]}
    call("planning_bring", "success", session_id=own, questions=[question])
    call("planning_outline", "success", request="Add an install section to README.md")
    call("planning_outline", "refusal", request="")
    call("task", "refusal", request="Make add right")
    call("issue", "refusal", issue="#12")
    call("feedback", "refusal", run_id="20990101-000000-ffffff", text="x")


def editor(scene: Scene) -> None:
    """An editor that starts an agent through the program."""
    scene.make_project()
    scene.write("acp_agent.py", AGENT.read_text())
    agent = ["python3", str(scene.world / "acp_agent.py")]
    scene.record("cli/acp/refusal", "acp")
    scene.record("cli/acp/refusal-japanese", "--lang", "ja", "acp")
    with connect(scene, "acp", "--", *agent) as line:
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        keep(
            scene,
            "cli/acp/initialize",
            line.ask("initialize", protocolVersion=1, clientCapabilities=capabilities)[-1],
        )
        began = line.ask("session/new", cwd=str(scene.project), mcpServers=[])
        keep(scene, "cli/acp/session-new", *began)
        session = began[-1]["result"]["sessionId"]
        prompt = [{"type": "text", "text": "write notes.md It-adds"}]
        keep(scene, "cli/acp/success", *line.ask("session/prompt", sessionId=session, prompt=prompt))
    scene.record("cli/show/acp", "show", "p1")
