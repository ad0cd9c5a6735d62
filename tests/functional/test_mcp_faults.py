"""Clients that speak wrongly, too much, out of turn, all at once, or not any more."""

import ctypes
import json
import os
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ringi.kernel.places import places_of
from ringi.ledger.connection import connect
from ringi.ledger.migrations import MIGRATIONS
from tests.functional.desk import RINGI, Desk, Terminal
from tests.functional.mcp_desk import RawClient, approve, talks

talk = talks
HUGE = 17 * 1024 * 1024
PARSE, INVALID, UNKNOWN_METHOD, WRONG_PARAMS = -32700, -32600, -32601, -32602


def nested(depth: int) -> bytes:
    return b'{"a":' * depth + b"1" + b"}" * depth


def raw_call(number: int, tool: str, arguments: bytes) -> bytes:
    head = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{"name":"{tool}","arguments":'
    return head.encode() + arguments + b"}}"


def test_wrong_huge_and_out_of_turn_messages(talk):
    client = talk()
    # Out of turn: nothing is served before the greeting.
    assert client.request("tools/call", {"name": "plan_list", "arguments": {}})["error"]["code"] < 0
    assert client.request("tools/list")["error"]["code"] < 0
    client.greet()
    for line, code in {
        b"{": PARSE,
        b"\xff\xfe": PARSE,
        b"\x00": PARSE,
        nested(5000): PARSE,
        b"[]": INVALID,
        b'"text"': INVALID,
        b'{"jsonrpc":"1.0","id":1}': INVALID,
    }.items():
        client.send(line)
        assert client.hear(None)["error"]["code"] == code, line[:50]
    # A request that is wrong as a whole is still answered by its number.
    for number, line in enumerate(
        (
            b'{"jsonrpc":"1.0","id":%d,"method":"ping"}',
            b'{"jsonrpc":"2.0","id":%d,"method":7}',
            b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":[]}',
            b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":"plan_list"}',
        ),
        4000,
    ):
        client.send(line % number)
        assert client.hear(number)["error"]["code"] == INVALID
    for params in ({"name": 7}, {"name": "plan_approve"}, {"name": "plan_list", "arguments": []}):
        assert client.request("tools/call", params)["error"]["code"] == WRONG_PARAMS
    client.send(b"\n  \n")
    assert client.request("nothing/such")["error"]["code"] == UNKNOWN_METHOD
    assert client.request("tools/call", {"arguments": {}})["error"]["code"] == WRONG_PARAMS
    # Too long: not kept, and answered by its number where that stands in front.
    client.send(b'{"jsonrpc":"2.0","id":777,"method":"ping","params":{"x":"' + b"y" * HUGE + b'"}}')
    assert client.hear(777)["error"]["code"] == INVALID
    client.send(b"z" * HUGE)
    assert client.hear(None)["error"]["code"] == INVALID
    memory = Path(f"/proc/{client.process.pid}/status").read_text()
    assert int(memory.split("VmHWM:")[1].split()[0]) < 400_000
    client.send({"jsonrpc": "2.0", "id": 999, "result": {}})  # an answer to nothing
    client.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 12345}})
    wrong = {
        b'{"plan_id":"p1","plan":1}': "there is no such field",
        b'{"plan_id":7}': "must be a text",
        b"{}": "$.plan_id: it is missing",
        b'{"plan_id":"' + b"p" * 5000 + b'"}': "100",
        b'{"plan_id":"p1","seconds":NaN}': "not a number",
        b'{"plan_id":"p1","seconds":1e999}': "not a number",
        b'{"plan_id":"p1","seconds":-1}': "$.seconds",
        b'{"plan_id":"p1","seconds":301}': "300",
        b'{"plan_id":"p1","seconds":' + b"9" * 400 + b"}": "not a number",
        b'{"plan_id":' + nested(150) + b"}": "must be a text",
    }
    for number, (arguments, why) in enumerate(wrong.items(), 5000):
        client.send(raw_call(number, "plan_wait", arguments))
        result = client.hear(number)["result"]
        assert result["isError"]
        error = json.loads(result["content"][0]["text"])["error"]
        assert error["code"] == "bad_document"
        assert why in error["message"], error
        assert "input schema" in error["hint"]
    client.send(raw_call(6000, "plan_propose", b'{"content":"half \\ud800 a character"}'))
    assert client.hear(6000)["error"]["code"] == PARSE
    assert client.refused("plan_wait", plan_id="p1")["hint"] == "See what there is: plan_list"
    assert client.fine("plan_list")["plans"] == []
    assert client.end() == 0


