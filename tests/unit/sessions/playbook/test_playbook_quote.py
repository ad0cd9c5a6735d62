"""Other people's words are cut, put on one line and made harmless."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.sessions.playbook.quote import cut, harmless, one_line
from tests.tables import each


@given(text=st.text(max_size=60), most=st.integers(2, 30))
def test_cut_is_short_enough_and_a_beginning(text: str, most: int):
    short = cut(text, most)
    assert len(short) <= most
    assert text.startswith(short.removesuffix("…").rstrip()) or short == text


@each(
    ("text", "shown"),
    [
        ("foo_bar and `a*b`", "foo_bar and `a*b`"),
        ("2 * 3", "2 \\* 3"),
        ("one ` only", "one ' only"),
        ("```sh", "'sh"),
        ("<b>", "\\<b>"),
        ("a < b", "a < b"),
        ("[x](y)", "[x]\\(y)"),
        ("\\*", "\\\\\\*"),
        ("_x_", "\\_x\\_"),
    ],
)
def test_harmless(text: str, shown: str):
    assert harmless(text) == shown


def test_one_line_hides_nothing():
    assert one_line("a\n\u202eb\u200b\tc\ud800\x00", 20) == "a b c"
