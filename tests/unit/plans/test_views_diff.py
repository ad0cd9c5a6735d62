"""Rows of a diff: every line is there once, with the numbers that it has in both files."""

import subprocess
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.approvals.feedback import LineComment, Side
from ringi.kernel.lines import TextSpan
from ringi.kernel.text import Text
from ringi.patch.render import FileSide, render
from ringi.plans.diff_view import DiffSection, Row, RowKind, SectionContent, hunks_of

TEXTS = st.lists(st.sampled_from([b"a", b"b", b"c", b"", b"d\r", b"@@ x", b"\\ y"]), max_size=40).flatmap(
    lambda lines: st.sampled_from([b"\n".join(lines), b"\n".join([*lines, b""])])
)


def section_of(
    old: bytes, new: bytes, *comments: LineComment, notes: tuple[TextSpan, ...] = ()
) -> DiffSection:
    hunks = render("f", FileSide(old, "100644"), FileSide(new, "100644")).hunks
    return DiffSection(
        "f", "f", Text("f"), lambda: SectionContent(hunks, notes, old=old, new=new), comments=comments
    )


def comment(line: int, side: Side, quote: str, text: str = "hm") -> LineComment:
    return LineComment(timestamp="", path="f", line=line, side=side, text=text, quote=quote, version=1)


def rows_of(section: DiffSection) -> list[Row]:
    return [section.row(index) for index in range(section.count)]


def lines_of(data: bytes) -> list[bytes]:
    lines = data.split(b"\n")
    return lines if lines[-1] else lines[:-1]


@given(TEXTS, TEXTS)
def test_each_line_has_its_numbers(old: bytes, new: bytes) -> None:
    section = section_of(old, new)
    before, after = lines_of(old), lines_of(new)
    kept, added, removed = [], [], []
    for row in rows_of(section):
        if row.kind in {RowKind.KEPT, RowKind.REMOVED}:
            assert before[row.old - 1] == row.data
        if row.kind in {RowKind.KEPT, RowKind.ADDED}:
            assert after[row.new - 1] == row.data
        if row.kind is RowKind.KEPT:
            kept.append(row.new)
        elif row.kind is RowKind.ADDED:
            added.append(row.new)
        elif row.kind is RowKind.REMOVED:
            removed.append(row.old)
    # What is not removed and not added is the same on both sides.
    left = [line for number, line in enumerate(before, 1) if number not in removed]
    assert left == [line for number, line in enumerate(after, 1) if number not in added] or not (
        added or removed
    )
    assert kept == sorted(kept)


SIGNS = {RowKind.KEPT: b" ", RowKind.ADDED: b"+", RowKind.REMOVED: b"-"}


@given(TEXTS, TEXTS)
@settings(max_examples=25)
def test_git_makes_of_what_is_shown_what_is_written(old: bytes, new: bytes) -> None:
    section = section_of(old, new)
    patch = b"--- a/f\n+++ b/f\n"
    for row in rows_of(section):
        if row.kind is RowKind.HUNK:
            hunk = section.content.hunks[row.hunk - 1]
            patch += b"@@ -%d,%d +%d,%d @@\n" % hunk[:4]
        elif row.kind is RowKind.MARK:
            patch += b"\\ No newline at end of file\n"
        elif row.kind in SIGNS:
            patch += SIGNS[row.kind] + row.data + b"\n"
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f").write_bytes(old)
        if section.hunks:
            subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=folder, input=patch, check=True)
        assert Path(folder, "f").read_bytes() == new


@given(TEXTS, TEXTS, st.data())
def test_comments_stand_below_their_lines(old: bytes, new: bytes, data: st.DataObject) -> None:
    plain = rows_of(section_of(old, new))
    lines = [row for row in plain if row.kind in {RowKind.ADDED, RowKind.REMOVED, RowKind.KEPT}]
    if not lines:
        return
    chosen = data.draw(st.lists(st.sampled_from(lines), max_size=4))
    said = []
    for number, row in enumerate(chosen):
        side, line = (Side.OLD, row.old) if row.kind is RowKind.REMOVED else (Side.NEW, row.new)
        said.append(comment(line, side, row.data.decode(), f"comment {number}"))
    section = section_of(old, new, *said)
    shown = rows_of(section)
    assert [row for row in shown if row.kind is not RowKind.COMMENT] == plain
    assert section.count == len(plain) + len(chosen)
    for index, row in enumerate(shown):
        if row.kind is RowKind.COMMENT:
            about = next(one for one in reversed(shown[:index]) if one.kind is not RowKind.COMMENT)
            number = int(str(row.note.text).removeprefix("comment "))
            assert about == chosen[number]