def test_a_folder_without_a_workspace_and_a_ledger_that_is_locked(talk, tmp_path: Path):
    folder = tmp_path / "empty"
    folder.mkdir()
    client = talk(root=folder, RINGI_LOCK_WAIT_SEC="0.2")
    client.greet()
    assert client.refused("plan_list")["code"] == "no_workspace"
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
    assert client.fine("plan_propose", content="Something")["name"] == "p1"
    places = places_of(folder, os.environ)
    other = sqlite3.connect(places.state / "ringi.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    error = client.refused("plan_propose", content="Another")
    assert (error["code"], "same call again" in error["hint"]) == ("busy", True)
    assert client.fine("plan_get_state", plan_id="p1")["status"] == "proposed"  # reading goes on
    other.execute("ROLLBACK")
    other.close()
    assert client.fine("plan_propose", content="Another")["name"] == "p2"
    # A ledger that is no ledger: the reason is told, its place is not.
    client.end()
    for name in places.state.glob("ringi.db*"):
        name.write_bytes(b"no database " * 100)
    broken = talk(root=folder)
    broken.greet()
    error = broken.refused("plan_list")
    assert error["code"] == "ledger_corrupt"
    assert str(places.states) not in json.dumps(error)


def test_a_ledger_that_a_newer_version_upgraded(talk, repo: Path):
    client = talk()
    client.greet()
    assert client.fine("plan_propose", content="Something")["name"] == "p1"
    later = (*MIGRATIONS, ("ALTER TABLE events ADD COLUMN later TEXT NOT NULL DEFAULT ''",))
    connect(places_of(repo, os.environ).state, 1, later).close()
    error = client.refused("plan_propose", content="Another")
    assert error["code"] == "ledger_upgraded"
    assert "start this command again" in error["message"]


def test_two_clients_at_once(talk, repo: Path):
    clients = [talk("--as", name) for name in ("one", "two")]
    for client in clients:
        client.greet()
    asked = [
        (client, client.begin("plan_propose", content=f"Plan {n}")) for n in range(10) for client in clients
    ]
    names = {client.hear(number)["result"]["structuredContent"]["name"] for client, number in asked}
    assert names == {f"p{n}" for n in range(1, 21)}
    first, second = clients
    name = first.waiting_plan()
    waits = [(client, client.begin("plan_wait", plan_id=name, seconds=60)) for client in clients]
    approve(repo, name)
    for client, number in waits:
        assert client.hear(number)["result"]["structuredContent"]["outcome"] == "approved"
    tries = [client.begin("plan_execute", plan_id=name) for client in clients]
    results = [
        client.hear(number)["result"]["isError"] for client, number in zip(clients, tries, strict=True)
    ]
    assert sorted(results) == [False, True]  # once, whoever comes first
    first.end()
    assert second.fine("plan_get_state", plan_id=name)["status"] == "completed"
    assert Desk(repo).run("verify").returncode == 0


def running_command(client: RawClient, repo: Path, script: str) -> int:
    """A plan whose command is running now; the number of the call."""
    name = client.waiting_plan({"kind": "run", "argv": ["sh", "-c", f"touch begun; {script}"]})
    person = Terminal(repo, ("approve", name), {"RINGI_RUN_SANDBOX": "off"})
    person.type(person.wanted())
    assert person.end()[0] == 0
    number = client.begin("plan_execute", plan_id=name)
    end = time.monotonic() + 60
    while not (repo / "begun").exists() and time.monotonic() < end:
        time.sleep(0.02)
    return number


def test_a_client_that_goes_away(talk, repo: Path):
    client = talk(RINGI_RUN_SANDBOX="off")
    client.greet()
    # Waiting holds nothing up.
    name = client.waiting_plan()
    client.begin("plan_wait", plan_id=name, seconds=300)
    assert client.end() == 0
    # What is being carried out is carried through.
    client = talk(RINGI_RUN_SANDBOX="off")
    client.greet()
    running_command(client, repo, "sleep 0.7; echo whole > made.txt")
    assert client.end() == 0
    assert (repo / "made.txt").read_text() == "whole\n"
    assert Desk(repo).json("list")[0]["status"] == "completed"


def test_a_client_that_asks_again_and_again_rings_once_and_a_stuck_desktop_holds_up_nobody(
    talk, tmp_path: Path
):
    program, rung, over = tmp_path / "bin" / "notify-send", tmp_path / "rung", tmp_path / "over"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {rung}\nwhile [ -e "$0" ] && [ ! -e {over} ]; do sleep 0.05; done\n'
    )
    program.chmod(0o755)
    client = talk(PATH=f"{program.parent}:{os.environ['PATH']}", RINGI_NOTIFY_HOW="desktop")
    client.greet()
    name = client.waiting_plan()
    for _ in range(3):
        client.fine("plan_request_approval", plan_id=name)
    other = client.waiting_plan()
    until = time.monotonic() + 60
    while (not rung.exists() or len(rung.read_text().splitlines()) < 2) and time.monotonic() < until:
        time.sleep(0.02)
    over.touch()
    said = sorted(line.rpartition("-- ringi ")[2] for line in rung.read_text().splitlines())
    assert [line.split()[0] for line in said] == [name, other]


