"""Capturing the project's state: what has not changed is not read again, and what may have is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi.api import Workspace
from ringi.domain.project_state import Dependencies, Unanalysed
from ringi.text import Text
from ringi.usecases import project
from ringi.workspace.dependencies import is_final
from ringi.workspace.dependencies.references import GIVEN_UP
from tests.helpers import ledger_of, open_scratch

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


@pytest.mark.parametrize(
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
