"""Planning sessions through a real MCP server: a client leads its user, and nobody waits for the model."""

import json
import os
import re
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from ringi.app.api import open_workspace
from ringi.kernel.codec import decode_foreign
from ringi.sessions.document import PlanningSession
from tests.fakes.models import WORDS
from tests.functional.mcp_desk import SPEC, RawClient, approve, talks
from tests.functional.planning_desk import MENU, PlanningDesk
from tests.helpers import assert_not_loaded, holds_soon, modules_after

talk = talks
INSTRUCTION = "Add a login to the API"

MODEL = """
import json, pathlib, sys, time
folder = pathlib.Path(sys.argv[1])
(folder / "asked").open("a").write("x")
prompt = sys.stdin.read()
while (folder / "hold").exists():
    time.sleep(0.02)
if (folder / "broken").exists():
    sys.exit("the line is dead")
starts = {"Ask at most": "discovery", "decisions: at most": "design", "Describe the design": "review"}
purpose = next(name for start, name in starts.items() if start in prompt)
print(json.dumps(json.loads((folder / "words").read_text())[purpose]))
"""


class Agent:
    """A command-line agent that answers what was written down, and can be held up or broken."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        (folder / "model.py").write_text(MODEL)
        (folder / "words").write_text(json.dumps(WORDS))
        words = [sys.executable, "-S", str(folder / "model.py"), str(folder)]
        self.variables = {"RINGI_MODEL": f"command:{shlex.join(words)}"}

    def mark(self, name: str) -> None:
        (self.folder / name).touch()

    def unmark(self, name: str) -> None:
        (self.folder / name).unlink()

    @property
    def asked(self) -> int:
        file = self.folder / "asked"
        return len(file.read_text()) if file.exists() else 0

    def until_asked(self, times: int) -> None:
        assert holds_soon(lambda: self.asked >= times), self.asked


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(tmp_path / "agent")


def same(session: PlanningSession) -> dict[str, Any]:
    """The document without what differs from session to session."""
    text = msgspec.json.encode(session).decode().replace(session.session_id, "planning-ID")
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|\+00:00)", "TIME", text))


def saved(root: Path, session_id: str, is_there: Callable[[PlanningSession], bool]) -> PlanningSession:
    """The file that people see, read strictly; it is written a moment after the call."""
    file = root / ".agent/planning-sessions" / f"{session_id}.json"

    def found() -> PlanningSession:
        return decode_foreign(file.read_bytes(), PlanningSession, file.name)

    assert holds_soon(lambda: file.exists() and is_there(found())), (
        file.read_text() if file.exists() else "no file"
    )
    return found()


def written(file: Path) -> str:
    assert holds_soon(file.exists)
    return file.read_text()


def answer_to(waits_for: str, number: int) -> dict[str, Any]:
    """What the user says: a choice, nothing, words of their own; the second option, then the first."""
    if waits_for == "decision":
        return {"option": "opt-b", "reason": "it lasts"} if number == 1 else {"option": "1"}
    return [{"answer": "2"}, {"skip": True}, {"answer": "the API,\nand its client ログイン"}][
        (number - 1) % 3
    ]


def by_file(root: Path, variables: dict[str, str], like: PlanningSession) -> PlanningSession:
    """The same answers, in a file."""
    said = [answer_to("answer", number) for number, _ in enumerate(like.questions, 1)]
    decided = [answer_to("decision", number) for number, _ in enumerate(like.decisions, 1)]
    file = root.parent / "answers.yaml"
    file.write_text(json.dumps({"answers": [one.get("answer") for one in said], "decisions": decided}))
    code, view = PlanningDesk(root).step(INSTRUCTION, "--answers", str(file), **variables)
    assert (code, view["pending"]["kind"]) == (3, "approval")
    return stored(root, view["sessionId"])


def by_dialogue(root: Path, variables: dict[str, str], like: PlanningSession) -> PlanningSession:
    """The same answers, typed at a terminal."""
    with PlanningDesk(root).talk("plan", INSTRUCTION, **variables) as talk:
        for number, _ in enumerate(like.questions, 1):
            said = answer_to("answer", number)
            first, *more = said.get("answer", "/skip").split("\n")
            talk.say(first + "\\" * len(more))
            for line in more:
                talk.say(line, "… ")
        for number, _ in enumerate(like.decisions, 1):
            said = answer_to("decision", number)
            talk.decide(said["option"], said.get("reason", ""))
        talk.say("q", MENU)
        assert talk.end()[0] == 3
    [name] = re.findall(r"--resume (planning-\w+)", talk.seen)
    return stored(root, name)


def unmarked(session: PlanningSession) -> PlanningSession:
    """As if nobody had passed on the decisions."""
    text = msgspec.json.encode(session).decode()
    for mark, without in (
        ("Chosen by the agent: ", ""),
        (" (Chosen by the agent)", ""),
        ('"Chosen by the agent"', "null"),
    ):
        text = text.replace(mark, without)
    return msgspec.json.decode(text.encode(), type=PlanningSession)


def stored(root: Path, name: str) -> PlanningSession:
    with open_workspace(root) as workspace:
        return workspace.planning.get(name).session


async def led(client: Client) -> dict[str, Any]:
    """From the instruction to the summary; the last answer."""
    made = await client.call_tool("planning_start", {"instruction": INSTRUCTION})
    while (now := made.structured_content)["waits_for"] in {"answer", "decision"}:
        said = answer_to(now["waits_for"], now["number"])
        tool = "planning_decide" if now["decision"] else "planning_answer"
        made = await client.call_tool(tool, {"session_id": now["session_id"], **said})
        assert not made.is_error, made
    return made.structured_content


@pytest.mark.req("IP-2", "IP-5", "IP-6")
def test_a_client_a_file_and_a_dialogue_make_the_same_document(repo: Path, agent: Agent):
    variables = agent.variables
    environment = {**os.environ, **variables}
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "ringi", "mcp"], env=environment, cwd=str(repo)
    )

    async def main() -> str:
        async with Client(stdio_client(server)) as client:
            end = await led(client)
            assert (end["status"], end["waits_for"]) == ("review", "approval")
            listed = await client.call_tool("planning_get", {})
            [one] = listed.structured_content["open_sessions"]
            assert one["sessionId"] == end["session_id"]
            early = await client.call_tool("planning_answer", {"session_id": one["sessionId"], "answer": "y"})
            assert early.is_error
            return end["session_id"]

    through = saved(repo, anyio.run(main), lambda found: found.status == "review")
    assert all(made.rationale.startswith("Chosen by the agent") for made in through.decisions)
    passed_on = unmarked(through)
    assert same(passed_on) == same(by_file(repo, variables, through))
    assert same(passed_on) == same(by_dialogue(repo, variables, through))
    assert through.questions[0].answer
    assert through.questions[1].skipped


def test_nobody_else_waits_for_the_model(talk, repo: Path, agent: Agent):
    agent.mark("hold")
    client: RawClient = talk(**agent.variables)
    client.greet()
    begun = client.fine("planning_start", instruction=INSTRUCTION, seconds=0.1)
    assert begun["waits_for"] == "model"
    session = begun["session_id"]
    name = client.waiting_plan()
    waiting = client.begin("plan_wait", plan_id=name, seconds=60)
    approve(repo, name)
    assert client.hear(waiting)["result"]["structuredContent"]["outcome"] == "approved"
    assert client.fine("plan_execute", plan_id=name)["status"] == "completed"
    assert (repo / "README.md").read_text() == SPEC["content"]
    assert client.fine("planning_get", session_id=session, seconds=0)["session"]["waits_for"] == "model"
    params = {
        "name": "planning_get",
        "arguments": {"session_id": session[:17], "seconds": 60},
        "_meta": {"progressToken": 7},
    }
    looking = client.ask("tools/call", params)
    told = client.noticed("notifications/progress", 2)
    agent.unmark("hold")
    found = client.hear(looking)["result"]["structuredContent"]["session"]
    assert found["question"]["id"] == "q-1"
    assert [one["progressToken"] for one in told[:2]] == [7, 7]
    assert told[0]["progress"] < told[1]["progress"]
    assert "Preparing questions … " in told[0]["message"]
    assert agent.asked == 1
    assert client.end() == 0


def test_no_model_library_is_loaded_for_the_list_and_a_look(repo: Path):
    loaded = modules_after(
        "import ringi.mcp.server, ringi.mcp.tools, ringi.mcp.wait, ringi.mcp.planning_tools", cwd=repo
    )
    assert_not_loaded(loaded, "pydantic_ai", "openai", "anthropic", "ringi.models.client", "ringi.app.api")
