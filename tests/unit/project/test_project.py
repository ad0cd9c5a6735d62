"""Capturing the project's state: what has not changed is not read again, and what may have is."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.app.api import Workspace
from ringi.errors import BadDocument
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.plans import capture as project
from ringi.project.dependencies import is_final
from ringi.project.dependencies.references import GIVEN_UP
from ringi.project.state import Dependencies, EditorState, Unanalysed, Unsaved, why_incomplete
from tests.helpers import ledger_of, open_scratch
from tests.tables import each

GARBAGE = b"not a cache"


@pytest.fixture
def ws(tmp_path: Path) -> Iterator[Workspace]:
    with open_scratch(tmp_path) as workspace:
        (workspace.places.root / "uses.py").write_text("import used\n")
        (workspace.places.root / "used.py").write_text("")
        yield workspace


def spoiled(ws: Workspace) -> None:
    """Whoever resolves imports writes this file anew."""
    (ws.places.state / "dependencies" / "references").write_bytes(GARBAGE)


def is_spoiled(ws: Workspace) -> bool:
    return (ws.places.state / "dependencies" / "references").read_bytes() == GARBAGE


@pytest.mark.req("CP-10")
def test_an_unchanged_project_is_not_read_again(ws: Workspace):
    first = project.capture(ws).state
    assert first.dependencies.uses["uses.py"] == ("used.py",)
    spoiled(ws)
    writes = ledger_of(ws).database.total_changes
    again = project.capture(ws).state
    assert again == first
    assert is_spoiled(ws), "no import is resolved again"
    assert ledger_of(ws).database.total_changes == writes


@pytest.mark.req("CP-10")
def test_a_changed_file_is(ws: Workspace):
    first = project.capture(ws).state
    spoiled(ws)
    (ws.places.root / "uses.py").write_text("")
    again = project.capture(ws).state
    assert again.snapshot_id != first.snapshot_id
    assert "uses.py" not in again.dependencies.uses
    assert not is_spoiled(ws)


@each(
    ("why", "final"),
    [
        (Text("only in part: line {line} is not understood", line=3), True),
        (GIVEN_UP, False),
        (Text("it changed while it was being read"), False),
        (Text("it cannot be read: {problem}", problem="no"), False),
    ],
)
def test_what_may_pass_is_tried_again(why: Text, final: bool):
    assert is_final(Dependencies({}, (Unanalysed("a.py", str(why)),))) is final


@pytest.mark.req("CP-10")
def test_what_an_editor_pushes(ws: Workspace):
    root = ws.places.root
    (root / "saved.py").write_text("x = 1\n")
    pushed = {
        "editor": "an editor",
        "diagnostics": [
            {"file": str(root / "uses.py"), "line": 1, "column": 8, "endLine": 1, "endColumn": 12,
             "message": "unused", "severity": "note", "code": "F401", "source": "a language server"},
            {"file": "./used.py", "message": "empty"},
            {"file": "/elsewhere/uses.py", "message": "of another project"},
        ],
        "unsaved": [
            "uses.py",
            str(root / "used.py"),
            "/elsewhere/other.py",
            "../beside.py",
            {"path": "saved.py", "text": "x = 1\n"},
            {"path": "saved.py", "sha256": codec.digest(b"x = 1\n")},
            {"path": "saved.py", "text": "x = 2\n"},
            {"path": "new.py", "text": ""},
        ],
    }  # fmt: skip
    captured = project.capture(
        ws, editor=codec.decode_foreign(json.dumps(pushed).encode(), EditorState, "push")
    )
    state = captured.state
    assert captured.outside == 1
    assert [(one.file, one.end_column, one.source) for one in state.diagnostics] == [
        ("used.py", None, ""),
        ("uses.py", 12, "a language server"),
    ]
    assert [gap.subject for gap in state.gaps] == ["uses.py", "used.py", "saved.py", "new.py"]
    assert "uses.py, used.py, saved.py, new.py" in str(why_incomplete(state.gaps))
    assert "uses.py has changes" in str(why_incomplete(state.gaps[:1]))
    assert not state.complete


@pytest.mark.req("CP-10")
def test_a_hash_that_is_none_or_of_another_text_is_refused(ws: Workspace):
    other = codec.digest(b"another")
    pushed = EditorState(editor="an editor", unsaved=(Unsaved("uses.py", sha256=other, text="one"),))
    with pytest.raises(BadDocument, match=r"sha256 of uses\.py is not that of its text") as caught:
        project.capture(ws, editor=pushed)
    assert caught.value.details["see"] == "ringi check --schema editor-state"
    assert ws.project_state() is None
    fine = EditorState(
        editor="an editor", unsaved=(Unsaved("uses.py", sha256=other.upper(), text="another"),)
    )
    assert [gap.subject for gap in project.capture(ws, editor=fine).state.gaps] == ["uses.py"]
