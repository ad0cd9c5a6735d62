"""Who asked and who acted, seen from a terminal, below an agent, and by clients over MCP."""

import json
import os
import pwd
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.signing import RealKey
from tests.functional.desk import MENU, Desk
from tests.functional.mcp_desk import SPEC, RawClient, talks
from tests.helpers import accept_signers_in

talk = talks
USER = pwd.getpwuid(os.getuid()).pw_name
DOCS = {"kind": "create", "path": "docs/a.md", "content": "words\n"}
OTHER = {"kind": "create", "path": "docs/b.md", "content": "of another\n"}


@pytest.fixture
def key(isolated: Path, repo: Path) -> RealKey:
    (isolated / ".ssh").mkdir(mode=0o700)
    made = RealKey(isolated / ".ssh", "id_ed25519")
    signers = Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "allowed_signers"
    signers.parent.mkdir(exist_ok=True)
    signers.write_text(f"{USER} {made.public}\n")
    signers.chmod(0o600)
    accept_signers_in(repo)
    return made


@pytest.fixture
def connect(talk: Callable[..., RawClient]) -> Iterator[Callable[..., RawClient]]:
    def start(name: str = "a tester", **variables: str) -> RawClient:
        client = talk(**variables)
        client.greet(name=name)
        return client

    return start


def granted(desk: Desk, key: RealKey, who: str) -> str:
    done = desk.run("--json", "grant", "new", "--for", who, "--path", "docs/**", "--sign", str(key.path))
    assert done.returncode == 0, done.stderr
    return str(json.loads(done.stdout)["id"])


def logged(desk: Desk, plan: str) -> list[tuple[str, str]]:
    return [(one["event"]["event"], one["event"]["actor"]) for one in desk.json("log", plan)]


def status(desk: Desk, plan: str) -> str:
    return str(desk.json("show", plan)["state"]["status"])


def proposed(client: RawClient, *specs: dict[str, Any]) -> str:
    name: str = client.fine("plan_propose", content="Change it")["name"]
    assert client.fine("plan_set_action_specs", plan_id=name, specs=list(specs))["ok"]
    return name


# --- the command line -----------------------------------------------------------------------------


@pytest.mark.req("PT-11")
@pytest.mark.parametrize(("variables", "actor"), [({}, "user"), ({"CLAUDECODE": "1"}, "ai")])
def test_a_command_is_logged_as_whoever_typed_it(desk: Desk, variables: dict[str, str], actor: str) -> None:
    (desk.root / "specs.json").write_text(json.dumps([SPEC]))
    specs = ("--specs", "specs.json", "--title", "One")
    for words in (
        ("propose", *specs),
        ("specs", "p1", "--file", "specs.json"),
        ("amend", "p1", "--revert", "1"),
        ("request", "p1", "--no-pending"),
        ("request", "p1", "--pending"),
        ("request", "p1"),
        ("propose", "--fork", "p1"),
    ):
        done = desk.run(*words, **variables)
        assert done.returncode == 0, (words, done.stderr)
    events = [*logged(desk, "p1"), *logged(desk, "p2")]
    assert len(events) == 11
    assert {by for _, by in events} == {actor}


@pytest.mark.req("PT-11", "PT-8")
def test_below_an_agent_nothing_is_decided(desk: Desk) -> None:
    (desk.root / "specs.json").write_text(json.dumps([SPEC]))
    assert desk.run("propose", "--specs", "specs.json", "--title", "One").returncode == 0
    terminal = desk.terminal("approve", "p1")
    terminal.answer(r"\[y/n\]", "y")
    assert terminal.end()[0] == 0
    for words in (("reject", "p1", "--feedback", "no"), ("request", "p1", "--pending"), ("discard", "p1")):
        done = desk.run(*words, CLAUDECODE="1")
        assert done.returncode == 3, (words, done.stdout, done.stderr)
        assert "CLAUDECODE is set, so Claude Code started this." in done.stderr
        assert f"A person runs this in a terminal of their own: ringi {words[0]} p1" in done.stderr
    assert status(desk, "p1") == "approved"


