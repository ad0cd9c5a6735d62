"""A text within a budget."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.tokens import tokens
from ringi.project.compose import ContextSection, compose

LINE = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zl", "Zp"]), max_size=60)


@st.composite
def sections(draw: st.DrawFn) -> ContextSection:
    lines = dict(enumerate(draw(st.lists(LINE, max_size=12)), 1))
    numbers = st.lists(st.sampled_from(sorted(lines)), max_size=5) if lines else st.just([])
    offers = [tuple(some) for some in draw(st.lists(numbers, max_size=8))]
    return ContextSection(f"# {draw(LINE)}", lines, offers, draw(st.floats(0, 1)), last=draw(st.booleans()))


@given(st.lists(sections(), max_size=8), st.integers(0, 400))
def test_the_budget_is_never_exceeded_and_only_whole_lines_are_taken(
    given: list[ContextSection], budget: int
):
    text = compose(given, budget)
    assert tokens(text) <= budget
    assert text == "" or text.endswith("\n")
    known = {line for one in given for line in (one.head, *one.lines.values())}
    assert set(text.split("\n")[:-1]) <= known


@given(st.lists(sections(), max_size=6))
def test_with_room_everything_is_there(given: list[ContextSection]):
    text = compose(given, 1_000_000)
    offered = [
        one.lines[number] for one in given for number in sorted({n for some in one.offers for n in some})
    ]
    assert [line for line in text.split("\n")[:-1] if not line.startswith("# ")] == [
        line for line in offered if not line.startswith("# ")
    ]


def long(name: str, share: float, *, last: bool = False) -> ContextSection:
    lines = {number: f"  {number} {name} says something here" for number in range(1, 200)}
    return ContextSection(f"# {name}", lines, [(number,) for number in lines], share, last=last)


def test_no_section_starves_another():
    text = compose([long("readme", 0.2), long("rules", 0.2, last=True), long("code", 0.6)], 600)
    said = {name: text.count(f"{name} says") for name in ("readme", "rules", "code")}
    assert all(count >= 8 for count in said.values()), said
    assert said["code"] > said["rules"]


def test_what_one_does_not_need_goes_to_the_others():
    small = ContextSection("# readme", {1: "short"}, [(1,)], 0.5)
    text = compose([small, long("code", 0.5)], 600)
    assert tokens(text) > 560
