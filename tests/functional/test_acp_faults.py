"""What goes wrong between an editor and an agent: each side, either dying, and paths that lead elsewhere."""

import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.kernel.places import places_of
from ringi.kernel.process.ancestors import process_start
from ringi.tree.copy import WorkCopy
from tests.functional.acp_desk import Editor, editor
from tests.functional.beside_desk import HomeDesk, home_desk, walled
from tests.helpers import PATIENCE_SEC


@pytest.fixture
def desk(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        yield desk


def copies(desk: HomeDesk) -> list[WorkCopy]:
    return WorkCopy.all(places_of(desk.root, os.environ).copies)


def code_of(one: Editor, number: object) -> int:
    return int(one.answer(number)["error"]["code"])


@pytest.mark.req("PT-4")
def test_what_is_no_message_gets_an_error_and_the_rest_goes_on(desk: HomeDesk) -> None:
    with editor(desk) as one:
        assert code_of(one, one.ask("session/new", cwd=str(desk.root), mcpServers=[])) == -32600  # too early
        session = one.begin()
        for number, (line, code) in enumerate(
            [
                (b"nonsense", -32700),
                (b'{"jsonrpc": "2.0", "id": 1', -32700),
                (b"[" * 100_000, -32600),
                (b"\xff\xfe", -32700),
                (b"[]", -32600),
                (b'{"jsonrpc": "2.0"}', -32600),
                (b'{"jsonrpc": "1.0", "method": "x"}', -32600),
                (b'{"jsonrpc": "2.0", "id": null, "method": "x"}', -32600),
                (b'{"jsonrpc": "2.0", "method": 5}', -32600),
            ]
        ):
            one.send(line)
            refused = [message for message in one.heard if "id" in message and message["id"] is None]
            one.wait(lambda _, count=number: nameless(one) > count)
            refused = [message for message in one.heard if "id" in message and message["id"] is None]
            assert refused[-1]["error"]["code"] == code, line[:80]
        one.send(b'{"jsonrpc": "2.0", "id": "huge", "method": "x", "params": "' + b"a" * (33 << 20) + b'"}')
        assert code_of(one, "huge") == -32600
        assert code_of(one, one.ask("initialize", protocolVersion=1)) == -32600
        for method in ("session/prompt", "session/close", "session/set_mode"):
            assert code_of(one, one.ask(method, sessionId="other", prompt=[])) == -32602
        assert code_of(one, one.ask("session/close")) == -32602
        for method in ("session/delete", "_own/method"):  # of a session that only the agent knows
            assert one.call(method, sessionId="other")["result"] == {}
        # An answer that nobody asked for, and cancelling what is not there.
        one.send({"id": 77, "result": {}})
        one.send({"method": "session/cancel", "params": {"sessionId": "other"}})
        one.send({"method": "$/cancel_request", "params": {"requestId": 999}})
        # Twice the same number.
        number = one.start(session, "wait")
        one.send({"id": number, "method": "session/list", "params": {}})
        assert code_of(one, number) == -32600
        one.heard.clear()
        one.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert one.answer(number)["result"] == {"stopReason": "cancelled"}
        for cwd in ("/", str(desk.home), "relative", None, f"{desk.root}/../home", f"{desk.root}/\0"):
            answer = one.call("session/new", cwd=cwd, mcpServers=[])
            assert "ringi init" in answer["error"]["message"], cwd
            assert "None" not in answer["error"]["message"]
        assert one.call("session/list")["result"] == {"sessions": []}
        assert one.leave() == 0
    assert copies(desk) == []
    assert desk.json("list") == []


def nameless(one: Editor) -> int:
    return len([message for message in one.heard if "id" in message and message["id"] is None])


OUTSIDE = ("/etc/passwd", "../home/secret", "link/secret", "link", ".git/config")


def test_an_agent_that_says_nonsense_and_asks_for_what_is_not_its_own(desk: HomeDesk) -> None:
    (desk.home / "secret").write_text("secret\n")
    before = desk.files()
    with editor(desk) as one:
        session, other = one.begin(), one.new()
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "false"}}
        false = {"sessionId": other, "update": update}
        unasked = {"sessionId": session, "path": f"{desk.root}/README.md", "content": "bad"}
        lines = [
            "raw nonsense",
            "raw []",
            'raw {"jsonrpc": "2.0", "id": 4711, "result": {}}',
            "raw " + json.dumps({"jsonrpc": "2.0", "method": "session/update", "params": false}),
            "raw " + json.dumps({"jsonrpc": "2.0", "method": "fs/write_text_file", "params": unasked}),
            f"terminal ln -s {desk.home} link",
            *(f"fs-write {path} bad" for path in OUTSIDE),
            *(f"fs-read {path}" for path in OUTSIDE),
            "fs-write app/new.py good\\n",
            "fs-read app/new.py",
            "fs-read missing",
            "terminal truncate -s 9M large",
            "fs-read large",
            "terminal rm large",
            'ask fs/read_text_file {"path": 5}',
            'ask fs/read_text_file {"path": "README.md"}',
            'ask terminal/output {"terminalId": "none"}',
        ]
        assert one.prompt(session, "\n".join(lines))["result"] == {"stopReason": "end_turn"}
        answers = [json.loads(text) for text in one.said(session).split("\n```text")[0].splitlines()]
        assert "false" not in one.said(other)
        assert "secret\n" not in str(answers)
        refused = [answer for answer in answers if "code" in answer]
        assert len(refused) == 2 * len(OUTSIDE) + 5, answers
        assert any("large has more than 8388608 bytes" in answer["message"] for answer in refused)
        assert {"content": "good\n"} in answers
        assert any("outside of" in answer["message"] for answer in refused)
        assert one.files() == [f"{desk.root}/app/new.py"]
        assert desk.files() == before
        assert (desk.home / "secret").read_text() == "secret\n"
        assert {message.get("method", "session/update") for message in one.heard} == {"session/update"}
        assert "dropped, because the protocol does not know it: fs/write_text_file" in one.log.read_text()