@pytest.mark.req("CP-8", "PT-8")
def test_a_standing_approval_covers_plans_of_its_requester_and_no_change_plan(
    desk: Desk, key: RealKey
) -> None:
    granted(desk, key, f"user:{USER}")
    granted(desk, key, "with:sh")
    (desk.root / "new.md").write_text("words\n")
    (desk.root / "specs.json").write_text(json.dumps([OTHER]))
    change = ("propose", "--file", "docs/a.md=new.md", "--title", "One")
    assert desk.run(*change, "--trigger", "user_request").returncode == 0
    done = desk.run("request", "p1")
    assert "a change plan is never covered" in done.stdout
    assert (done.returncode, status(desk, "p1")) == (0, "pending_review")
    assert desk.agent("mkdir docs; echo x > docs/a.md") == "p2"
    assert status(desk, "p2") == "approved"
    # What the person puts in its place is theirs: the agent's standing approval is not spent on it.
    assert desk.run("specs", "p2", "--file", "specs.json").returncode == 0
    assert desk.run("request", "p2").returncode == 0
    uses = {one["scope"]["requester"]: len(one["uses"]) for one in desk.json("grant", "list")}
    assert uses == {"with:sh": 1, f"user:{USER}": 1}
    assert desk.run("execute", "p2").returncode == 0
    assert desk.run("verify", "p2").returncode == 0


# --- clients --------------------------------------------------------------------------------------


@pytest.mark.req("PT-8")
@pytest.mark.parametrize("name", ["sh", USER])
def test_a_client_spends_no_standing_approval_of_an_agent(
    desk: Desk, key: RealKey, connect: Callable[..., RawClient], name: str
) -> None:
    """Whatever it calls itself: the agent's name, the person's."""
    plan = desk.agent("mkdir docs; echo x > docs/a.md")
    granted(desk, key, "with:sh")
    client = connect(name)
    for tool, more in (
        ("plan_set_action_specs", {"specs": [OTHER]}),
        ("plan_request_approval", {}),
        ("plan_mark_pending", {"pending": False}),
        ("plan_discard", {}),
    ):
        error = client.refused(tool, plan_id=plan, **more)
        assert error["code"] == "not_yours", (tool, error)
    assert status(desk, plan) == "pending_review"
    own = proposed(client, OTHER)
    assert client.fine("plan_request_approval", plan_id=own)["outcome"] is None
    assert not any(one["uses"] for one in desk.json("grant", "list"))


@pytest.mark.req("PT-8", "PT-11")
def test_two_clients_and_the_person(desk: Desk, key: RealKey, connect: Callable[..., RawClient]) -> None:
    """Names are labels. A grant for the user covers what runs as that user, and ends when it is revoked."""
    one, two = connect("one"), connect("two")
    grant = granted(desk, key, f"user:{USER}")
    plan = proposed(one, DOCS)
    assert two.refused("plan_discard", plan_id=plan)["code"] == "not_yours"
    assert one.fine("plan_request_approval", plan_id=plan)["outcome"] == "approved"
    # A version set by another after the approval is not covered by it.
    assert two.fine("plan_set_action_specs", plan_id=plan, specs=[OTHER])["ok"]
    assert one.refused("plan_execute", plan_id=plan)["code"] == "not_approved"
    assert desk.run("grant", "revoke", grant[:8]).returncode == 0
    assert two.fine("plan_request_approval", plan_id=plan)["outcome"] is None
    assert one.refused("plan_execute", plan_id=plan)["code"] == "not_approved"
    actors = {event: by for event, by in logged(desk, plan) if event != "approved"}
    assert set(actors.values()) == {"ai"}


