"""A disk that is full for real: of copies, of the ledger, of the project. Nothing is lost."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.functional.desk import Desk
from tests.functional.disks import fill, small_disk
from tests.functional.screens import Screen
from tests.helpers import copied, untouched

pytestmark = pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
SIZE = 4000  # kilobytes
REPAIR = "ringi doctor --repair"


@contextmanager
def disk_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, variable: str) -> Iterator[Path]:
    with small_disk(tmp_path / "disk", SIZE) as disk:
        monkeypatch.setenv(variable, str(disk))
        yield disk


def copies(folder: Path) -> list[Path]:
    return sorted(path.parent for path in folder.glob("work/*/*/tree"))


def test_an_agent_fills_the_disk_of_its_copy(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with disk_of(monkeypatch, tmp_path, "RINGI_CACHE_DIR") as disk:
        with untouched(desk.root):
            script = f"echo kept > small.txt; head -c {SIZE}000 /dev/urandom > large.bin; exit 3"
            done = desk.process("with", "--", "sh", "-c", script)
            assert done.returncode == 1
            assert "The agent's work is not a plan yet" in done.stderr
            assert "No space left on device" in done.stderr
            assert REPAIR in done.stderr
            (kept,) = copies(disk)
            assert str(kept / "tree") in done.stderr
            assert (kept / "tree/small.txt").read_text() == "kept\n"
            # While it is full: nothing claims to be done, and no second copy is left half-made.
            refused = desk.process("with", "--", "true")
            assert (refused.returncode, "Free some space" in refused.stderr) == (1, True)
            repaired = desk.process("doctor", "--repair")
            assert repaired.returncode == 1
            assert "fixed:" not in repaired.stdout
            assert "No space left on device" in repaired.stdout
            assert copies(disk) == [kept]
            assert REPAIR in desk.process().stdout
        (kept / "tree/large.bin").unlink()
        repaired = desk.process("doctor", "--repair")
        assert (repaired.returncode, "became plan p1" in repaired.stdout) == (0, True)
        assert desk.json("show", "p1")["state"]["previews"]["files"] == ["small.txt"]
        resumed = desk.process("with", "--resume", "p1")  # the same script, which fills it again
        assert resumed.returncode == 1
        assert desk.json("show", "p1")["state"]["previews"]["files"] == ["small.txt"]


@pytest.mark.parametrize("free", [0, 40_000, 200_000])
def test_there_is_no_room_for_a_copy(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, free: int
) -> None:
    (desk.root / "large.bin").write_bytes(os.urandom(300_000))
    with disk_of(monkeypatch, tmp_path, "RINGI_CACHE_DIR") as disk, untouched(desk.root):
        filler = fill(disk, free)
        done = desk.process("with", "--", "touch", "new.txt")
        assert done.returncode == 1
        assert "Free some space" in done.stderr
        assert copies(disk) == []
        filler.unlink()
        assert desk.process("with", "--", "touch", "new.txt").returncode == 0
        assert desk.json("show", "p1")["state"]["previews"]["files"] == ["new.txt"]


def test_the_ledger_has_no_room_for_the_plan(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with disk_of(monkeypatch, tmp_path, "RINGI_STATE_DIR") as disk, untouched(desk.root):
        assert desk.run("list").returncode == 0
        filler = fill(disk, 1_000_000)
        done = desk.process("with", "--", "sh", "-c", "head -c 2000000 /dev/urandom > large.bin")
        assert done.returncode == 1
        assert "database or disk is full" in done.stderr
        assert REPAIR in done.stderr
        # Not as a plan that a person sent back.
        home = desk.process().stdout
        assert REPAIR in home
        assert "sent back" not in home
        assert desk.process("doctor", "--repair").returncode == 1
        filler.unlink()
        assert desk.process("doctor", "--repair").returncode == 0
        (plan,) = desk.json("list")
        assert plan["files"] == 1
        assert desk.run("log", "--verify").returncode == 0


def pressed(desk: Desk, words: list[str], wait: str, *keys: str) -> tuple[int, str]:
    with Screen.ringi(desk.root, *words, columns=160) as screen:
        screen.wait(wait)
        screen.press(*keys)
        return screen.exit_code, screen.text


def undone(desk: Desk, name: str) -> tuple[int, str]:
    """It may not even come to the question: opening the ledger needs room too."""
    return pressed(desk, ["undo", name], r"Go\?|Free some space", "y", "enter")


@pytest.mark.parametrize("where", ["project", "ledger"])
def test_no_room_for_what_is_approved_and_undone(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, where: str
) -> None:
    with small_disk(tmp_path / "disk", SIZE) as disk:
        if where == "project":
            desk = Desk(copied(desk.root, disk / "project"))
        else:
            monkeypatch.setenv("RINGI_STATE_DIR", str(disk))
        before = desk.files()
        name = desk.agent("head -c 300000 /dev/urandom | base64 > large.txt; echo more >> README.md")
        filler = fill(disk, 200_000)
        code, told = pressed(desk, ["review", name], r"\[a\]pply", "a")
        assert (code, "Free some space" in told) == (1, True), told
        assert desk.files() == before
        filler.unlink()
        # The person said yes already; only the writing is missing.
        code, told = pressed(desk, ["review", name], "approved, not carried out", "a", "y")
        assert (code, "2 files written" in told) == (0, True), told
        after = desk.files()
        assert after.keys() - before.keys() == {"large.txt"}
        filler = fill(disk, 0)
        code, told = undone(desk, name)
        assert (code, "Free some space" in told) == (1, True), told
        assert desk.files() == after
        filler.unlink()
        code, told = undone(desk, name)
        assert (code, "restored byte for byte" in told) == (0, True), told
        assert desk.files() == before
        assert desk.run("log", "--verify").returncode == 0
