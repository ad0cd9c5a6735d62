"""Ready-made agents, several at once, and the way out to the plan tool."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.kernel.process.supervisor import read_stat
from tests.functional.beside_desk import WALLS, HomeDesk, home_desk
from tests.functional.desk import RINGI, Desk
from tests.functional.warm import Popen
from tests.helpers import PYTHON

# Saves its settings as Claude Code does: a lock and a second file beside it, then a rename; where that is
# refused, in place.
SAVING = f"""#!{PYTHON}
import json, os, pathlib, sys
file = pathlib.Path(os.environ["HOME"], ".claude.json")
known = json.loads(file.read_text()) if file.exists() else {{}}
known["runs"] = known.get("runs", 0) + 1
lock = file.with_name(".claude.json.lock")
lock.mkdir()
second = file.with_name(".claude.json.tmp.1")
second.write_text(json.dumps(known))
try:
    second.rename(file)
    how = "renamed"
except OSError as error:
    file.write_text(json.dumps(known))
    how = f"in place ({{error.errno}})"
lock.rmdir()
file.with_name(".claude").mkdir(mode=0o700, exist_ok=True)
(file.with_name(".claude") / "history").write_text("said\\n")
pathlib.Path("how").write_text(how + "\\n")
try:
    pathlib.Path(os.environ["HOME"], "existing").write_text("changed")
except OSError:
    pathlib.Path("refused").touch()
"""


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        yield desk


def test_a_file_of_state_that_is_replaced_by_renaming(outside: HomeDesk) -> None:
    desk = outside
    desk.program("claude", SAVING)
    (desk.home / "existing").write_text("mine")
    (desk.home / "link").symlink_to("existing")
    for count in (1, 2):
        done = desk.process("with", "claude", "-p", "go on")
        assert done.returncode == 0, done.stdout
        assert json.loads((desk.home / ".claude.json").read_text()) == {"runs": count}
    assert (desk.home / ".claude" / "history").read_text() == "said\n"
    assert (desk.home / ".claude").stat().st_mode & 0o777 == 0o700
    diff = desk.run("show", "p1", "--diff").stdout
    if WALLS:
        assert "+in place (16)" in diff  # busy: it is mounted there
        assert "refused" in diff
        assert (desk.home / "existing").read_text() == "mine"
        names = sorted(path.name for path in desk.home.iterdir() if path.name != ".local")
        assert names == [".cache", ".claude", ".claude.json", "existing", "link"]
    else:
        assert "+renamed" in diff


def test_a_relative_program_is_the_one_that_the_person_sees(outside: HomeDesk) -> None:
    desk = outside
    sub = Desk(desk.root / "app")
    for path, word in ((desk.programs, "outside"), (sub.root, "inside"), (desk.root / "ignored", "ignored")):
        path.mkdir(exist_ok=True)
        (path / "agent.sh").write_text(f"#!/bin/sh\necho {word} $0 >> ran\n")
        (path / "agent.sh").chmod(0o755)
    (desk.root / ".git/info/exclude").write_text("ignored/\n")
    expected = {
        "../../bin/agent.sh": f"outside {desk.programs}/agent.sh",
        "./agent.sh": "inside .*/app/agent.sh",
        "../ignored/agent.sh": f"ignored {desk.root}/ignored/agent.sh",
    }
    for number, (typed, ran) in enumerate(expected.items(), 1):
        done = sub.process("with", typed)
        assert done.returncode == 0, done.stderr
        again = desk.process("with", "--resume", f"p{number}")  # from another place
        assert again.returncode == 0, again.stderr
        diff = desk.run("show", f"p{number}", "--diff").stdout
        assert len(re.findall(rf"^ *\+{ran}$", diff, re.MULTILINE)) == 2, diff
        assert desk.json("show", f"p{number}")["plan"]["content"].endswith(f"by: {typed}")
    done = sub.process("with", "./none.sh")
    assert done.returncode == 2
    assert "./none.sh" in done.stderr
    assert len(desk.json("list")) == 3


def test_three_at_once_have_names_doors_and_copies_of_their_own(outside: HomeDesk) -> None:
    desk = outside
    script = '#!/bin/sh\nme=$(basename $0); echo "$RINGI_MCP_SOCKET" > door-$me; echo $me > same; sleep 1\n'
    starts = {"codex": ("exec", "go on"), "gemini": ("-p", "go on"), "opencode": ("run", "go on")}
    names = tuple(starts)
    for name in names:
        desk.program(name, script)
    started = [
        Popen(
            [*RINGI, "with", name, *words],
            cwd=desk.root,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, words in starts.items()
    ]
    told = [process.communicate(timeout=120)[0] for process in started]
    plans = {ref["proposer"]: ref for ref in desk.json("list")}
    assert sorted(plans) == sorted(names)
    doors = set()
    for name in names:
        files = desk.json("show", f"p{plans[name]['number']}")["state"]["previews"]["files"]
        assert files == [f"door-{name}", "same"]
        diff = desk.run("show", f"p{plans[name]['number']}", "--diff").stdout
        doors.add(next(line for line in diff.splitlines() if line.startswith("  +/")))
    assert len(doors) == 3
    pairs = {
        frozenset([f"p{plans[name]['number']}", other])
        for name, words in zip(names, told, strict=True)
        for other in re.findall(r"! (p\d+) \(.*\) changes the same: same", words)
    }
    assert len(pairs) == 3  # whoever of two comes later says so


CLIENT = """
import json, os, subprocess, sys
first = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18",
         "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}}
