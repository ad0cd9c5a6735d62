"""The same lines as git says, in whatever way equal lines could be paired."""

import os
import random
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.patch.line_changes import LineChange, line_changes
from ringi.patch.parse import parse_patch
from ringi.patch.patch import Hunk

FULL = os.environ.get("RINGI_CAMPAIGN") == "full"
lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d"]), max_size=12)
OPTIONS = "--no-index --no-prefix --text --no-renames --no-indent-heuristic --diff-algorithm=myers -U1000000"


def rewritten(dice: random.Random, size: int) -> tuple[list[bytes], list[bytes]]:
    """From few words or many, a little or most of it changed, some of it moved."""
    words = [b"%d\n" % number for number in range(dice.choice([4, 40, size // 8 + 1, 2 * size]))]
    old = [dice.choice(words) if dice.random() < 0.8 else b"}\n" for _ in range(size)]
    share = dice.choice([0.01, 0.1, 0.4, 0.8])
    new: list[bytes] = []
    for line in old:
        kind = dice.random() / share
        if kind >= 0.4:
            new.append(line)
        if kind < 0.7:
            new += dice.choices([*words, b"new %d\n" % dice.randrange(40)], k=dice.choice([0, 1, 1, 2]))
    at, to, count = dice.randrange(size), dice.randrange(size), dice.randrange(size // 4 + 1)
    if dice.random() < 0.3:
        moved = new[at : at + count]
        del new[at : at + count]
        new[to:to] = moved
    return old, new


def lopsided(dice: random.Random, calm_size: int, first: int) -> tuple[list[bytes], list[bytes]]:
    """Shuffled stretches between long ones that hardly change: git stops searching early."""
    words = [b"%d\n" % number for number in range(200)]
    old, new = dice.choices(words, k=first), dice.choices(words, k=first)
    for _ in range(4):
        calm = [b"calm %d\n" % dice.randrange(100_000) for _ in range(calm_size)]
        old += calm + dice.choices(words, k=190)
        new += [line for line in calm if dice.random() > 0.001] + dice.choices(words, k=190)
    return old, new


def told_by_git(folder: Path, pairs: list[tuple[list[bytes], list[bytes]]]) -> list[list[LineChange]]:
    """All pairs in one comparison of two folders."""
    for number, pair in enumerate(pairs):
        for name, text in zip(("a", "b"), pair, strict=True):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"{number:05}").write_bytes(b"".join(text))
    done = subprocess.run(
        ["git", "diff", *OPTIONS.split(), "a", "b"], cwd=folder, stdout=subprocess.PIPE, check=False
    )
    told: list[list[LineChange]] = [[] for _ in pairs]
    for file in parse_patch(done.stdout).files if done.stdout else ():
        told[int(file.path[-5:])] = [change for hunk in file.hunks for change in changes_of(hunk)]
    return told


def changes_of(hunk: Hunk) -> list[LineChange]:
    found: list[LineChange] = []
    old = new = 0
    for sign in (line[:1] for line in hunk.lines if not line.startswith(b"\\")):
        before = LineChange(old, old, new, new)
        old, new = old + (sign != b"+"), new + (sign != b"-")
        if sign != b" ":
            last = found.pop() if found and (found[-1][1], found[-1][3]) == (before[0], before[2]) else before
            found.append(last._replace(old_end=old, new_end=new))
    return found


@pytest.mark.parametrize(
    ("size", "count"),
    [(6, 300), (30, 200), (200, 60), (1500, 8)]
    if not FULL
    else [(6, 9000), (40, 9000), (300, 900), (9000, 90)],
)
def test_the_changes_are_those_of_git(tmp_path: Path, size: int, count: int):
    dice = random.Random(size)
    pairs = [rewritten(dice, size) for _ in range(count)]
    for pair, told in zip(pairs, told_by_git(tmp_path, pairs), strict=True):
        assert line_changes(*pair) == told


# Beyond 65,536 lines git also follows a promising path, from the top or from the end.
@pytest.mark.parametrize(("calm", "first"), [(500, 700), (9000, 700), (9000, 3000)])
def test_a_search_that_git_ends_early_ends_early_here(tmp_path: Path, calm: int, first: int):
    dice = random.Random(calm)
    pairs = [lopsided(dice, calm, first) for _ in range(20 if FULL else 1)]
    for pair, told in zip(pairs, told_by_git(tmp_path, pairs), strict=True):
        assert line_changes(*pair) == told


@given(old=lines, new=lines)
def test_the_changes_lead_from_one_text_to_the_other(old: list[bytes], new: list[bytes]):
    result = list(old)
    changes = line_changes(old, new)
    for change in reversed(changes):
        result[change.old : change.old_end] = new[change.new : change.new_end]
    assert result == new
    assert all(one.old_end < two.old and one.new_end < two.new for one, two in pairwise(changes))


def test_two_texts_too_different_to_compare_count_as_rewritten():
    dice = random.Random(1)
    words = [b"%d\n" % number for number in range(300)]
    old, new = ([b"head\n", *dice.choices(words, k=60_000), b"tail\n"] for _ in range(2))
    assert line_changes(old, new) == [LineChange(0, 60_002, 0, 60_002)]
