"""What an agent does to its copy, and where a project can be: nothing of the project's own is touched."""

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.beside_desk import HomeDesk, home_desk
from tests.functional.desk import RINGI, Desk
from tests.helpers import untouched
from tests.unit.tree.test_copy_checks import sandbox_trouble

pytestmark = pytest.mark.skipif(sandbox_trouble() is not None, reason=str(sandbox_trouble()))


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, first_commit: Path) -> Iterator[HomeDesk]:
    with home_desk(monkeypatch, first_commit) as desk:
        yield desk


def told(done: subprocess.CompletedProcess[str]) -> str:
    return done.stdout + done.stderr


def test_an_agent_that_deletes_the_projects_folder_deletes_its_copy(home: HomeDesk) -> None:
    with untouched(home.root):
        done = home.process(
            "with", "--", "sh", "-c", f"rm -rf {home.root}; cd {home.root} && rm -rf .[!.]* *"
        )
    assert "is gone" in told(done)
    assert "ringi" in told(done)
    assert (home.root / "README.md").exists()


def test_an_agent_cannot_move_the_projects_folder(home: HomeDesk) -> None:
    with untouched(home.root):
        done = home.process(
            "with", "--", "sh", "-c", f"mv {home.root} {home.root}.moved || echo refused > why.txt"
        )
    assert done.returncode == 0, told(done)
    assert home.json("show", "p1")["state"]["previews"]["files"] == ["why.txt"]
    assert not Path(f"{home.root}.moved").exists()


def test_an_agent_without_room_for_its_files_is_told_so_and_the_rest_is_a_plan(home: HomeDesk) -> None:
    limited = "ulimit -f 8; echo fits > small.txt; head -c 100000 /dev/zero > large.bin; exit 3"
    with untouched(home.root):
        done = home.process("with", "--", "sh", "-c", limited)
    assert "ended with exit code" in told(done)
    assert "small.txt" in home.json("show", "p1")["state"]["previews"]["files"]


def test_a_process_that_holds_the_mount_open_is_ended(home: HomeDesk) -> None:
    held = "echo x > new.txt; (setsid sleep 4321 < README.md > /dev/null 2>&1 &); (cd app; sleep 4322 &)"
    done = home.process("with", "--", "sh", "-c", held)
    assert done.returncode == 0, told(done)
    end = time.monotonic() + 60
    while _sleeping() and time.monotonic() < end:  # a killed process may take a moment to go
        time.sleep(0.05)
    assert not _sleeping()
    assert home.json("show", "p1")["state"]["previews"]["files"] == ["new.txt"]


def _sleeping() -> list[Path]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            found += [path] if b"sleep\x00432" in path.read_bytes() else []
    return found


@pytest.mark.parametrize("name", ["日本語 のフォルダ", 'quote\'d "twice"'])
def test_a_project_can_have_any_name(home: HomeDesk, name: str) -> None:
    root = home.root.rename(home.root.with_name(name))
    desk = Desk(root)
    done = desk.process(
        "with", "--check", "grep -q mine README.md", "--", "sh", "-c", f'echo mine >> "{"$PWD"}/README.md"'
    )
    assert done.returncode == 0, told(done)
    assert desk.json("show", "p1")["state"]["checks"][0]["exit_code"] == 0
    assert "mine" not in (root / "README.md").read_text()


def test_a_project_on_another_file_system(home: HomeDesk) -> None:
    shm = Path("/dev/shm")  # that is the point
    if not shm.is_dir() or shm.stat().st_dev == home.root.stat().st_dev:
        pytest.skip("there is no other file system")
    root = shm / f"ringi-test-{os.getpid()}"
    try:
        subprocess.run(["cp", "-a", str(home.root), str(root)], check=True)
        desk = Desk(root)
        done = desk.process("with", "--", "sh", "-c", "echo b > b.txt")
        assert done.returncode == 0, told(done)
        assert desk.json("show", "p1")["state"]["previews"]["files"] == ["b.txt"]
        assert not (root / "b.txt").exists()
    finally:
        subprocess.run(["rm", "-rf", str(root)], check=True)


_NOTED = '#!/bin/sh\nprintf "%s\\n" "$(basename $0)" "$@" > words.txt; cat; read word < /dev/tty\n'
_OFF = ("-c", "sandbox_mode=danger-full-access")  # added for Codex if the tests run as root
_AGENTS = ("claude",)
"""The others are in `tests/unit/agents/test_command_line.py`."""


