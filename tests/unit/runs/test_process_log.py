"""The process log: one line for each thing, whatever is in it, and never a problem for anybody."""

import fcntl
import json
import os
import re
import subprocess
import sys
import unicodedata
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.config.rules import Value
from ringi.kernel.telemetry.port import Component, LogLevel
from ringi.policy.masking import mask_secrets
from ringi.runs.process_log import FILE, ProcessLogFile
from tests.fakes.config import config_with
from tests.fakes.people import SteppingClock
from tests.functional.disks import fill, small_disk

TOKEN = "ghp_" + "aB3dE6gH9jK2mN5pQ8sT1vW4yZ7bC0dF3hJ6"
LINE = re.compile(r"\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\] \[(DEBUG|INFO|WARN|ERROR)\] \[[A-Z][a-z]+\] .+")


def log_in(root: Path, **values: Value) -> ProcessLogFile:
    return ProcessLogFile(root, SteppingClock(), mask_secrets, config_with(**values))


def written(root: Path, name: str = FILE) -> str:
    return (root / ".agent" / "logs" / name).read_text()


@pytest.mark.req("PP-22")
def test_the_lines_are_those_of_the_specification(tmp_path: Path):
    log = log_in(tmp_path)
    log(Component.PLANNING, LogLevel.INFO, "Task started: issue-123")
    log(Component.REFLECTION, LogLevel.WARN, "Action failed", "File not found")
    assert written(tmp_path).splitlines() == [
        "[2026-01-01 00:00:01] [INFO] [Planning] Task started: issue-123",
        "[2026-01-01 00:00:02] [WARN] [Reflection] Action failed: File not found",
    ]
    assert (tmp_path / ".agent" / ".gitignore").exists()


@pytest.mark.req("PP-22")
def test_the_same_as_json(tmp_path: Path):
    log = log_in(tmp_path, **{"logs.format": "json"})
    log(Component.REFLECTION, LogLevel.WARN, "Action failed", 'No "file"\n\u2028here')
    log(Component.EXECUTION, LogLevel.ERROR, "Run stopped")
    first, second = map(json.loads, written(tmp_path).splitlines())
    assert first == {
        "time": "2026-01-01T00:00:01.000000Z",
        "level": "WARN",
        "component": "Reflection",
        "message": "Action failed",
        "detail": 'No "file"\\n\\u2028here',
    }
    assert "detail" not in second


@pytest.mark.req("PP-22", "PP-27")
@pytest.mark.parametrize("level", LogLevel)
def test_what_is_below_the_level_is_not_written(tmp_path: Path, level: LogLevel):
    name = "WARNING" if level is LogLevel.WARN else level.name
    log = log_in(tmp_path, **{"planning.logging.level": name})
    for one in LogLevel:
        log(Component.EXECUTION, one, "x")
    found = re.findall(r"\] \[(\w+)\] \[Exec", written(tmp_path))
    assert found == [one.name for one in LogLevel if one >= level]


@pytest.mark.req("PP-17", "PP-27")
def test_a_confidential_log_has_no_details(tmp_path: Path):
    log = log_in(tmp_path, **{"logs.confidential": True})
    log(Component.PLANNING, LogLevel.WARN, "Goal unclear, 2 questions", "Which?")
    assert written(tmp_path).endswith("[WARN] [Planning] Goal unclear, 2 questions\n")