@walled
def test_a_terminal_stays_in_the_copy(desk: HomeDesk) -> None:
    before = desk.files()
    (desk.home / "library.so").write_text("no library\n")
    with editor(desk) as one:
        session = one.begin()
        given = {"LD_PRELOAD": str(desk.home / "library.so"), "A": "1"}
        variables = [{"name": name, "value": value} for name, value in given.items()]
        wanted = {"command": "sh", "args": ["-c", "echo $A $0", "x y"], "env": variables}
        lines = [
            "terminal pwd; echo $A; echo out > made.txt; echo err >&2; exit 3",
            f"terminal echo escaped > {desk.home}/escaped",
            "terminal " + json.dumps(wanted),
            "terminal " + json.dumps({"command": "pwd", "cwd": str(desk.home)}),
            "terminal " + json.dumps({"command": "pwd", "cwd": f"{desk.root}/app"}),
            "terminal " + json.dumps({"command": "echo äöü", "outputByteLimit": 4}),
            "terminal no-such-program-at-all",
            "terminal " + json.dumps({"command": "--version", "args": ["x"]}),
        ]
        one.prompt(session, "\n".join(lines))
        found = [json.loads(text) for text in one.said().split("\n```text")[0].splitlines()]
        assert found[0]["output"] == f"{desk.root}\n\nerr\n"
        assert found[0]["exitStatus"] == {"exitCode": 3, "signal": None}
        assert found[1]["exitStatus"]["exitCode"] != 0
        assert "1 x y" in found[2]["output"]
        assert "outside of" in found[3]["message"]
        assert found[4]["output"] == f"{desk.root}/app\n"
        assert (found[5]["output"], found[5]["truncated"]) == ("ü\n", True)
        assert [one["exitStatus"]["exitCode"] for one in found[6:]] == [127, 127]  # no option of ours
        assert not (desk.home / "escaped").exists()
        assert one.files() == [f"{desk.root}/made.txt"]
        # The editor knows no such terminal; it is shown what the command printed.
        calls = [call["content"] for call in one.updates("tool_call") if call["toolCallId"] == "t"]
        assert all(block["type"] == "content" for content in calls for block in content)
        ran = [call for call in one.updates("tool_call_update") if call["toolCallId"] == "t"]
        calls += [call["content"] for call in ran]
        assert any("err" in content[0]["content"]["text"] for content in calls)
    assert desk.files() == before


