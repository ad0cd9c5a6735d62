"""Files of a project that never end or never answer: no command waits for them or is filled by them."""

import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.functional import warm
from tests.functional.desk import RINGI, Desk

CPU = 15
"""Seconds of processor time, however busy the machine is."""
LONG = 120
"""Seconds: a command that waits for a file would wait for ever."""


def pipe(path: Path) -> None:
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink(missing_ok=True)
    with path.open("wb") as file:
        file.truncate(1 << 40)


def run(root: Path, *words: str, cpu: int = CPU) -> subprocess.CompletedProcess[str]:
    """With little memory and processor time: what is read whole does not fit."""
    limits = {resource.RLIMIT_AS: 2 << 30, resource.RLIMIT_CPU: cpu}
    with warm.Popen(
        [*RINGI, *words],
        cwd=root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        with suppress(ProcessLookupError):  # it may have ended
            for kind, most in limits.items():
                resource.prlimit(process.pid, kind, (most, most))
        try:
            said = process.communicate(timeout=LONG)
        except BaseException:
            process.kill()
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, *said)


@pytest.mark.parametrize("worse", [pipe, endless])
@pytest.mark.parametrize("name", [".agent/config.yaml", ".agent/workspace.json", ".agent/allowed_signers"])
def test_a_file_of_the_project_neither_blocks_nor_fills(
    desk: Desk, name: str, worse: Callable[[Path], None]
) -> None:
    (desk.root / "new.txt").write_text("new\n")
    desk.json("propose", "--file", f"README.md={desk.root / 'new.txt'}")
    worse(desk.root / name)
    for words in (("--version",), ("list",), ("show", "p1"), ("doctor",), ("config", "check")):
        found = run(desk.root, *words)
        assert "Traceback" not in found.stderr, (words, found.stderr)
        assert "mistake in ringi" not in found.stderr, (words, found.stderr)
    # A clone elsewhere is known by its identity.
    moved = desk.root.with_name("moved")
    desk.root.rename(moved)
    try:
        for words in ((), ("doctor",)):
            assert "mistake in ringi" not in run(moved, *words).stderr
    finally:
        moved.rename(desk.root)


@pytest.mark.parametrize("worse", [pipe, endless])
@pytest.mark.parametrize("name", ["objects/info/alternates", "sharedindex.0123", "info/exclude"])
def test_a_file_of_git_neither_blocks_nor_fills(desk: Desk, name: str, worse: Callable[[Path], None]) -> None:
    path = desk.root / ".git" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    worse(path)
    found = run(desk.root, "state", "capture")
    assert "mistake in ringi" not in found.stderr, found.stderr


@pytest.mark.parametrize("worse", [pipe, endless])
def test_a_file_that_a_plan_is_about_neither_blocks_nor_fills(
    desk: Desk, tmp_path: Path, worse: Callable[[Path], None]
) -> None:
    (tmp_path / "new").write_text("new\n")
    desk.json("propose", "--file", f"README.md={tmp_path / 'new'}")
    worse(desk.root / "README.md")
    for words in (
        ("propose", "--delete", "README.md"),
        ("propose", "--file", f"README.md={tmp_path / 'new'}"),
        ("show", "p1"),
        ("show", "p1", "--diff"),
        ("request", "p1"),
        ("execute", "p1"),
        ("propose", "--again", "p1"),
    ):
        found = run(desk.root, *words)
        assert found.returncode != 0 or words[0] == "show", (words, found.stdout)
        assert "mistake in ringi" not in found.stderr, (words, found.stderr)


def test_alternates_are_not_followed_without_end(desk: Desk) -> None:
    (desk.root / ".git/objects/info").mkdir(exist_ok=True)
    lines = (f"/nowhere/{number}\n" for number in range(150_000))
    (desk.root / ".git/objects/info/alternates").write_text("".join(lines))
    done = run(desk.root, "state", "capture", cpu=CPU // 3)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("worse", [pipe, endless])
def test_an_agents_settings_in_the_project_are_not_read_whole(
    desk: Desk, worse: Callable[[Path], None]
) -> None:
    path = desk.root / ".codex/config.toml"
    path.parent.mkdir()
    worse(path)
    found = run(desk.root, "init", "--agents", "codex")
    assert "mistake in ringi" not in found.stderr, found.stderr
    if worse is endless:
        assert path.stat().st_size == 1 << 40


@pytest.mark.parametrize("words", [("--version",), ("--lang", "en", "--version"), ("--json", "--version")])
def test_the_version_reads_no_file_of_the_project(desk: Desk, tmp_path: Path, words: tuple[str, ...]) -> None:
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    (desk.root / ".agent").mkdir(exist_ok=True)
    (desk.root / ".agent/config.yaml").write_text("language: ja\n")
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=open,openat,readlink", "-o", str(trace), *RINGI, *words]
    found = subprocess.run(command, cwd=desk.root, capture_output=True, text=True, check=False, timeout=LONG)
    assert found.returncode == 0
    assert found.stdout.startswith("ringi ")
    opened = trace.read_text(errors="replace")
    assert ".agent" not in opened
    assert "/.git" not in opened
