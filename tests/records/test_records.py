"""`make records` with the sources as they are, and what the recorder itself promises."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.records import compare, coverage
from tests.records.__main__ import TOOLS, sandbox_works
from tests.records.plain import Plain
from tests.records.program import ROOT, START
from tests.records.scene import Scene
from tests.records.scenes import QUICK, SCENES

ID = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
COMMIT = "1234567890abcdef1234567890abcdef12345678"
_BY_WEIGHT = sorted(SCENES.keys() - set(QUICK), key=lambda name: (-SCENES[name].weight, name))
GROUPS = [_BY_WEIGHT[part::4] for part in range(4)]
"""Each is played by one process, because it takes a while to begin."""


@pytest.mark.parametrize("name", QUICK)
def test_names_are_those_that_are_recorded(name: str, tmp_path: Path) -> None:
    scene = Scene(tmp_path, Path(sys.prefix))
    with scene.at_end:
        SCENES[name].play(scene)
    kinds = {record.partition("/")[0] for record in scene.records}
    recorded = {record: text for record, text in compare.read_all().items() if record in scene.records
                or (record.partition("/")[0] in kinds and name != "python")}  # fmt: skip
    verdict = compare.compare(recorded, scene.records)
    said = "\n".join(compare.describe(verdict, recorded, scene.records))
    assert verdict.is_clean, f"{said}\nIf this is meant: make records ARGS='--write {name}'"


@pytest.mark.skipif(
    not all(map(shutil.which, TOOLS)) or not sandbox_works(), reason="recorded are commands in a sandbox, too"
)
@pytest.mark.parametrize("names", GROUPS, ids="-".join)
def test_commands_do_and_say_what_is_recorded(names: list[str]) -> None:
    """In both languages. Each scene is nobody's child: below an agent, it would record an agent's."""
    words = [sys.executable, "-m", "tests.records", "--here", "--jobs", "1", *names]
    for _ in range(2):  # what a command leaves running may meet a rewind; a sentence differs twice
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return
    pytest.fail(
        f"{done.stdout}{done.stderr}\nIf this is meant: make records ARGS='--write {' '.join(names)}'"
    )


def test_every_command_has_its_records() -> None:
    assert list(coverage.find_faults(compare.read_all())) == []


def test_a_command_without_records_is_named() -> None:
    there = ["help/new", "cli/new/success", "cli/new/json", "cli/new/japanese", "help/grant"]
    assert list(coverage.find_faults(dict.fromkeys(there, "exit code 0"))) == [
        "ringi new has no record refusal"
    ]


def test_a_record_is_what_its_name_says() -> None:
    records = {"cli/a/success": "exit code 6", "cli/a/refusal": "exit code 0", "cli/a/json": "exit code 3"}
    assert list(coverage.find_faults(records)) == [
        "cli/a/refusal is no refusal",
        "cli/a/success is not what its name says: exit code 6",
    ]


def plain(**known: str) -> Plain:
    return Plain({"/var/tmp/x": "<world>", "/var/tmp/x/project": "<project>"}, START, known.values())


def shown() -> Iterator[tuple[str, str]]:
    yield f"{ID} {OTHER} {ID}", "<id 1> <id 2> <id 1>"
    yield f"{ID} {ID[:8]} dead beef 0f8f", "<id 1> <id 1 short> dead beef <id 1 short>"
    yield "1234567 1234568", "<object 1 short> 1234568"
    yield "2026-01-05T09:00:00.000000Z 2026-01-05 09:00", "<now> <this minute>"
    yield "2026-01-06T08:59:57Z 2026-01-05T09:00:30Z", "<in 24 h> <now + 30 s>"
    yield "2026-01-04T09:00:00Z 2026-01-03T09:00:00Z", "<time 1> <time 2>"
    yield "2030-01-01T00:00:00Z", "<real time>"
    yield "/var/tmp/x/project/a.py /var/tmp/x/home", "<project>/a.py <world>/home"
    yield "20260105-090001-a1b2c3 20260105-090001-a1b2c3", "<stamp 1> <stamp 1>"
    yield "ssh-ed25519 in a decade of 300 facades", "ssh-ed25519 in a decade of 300 facades"
    yield '"pid": 71, process 8 at 127.0.0.1:4711', '"pid": <pid>, process <pid> at 127.0.0.1:<port>'


@pytest.mark.parametrize(("raw", "record"), list(shown()))
def test_what_differs_between_machines_is_numbered(raw: str, record: str) -> None:
    assert plain(commit=COMMIT).text(raw) == record


def test_a_difference_is_shown_as_a_diff_and_counted() -> None:
    recorded = {"cli/a/success": "$ ringi a\nexit code 0\n", "cli/b/success": "b\n", "cli/c/success": "c\n"}
    found = {"cli/a/success": "$ ringi a\nexit code 1\n", "cli/b/success": "b\n", "cli/d/success": "d\n"}
    lines = list(compare.describe(compare.compare(recorded, found), recorded, found))
    assert "-exit code 0" in lines
    assert "+exit code 1" in lines
    assert lines[-3:] == [
        "missing: cli/c/success",
        "new: cli/d/success",
        "4 records: 1 as recorded, 1 differ, 1 missing, 1 new",
    ]
