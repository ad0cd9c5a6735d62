"""`ringi with`: what an agent may do in its copy, and what comes of it."""

import json
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.functional.beside_desk import WALLS
from tests.functional.desk import MENU, RINGI, Desk


def applied(desk: Desk, name: str) -> None:
    terminal = desk.terminal("review", "--plain", name)
    terminal.answer(MENU, "a")
    if desk.json("show", name)["state"]["action_specs"] and any(
        spec["risk"] == "high" for spec in desk.json("show", name)["state"]["action_specs"]
    ):
        terminal.type(terminal.wanted())
    code, rest = terminal.end()
    assert code == 0, rest


@pytest.mark.req("PT-3")
def test_every_kind_of_change_is_carried(desk: Desk) -> None:
    (desk.root / "old.sh").write_text("#!/bin/sh\n")
    (desk.root / "gone").mkdir()
    (desk.root / "gone" / "last.txt").write_text("x\n")
    script = (
        "printf '\\000\\377bin' > image.bin; mkdir -p a/b; echo deep > a/b/c.txt; chmod +x old.sh;"
        " rm -r gone; printf '#!/bin/sh\\n' > run.sh; chmod 755 run.sh; printf 'no newline' >> README.md;"
        " : > empty; printf 'a\\r\\nb\\r\\n' > crlf.txt; printf '\\377\\376' > latin.txt"
    )
    before = desk.files()
    name = desk.agent(script)
    assert desk.files() == before
    applied(desk, name)
    after = desk.files()
    assert after["image.bin"][0] == b"\0\xffbin"
    assert after["a/b/c.txt"][0] == b"deep\n"
    assert after["old.sh"][1] & 0o111
    assert after["run.sh"][1] & 0o111
    assert after["README.md"][0].endswith(b"no newline")
    assert after["empty"][0] == b""
    assert after["crlf.txt"][0] == b"a\r\nb\r\n"
    assert after["latin.txt"][0] == b"\xff\xfe"
    assert not (desk.root / "gone").exists()
    terminal = desk.terminal("undo", name)
    terminal.answer(r"\[y/n\]", "y")
    assert terminal.end()[0] == 0
    assert desk.files() == before
    assert not (desk.root / "a").exists()


def test_one_lost_copy_does_not_keep_others_from_being_saved(
    desk: Desk, isolated: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RINGI_WITH_SANDBOX", "off")  # in one it cannot reach its supervisor
    # Above it: its supervisor, ringi.
    kill = 'kill -9 $(ps -o ppid= -p $PPID | tr -d " "); sleep 1'
    desk.process("with", "--", "sh", "-c", f"echo lost > work.txt; {kill}")
    desk.process("with", "--", "sh", "-c", f"echo precious > work.txt; {kill}")
    written = (isolated / "cache").rglob("tree/work.txt")
    lost = next(path.parent for path in written if path.read_text() == "lost\n")
    subprocess.run(["rm", "-rf", str(lost)], check=True)
    assert desk.run("doctor", "--repair").returncode == 0
    assert "+precious" in desk.run("show", "p1", "--diff").stdout
    assert desk.json("list")[0]["proposer"] == "sh"
    (kept,) = (isolated / "cache").rglob("copy.json")
    assert json.loads(kept.read_bytes())["plan_id"] == desk.json("list")[0]["id"]


def test_what_cannot_be_in_a_plan_is_named_beside_the_rest(desk: Desk) -> None:
    inner = desk.root / "inner"
    inner.mkdir()
    Desk(inner).git("init", "-q")
    (inner / "f.txt").write_text("x\n")
    script = "mkdir -p inner; echo z > inner/new.txt; echo y > outer.txt; echo x > \"$(printf 'a\\377')\""
    done = desk.process("with", "--", "sh", "-c", script)
    assert "not in the copy: inner" in done.stdout
    assert "not in the plan: a\\xff (its name is not valid UTF-8)" in done.stdout
    assert "not in the plan: inner/new.txt" in done.stdout
    assert "→ cp -RP " in done.stdout
    assert desk.json("show")["state"]["previews"]["files"] == ["outer.txt"]
    left_out = desk.json("show")["plan"]["left_out"]
    assert [name.partition(":")[0] for name in left_out] == ["a\\xff", "inner/new.txt"]
    again = json.loads(desk.process("--json", "with", "--", "sh", "-c", script).stdout)
    assert [left["path"] for left in again["left_out"]] == ["a\\xff", "inner/new.txt"]


def test_nothing_leads_back_from_the_copy(desk: Desk) -> None:
    script = 'echo "$PWD|$OLDPWD|$GIT_DIR" > where; pwd -P >> where'
    done = desk.process(
        "with", "sh", "-c", script, PWD=str(desk.root), OLDPWD="/x", GIT_DIR=f"{desk.root}/.git"
    )
    assert done.returncode == 0
    said, real = [
        line[3:] for line in desk.run("show", "--diff").stdout.splitlines() if line.startswith("  +/")
    ]
    assert said == f"{real}||"
    # In the sandbox that is the copy.
    assert (real == str(desk.root)) is WALLS


@pytest.mark.req("PT-16")
@pytest.mark.parametrize(
    ("script", "check"),
    [
        # What git ignores is in no plan: nothing of it may make a check pass.
        ("echo cheat > ignored.txt; echo x > new.txt", "test -e ignored.txt"),
        # A process that the agent leaves behind changes the copy meanwhile.
        ("echo bad > new.txt; (sleep 0.2; echo good > new.txt) &", "sleep 1; grep -q good new.txt"),
    ],
)
def test_a_check_sees_only_the_plan(desk: Desk, script: str, check: str) -> None:
    (desk.root / ".gitignore").write_text("ignored.txt\n")
    desk.process("with", "--check", check, "--", "sh", "-c", script)
    state = desk.json("show", "p1")["state"]
    assert [one["exit_code"] for one in state["checks"]] == [1]


def test_a_closed_terminal_loses_nothing(desk: Desk) -> None:
    terminal = desk.terminal("with", "--", "sh", "-c", "echo kept > kept.txt; echo written; sleep 1000")
    terminal.read("written")
    terminal.child.kill(signal.SIGHUP)
    end = time.monotonic() + 60
    while not any(plan["files"] for plan in desk.json("list")) and time.monotonic() < end:
        time.sleep(0.2)
    assert desk.json("show", "p1")["state"]["previews"]["files"] == ["kept.txt"]
    assert_cut_off(desk)
    terminal.child.close()


def assert_cut_off(desk: Desk) -> None:
    state = desk.json("show", "p1")["state"]
    assert state.get("agent_exit", "not said") is None
    for words in ((), ("show", "p1")):
        assert "! the agent was cut off; this is what it had done by then" in desk.run(*words).stdout


def test_a_killed_supervisor_loses_nothing(desk: Desk, isolated: Path) -> None:
    process = subprocess.Popen(
        [*RINGI, "with", "--", "sh", "-c", "echo $$ > pid; mv pid kept.txt; exec sleep 1000"],
        cwd=desk.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    end = time.monotonic() + 60
    while not list((isolated / "cache").rglob("kept.txt")) and time.monotonic() < end:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert "not a plan yet" in desk.run("doctor").stdout
    repaired = desk.run("doctor", "--repair")
    assert "p1" in repaired.stdout, repaired.stderr
    assert desk.json("show", "p1")["state"]["previews"]["files"] == ["kept.txt"]
    assert_cut_off(desk)
    assert "can resume p1" in desk.run("doctor").stdout
