"""The screen: never wider or higher than the terminal, the cursor always on it, nothing that commands it."""

from hypothesis import example, given
from hypothesis import strategies as st

from ringi.cli.screen.cells import StyledText, break_rows
from ringi.cli.screen.draw import Highlights, screen, wrap
from ringi.cli.screen.highlight import highlight
from ringi.cli.screen.line_editor import LineEditor
from ringi.cli.screen.prompter import help_page
from ringi.cli.screen.terminal import Size
from ringi.cli.screen.viewport import (
    RowPlace,
    ScreenQuestion,
    TextPage,
    Viewport,
    fold,
    step,
    to_hunk,
    to_section,
    visible_rows,
    widen,
)
from ringi.cli.ui import cut, width
from ringi.kernel.lines import TextSpan
from ringi.kernel.text import Text, deceiving
from ringi.patch.render import FileSide, render
from ringi.plans.diff_view import DiffSection, RowKind, SectionContent, hunks_of
from ringi.plans.document import DiffTotals, Plan, PlanDocument, PlanRef, PlanState, PlanStatus
from ringi.plans.review_view import heading_of
from ringi.policy.risk_level import Risk

NASTY = st.text(
    st.sampled_from("aé日本\x1b\u202e\t\r \u0301\u200bｱ🙂\x07") | st.characters(exclude_characters="\n"),
    max_size=30,
)
SIZES = st.builds(Size, st.integers(1, 120), st.integers(1, 40))


def section_of(name: str, old: str, new: str, *notes: str) -> DiffSection:
    sides = [FileSide(text.encode("utf-8", "surrogatepass"), "100644") for text in (old, new)]
    hunks, _ = hunks_of(render("f", *sides).diff)
    said = tuple(TextSpan(Text("{note}", note=note)) for note in notes)
    content = SectionContent(hunks, said, old=sides[0].data, new=sides[1].data)
    return DiffSection(name, name, Text("write {path}", path=name), lambda: content)


def view_of(sections: list[DiffSection], title: str = "title", proposer: str = "me") -> Viewport:
    plan = Plan("id", title, title, (), "", (), "2026-01-01T00:00:00Z", 1, proposer)
    totals = DiffTotals(("a",), 1, 1, 0.5)
    document = PlanDocument(plan=plan, state=PlanState(PlanStatus.PENDING_REVIEW, previews=totals))
    ref = PlanRef("id", 7, title, PlanStatus.PENDING_REVIEW, 1, proposer, "", "", 1, 1, 1, Risk.LOW)
    return Viewport(heading_of(ref, document), sections)


def check_fits(view: Viewport, size: Size, highlights: Highlights) -> None:
    drawn = screen(view, size, highlights)
    for line in drawn.lines:
        assert sum(width(span.text) for span in line) <= size.columns
        assert not any(deceiving(character) for span in line for character in span.text)
    assert len(drawn.lines) <= max(size.rows, 3)
    if view.page is None:
        assert view.cursor in drawn.places


@given(st.lists(st.tuples(NASTY, NASTY), min_size=1, max_size=12), NASTY, SIZES, st.integers(0, 40))
@example([("", "")], "日", Size(1, 3), 0)
def test_it_fits_whatever_it_shows(pairs: list[tuple[str, str]], title: str, size: Size, left: int) -> None:
    old, new = ("\n".join(side) for side in zip(*pairs, strict=True))
    view = view_of([section_of("a", old, new, title), section_of("b", new, old)], title, title)
    view.left, view.wrap = left, left % 2 == 1
    view.message, view.checks = TextSpan(Text("{t}", t=title)), TextSpan(Text("{t}", t=title))
    view.output = [title, title]
    for place in (RowPlace(0, 0), RowPlace(0, view.rows_of(0) - 1), RowPlace(1, view.rows_of(1) - 1)):
        view.cursor = place
        check_fits(view, size, Highlights())
    view.question = ScreenQuestion(Text("{t}?", t=title), LineEditor(title), [Text("{t}", t=title)])
    check_fits(view, size, Highlights())
    view.page = TextPage(
        (StyledText(cut(title, 90)),), ((StyledText("  "), StyledText(cut(title * 9, 500))),)
    )
    check_fits(view, size, Highlights())


