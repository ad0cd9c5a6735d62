"""Completion, in a real shell."""

import shlex
import subprocess
from pathlib import Path

import pytest

from tests.functional.desk import RINGI, Desk
from tests.helpers import fingerprint
from tests.tables import each

BASH = """
PATH={programs}:$PATH
. {programs}/completion
COMP_WORDS=({words})
COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_ringi_completion ringi
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Holds a program called ringi."""
    folder = tmp_path / "programs"
    folder.mkdir()
    (folder / "ringi").write_text(f'#!/bin/sh\nexec {shlex.join(RINGI)} "$@"\n')
    (folder / "ringi").chmod(0o755)
    (folder / "completion").write_text(Desk(folder).run("init", "--completion", "bash").stdout)
    return folder


def completed(desk: Desk, programs: Path, words: str) -> list[str]:
    script = BASH.format(programs=shlex.quote(str(programs)), words=words)
    done = subprocess.run(
        ["bash", "--norc", "-c", script], cwd=desk.root, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def filled(desk: Desk) -> Desk:
    for title in ("Say hello", "Say goodbye", "Say nothing"):
        desk.json("propose", "--title", title)
    desk.json("discard", "p2")
    return desk


def test_a_real_bash_knows_commands_options_and_plans(filled: Desk, programs: Path, tmp_path: Path) -> None:
    before = fingerprint(tmp_path, agent=True)
    assert completed(filled, programs, "ringi re") == ["review", "report", "request", "reject", "recover"]
    assert completed(filled, programs, "ringi review --pl") == ["--plain"]
    assert completed(filled, programs, "ringi review ''") == ["p3", "p1"]
    assert fingerprint(tmp_path, agent=True) == before


def test_what_can_be_reviewed_are_branches_too(filled: Desk, programs: Path) -> None:
    filled.git("branch", "agent/greet")
    filled.git("update-ref", "refs/remotes/origin/fix", "HEAD")
    assert completed(filled, programs, "ringi review ''") == ["p3", "p1", "agent/greet", "origin/fix"]
    assert completed(filled, programs, "ringi review agent") == ["agent/greet"]


@each("shell", ["zsh", "fish"])
def test_other_shells_show_titles(filled: Desk, shell: str) -> None:
    words = {"COMP_WORDS": "ringi review ", "COMP_CWORD": "2" if shell == "zsh" else ""}
    done = filled.process(_RINGI_COMPLETE=f"{shell}_complete", **words)
    assert done.returncode == 0
    assert "Say nothing" in done.stdout
    assert "Say goodbye" not in done.stdout
    assert f"{shell}_complete" in filled.run("init", "--completion", shell).stdout


def test_outside_a_workspace_it_is_quiet(programs: Path) -> None:
    before = fingerprint(programs, agent=True)
    assert completed(Desk(programs), programs, "ringi review ''") == []
    assert fingerprint(programs, agent=True) == before