def test_two_threads_and_two_editors_never_mix(desk: HomeDesk) -> None:
    with editor(desk) as one, editor(desk) as two:
        greeting = one.ask("initialize", protocolVersion=1)
        first = one.new()  # asked for before the greeting is answered
        assert "result" in one.answer(greeting)
        near, far = (
            {"name": "near", "command": "x", "args": []},
            {"type": "http", "name": "far", "url": "http://x"},
        )
        second = one.new(mcpServers=[near, far])
        third = two.begin(clientInfo={"name": "CodeCompanion.nvim", "version": "1"})
        one.prompt(first, "write A.md a\\n")
        ask = 'ask session/request_permission {"options": []}'
        asked = [one.start(name, ask) for name in (first, second)]
        permissions = []
        for name in (first, second):
            message = one.wait(
                lambda message, name=name: (
                    message.get("method") == "session/request_permission"
                    and message["params"]["sessionId"] == name
                )
            )
            permissions.append((message["id"], name))
        assert permissions[0][0] != permissions[1][0]
        for number, name in reversed(permissions):
            one.send({"id": number, "result": {"outcome": name}})
        for number, name in zip(asked, (first, second), strict=True):
            assert one.answer(number)["result"] == {"stopReason": "end_turn"}
            assert name in one.said(name)
        assert "A.md" not in one.said(second)
        assert "MCP servers outside of its sandbox: far." in one.said(second)
        assert "MCP servers" not in one.said(first)
        one.prompt(second, "write B.md b\\n")
        two.prompt(third, "write C.md c\\n\nwrite A.md mine\\n")
        assert "p1 (write A.md a" in two.said()  # changes the same
        assert "\n```diff\ndiff --git a/A.md b/A.md\n" in two.said()  # it shows no diffs of tool calls
        assert "```diff" not in one.said()
        # A fork goes on from what the first one made.
        fork = one.call("session/fork", sessionId=first, cwd=str(desk.root))["result"]["sessionId"]
        one.prompt(fork, "see A.md")
        assert '"a\\n"' in one.said(fork)
    assert [plan["number"] for plan in desk.json("list")] == [4, 3, 2, 1]


def test_the_agent_dies_in_its_turn(desk: HomeDesk) -> None:
    with editor(desk) as one:
        session = one.begin()
        answer = one.prompt(session, "write A.md a\\n\ndie 3")
        assert "exit code 3" in answer["error"]["message"]
        assert "ringi review p1" in one.said()
        assert one.end() == 1
    assert [plan["agent_exit"] for plan in [desk.json("show", "p1")["state"]]] == [3]
    assert not [copy for copy in copies(desk) if copy.is_running]


def test_the_editor_leaves_in_a_turn(desk: HomeDesk) -> None:
    with editor(desk) as one:
        session = one.begin()
        one.start(session, "fs-write A.md a\\n\nhang")
        one.wait(lambda message: "agent_message_chunk" in json.dumps(message))
        assert one.leave() == 0
        assert "ringi review p1" in one.log.read_text()
    assert desk.json("list")[0]["files"] == 1
    refused = desk.process("with", "--resume", "p1")
    assert (refused.returncode, "Continue in that thread" in refused.stderr) == (2, True), refused
    assert "In your editor" in desk.process("reject", "p1", "--feedback", "shorter").stdout
    # The same conversation goes on in the same copy.
    with editor(desk) as one:
        one.call("initialize", protocolVersion=1)
        one.call("session/load", sessionId=session, cwd=str(desk.root), mcpServers=[])
        one.prompt(session, "see A.md\nwrite B.md b\\n")
        assert '"a\\n"' in one.said()
        assert "p1 is now version 2." in one.said()


