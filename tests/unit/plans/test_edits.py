"""Lines edited one by one leave every other byte as it was."""

from hypothesis import assume, given
from hypothesis import strategies as st

from ringi.plans import edits
from ringi.plans.diff_view import Row, RowKind

LINES = st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=8)


def row_at(new: bytes, number: int, kind: RowKind = RowKind.KEPT) -> Row:
    return Row(kind, new=number, data=new.split(b"\n")[number - 1])


@given(LINES, st.booleans(), st.data())
def test_one_line_replaced(lines: list[bytes], ended: bool, data: st.DataObject) -> None:
    new = b"\n".join(lines) + (b"\n" if ended else b"")
    number = data.draw(st.integers(1, len(lines)))
    row = row_at(new, number)
    assert edits.replace_line(new, row, edits.line_text(row)) == new
    changed = edits.replace_line(new, row, "日本")
    end = b"\r" if lines[number - 1].endswith(b"\r") else b""
    assert changed.split(b"\n") == [
        "日本".encode() + end if at == number else line for at, line in enumerate(new.split(b"\n"), 1)
    ]


@given(LINES, st.booleans(), st.data())
def test_one_line_added_and_deleted_again(lines: list[bytes], ended: bool, data: st.DataObject) -> None:
    assume(ended or lines[-1])
    new = b"\n".join(lines) + (b"\n" if ended else b"")
    number = data.draw(st.integers(1, len(lines)))
    longer = edits.add_line_below(new, row_at(new, number), "x")
    assert len(longer.split(b"\n")) == len(new.split(b"\n")) + 1
    assert longer.split(b"\n")[number].rstrip(b"\r") == b"x"
    back = edits.delete_line(longer, row_at(longer, number + 1))
    # Below a last line without newline, the line before has got one.
    assert back in {new, new + b"\n"}


def test_a_removed_line_is_kept() -> None:
    row = Row(RowKind.REMOVED, old=2, new=1, data=b"b")
    assert edits.delete_line(b"a\nc\n", row) == b"a\nb\nc\n"
    assert edits.delete_line(b"", Row(RowKind.REMOVED, old=1, new=0, data=b"b")) == b"b\n"


def test_the_last_line_goes_and_the_one_before_keeps_its_newline() -> None:
    assert edits.delete_line(b"a\nb", row_at(b"a\nb", 2)) == b"a\n"
    assert edits.delete_line(b"a\n", row_at(b"a\n", 1)) == b""
    assert edits.delete_line(b"a", row_at(b"a", 1)) == b""
