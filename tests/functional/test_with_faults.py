"""What an agent does to its copy, and where a project can be: nothing of the project's own is touched."""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.functional.beside_desk import HomeDesk, home_desk
from tests.functional.desk import Desk
from tests.helpers import untouched
from tests.unit.workspace.test_copy_checks import sandbox_trouble

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


@pytest.mark.parametrize("name", ["with spaces", "日本語 のフォルダ", 'quote\'d "twice"', "-dash"])
def test_a_project_can_have_any_name(home: HomeDesk, name: str) -> None:
    root = home.root.rename(home.root.with_name(name))
    desk = Desk(root)
    done = desk.process(
        "with", "--check", "grep -q mine README.md", "--", "sh", "-c", f'echo mine >> "{"$PWD"}/README.md"'
    )
    assert done.returncode == 0, told(done)
    assert desk.json("show", "p1")["state"]["checks"][0]["exit_code"] == 0
    assert "mine" not in (root / "README.md").read_text()


def test_a_workspace_that_is_a_subfolder_of_a_repository(home: HomeDesk) -> None:
    inner = home.root / "packages" / "one"
    (inner / ".agent").mkdir(parents=True)
    (inner / "a.txt").write_text("a\n")
    desk = Desk(inner)
    done = desk.process("with", "--", "sh", "-c", "echo b > b.txt")
    assert done.returncode == 0, told(done)
    assert desk.json("show", "p1")["state"]["previews"]["files"] == ["b.txt"]
    assert not (inner / "b.txt").exists()


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


def test_without_a_terminal_an_agent_with_a_message_answers_and_ends(home: HomeDesk) -> None:
    home.program("claude", '#!/bin/sh\nprintf "%s\\n" "$@" > words.txt\n')
    for words, expected in (
        (["say good day"], "--print\nsay good day\n"),
        (["-p", "say good day"], "-p\nsay good day\n"),
        (["doctor"], "doctor\n"),
    ):
        done = home.process("--json", "with", "claude", *words)
        assert done.returncode == 0, told(done)
        assert ("There is no terminal" in done.stderr) == expected.startswith("--print")
        name = "p" + str(home.json("list")[0]["number"])
        shown = home.run("show", name, "--diff").stdout
        assert all(f"+{line}" in shown for line in expected.splitlines())
