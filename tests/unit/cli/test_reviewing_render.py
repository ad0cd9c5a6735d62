"""The screen: never wider or higher than the terminal, the cursor always on it, nothing that commands it."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.cli.reviewing.beside import facts_of
from ringi.cli.reviewing.loading import hunks_of
from ringi.cli.reviewing.model import (
    Message,
    Model,
    Page,
    Place,
    Question,
    fold,
    step,
    to_hunk,
    to_part,
    visible_rows,
)
from ringi.cli.reviewing.pages import help_page
from ringi.cli.reviewing.render import Highlights, cut, screen, wrapped
from ringi.cli.reviewing.rows import Content, Note, Part
from ringi.cli.term.cells import Span, width
from ringi.cli.term.highlight import highlight
from ringi.cli.term.lineedit import LineEditor
from ringi.cli.term.terminal import Size
from ringi.domain.plan import DiffTotals, Plan, PlanDocument, PlanRef, PlanState, PlanStatus
from ringi.domain.risk import Risk
from ringi.patching.render import Side, render
from ringi.text import Text, deceiving

NASTY = st.text(
    st.sampled_from("aé日本\x1b\u202e\t\r \u0301\u200bｱ🙂\x07") | st.characters(exclude_characters="\n"),
    max_size=30,
)
SIZES = st.builds(Size, st.integers(1, 120), st.integers(1, 40))


def part_of(name: str, old: str, new: str, *notes: str) -> Part:
    sides = [Side(text.encode("utf-8", "surrogatepass"), "100644") for text in (old, new)]
    hunks, _ = hunks_of(render("f", *sides).diff)
    said = tuple(Note(Text("{note}", note=note)) for note in notes)
    content = Content(hunks, said, old=sides[0].data, new=sides[1].data)
    return Part(name, name, Text("write {path}", path=name), lambda: content)


def model_of(parts: list[Part], title: str = "title", proposer: str = "me") -> Model:
    plan = Plan("id", title, title, (), "", (), "2026-01-01T00:00:00Z", 1, proposer)
    totals = DiffTotals(("a",), 1, 1, 0.5)
    document = PlanDocument(plan=plan, state=PlanState(PlanStatus.PENDING_REVIEW, previews=totals))
    ref = PlanRef("id", 7, title, PlanStatus.PENDING_REVIEW, 1, proposer, "", "", 1, 1, 1, Risk.LOW)
    return Model(facts_of(ref, document), parts)


def check_fits(model: Model, size: Size, highlights: Highlights) -> None:
    drawn = screen(model, size, highlights)
    for line in drawn.lines:
        assert sum(width(span.text) for span in line) <= size.columns
        assert not any(deceiving(character) for span in line for character in span.text)
    assert len(drawn.lines) <= max(size.rows, 3)
    if model.page is None:
        assert model.cursor in drawn.places


@given(st.lists(st.tuples(NASTY, NASTY), min_size=1, max_size=12), NASTY, SIZES, st.integers(0, 40))
def test_it_fits_whatever_it_shows(pairs: list[tuple[str, str]], title: str, size: Size, left: int) -> None:
    old, new = ("\n".join(side) for side in zip(*pairs, strict=True))
    model = model_of([part_of("a", old, new, title), part_of("b", new, old)], title, title)
    model.left = left
    model.message, model.checks = Message(Text("{t}", t=title)), Message(Text("{t}", t=title))
    model.output = [title, title]
    for place in (Place(0, 0), Place(0, model.rows_of(0) - 1), Place(1, model.rows_of(1) - 1)):
        model.cursor = place
        check_fits(model, size, Highlights())
    model.question = Question(Text("{t}?", t=title), LineEditor(title), [Text("{t}", t=title)])
    check_fits(model, size, Highlights())
    model.page = Page((Span(cut(title, 90)),), ((Span("  "), Span(cut(title * 9, 500))),))
    check_fits(model, size, Highlights())


def test_coloured_lines_say_the_same() -> None:
    old, new = 'def f(x):\n    return "日本"  # a\n', 'def f(x):\n\treturn "日本"  # b \x1b\n'
    model = model_of([part_of("a.py", old, new)])
    model.cursor = Place(0, 2)
    plain = screen(model, Size(60, 20), Highlights())
    highlights = Highlights()
    highlights.put(model.parts[0], highlight("a.py", old), highlight("a.py", new))
    coloured = screen(model, Size(60, 20), highlights)
    as_text = [
        ["".join(span.text for span in line).rstrip() for line in one.lines] for one in (plain, coloured)
    ]
    assert as_text[0] == as_text[1]
    assert plain.lines != coloured.lines


def test_a_long_line_says_how_much_more_there_is() -> None:
    model = model_of([part_of("a", "", "x" * 1_000_000 + "\n")])
    seen = ["".join(span.text for span in line) for line in screen(model, Size(80, 24), Highlights()).lines]
    line = next(line for line in seen if "xxx" in line)
    shown, _, rest = line.partition("…+")
    assert shown.count("x") + int(rest) == 1_000_000


def many(count: int) -> Model:
    lines = [f"{number}" for number in range(400)]
    new = [f"{line}!" if int(line) % 40 == 20 else line for line in lines]
    return model_of([part_of(f"f{n}", "\n".join(lines), "\n".join(new)) for n in range(count)])


@given(st.lists(st.integers(-500, 500), max_size=10), st.integers(1, 40))
def test_moving_there_and_back(steps: list[int], height: int) -> None:
    model = many(3)
    total = sum(model.rows_of(part) for part in range(3))
    places = [Place(part, row) for part in range(3) for row in range(model.rows_of(part))]
    at = 0
    for count in steps:
        at = min(max(at + count, 0), total - 1)
        model.cursor = step(model, model.cursor, count)
        assert model.cursor == places[at]
        seen = visible_rows(model, height)
        assert model.cursor in seen
        start = places.index(seen[0])
        assert seen == places[start : start + height]


def test_hunk_by_hunk_across_files() -> None:
    model = many(2)
    seen = []
    while True:
        before = model.cursor
        to_hunk(model, 1)
        if model.cursor == before:
            break
        seen.append((model.cursor.part, model.part.hunk_at(model.cursor.row)))
        # The whole of a hunk is seen where there is room for it.
        assert step(model, model.cursor, model.reach) in visible_rows(model, 20)
    assert seen == [(part, hunk) for part in (0, 1) for hunk in range(1, 11)]
    back = [(model.cursor.part, model.part.hunk_at(model.cursor.row))]
    while True:
        before = model.cursor
        to_hunk(model, -1)
        if model.cursor == before:
            break
        back.append((model.cursor.part, model.part.hunk_at(model.cursor.row)))
    assert back == seen[::-1]


def test_folded_files_are_passed_and_commands_are_not() -> None:
    command = Part("run", "", Text("run make"), lambda: Content(notes=[Note(Text("in ."))]))
    model = many(2)
    model.parts.insert(1, command)
    fold(model)
    assert model.rows_of(0) == 1
    to_hunk(model, 1)
    assert model.cursor == Place(1, 0)
    to_part(model, 1)
    assert model.cursor == Place(2, 0)
    to_part(model, -1)
    to_part(model, -1)
    fold(model)
    assert model.rows_of(0) > 50


def test_after_a_change_the_cursor_stays_near() -> None:
    model = many(3)
    model.cursor = model.top = Place(1, 30)
    model.show([model.parts[0], part_of("f1", "a", "b"), model.parts[2]])
    assert model.cursor == Place(1, model.rows_of(1) - 1)
    model.show([model.parts[0], model.parts[2]])
    assert model.cursor == Place(1, model.parts[1].first_change(1))
    model.show([model.parts[0]])
    assert model.cursor == Place(0, model.parts[0].first_change(1))
    assert model.top <= model.cursor


@given(st.text("ab 日本 ", max_size=200), st.integers(3, 60))
def test_wrapping_loses_nothing(text: str, columns: int) -> None:
    line = (Span("  "), Span(text, "red"))
    found = wrapped(line, columns)
    assert all(sum(width(span.text) for span in one) <= columns for one in found)
    letters = ["".join(span.text for one in lines for span in one) for lines in (found, [line])]
    assert letters[0].replace(" ", "") == letters[1].replace(" ", "")


def test_the_keys_are_explained() -> None:
    words = " ".join(span.text for line in help_page().lines for span in line)
    for key in "adDeExocrumtisU":
        assert f" {key} " in f" {words} "
