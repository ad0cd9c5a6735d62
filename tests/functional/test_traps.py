"""Traps that are known to shut, one by one; no command shuts one."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crash.killing import FULL
from tests.functional.desk import Desk
from tests.functional.test_git_untouched import CASES
from tests.functional.traps import SECRET, TRAPS, Clone, Trap


@pytest.fixture
def clone(repo: Path, tmp_path: Path) -> Clone:
    return Clone(repo, tmp_path / "aside")


def test_there_are_many():
    assert len({trap.name for trap in TRAPS}) == len(TRAPS) >= 60


@pytest.mark.parametrize("trap", TRAPS, ids=lambda trap: trap.name)
def test_each_trap_can_shut(clone: Clone, trap: Trap):
    clone.plant(trap)
    assert clone.fired == set()
    clone.spring(trap)
    assert clone.fired == {trap.name}


OTHERS = ("include.path", "config.worktree")  # each takes the place of core.fsmonitor
# With these on the search paths, or with settings that need trust, some commands do not come to their end.
IN_THE_WAY = ("program-", "module-", "setting-")


def test_no_command_shuts_one(clone: Clone, isolated: Path) -> None:
    for trap in TRAPS:
        if trap.name not in OTHERS and not trap.name.startswith(IN_THE_WAY):
            clone.plant(trap)
    desk = Desk(clone.root)
    for name, case in CASES:
        case.use(desk)
        assert clone.fired == set(), f"ringi {name}"
    assert leaks(clone.root / ".agent") == leaks(isolated) == []


COMMANDS = (
    "--version", "", "init", "doctor", "state capture", "propose --delete README.md", "show p1 --diff",
    "review --plain", "with -- /bin/sh -c true", "with -- /bin/sh -c 'echo x >> app/hello.py'", "list",
    "plan 'Add a page'", "verify --all", "log --verify", "recover", "init --agents claude,codex",
)  # fmt: skip


@pytest.mark.parametrize("other", [None, *OTHERS] if FULL else [None])
def test_nor_with_the_project_on_the_search_path(
    clone: Clone, other: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for trap in TRAPS:
        if trap.name == other or trap.name not in OTHERS:
            clone.plant(trap)
    monkeypatch.setenv("PATH", f":.:node_modules/.bin:.venv/bin:{os.environ['PATH']}")
    for command in COMMANDS:
        # -P: the shell's own `ringi` does not look there either.
        words = [sys.executable, "-P", "-m", "ringi", *shlex.split(command)]
        done = subprocess.run(
            words, cwd=clone.root, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
        )
        assert clone.fired == set(), command
        assert done.returncode in {0, 3}, (command, done.stderr)
        assert SECRET not in done.stdout + done.stderr


def leaks(folder: Path) -> list[Path]:
    """The files that hold the secret."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    return [path for path in files if SECRET.encode() in path.read_bytes()]
