"""What the VS Code extension could start, against the command line: nothing of it decides."""

from pathlib import Path

import pytest

from tests.conventions.test_vscode import allowed
from tests.fakes.signing import RealKey
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


@pytest.mark.req("CP-11")
def test_what_is_written_into_an_approved_plan_is_not_approved(desk: Desk, listed: RealKey, tmp_path: Path):
    """Any extension can save into the documents of a plan; that is a new version, and a person decides it."""
    new, other = tmp_path / "new.txt", tmp_path / "other.txt"
    new.write_text("new\n")
    other.write_text("other\n")
    desk.json("propose", "--file", f"new.txt={new}", "--title", "New")
    assert desk.run("approve", "p1", "--sign", str(listed.path)).returncode == 0
    before = desk.files()
    assert desk.json("amend", "p1", "--write", f"new.txt={other}")["plan"]["status"] == "pending_review"
    refused = desk.run("execute", "p1"), desk.run("apply", "p1", "--seen", "1", "--sign", str(listed.path))
    assert 0 not in {done.returncode for done in refused}
    assert desk.files() == before