ready = {"jsonrpc": "2.0", "method": "notifications/initialized"}
call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": sys.argv[1],
        "arguments": json.loads(sys.argv[2])}}
pipe = subprocess.PIPE
bridge = subprocess.Popen([sys.executable, "-m", "ringi", "mcp"], stdin=pipe, stdout=pipe)
def say(message):
    bridge.stdin.write(json.dumps(message).encode() + b"\\n"); bridge.stdin.flush()
say(first); print(bridge.stdout.readline()[:40]); say(ready); say(call)
print(bridge.stdout.readline()[:400])
bridge.stdin.close(); print("ended", bridge.wait(60))
"""


def test_the_plan_tool_is_reached_through_the_door(desk: Desk) -> None:
    pytest.importorskip("mcp")
    given = '{"content": "From inside"}'
    done = desk.process("with", "--", sys.executable, "-c", CLIENT, "plan_propose", given)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ended 0" in done.stdout
    (plan,) = desk.json("list")
    assert plan["title"] == "From inside"
    assert desk.json("show", "p1")["plan"]["requester"] == f"with:{os.path.basename(sys.executable)}"  # noqa: PTH119


def test_no_model_is_started_outside_through_the_door(desk: Desk, tmp_path: Path) -> None:
    """An agent's words would reach a program that no sandbox confines."""
    pytest.importorskip("mcp")
    started = tmp_path / "started"
    model = f"command:touch {started}"
    given = '{"instruction": "Add a total line below the report; only report.py and its test"}'
    done = desk.process(
        "with", "--", sys.executable, "-c", CLIENT, "planning_start", given, RINGI_MODEL=model
    )
    assert "model_outside" in done.stdout, done.stdout + done.stderr
    assert "ended 0" in done.stdout
    assert not started.exists()
    # A person's own session starts it.
    desk.process("plan", "Add a total line below the report; only report.py", RINGI_MODEL=model)
    assert started.exists()


def test_escapes_of_an_agent_do_not_reach_what_is_said_afterwards(desk: Desk) -> None:
    script = (
        "printf '\\033]0;title\\007\\033[?1049h\\033[31mred'; printf 'x\\033[2Jy' > 'a\\033[1mb'; echo x > n"
    )
    terminal = desk.terminal("with", "--", "sh", "-c", script)
    seen = terminal.read("ringi review p1")
    after = seen[seen.rindex("red") :]
    assert "\\x1b[1mb" not in after.partition("not in the plan")[0]
    assert "\x1b[1mb" not in after
    assert terminal.end()[0] == 0


def test_an_agents_processes_are_gone_before_a_person_is_asked(desk: Desk) -> None:
    done = desk.process(
        "with", "--", "sh", "-c", "setsid sleep 2718 & echo $! > pid; sleep 0.2", RINGI_WITH_SANDBOX="off"
    )
    assert "1 process it had left running was ended." in done.stdout
    diff = desk.run("show", "--diff").stdout
    pid = next(line[3:] for line in diff.splitlines() if line.startswith("  +") and line[3:].isdigit())
    found = read_stat(int(pid))
    assert found is None or found.dead
