"""What is taken for an answer, and what was hardly meant as one."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.cli.planning.dialogue import COMMANDS
from ringi.cli.planning.typed import slip
from tests.tables import each


@each(
    ("typed", "told"),
    [
        ("/bakc", "Did you mean /back?"),
        ("/foo", "There is no command /foo;"),
        ("/FOO ", "There is no command /foo;"),
        ("back", "Did you mean /back?"),
        ("Quit", "Did you mean /quit?"),
        ("ｓｋｉｐ", "Did you mean /skip?"),  # noqa: RUF001
        ("cancel", "Did you mean /cancel?"),
        ("help", "Did you mean /help?"),
    ],
)
def test_hardly_meant(typed: str, told: str) -> None:
    words = slip(typed, COMMANDS)
    assert words is not None
    assert str(words).startswith(told)
    assert "With a space before it" in str(words) or "with a space before it" in str(words)


@each(
    "typed",
    ["", "/", "/skip", "?", "//", "/tmp/x", "/v2", "/a b", "/日本", "skip it", "go back", "and/or", "1"],
)
def test_an_answer_or_a_command(typed: str) -> None:
    assert slip(typed, COMMANDS) is None


@given(st.text())
def test_a_space_before_it_makes_it_an_answer(typed: str) -> None:
    assert slip(f" {typed}", COMMANDS) is None


def test_the_words_of_an_option() -> None:
    assert slip("skip", COMMANDS, ["Skip", "Keep"]) is None
    assert slip("/login", COMMANDS, ["/login"]) is None
    assert slip("/login", COMMANDS, ["login"]) is not None