def test_a_comment_whose_line_is_gone_is_shown_beside_the_name() -> None:
    section = section_of(
        b"a\nb\n", b"a\nc\n", comment(2, Side.NEW, "was something else"), comment(900, Side.NEW, "x")
    )
    notes = [str(row.note.text) for row in rows_of(section) if row.kind is RowKind.NOTE]
    assert notes == ["line 2: hm", "line 900: hm"]
    section.say([comment(2, Side.NEW, "c", "now")])
    kinds = [row.kind for row in rows_of(section)]
    assert kinds == [
        RowKind.FILE,
        RowKind.HUNK,
        RowKind.KEPT,
        RowKind.REMOVED,
        RowKind.ADDED,
        RowKind.COMMENT,
    ]


def test_hunks_know_where_they_begin_and_end() -> None:
    old = b"".join(b"%d\n" % number for number in range(100))
    new = old.replace(b"10\n", b"x\n").replace(b"50\n", b"y\n").replace(b"90\n", b"")
    section = section_of(old, new, notes=(TextSpan(Text("careful")),))
    rows = rows_of(section)
    assert section.hunks == 3
    for hunk in (1, 2, 3):
        start = section.start(hunk)
        assert rows[start].kind is RowKind.HUNK
        assert all(section.hunk_at(row) == hunk for row in range(start, start + section.length(hunk) + 1))
    assert section.start(3) + section.length(3) + 1 == section.count
    assert section.hunk_at(0) == section.hunk_at(1) == 0


def test_nothing_is_read_before_it_is_looked_at() -> None:
    read = []
    section = DiffSection("f", "f", Text("f"), lambda: read.append(1) or SectionContent())  # type: ignore[func-returns-value]
    section.say([comment(1, Side.NEW, "x")])
    assert not section.loaded
    assert not read
    assert section.count == 2
    assert section.count == 2
    assert read == [1]


def test_what_is_no_diff_is_shown_as_it_stands() -> None:
    hunks, notes = hunks_of(b"Binary files a/x and b/x differ\n")
    assert not hunks
    assert [str(note.text) for note in notes] == ["Binary files a/x and b/x differ"]
    assert hunks_of(b"") == ((), ())
    hunks, _ = hunks_of(b"@@ -1 +1 @@\n-a\n+b\n")
    assert len(hunks) == 1


@given(TEXTS, TEXTS, st.lists(st.tuples(st.integers(0, 6), st.sampled_from([1, -1])), max_size=8))
def test_more_lines_change_nothing_else(old: bytes, new: bytes, asked: list[tuple[int, int]]) -> None:
    section = section_of(old, new)
    hunks, changes = section.hunks, changes_of(section)
    for hunk, direction in asked:
        if hunk <= hunks:
            section.widen(hunk, direction)
    before, after = lines_of(old), lines_of(new)
    assert (section.hunks, changes_of(section)) == (hunks, changes)
    shown = [row for row in rows_of(section) if row.kind is RowKind.KEPT]
    assert len({row.old for row in shown}) == len(shown)
    for row in shown:
        assert before[row.old - 1] == after[row.new - 1] == row.data


def changes_of(section: DiffSection) -> list[Row]:
    return [row for row in rows_of(section) if row.kind in {RowKind.ADDED, RowKind.REMOVED}]


def test_more_lines_step_by_step_up_to_the_whole_file_and_back() -> None:
    old = b"".join(b"line %d\n" % number for number in range(1, 301))
    section = section_of(old, old.replace(b"line 150\n", b"other\n"))
    counts = [section.count]
    while section.widen(1, 1):
        counts.append(section.count)
    # The title, the hunk's own line, and the changed line twice.
    assert counts == [1 + 1 + 8, 1 + 1 + 28, 1 + 1 + 108, 1 + 1 + 301]
    while section.widen(0, -1):
        assert section.count == counts.pop(-2)
    assert section.count == 10


def test_what_lies_between_two_hunks_is_shown_once() -> None:
    old = b"".join(b"line %d\n" % number for number in range(1, 41))
    section = section_of(old, old.replace(b"line 10\n", b"ten\n").replace(b"line 30\n", b"thirty\n"))
    while section.widen(0, 1):
        pass
    kept = [row.old for row in rows_of(section) if row.kind is RowKind.KEPT]
    assert kept == [number for number in range(1, 41) if number not in {10, 30}]


def test_a_comment_on_a_line_further_away_is_shown_below_it() -> None:
    old = b"".join(b"line %d\n" % number for number in range(1, 41))
    new = old.replace(b"line 20\n", b"twenty\n")
    section = section_of(old, new, comment(12, Side.NEW, "line 12"))
    assert section.row(1).kind is RowKind.NOTE
    assert section.widen(1, 1)
    rows = rows_of(section)
    [at] = [number for number, row in enumerate(rows) if row.kind is RowKind.COMMENT]
    assert rows[at - 1].data == b"line 12"
