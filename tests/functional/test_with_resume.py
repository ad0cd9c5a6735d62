"""`ringi with --resume`: the agent continues in its copy with the person's feedback."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi import DropSpec, open_workspace
from ringi.approvals.feedback import Side
from ringi.beside.copies import agent_copies
from ringi.tree.copy import Supervisor
from tests.functional.beside_desk import HomeDesk, home_desk
from tests.functional.desk import RINGI, Desk
from tests.helpers import PYTHON, Person, answer

# Edits, runs its tests, sees them fail, mends it; told what a person thinks of it, it does what they ask.
AGENT = f"""#!{PYTHON}
import json, os, pathlib, subprocess, sys
print("agent at work:", json.dumps(sys.argv[1:])[:60])
target = pathlib.Path("app/hello.py")
test = [sys.executable, "-c", "import app.hello as h; assert h.hello() == 'good day', h.hello()"]
if "--continue" in sys.argv:
    said = sys.argv[sys.argv.index("--" if "--print" in sys.argv else "--continue") + 1]
    print("it was told:", *said.splitlines(), sep="\\n| ")
    told = pathlib.Path(os.environ["HOME"], ".claude", "told")
    told.parent.mkdir(exist_ok=True)
    told.write_text(said)
    if "docstring" in said:
        text = target.read_text()
        target.write_text(text.replace("():\\n", "():\\n    'Say it.'\\n", 1))
else:
    target.write_text("def hello():\\n    return 'good dya'\\n")
    pathlib.Path("NOTES.md").write_text("notes\\n")
    pathlib.Path("TODO.md").write_text("todo\\n")
    print("tests:", subprocess.run(test, stderr=subprocess.DEVNULL).returncode)
    target.write_text("def hello():\\n    return 'good day'\\n")
print("tests:", subprocess.run(test).returncode)
"""
CHECK = f"{PYTHON} -c 'import app.hello as h; assert h.hello() == chr(103) + h.hello()[1:]'"


@pytest.fixture
def outside(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        desk.program("claude", AGENT)
        monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        yield desk


def test_an_agent_edits_tests_fails_fixes_and_continues_with_feedback(outside: HomeDesk) -> None:
    desk = outside
    terminal = desk.terminal("with", "--check", CHECK, "claude", "say good day")
    seen = terminal.read("tests: 1") + terminal.read("tests: 0")
    code, rest = terminal.end()
    assert code == 0, rest
    assert '["say good day"]' in seen
    assert "exit code 0 on exactly these bytes" in rest
    assert "ringi review p1" in rest
    told = desk.run("reject", "p1", "--feedback", "Good, but I want a docstring.\nAnd $(touch /tmp/no) `no`")
    assert told.returncode in {0, 5}, told.stderr
    terminal = desk.terminal("with", "--resume", "--", "--verbose")
    seen = terminal.read("tests: 0")
    code, rest = terminal.end()
    assert code == 0, rest
    assert "its first message" in seen
    assert "> Good, but I want a docstring." in seen
    assert "p1 is now version 2" in rest
    assert "exit code 0 on exactly these bytes" in rest
    assert "+    'Say it.'" in desk.run("show", "p1", "--diff").stdout
    assert [ref["version"] for ref in desk.json("list")] == [2]
    assert desk.json("show", "p1")["plan"]["requester"] == "with:claude"
    told = (desk.home / ".claude" / "told").read_text()
    assert "declined it" in told
    assert "$(touch /tmp/no)" in told


def test_what_cannot_be_resumed_is_said_in_words(desk: Desk) -> None:
    nothing = desk.process("with", "--resume")
    assert nothing.returncode == 2
    assert "nothing to resume" in nothing.stderr
    name = desk.agent("echo x > x.txt")
    assert desk.process("with", "--resume", "p9").returncode == 2
    with open_workspace(desk.root, environment=os.environ, person=Person()) as workspace:
        (copy,) = agent_copies(workspace)
        copy.note(supervisor=Supervisor.this_process(), command=("sh",), taken=False)
        busy = desk.process("with", "--resume", name)
        assert "an agent is working in its copy" in busy.stderr
        copy.note(supervisor=None, taken=True)
        request = workspace.plan.ask(name)
        workspace.plan.approve(name, "hanako", proof=answer(request))
        workspace.plan.execute(name)
    assert desk.process("with", "true").returncode == 0
    assert not copy.folder.exists()  # done, so nobody needs it
    done = desk.process("with", "--resume", name)
    assert done.returncode == 2
    assert "has no copy, or it is gone" in done.stderr


def test_after_the_apply_the_agent_continues_in_a_fresh_copy(outside: HomeDesk) -> None:
    desk = outside
    assert desk.process("with", "claude", "--verbose", "say good day").returncode == 0
    with open_workspace(desk.root, environment=os.environ, person=Person()) as workspace:
        plan = workspace.plan
        specs = {spec.base.path: spec.id for spec in plan.get_state("p1").action_specs}
        assert plan.amend("p1", [DropSpec(specs["TODO.md"])]).ok
        plan.comment("p1", "app/hello.py", 2, "and a docstring", side=Side.NEW)
        request = plan.ask("p1")
        plan.approve("p1", "hanako", proof=answer(request))
        plan.execute("p1")
    (desk.root / "mine.txt").write_text("mine\n")
    assert desk.process("with", "true").returncode == 0
    with open_workspace(desk.root, environment=os.environ) as workspace:
        (copy,) = agent_copies(workspace)
    assert (copy.record.emptied, list(copy.tree.iterdir())) == (True, [])
    assert not (copy.folder / "base.git").exists()
    done = desk.process("with", "--resume", "p1")
    assert done.returncode == 0, done.stderr
    assert "claude --verbose" in desk.json("show", "p2")["plan"]["content"]
    told = (desk.home / ".claude" / "told").read_text()
    assert "applied it to the project" in told
    assert "fresh copy" in told
    assert "- dropped: TODO.md" in told
    assert "and a docstring" in told
    assert [(ref["number"], ref["files"]) for ref in desk.json("list")] == [(2, 1), (1, 2)]
    assert "+    'Say it.'" in desk.run("show", "p2", "--diff").stdout
    assert not (desk.root / "TODO.md").exists()


@pytest.mark.parametrize("during", ["work", "checks"])
def test_work_continues_after_a_crash(desk: Desk, isolated: Path, during: str) -> None:
    script = "[ -e seen ] && echo again > again; [ -e again ] || { touch seen; %s; }"
    stop = "sleep 1000" if during == "work" else "true"
    check = "[ -e again ] || { touch checking; sleep 1000; }"
    process = subprocess.Popen(
        [*RINGI, "with", "--check", check, "--", "sh", "-c", script % stop],
        cwd=desk.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    waited = "seen" if during == "work" else "checking"
    end = time.monotonic() + 60
    while not list((isolated / "cache").rglob(f"tree/{waited}")) and time.monotonic() < end:
        time.sleep(0.05)
    process.kill()
    process.wait()
    plans = desk.json("list")
    assert len(plans) == (during == "checks")
    done = desk.process("--json", "with", "--resume")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["plan"]["number"] == 1
    assert said["new_version"] is (during == "checks")
    assert "again" in desk.json("show", "p1")["state"]["previews"]["files"]
    assert len(desk.json("list")) == 1