def test_coloured_lines_say_the_same() -> None:
    old, new = 'def f(x):\n    return "日本"  # a\n', 'def f(x):\n\treturn "日本"  # b \x1b\n'
    view = view_of([section_of("a.py", old, new)])
    view.cursor = RowPlace(0, 2)
    plain = screen(view, Size(60, 20), Highlights())
    highlights = Highlights()
    highlights.put(view.sections[0], highlight("a.py", old), highlight("a.py", new))
    coloured = screen(view, Size(60, 20), highlights)
    as_text = [
        ["".join(span.text for span in line).rstrip() for line in one.lines] for one in (plain, coloured)
    ]
    assert as_text[0] == as_text[1]
    assert plain.lines != coloured.lines


def test_changed_words_stand_out() -> None:
    old, new = "\treturn total(日本, 1)\n", "\treturn total(日本, 2)\n"
    view = view_of([section_of("a.py", old, new)])
    view.cursor = RowPlace(0, 2)
    highlights = Highlights()
    for _ in range(2):
        pieces = [piece for line in screen(view, Size(60, 20), highlights).lines for piece in line]
        marked = [(piece.text, piece.style.split()[-1]) for piece in pieces if "-word" in piece.style]
        assert marked == [("1", "remove-word"), ("2", "add-word")]
        highlights.put(view.sections[0], highlight("a.py", old), highlight("a.py", new))


def test_a_long_line_says_how_much_more_there_is() -> None:
    view = view_of([section_of("a", "", "x" * 1_000_000 + "\n")])
    seen = ["".join(span.text for span in line) for line in screen(view, Size(80, 24), Highlights()).lines]
    line = next(line for line in seen if "xxx" in line)
    shown, _, rest = line.partition("…+")
    assert shown.count("x") + int(rest) == 1_000_000


def many(count: int) -> Viewport:
    lines = [f"{number}" for number in range(400)]
    new = [f"{line}!" if int(line) % 40 == 20 else line for line in lines]
    return view_of([section_of(f"f{n}", "\n".join(lines), "\n".join(new)) for n in range(count)])


@given(st.lists(st.integers(-500, 500), max_size=10), st.integers(1, 40))
def test_moving_there_and_back(steps: list[int], height: int) -> None:
    view = many(3)
    total = sum(view.rows_of(section) for section in range(3))
    places = [RowPlace(section, row) for section in range(3) for row in range(view.rows_of(section))]
    at = 0
    for count in steps:
        at = min(max(at + count, 0), total - 1)
        view.cursor = step(view, view.cursor, count)
        assert view.cursor == places[at]
        seen = visible_rows(view, height)
        assert view.cursor in seen
        start = places.index(seen[0])
        assert seen == places[start : start + height]


def test_hunk_by_hunk_across_files() -> None:
    view = many(2)
    seen = []
    while True:
        before = view.cursor
        to_hunk(view, 1)
        if view.cursor == before:
            break
        seen.append((view.cursor.section, view.section.hunk_at(view.cursor.row)))
        # The whole of a hunk is seen where there is room for it.
        assert step(view, view.cursor, view.reach) in visible_rows(view, 20)
    assert seen == [(section, hunk) for section in (0, 1) for hunk in range(1, 11)]
    back = [(view.cursor.section, view.section.hunk_at(view.cursor.row))]
    while True:
        before = view.cursor
        to_hunk(view, -1)
        if view.cursor == before:
            break
        back.append((view.cursor.section, view.section.hunk_at(view.cursor.row)))
    assert back == seen[::-1]


