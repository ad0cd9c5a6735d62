"""The copies of the program that other tests use are processes as if they had been started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.functional.desk import Desk, Terminal
from tests.functional.warm import RINGI, Popen, _start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere they are started")


def test_a_copy_is_a_child_with_its_own_arguments_place_and_end(repo: Path):
    words = [*RINGI, "mcp", "--as", "somebody"]
    with Popen(words, cwd=repo, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as copy:
        place = Path(f"/proc/{copy.pid}")
        assert place.joinpath("stat").read_text().rpartition(")")[2].split()[1] == str(os.getpid())
        assert place.joinpath("cmdline").read_bytes().rstrip(b"\0").split(b"\0") == [*map(os.fsencode, words)]
        assert place.joinpath("cwd").resolve() == repo
        copy.communicate(timeout=60)
    assert copy.returncode == 0


def test_it_says_what_a_started_one_says(desk: Desk):
    for words in (["--version"], ["list"], ["show", "nothing"], ["--help"], ["no-such-command"]):
        copy = desk.process(*words)
        assert copy.args[: len(RINGI)] == RINGI
        options = {"cwd": desk.root, "stdin": subprocess.DEVNULL, "capture_output": True, "text": True}
        started = subprocess.run([*RINGI, *words], check=False, **options)
        assert (copy.returncode, copy.stdout) == (started.returncode, started.stdout)
        assert copy.stderr == started.stderr


def test_at_a_terminal_it_leads_a_session_and_ends_with_it(desk: Desk):
    with Terminal(desk.root, ("plan", "Add JSON"), {}) as terminal:
        terminal.read("Question 1")
        assert os.getsid(terminal.child.pid) == terminal.child.pid
        terminal.hang_up()
        assert terminal.child.ptyproc.terminated


@pytest.mark.parametrize("variable", ["LANG", "LC_ALL", "PYTHONPATH", "PYTHONUTF8"])
def test_what_python_decides_when_it_starts_is_left_to_it(repo: Path, variable: str):
    other = {**os.environ, variable: "ja_JP.eucJP"}
    assert _start([*RINGI, "list"], repo, other, [0, 1, 2]) is None
    assert _start([sys.executable, "-c", "pass"], repo, None, [0, 1, 2]) is None
    assert _start([*RINGI, "list"], repo / "nowhere", None, [0, 1, 2]) is None