def _ran(home: HomeDesk) -> list[str]:
    """The words of the command that made the newest plan."""
    name = "p" + str(home.json("list")[0]["number"])
    lines = [line.strip() for line in home.run("show", name, "--diff").stdout.splitlines()]
    added = [line[1:] for line in lines if line.startswith("+") and not line.startswith("+++ ")]
    return [line for line in added if line not in _OFF]


@pytest.mark.parametrize(
    ("typed", "ran"),
    [
        (["claude", "say good day"], ["claude", "--print", "--", "say good day"]),
        (["agent", "-i", "fix"], ["agent", "-i", "fix"]),
    ],
    ids=" ".join,
)
def test_without_a_terminal_an_agent_answers_and_ends(
    home: HomeDesk, typed: list[str], ran: list[str]
) -> None:
    home.program(typed[0], _NOTED)
    # Nobody writes to this pipe, and nobody closes it.
    reading, writing = os.pipe()
    try:
        done = subprocess.run(
            [*RINGI, "--json", "with", *typed],
            cwd=home.root,
            stdin=reading,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(reading)
        os.close(writing)
    assert _ran(home) == ran, told(done)
    assert ("There is no terminal, so this runs: " in done.stderr) == (ran != typed)


@pytest.mark.parametrize("name", _AGENTS)
def test_without_a_terminal_and_a_message_an_agent_is_not_started(home: HomeDesk, name: str) -> None:
    home.program(name, _NOTED)
    done = home.process("--json", "with", name, "--model", "two")
    assert done.returncode == 2
    assert json.loads(done.stdout)["error"]["code"] == "nothing_to_do"
    assert not (home.home / ".cache").exists()  # nothing was copied for it
    # What the hint says is what can be done.
    said = home.process("with", name).stderr
    words = shlex.split(said[said.index("ringi with") :])[2:]
    assert home.process("with", *words).returncode in {0, 1}
    assert _ran(home) == words


def few_files(desk: Desk) -> None:
    (desk.root / ".agent").mkdir(exist_ok=True)
    (desk.root / ".agent/config.yaml").write_text("limits:\n  max_specs: 3\n")


MANY = "mkdir out; for n in 1 2 3 4; do echo $n > out/$n; done; echo mine > mine.txt"


def test_more_files_than_a_plan_can_have_stay_in_the_copy(home: HomeDesk) -> None:
    few_files(home)
    with untouched(home.root):
        done = home.process("with", "--check", "false", "--", "sh", "-c", MANY)
    assert done.returncode == 6
    assert "it changes 5 files, a plan can have 3; 4 are in out/" in done.stderr
    assert "ringi doctor --repair" in done.stderr
    assert "ringi review" not in told(done)
    assert home.json("list") == []
    (tree,) = home.home.glob(".cache/ringi/work/*/*/tree")
    assert str(tree) in done.stderr
    again = home.process("doctor", "--repair")
    assert (again.returncode, "4 are in out/" in again.stdout, "fixed:" in again.stdout) == (1, True, False)
    assert "The work of sh is not a plan yet." in home.process().stdout
    shutil.rmtree(tree / "out")
    assert "became plan p1" in home.process("doctor", "--repair").stdout
    assert home.json("show", "p1")["state"]["previews"]["files"] == ["mine.txt"]


def test_a_resumed_agent_with_too_many_files_leaves_the_plan_as_it_is(home: HomeDesk) -> None:
    few_files(home)
    home.program("agent", f"#!/bin/sh\nif [ -e first.txt ]; then {MANY}; else echo 1 > first.txt; fi\n")
    assert home.process("with", "agent").returncode == 0
    resumed = home.process("with", "--resume", "p1")
    assert resumed.returncode == 6
    assert "it changes 6 files, a plan can have 3" in resumed.stderr
    assert home.json("show", "p1")["state"]["previews"]["files"] == ["first.txt"]


def test_a_branch_with_more_files_than_a_plan_can_have_is_refused(home: HomeDesk, tmp_path: Path) -> None:
    few_files(home)
    home.git("checkout", "-q", "-b", "many")
    subprocess.run(["sh", "-c", MANY], cwd=home.root, check=True)
    home.git("add", "out", "mine.txt")
    home.git("-c", "user.name=a", "-c", "user.email=b", "commit", "-qm", "many")
    patch = tmp_path / "many.patch"
    patch.write_text(home.git("diff", "HEAD~1"))
    home.git("checkout", "-q", "-")
    done = home.process("review", "many")
    assert done.returncode == 2
    assert "it changes 5 files, a plan can have 3; 4 are in out/" in done.stderr
    assert "ringi review START..END" in done.stderr
    done = home.process("propose", "--patch", str(patch))
    assert done.returncode == 6
    assert "there are 5 specs, 3 are allowed: make several plans of them" in done.stderr
    assert home.json("list") == []