def test_folded_files_are_passed_and_commands_are_not() -> None:
    command = DiffSection("run", "", Text("run make"), lambda: SectionContent(notes=[TextSpan(Text("in ."))]))
    view = many(2)
    view.sections.insert(1, command)
    fold(view)
    assert view.rows_of(0) == 1
    to_hunk(view, 1)
    assert view.cursor == RowPlace(1, 0)
    to_section(view, 1)
    assert view.cursor == RowPlace(2, 0)
    to_section(view, -1)
    to_section(view, -1)
    fold(view)
    assert view.rows_of(0) > 50


def test_after_a_change_the_cursor_stays_near() -> None:
    view = many(3)
    view.cursor = view.top = RowPlace(1, 30)
    view.show([view.sections[0], section_of("f1", "a", "b"), view.sections[2]])
    assert view.cursor == RowPlace(1, view.sections[1].first_change(1))
    view.show([view.sections[0], view.sections[2]])
    assert view.cursor == RowPlace(1, view.sections[1].first_change(1))
    view.show([view.sections[0]])
    assert view.cursor == RowPlace(0, view.sections[0].first_change(1))
    assert view.top <= view.cursor


@given(st.text("ab 日本 ", max_size=200), st.integers(3, 60))
def test_wrapping_loses_nothing(text: str, columns: int) -> None:
    line = (StyledText("  "), StyledText(text, "red"))
    found = wrap(line, columns)
    assert all(sum(width(span.text) for span in one) <= columns for one in found)
    letters = ["".join(span.text for one in lines for span in one) for lines in (found, [line])]
    assert letters[0].replace(" ", "") == letters[1].replace(" ", "")


def test_the_keys_are_explained() -> None:
    words = " ".join(span.text for line in help_page().lines for span in line)
    for key in "adDeExocrumtisU":
        assert f" {key} " in f" {words} "


@given(st.lists(NASTY, max_size=5), st.integers(2, 40))
def test_nothing_of_a_wrapped_line_is_lost(texts: list[str], columns: int) -> None:
    line = tuple(StyledText(cut(text, 200), str(number)) for number, text in enumerate(texts))
    rows = break_rows(line, columns)
    assert "".join(piece.text for row in rows for piece in row) == "".join(piece.text for piece in line)
    assert all(sum(width(piece.text) for piece in row) <= columns for row in rows)


def test_a_wide_character_is_not_cut_in_half_by_wrapping() -> None:
    view = view_of([section_of("a", "", "日本語" * 20 + "\n")])
    view.wrap, view.cursor = True, RowPlace(0, 2)
    lines = ["".join(piece.text for piece in line) for line in screen(view, Size(49, 24), Highlights()).lines]
    at = next(number for number, line in enumerate(lines) if line.startswith("▌+"))
    assert [width(line.rstrip()) for line in lines[at : at + 3]] == [48, 48, 30]
    assert "".join(line[2:].rstrip() for line in lines[at : at + 3]) == "日本語" * 20


@given(st.integers(1, 200), st.integers(5, 30), st.lists(st.sampled_from("jknpNPw+-"), max_size=40))
def test_the_cursor_stays_on_the_screen_when_lines_wrap(long: int, rows: int, keys: list[str]) -> None:
    old = "\n".join(f"{number} " + "x" * (long * (number % 3)) for number in range(60))
    view = view_of([section_of("a", old, old.replace("7 ", "seven ")), section_of("b", "", old)])
    moves = {"j": 1, "k": -1}
    for key in keys:
        if key in moves:
            view.cursor = step(view, view.cursor, moves[key])
        elif key in "np":
            to_hunk(view, 1 if key == "n" else -1)
        elif key in "NP":
            to_section(view, 1 if key == "N" else -1)
        elif key == "w":
            view.wrap = not view.wrap
        else:
            line = view.row
            widen(view, 1 if key == "+" else -1)
            if line.kind in {RowKind.ADDED, RowKind.REMOVED}:
                assert view.row == line
        drawn = screen(view, Size(60, rows), Highlights())
        assert view.cursor in drawn.places
        assert any(line and line[0].text == "▌" for line in drawn.lines)
