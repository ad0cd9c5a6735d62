"""Which lines two texts share: right, in order, and in bearable time."""

import random
from difflib import SequenceMatcher
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.patch.render import Block, matching_blocks
from tests.tables import each

texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d\n"]), max_size=30) | st.lists(
    st.integers(0, 40).map(lambda number: b"%d\n" % number), max_size=30
)


def check_blocks(old: list[bytes], new: list[bytes], blocks: list[Block]) -> None:
    assert blocks[-1] == Block(len(old), len(new), 0)
    a = b = 0
    for block in blocks:
        assert block.a >= a
        assert block.b >= b
        assert old[block.a : block.a + block.size] == new[block.b : block.b + block.size]
        a, b = block.a + block.size, block.b + block.size
    assert all(block.size for block in blocks[:-1])
    # Neighbours are joined.
    assert not any((x.a + x.size, x.b + x.size) == (y.a, y.b) for x, y in pairwise(blocks[:-1]))


@settings(max_examples=300)
@given(texts, texts)
def test_blocks_are_equal_in_order_and_apart(old: list[bytes], new: list[bytes]):
    check_blocks(old, new, matching_blocks(old, new))


@given(texts)
def test_a_text_shares_everything_with_itself(text: list[bytes]):
    expected = [Block(0, 0, len(text))] if text else []
    assert matching_blocks(text, text) == [*expected, Block(len(text), len(text), 0)]


@given(texts, st.data())
def test_an_insertion_keeps_the_rest(text: list[bytes], data: st.DataObject):
    at = data.draw(st.integers(0, len(text)))
    new = [*text[:at], b"new 1\n", b"new 2\n", *text[at:]]
    assert sum(block.size for block in matching_blocks(text, new)) == len(text)
    assert sum(block.size for block in matching_blocks(new, text)) == len(text)


@given(texts, texts)
def test_not_much_worse_than_difflib(old: list[bytes], new: list[bytes]):
    """Patience may find fewer lines than the longest match, never nothing where there is something."""
    ours = sum(block.size for block in matching_blocks(old, new))
    theirs = sum(m.size for m in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks())
    assert bool(ours) == bool(theirs)


@given(
    st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=25),
    st.lists(st.sampled_from([b"a", b"b", b"c"]), max_size=25),
)
def test_without_unique_lines_nothing_shared_is_missed(old: list[bytes], new: list[bytes]):
    """Each line twice on both sides: then it is the longest common subsequence, counted by the book."""
    old, new = [*old, b"x", b"a", b"b", b"c"] * 2, [b"y", b"c", b"b", b"a", *new] * 2
    table = [[0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i, line in enumerate(old, 1):
        for j, other in enumerate(new, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if line == other else max(table[i - 1][j], table[i][j - 1])
    blocks = matching_blocks(old, new)
    check_blocks(old, new, blocks)
    assert sum(block.size for block in blocks) == table[-1][-1]


@each(("old", "new"), [([], []), ([], [b"a\n"]), ([b"a\n"], []), ([b"a"], [b"a\n"])])
def test_ends(old: list[bytes], new: list[bytes]):
    assert matching_blocks(old, new) == [Block(len(old), len(new), 0)]


def staircase(size: int) -> tuple[list[bytes], list[bytes]]:
    """Each line becomes unique only after the one before it was found: as many rounds as lines."""
    lines = []
    for number in range(size, 0, -1):
        lines += [b"d%d\n" % number, b"d%d\n" % (number + 1)]
    lines += [b"u\n", b"d1\n"]
    old = [line for at, found in enumerate(lines) for line in (found, b"old %d\n" % at)]
    new = [line for at, found in enumerate(lines) for line in (found, b"new %d\n" % at)]
    return old, new


def sparse(count: int, seed: int) -> list[bytes]:
    chance = random.Random(seed)
    return [chance.choice([b"a\n", b"b\n"]) for _ in range(count)]


# Bounds far above what they take and far below what squares or cubes would.
@each(
    ("old", "new"),
    [
        ([b"%d\n" % n for n in range(50_000)], [b"%d\n" % n for n in range(50_000) if n % 7]),
        ([b"%d\n" % n for n in range(50_000)], [b"%d\n" % n for n in range(50_000, 0, -1)]),
        ([b"x\n"] * 20_000, [b"x\n"] * 19_999 + [b"y\n"]),
        ([b"x\n"] * 20_000, [b"y\n"] + [b"x\n"] * 19_990 + [b"y\n"]),
        ([b"x\n", b"y\n"] * 10_000, [b"y\n", b"y\n", b"x\n"] * 7_000),
        (sparse(20_000, 1), sparse(20_000, 2)),
        ([b"x\n"] * 900 + sparse(900, 1), sparse(900, 2) + [b"x\n"] * 900),
        (
            [line for n in range(50) for line in (b"anchor %d\n" % n, *sparse(900, n))],
            [line for n in range(50) for line in (b"anchor %d\n" % n, *sparse(900, n + 99))],
        ),
        staircase(7_000),
        (
            [b"old\n", *[b"x\n"] * 990, b"old\n"],
            [line for n in range(495) for line in (b"y%d\n" % n, b"x\n")] + [b"new\n"],
        ),
    ],
)
def test_no_blow_up(old: list[bytes], new: list[bytes]):
    """What a comparison that takes every line with every other would be at for minutes."""
    check_blocks(old, new, matching_blocks(old, new))