def test_killed_in_a_turn_the_copy_stays_and_the_next_command_says_so(desk: HomeDesk) -> None:
    with editor(desk) as one:
        session = one.begin()
        one.start(session, "fs-write A.md a\\n\nhang")
        one.wait(lambda message: "agent_message_chunk" in json.dumps(message))
        running = agents(desk)
        assert running
        one.process.send_signal(signal.SIGKILL)
        assert one.end() == -signal.SIGKILL
    until = time.monotonic() + PATIENCE_SEC
    while any(process_start(pid) == start for pid, start in running):
        assert time.monotonic() < until, "the agent outlived its editor"
        time.sleep(0.05)
    told = desk.run()
    assert "ringi doctor --repair" in told.stdout, told.stdout
    assert desk.run("doctor", "--repair").returncode in {0, 1}
    assert desk.json("list")[0]["files"] == 1
    # The same thread, opened again, goes on where the work is.
    with editor(desk) as one:
        one.begin()
        one.call("session/load", sessionId=session, cwd=str(desk.root), mcpServers=[])
        one.prompt(session, "write B.md b\\n")
        assert "p1 is now version 2" in one.said()
        assert desk.json("list")[0]["files"] == 2


def agents(desk: HomeDesk) -> list[tuple[int, str]]:
    """The processes of the agent, by pid and start."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if str(desk.programs / "scripted-agent").encode() in command and b"acp\0--" not in command:
            pid = int(folder.name)
            found.append((pid, process_start(pid) or ""))
    return found


def test_without_a_sandbox_paths_are_mapped_and_the_person_is_told(desk: HomeDesk) -> None:
    settings = desk.home / ".config" / "ringi" / "config.yaml"
    settings.parent.mkdir(parents=True)
    settings.write_text("with:\n  sandbox: off\n")
    before = desk.files()
    with editor(desk) as one:
        session = one.begin()
        one.prompt(session, f"fs-write A.md a\\n\nfs-read {desk.root}/README.md\nfs-read /etc/passwd")
        began = next(told["folder"] for told in one.told() if "began" in told)
        assert began != str(desk.root)
        assert "NOT in a sandbox" in one.said()
        assert "# Sample" in one.said()
        assert "outside of" in one.said()
        assert one.files() == [f"{desk.root}/A.md"]
        assert began not in one.said()
    assert desk.files() == before


def test_an_editor_that_knows_a_later_version_is_answered_with_the_first(desk: HomeDesk) -> None:
    with editor(desk) as one:
        answer = one.call("initialize", protocolVersion=2, capabilities={})
        assert answer["result"]["protocolVersion"] == 1
        greeted = one.told()[0]["greeted"]
        assert greeted["protocolVersion"] == 1
        assert greeted["clientCapabilities"]["terminal"]


def test_no_workspace_is_said_in_words(desk: HomeDesk, tmp_path: Path) -> None:
    root, desk.root = desk.root, tmp_path
    with editor(desk) as one:
        answer = one.call("initialize", protocolVersion=1)
        assert "ringi init" in answer["error"]["message"]
        desk.root = root
        assert one.leave() == 0


def test_what_is_written_between_turns_is_in_the_next_version(desk: HomeDesk) -> None:
    with editor(desk, "--check", "true") as one:
        session = one.begin()
        one.prompt(session, "write a.txt one")
        (copy,) = [copy for copy in copies(desk) if copy.record.plan_id]
        (copy.tree / "late.txt").write_text("late\n")  # as a process would that the agent left running
        one.prompt(session, "nothing more, thanks")
        shown = desk.run("--json", "show", "p1", "--as", "review")
        assert [file["path"] for file in json.loads(shown.stdout)["files"]] == ["a.txt", "late.txt"]
        assert "nothing more;" not in one.said(session)
        # A turn that was cancelled is cut off, and waits for no check.
        checked = one.said(session).count("Checking: true")
        number = one.start(session, "write b.txt two\nsee b.txt\nwait")
        one.wait(lambda message: '"\\"two' in json.dumps(message))
        one.send({"method": "session/cancel", "params": {"sessionId": session}})
        assert one.answer(number)["result"] == {"stopReason": "cancelled"}
        assert "! the agent was cut off; this is what it had done by then" in one.said(session)
        assert one.said(session).count("Checking: true") == checked > 0


def test_a_missing_agent_is_named_also_if_nobody_waits_for_it(desk: HomeDesk) -> None:
    one = Editor(desk, agent=("no-such-agent",))
    assert one.leave() == 2
    assert one.log.read_text().startswith("✗ There is no program no-such-agent. Check its spelling")
