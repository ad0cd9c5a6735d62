"""Lines edited one by one leave every other byte as it was."""

import os
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringi.cli.reviewing import editing
from ringi.cli.reviewing.rows import Kind, Row
from ringi.errors import NoSuchProgram, StorageFailed

LINES = st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=8)


def row_at(new: bytes, number: int, kind: Kind = Kind.KEPT) -> Row:
    return Row(kind, new=number, data=new.split(b"\n")[number - 1])


@given(LINES, st.booleans(), st.data())
def test_one_line_replaced(lines: list[bytes], ended: bool, data: st.DataObject) -> None:
    new = b"\n".join(lines) + (b"\n" if ended else b"")
    number = data.draw(st.integers(1, len(lines)))
    row = row_at(new, number)
    assert editing.replaced(new, row, editing.line_text(row)) == new
    changed = editing.replaced(new, row, "日本")
    end = b"\r" if lines[number - 1].endswith(b"\r") else b""
    assert changed.split(b"\n") == [
        "日本".encode() + end if at == number else line for at, line in enumerate(new.split(b"\n"), 1)
    ]


@given(LINES, st.booleans(), st.data())
def test_one_line_added_and_deleted_again(lines: list[bytes], ended: bool, data: st.DataObject) -> None:
    assume(ended or lines[-1])
    new = b"\n".join(lines) + (b"\n" if ended else b"")
    number = data.draw(st.integers(1, len(lines)))
    longer = editing.added_below(new, row_at(new, number), "x")
    assert len(longer.split(b"\n")) == len(new.split(b"\n")) + 1
    assert longer.split(b"\n")[number].rstrip(b"\r") == b"x"
    back = editing.without(longer, row_at(longer, number + 1))
    # Below a last line without newline, the line before has got one.
    assert back in {new, new + b"\n"}


def test_a_removed_line_is_kept() -> None:
    row = Row(Kind.REMOVED, old=2, new=1, data=b"b")
    assert editing.without(b"a\nc\n", row) == b"a\nb\nc\n"
    assert editing.without(b"", Row(Kind.REMOVED, old=1, new=0, data=b"b")) == b"b\n"


def test_the_last_line_goes_and_the_one_before_keeps_its_newline() -> None:
    assert editing.without(b"a\nb", row_at(b"a\nb", 2)) == b"a\n"
    assert editing.without(b"a\n", row_at(b"a\n", 1)) == b""
    assert editing.without(b"a", row_at(b"a", 1)) == b""


def editor(folder: Path, script: str) -> dict[str, str]:
    program = folder / "ed it"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return {**os.environ, "EDITOR": f"'{program}' --flag"}


def test_the_editor_gets_a_copy_with_the_files_name(tmp_path: Path) -> None:
    environment = editor(tmp_path, 'test "$1" = --flag && basename "$2" > "$2.name"; cat "$2.name" >> "$2"')
    made, code = editing.in_editor("deep/er/mödule.py", b"\xff\n", environment)
    assert (made, code) == (b"\xff\n" + "mödule.py\n".encode(), 0)


def test_an_editor_that_is_missing_or_fails(tmp_path: Path) -> None:
    with pytest.raises(NoSuchProgram):
        editing.in_editor("a", b"", {"VISUAL": "/nowhere/vi", "EDITOR": "true", "PATH": os.defpath})
    with pytest.raises(NoSuchProgram):
        editing.in_editor("a", b"", {"EDITOR": "'unbalanced", "PATH": os.defpath})
    assert editing.in_editor("a", b"x", editor(tmp_path, "exit 3")) == (b"x", 3)
    with pytest.raises(StorageFailed):
        editing.in_editor("a", b"x", editor(tmp_path, 'rm "$2"'))