def test_a_signal_ends_it_in_order(talk, repo: Path):
    client = talk(RINGI_RUN_SANDBOX="off")
    client.greet()
    name = client.waiting_plan()
    client.begin("plan_wait", plan_id=name, seconds=300)
    running_command(client, repo, "sleep 100")
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(60) == 0
    assert subprocess.run(["pgrep", "-f", "touch begun; sleep 100"], check=False).returncode == 1
    log = Desk(repo).run("--json", "log").stdout
    assert "command_started" in log
    assert Desk(repo).run("list").returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="no signal for one thread alone")
def test_a_signal_that_another_thread_gets_ends_it_too(talk):
    client = talk()
    client.greet()
    client.fine("plan_list")
    others = sorted(int(task.name) for task in Path(f"/proc/{client.process.pid}/task").iterdir())[1:]
    assert others
    assert ctypes.CDLL(None).tgkill(client.process.pid, others[-1], signal.SIGTERM) == 0
    assert client.process.wait(60) == 0


def test_inside_a_sandbox_it_is_only_a_pipe(repo: Path, tmp_path: Path):
    path = tmp_path / "door"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen(1)

    def answer() -> None:
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as lines:
            for line in lines:
                connection.sendall(b"heard " + line)

    threading.Thread(target=answer, daemon=True).start()
    environment = {**os.environ, "RINGI_MCP_SOCKET": str(path), "PYTHONPROFILEIMPORTTIME": "1"}
    done = subprocess.run(
        [*RINGI, "mcp", "--as", "me"],
        cwd=tmp_path,
        env=environment,
        input=b"x" * 300_000 + b"\nlast\n",
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.stdout == b"heard " + b"x" * 300_000 + b"\nheard last\n"
    assert done.returncode == 0
    for heavy in (b"pydantic", b"mcp_types", b"sqlite3", b"asyncio"):
        assert heavy not in done.stderr
    listener.close()
    gone = subprocess.run(
        [*RINGI, "mcp"], env=environment, cwd=repo, input=b"", capture_output=True, timeout=60, check=False
    )
    assert gone.returncode == 1
    assert str(path).encode() in gone.stderr


def test_a_client_that_does_not_listen_is_not_waited_for(repo: Path):
    """Its pipe fills up; the server ends all the same when it is told to."""
    with subprocess.Popen(
        [*RINGI, "mcp"], cwd=repo, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdin
        assert process.stdout
        client = {"name": "x", "version": "1"}
        hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}
        greeting = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        process.stdin.write(json.dumps(greeting).encode() + b"\n")
        assert process.stdout.readline()
        for number in range(2, 40):
            asked = {"jsonrpc": "2.0", "id": number, "method": "tools/list"}
            process.stdin.write(json.dumps(asked).encode() + b"\n")
        time.sleep(0.5)
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0


def test_the_greeting_does_not_wait_for_the_sdk(talk, tmp_path: Path):
    """Here the SDK never finishes loading."""
    slow = tmp_path / "slow"
    slow.mkdir()
    os.mkfifo(slow / "gate")
    (slow / "mcp_types.py").write_text(f"open({str(slow / 'gate')!r}).read()\nraise SystemExit(7)\n")
    places = os.pathsep.join(filter(None, (str(slow), os.environ.get("PYTHONPATH"))))
    client = talk(PYTHONPATH=places)
    assert client.greet()["serverInfo"]["name"] == "ringi"
    (slow / "gate").write_text("")
    assert client.process.wait(60) == 7
    client = talk(PYTHONPATH=places)
    client.greet()
    client.process.send_signal(signal.SIGTERM)
    assert client.process.wait(60) == 0


def test_an_early_end_and_a_greeting_that_is_not_the_first_message(talk):
    client = talk()
    assert client.end(20) == 0
    client = talk()
    asked = client.ask("ping")
    client.send(b"not a message")
    first = client.greet()
    assert client.hear(asked)["result"] == {}
    assert client.hear(None)["error"]["code"] == PARSE
    assert "tools" in client.request("tools/list")["result"]
    assert client.end() == 0
    client = talk()
    client.send(b"")
    wrong = client.request("initialize", {"protocolVersion": 7})
    assert wrong["error"]["code"] == WRONG_PARAMS
    assert client.greet() == first
    assert client.fine("plan_list")["plans"] == []
    assert client.end() == 0


def test_a_conflict_with_the_user_is_open(talk, repo: Path):
    """What an agent reads is said to the agent, and each next step leads on."""
    lines = "".join(f"line {number}\n" for number in range(1, 21))
    path = repo / "lines.txt"
    path.write_text(lines)

    def spec(line: str) -> dict[str, str]:
        content = path.read_text().replace("line 3\n", line).replace("mine\n", line)
        return {"kind": "write", "path": "lines.txt", "content": content}

    client = talk()
    client.greet()
    name = client.waiting_plan(spec("agent\n"))
    path.write_text(lines.replace("line 3\n", "mine\n"))
    found = [{"spec_id": "s1", "path": "lines.txt", "line": 3, "kind": "text"}]
    for tool in ("plan_get_state", "plan_preview"):
        told = client.fine(tool, plan_id=name)
        assert told["conflicts"] == found
        # Asking for an approval is refused now, so it is not the next step.
        assert "plan_request_approval" not in told["next_step"]
        assert "plan_set_action_specs" in told["next_step"]
        assert f"ringi review {name}" in told["next_step"]
    asked = client.refused("plan_request_approval", plan_id=name)
    assert (asked["code"], "plan_set_action_specs" in asked["hint"]) == ("stale", True)
    assert client.refused("plan_execute", plan_id=name)["code"] == "not_approved"
    waited = client.fine("plan_wait", plan_id=name, seconds=0)
    assert (waited["outcome"], f"ringi review {name}" in waited["next_step"]) == (None, True)
    assert path.read_text() == lines.replace("line 3\n", "mine\n")
    # The agent reads the file again and keeps what the user wrote.
    assert client.fine("plan_set_action_specs", plan_id=name, specs=[spec("mine and agent\n")])["ok"]
    now = client.fine("plan_get_state", plan_id=name)
    assert (now["conflicts"], "plan_request_approval" in now["next_step"]) == ([], True)
    client.fine("plan_request_approval", plan_id=name)
    approve(repo, name)
    assert client.fine("plan_wait", plan_id=name, seconds=30)["outcome"] == "approved"
    client.fine("plan_execute", plan_id=name)
    assert path.read_text() == lines.replace("line 3\n", "mine and agent\n")
