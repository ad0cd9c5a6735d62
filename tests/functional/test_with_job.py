"""Ctrl-Z in `ringi with`, in a real shell with job control."""

import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.desk import RINGI, Desk, ended, spawned

PROMPT = "shell-waits> "
# As full-screen programs do: gives the terminal back, and stops its process group.
RAW = """
import os, signal, sys, termios, tty
before = termios.tcgetattr(0)
tty.setraw(0)
print("ready", end="\\r\\n", flush=True)
while (key := os.read(0, 1)) != b"q":
    if key == b"\\x1a":
        termios.tcsetattr(0, termios.TCSANOW, before)
        os.kill(*{how})
        tty.setraw(0)
        print("again", end="\\r\\n", flush=True)
    else:
        print("got", key.decode(), end="\\r\\n", flush=True)
"""


class Shell:
    def __init__(self, root: Path) -> None:
        shell = ["bash", "--norc", "--noprofile", "--noediting", "-i"]
        variables = {"PS1": PROMPT, "TERM": "xterm", "NO_COLOR": "1"}
        self.child = spawned(shell, root, variables, columns=80, rows=24, encoding="utf-8")
        self.wait(PROMPT)

    def wait(self, words: str) -> str:
        self.child.expect_exact(words)
        return str(self.child.before)

    def send(self, words: str) -> None:
        self.child.send(words)


@pytest.fixture
def shell(desk: Desk) -> Iterator[Shell]:
    found = Shell(desk.root)
    yield found
    ended(found.child)


@pytest.fixture(params=["auto", "off"])
def sandbox(request: pytest.FixtureRequest) -> str:
    """Its setting."""
    if request.param == "auto" and shutil.which("bwrap") is None:
        pytest.skip("needs bubblewrap")
    return str(request.param)


def command(*words: str, sandbox: str) -> str:
    return f"RINGI_WITH_SANDBOX={sandbox} {shlex.join(RINGI)} with {' '.join(words)}\n"


@pytest.mark.parametrize("how", ["(0, signal.SIGTSTP)", "(os.getpid(), signal.SIGSTOP)"])
def test_an_agent_that_stops_itself_stops_the_whole_job(
    desk: Desk, shell: Shell, sandbox: str, how: str
) -> None:
    (desk.root / "agent.py").write_text(RAW.format(how=how))
    shell.send(command("python3", "agent.py", sandbox=sandbox))
    shell.wait("ready")
    for _ in range(2):
        shell.send("\x1a")
        shell.wait("Stopped")
        shell.wait(PROMPT)
        shell.send("stty -a | tr ' ;' '\\n\\n' | grep -c -x -e icanon -e echo\n")
        shell.wait("\n2")  # the shell's own terminal is as it was
        shell.wait(PROMPT)
        shell.send("fg\n")
        shell.wait("again")
    shell.send("x")
    shell.wait("got x")
    shell.send("q")
    assert "error" not in shell.wait("It changed nothing")


def test_a_plain_command_stops_at_ctrl_z(shell: Shell, sandbox: str) -> None:
    shell.send(command("sh", "-c", "'echo rea''dy; read word; echo got $word'", sandbox=sandbox))
    shell.wait("ready")
    shell.send("\x1a")
    shell.wait("Stopped")
    shell.wait(PROMPT)
    shell.send("fg\n")
    shell.wait("with")
    shell.send("this\n")
    shell.wait("got this")
    assert "error" not in shell.wait("It changed nothing")


def test_a_job_that_is_stopped_can_be_ended(shell: Shell, sandbox: str) -> None:
    seconds = {"auto": 615, "off": 616}[sandbox]  # tests run side by side
    shell.send(command("sh", "-c", f"'echo rea''dy; exec sleep {seconds}'", sandbox=sandbox))
    shell.wait("ready")
    shell.send("\x1a")
    shell.wait("Stopped")
    shell.wait(PROMPT)
    shell.send("kill %1; fg\n")
    shell.wait(PROMPT)
    shell.send(f"ps -axo args | grep -c '[s]leep {seconds}'\n")
    assert "[s]leep" in shell.wait("\n0")


def test_without_a_shell_nothing_stops(desk: Desk, sandbox: str) -> None:
    with desk.terminal(
        "with", "sh", "-c", "echo rea''dy; read word; echo got $word", RINGI_WITH_SANDBOX=sandbox
    ) as terminal:
        terminal.read("ready")
        terminal.send("\x1a")
        terminal.type("this")
        terminal.read("got this")
        assert terminal.end()[0] == 0