@pytest.mark.req("PP-22", "PP-17")
@pytest.mark.parametrize("as_json", [False, True])
@given(message=st.text(), detail=st.text())
def test_a_record_is_one_line_whatever_it_says(tmp_path_factory, as_json: bool, message: str, detail: str):
    root = tmp_path_factory.mktemp("log")
    log = log_in(root, **{"logs.format": "json" if as_json else "text"})
    log(Component.PLANNING, LogLevel.INFO, "before")
    log(Component.REFLECTION, LogLevel.ERROR, f"x{message}", detail)
    log(Component.PLANNING, LogLevel.INFO, "after")
    text = written(root)
    lines = text.splitlines()  # at every line end that Unicode knows
    assert len(lines) == 3
    assert not [c for c in text if c != "\n" and unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    if as_json:
        assert [json.loads(line)["component"] for line in lines] == ["Planning", "Reflection", "Planning"]
    else:
        assert all(LINE.fullmatch(line) for line in lines)


@pytest.mark.req("PP-17")
def test_secrets_are_masked_and_long_texts_cut(tmp_path: Path):
    log = log_in(tmp_path)
    log(
        Component.EXECUTION,
        LogLevel.INFO,
        f"Evaluating action: {TOKEN}",
        "x" * 1_980 + f" {TOKEN} " + "y" * 10**6,
    )
    forged = f"ok\n[2026-01-01 00:00:00] [INFO] [Execution] Run completed\r\x1b[2K{TOKEN}"
    log(Component.EXECUTION, LogLevel.INFO, "Result", forged)
    text = written(tmp_path)
    assert TOKEN[:12] not in text
    assert len(text) < 6_000
    assert len(text.splitlines()) == 2
    assert "\x1b" not in text


@pytest.mark.req("PP-22")
def test_it_is_put_aside_when_it_is_full_and_the_oldest_goes(tmp_path: Path):
    log = log_in(tmp_path)
    for number in range(2_400):
        log(Component.EXECUTION, LogLevel.INFO, f"Line {number:05}", "x" * 1_900)
    folder = tmp_path / ".agent" / "logs"
    assert sorted(path.name for path in folder.iterdir()) == [FILE, f"{FILE}.1", f"{FILE}.2"]
    assert all(path.stat().st_size <= 1_024 * 1_024 + 4_000 for path in folder.iterdir())
    text = "".join(written(tmp_path, name) for name in (f"{FILE}.2", f"{FILE}.1", FILE))
    numbers = [int(found) for found in re.findall(r"Line (\d+)", text)]
    assert numbers == list(range(numbers[0], 2_400))


WRITER = """
import sys
from pathlib import Path
from ringi.kernel.telemetry.port import Component, LogLevel
from ringi.config.keys import DEFAULTS
from ringi.runs.process_log import ProcessLogFile
from ringi.kernel.system import SystemClock
log = ProcessLogFile(Path(sys.argv[1]), SystemClock(), str, DEFAULTS)
for number in range(700):
    log(Component.EXECUTION, LogLevel.INFO, f"Line {sys.argv[2]}-{number}", "x" * 900)
"""


@pytest.mark.req("PP-22")
def test_several_processes_write_at_once_and_no_line_is_lost(tmp_path: Path):
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), name]) for name in "abc"]
    assert [writer.wait(120) for writer in writers] == [0, 0, 0]
    folder = tmp_path / ".agent" / "logs"
    lines = [line for path in folder.iterdir() for line in path.read_text().splitlines()]
    assert all(LINE.fullmatch(line) and line.endswith("x" * 900) for line in lines)
    found = sorted(line.split(" Line ")[1].split(":")[0] for line in lines)
    assert found == sorted(f"{name}-{number}" for name in "abc" for number in range(700))
    assert (folder / f"{FILE}.1").exists()


@pytest.mark.req("PP-22")
def test_nothing_in_its_place_matters(tmp_path: Path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine\n")
    root = tmp_path / "project"
    folder = root / ".agent" / "logs"
    folder.mkdir(parents=True)
    log = log_in(root)
    (folder / FILE).symlink_to(elsewhere)
    log(Component.PLANNING, LogLevel.INFO, "one")
    (folder / FILE).unlink()
    os.mkfifo(folder / FILE)
    log(Component.PLANNING, LogLevel.INFO, "two")
    assert elsewhere.read_text() == "mine\n"
    assert "two" in written(root)
    (folder / FILE).unlink()
    (folder / FILE).mkdir()
    log(Component.PLANNING, LogLevel.INFO, "three")
    (folder / FILE).rmdir()
    (folder / FILE).hardlink_to(elsewhere)
    log(Component.PLANNING, LogLevel.INFO, "four")
    assert elsewhere.read_text() == "mine\n"
    (folder / FILE).unlink()
    folder.rmdir()
    folder.symlink_to(tmp_path)
    log(Component.PLANNING, LogLevel.INFO, "five")
    assert not (tmp_path / FILE).exists()
    log_in(tmp_path / "nowhere")(Component.PLANNING, LogLevel.INFO, "six")
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.req("PP-22")
@pytest.mark.skipif(os.getuid() != 0, reason="only root can mount a small disk")
def test_a_full_disk_is_nobodys_problem_and_the_next_line_is_whole(tmp_path: Path):
    with small_disk(tmp_path / "disk", 400) as disk:
        log = log_in(disk)
        log(Component.PLANNING, LogLevel.INFO, "before")
        full = fill(disk, 0)
        for _ in range(20):
            log(Component.PLANNING, LogLevel.INFO, "during", "x" * 1_900)
        full.unlink()
        log(Component.PLANNING, LogLevel.INFO, "after")
        first, *_, last = written(disk).splitlines()
    assert (first[-6:], last[22:]) == ("before", "[INFO] [Planning] after")


@pytest.mark.req("PP-22")
def test_a_file_that_loses_its_name_gets_each_line_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The name is gone for a moment, between two renames of somebody who rotates."""
    log = log_in(tmp_path)
    log(Component.PLANNING, LogLevel.INFO, "first")
    path = tmp_path / ".agent" / "logs" / FILE
    path.write_bytes(b"x" * 1024 * 1024 + b"\n")
    lock = fcntl.flock
    aside = path.with_name("aside")

    def lose_the_name(descriptor: int, how: int) -> None:
        lock(descriptor, how)
        if not aside.exists():
            path.rename(aside)

    monkeypatch.setattr(fcntl, "flock", lose_the_name)
    log(Component.PLANNING, LogLevel.INFO, "second")
    texts = [file.read_text() for file in path.parent.iterdir()]
    assert sum(text.count("second") for text in texts) == 1
