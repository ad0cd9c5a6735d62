from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.tokens import tokens


@given(st.lists(st.text()))
def test_lines_add_up(lines: list[str]):
    split = [line.replace("\n", " ") for line in lines]
    assert tokens("".join(f"{line}\n" for line in split)) == sum(tokens(line) + 1 for line in split)


# Counted with the public vocabularies cl100k and o200k; the estimate is never below either.
COUNTED = {
    "The agent works in a copy. You see exactly what it changed, and approve.\n": 17,
    "    def take(self, offer: Numbers, cost: int) -> None:\n": 13,
    "エージェントはコピーの中で働きます。変更は承認されたものだけが書き込まれます。\n": 36,
    "return {path.lower(): path for path in reversed(near)}\n": 13,
}


def test_the_estimate_is_honest():
    for text, count in COUNTED.items():
        assert count <= tokens(text) <= 1.6 * count, text
