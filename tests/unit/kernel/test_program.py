"""A command means the program that the person sees from their own folder."""

import os
from pathlib import Path

import pytest

from ringi.errors import NoSuchProgram
from ringi.kernel.process.program import from_here, in_copy, program_name, program_of
from tests.tables import each


@pytest.fixture
def top(tmp_path: Path) -> Path:
    for name in ("repo/tools/agent.sh", "repo/.venv/bin/aider", "agent.sh", "repo/foo"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
    return tmp_path / "repo"


@pytest.mark.parametrize(
    ("here", "command", "meant"),
    [
        (".", ["tools/agent.sh", "-x"], ["tools/agent.sh", "-x"]),
        ("tools", ["./agent.sh", "./agent.sh"], ["./agent.sh", "./agent.sh"]),
        ("tools", ["../../agent.sh"], ["{outside}/agent.sh"]),
        (".", ["../agent.sh"], ["{outside}/agent.sh"]),
        (".", ["sh", "../agent.sh"], ["sh", "{outside}/agent.sh"]),
        ("tools", ["sh", "agent.sh"], ["sh", "agent.sh"]),
        ("tools", ["sh", "-c", "./agent.sh"], ["sh", "-c", "./agent.sh"]),
        (".", ["npx", "foo"], ["npx", "foo"]),
        (".", ["claude", "./foo"], ["claude", "./foo"]),
        (".", ["/bin/sh", "none.sh"], ["/bin/sh", "none.sh"]),
    ],
)
def test_only_files_outside_are_named_in_full(top: Path, here: str, command: list[str], meant: list[str]):
    expected = tuple(word.format(outside=os.path.realpath(top.parent)) for word in meant)
    assert from_here(command, top / here, top) == expected
    assert from_here(expected, top / here, top) == expected


def test_a_link_to_a_folder_outside_leads_there(top: Path):
    (top / "link").symlink_to(top.parent)
    assert from_here(["link/agent.sh"], top, top) == (f"{os.path.realpath(top.parent)}/agent.sh",)


def test_what_is_not_in_the_copy_is_the_workspaces_own(top: Path, tmp_path: Path):
    copy = tmp_path / "copy"
    (copy / "tools").mkdir(parents=True)
    (copy / "tools/agent.sh").write_text("changed\n")
    assert in_copy(["./tools/agent.sh"], copy, top) == ("./tools/agent.sh",)
    assert in_copy(["./.venv/bin/aider", "x"], copy, top) == (f"{top}/.venv/bin/aider", "x")
    assert in_copy(["sh", "./.venv/bin/aider"], copy, top) == ("sh", f"{top}/.venv/bin/aider")
    assert in_copy(["./gone", "x"], copy, top) == ("./gone", "x")
    assert in_copy(["claude"], copy, top) == ("claude",)


def test_a_path_that_leads_to_no_program_is_refused(top: Path):
    assert program_of(["tools/agent.sh"], top, {}) == top / "tools/agent.sh"
    for name in ("./none", "./tools", "none"):
        with pytest.raises(NoSuchProgram):
            program_of([name], top, {"PATH": "/nowhere"})


@each(
    ("command", "name"),
    [
        (["/usr/bin/claude", "x"], "claude"), (["python3.11", "bin/agent.py"], "agent.py"),
        (["sh", "-c", "x"], "sh"), (["sh"], "sh"),
    ],
)  # fmt: skip
def test_the_proposer_is_the_program_or_its_script(command: list[str], name: str):
    assert program_name(command) == name