@pytest.mark.req("PT-11")
def test_a_client_takes_back_no_approval_and_discards_no_plan_of_the_person(
    desk: Desk, connect: Callable[..., RawClient]
) -> None:
    (desk.root / "specs.json").write_text(json.dumps([SPEC]))
    assert desk.run("propose", "--specs", "specs.json", "--title", "Mine").returncode == 0
    client = connect(USER)
    assert client.refused("plan_discard", plan_id="p1")["code"] == "not_yours"
    terminal = desk.terminal("approve", "p1")
    terminal.answer(r"\[y/n\]", "y")
    assert terminal.end()[0] == 0
    error = client.refused("plan_mark_pending", plan_id="p1", pending=True)
    assert (error["code"], error["message"]) == (
        "no_channel",
        "Nobody can be asked here: this came over MCP.",
    )
    assert status(desk, "p1") == "approved"


UNSEEN = """
import json, os, subprocess, sys
os.environ.pop("RINGI_MCP_SOCKET", None)
for name in [name for name in os.environ if name.startswith("RINGI_WITH")]:
    del os.environ[name]
os.chdir(sys.argv[1])
def messages():
    yield {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {},
           "clientInfo": {"name": "nobody", "version": "1"}}}
    yield {"method": "notifications/initialized"}
    specs = [{"kind": "create", "path": "docs/a.md", "content": "x"}]
    calls = [("propose", {"content": "Unseen"}), ("set_action_specs", {"plan_id": "p1", "specs": specs}),
             ("request_approval", {"plan_id": "p1"})]
    for number, (tool, more) in enumerate(calls):
        params = {"name": "plan_" + tool, "arguments": more}
        yield {"id": number + 2, "method": "tools/call", "params": params}
pipe = subprocess.PIPE
server = subprocess.Popen([sys.executable, "-m", "ringi", "mcp"], stdin=pipe, stdout=pipe)
for message in messages():
    server.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\\n")
    server.stdin.flush()
    if "id" in message:
        server.stdout.readline()
server.stdin.close()
server.wait(60)
"""


@pytest.mark.req("PT-8")
def test_an_agent_without_a_sandbox_is_no_user_through_a_server_of_its_own(
    desk: Desk, key: RealKey, isolated: Path
) -> None:
    pytest.importorskip("mcp")
    (Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "config.yaml").write_text("with:\n  sandbox: off\n")
    granted(desk, key, f"user:{USER}")
    done = desk.process("with", "--", sys.executable, "-c", UNSEEN, str(desk.root))
    assert done.returncode == 0, done.stdout + done.stderr
    found = desk.json("show", "p1")
    assert found["plan"]["title"] == "Unseen"
    assert found["plan"]["requester"] == f"with:{Path(sys.executable).name}"
    assert found["state"]["status"] == "pending_review"


# --- reading --------------------------------------------------------------------------------------


@pytest.mark.req("PP-17")
def test_an_ignored_file_is_read_after_an_approval_and_masked(
    desk: Desk, connect: Callable[..., RawClient]
) -> None:
    (desk.root / ".gitignore").write_text("local/\n")
    (desk.root / "local").mkdir()
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" * 2
    (desk.root / "local/notes.txt").write_text(f"first\ntoken = '{token}'\n")
    client = connect()
    plan = proposed(client, {"kind": "read", "path": "local/notes.txt"})
    error = client.refused("plan_execute", plan_id=plan)
    assert error["code"] == "read_not_approved"
    assert "git ignores local/notes.txt" in error["message"]
    done = desk.run("execute", plan)
    assert (done.returncode, token in done.stdout) == (3, False)
    assert "it is not free to read" in done.stderr
    assert client.fine("plan_request_approval", plan_id=plan)["outcome"] is None
    terminal = desk.terminal("review", plan)
    terminal.answer(MENU, "a")
    code, seen = terminal.end()
    assert code == 0, seen
    assert token not in seen
    result = next((desk.root / ".agent/logs/plans").glob("*/result.json"))
    assert "first" in result.read_text()
    assert token not in result.read_text()
    assert result.stat().st_mode & 0o777 == 0o600
    assert desk.run("verify", plan).returncode == 0
