"""What the VS Code extension could start, against the command line: nothing of it decides."""

from pathlib import Path

import pytest

from tests.conventions.test_vscode import allowed
from tests.functional.desk import Desk


@pytest.mark.req("CP-11")
def test_an_editor_without_a_terminal_can_neither_approve_nor_apply(desk: Desk, repo: Path, tmp_path: Path):
    new = tmp_path / "new.txt"
    new.write_text("new\n")
    desk.json("propose", "--file", f"new.txt={new}", "--title", "New")
    before = desk.files()
    for words in (["approve", "p1"], ["apply", "p1"], ["review", "p1"], ["execute", "p1"], ["undo", "p1"]):
        done = desk.run("--json", *words)
        assert done.returncode not in {0, 1}, done.stdout
        assert words[0] not in allowed()
    assert desk.files() == before
    [waiting] = desk.json()["waiting"]
    assert (waiting["status"], waiting["version"]) == ("pending_review", 1)


@pytest.mark.req("CP-11")
def test_what_an_editor_may_start_leaves_the_files_alone(desk: Desk, repo: Path, tmp_path: Path):
    new = tmp_path / "new.txt"
    new.write_text("new\n")
    desk.json("propose", "--file", f"new.txt={new}", "--title", "New")
    before = desk.files()
    given = {
        "home": [], "list": ["list"], "show": ["show", "p1"], "status": ["status"], "why": ["why", "x:1"],
        "amend": ["amend", "p1", "--comment", "new.txt:1", "why?"], "state push": ["state", "push", "x"],
        "reject": ["reject", "p1", "--feedback", "no"], "discard": ["discard", "p1"],
        "--version": ["--version"],
    }  # fmt: skip
    assert set(given) == set(allowed())
    for words in given.values():
        desk.run("--json", *words)
    assert desk.files() == before
    assert desk.json()["waiting"] == []
