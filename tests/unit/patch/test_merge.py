"""Clean exactly where git is clean, with the same bytes; in conflict over the same lines."""

import os
import random
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.patch.conflict import ConflictChoice
from ringi.patch.merge import (
    Conflicted,
    MergedText,
    RegionKind,
    assemble,
    find_written_lines,
    merge,
    text_lines,
)
from tests.unit.patch.merge_oracle import Answer, Three, asked, marked, rolled, threes

FULL = os.environ.get("RINGI_CAMPAIGN") == "full"
BATCH = 25
texts = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"d"]), max_size=8).map(b"".join)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("merges")


def misjudged(folder: Path, many: list[Three]) -> list[Three]:
    """Where git says something else."""
    return [
        three for three, answer in zip(many, asked(folder, many), strict=True) if not agrees(three, answer)
    ]


def agrees(three: Three, answer: Answer) -> bool:
    result = merge(*three)
    if isinstance(result, MergedText):
        return answer == (0, result.content)
    same_lines = without_returns(answer.content) == without_returns(marked(result.regions))
    return same_lines and answer.conflicts == min(127, len(result.conflicts))


def without_returns(text: bytes) -> bytes:
    """Git ends its markers, and a last line before one, as it guesses the file does."""
    return text.replace(b"\r", b"")


@settings(max_examples=2000 if FULL else 12)
@given(many=st.lists(threes(), min_size=BATCH, max_size=BATCH))
def test_git_agrees_on_drawn_texts(folder: Path, many: list[Three]):
    assert not misjudged(folder, many)


@pytest.mark.parametrize("seed", range(400 if FULL else 2))
def test_git_agrees_on_many_more(folder: Path, seed: int):
    dice = random.Random(seed)
    assert not misjudged(folder, [rolled(dice) for _ in range(400 if FULL else 350)])


@pytest.mark.parametrize("choice", [ConflictChoice.OURS, ConflictChoice.THEIRS])
def test_a_side_taken_for_every_conflict_is_what_git_makes_of_it(folder: Path, choice: ConflictChoice):
    dice = random.Random(choice.value)
    many = [rolled(dice) for _ in range(100)]
    for three, answer in zip(many, asked(folder, many, f"--{choice}"), strict=True):
        result = merge(*three)
        decisions = [choice] * len(result.conflicts) if isinstance(result, Conflicted) else []
        assert assemble(result.regions, decisions) == answer.content, three


def test_the_same_change_seen_in_two_ways_is_clean_as_in_git_by_default(folder: Path):
    """With --diff3 git does not look that closely, and reports a conflict over equal lines."""
    dice = random.Random(7)
    many = [rolled(dice) for _ in range(150)]
    for three, answer in zip(many, asked(folder, many, "--diff3"), strict=True):
        if answer.conflicts == 0:
            result = merge(*three)
            assert isinstance(result, MergedText)
            assert result.content == answer.content


@given(base=texts, one=texts)
def test_one_side_alone_wins(base: bytes, one: bytes):
    for three in (Three(base, one, one), Three(base, base, one), Three(base, one, base)):
        result = merge(*three)
        assert isinstance(result, MergedText)
        assert result.content == one


@settings(max_examples=5000 if FULL else 200)
@given(three=threes())
def test_the_regions_are_the_three_texts(three: Three):
    result = merge(*three)
    for at, name in enumerate(Three._fields):
        assert b"".join(line for region in result.regions for line in getattr(region, name)) == three[at]
        seen = 0
        for region in result.regions:
            assert region.place[at] == seen
            seen += len(getattr(region, name))
    for region in result.regions:
        same = (region.base == region.ours, region.base == region.theirs, region.ours == region.theirs)
        match region.kind:
            case RegionKind.SAME:
                assert same == (True, True, True)
            case RegionKind.OURS:
                assert same == (False, True, False)
            case RegionKind.THEIRS:
                assert same == (True, False, False)
            case RegionKind.BOTH:
                assert same == (False, False, True)
            case RegionKind.CONFLICT:
                assert not same[2]


@settings(max_examples=5000 if FULL else 200)
@given(three=threes())
def test_no_line_of_the_person_gets_lost_in_a_clean_merge(three: Three):
    result = merge(*three)
    if isinstance(result, Conflicted):
        assert result.conflicts
        return
    written = [line for region in result.regions for line in map(region.ours.__getitem__, region.written)]
    after = Counter(text_lines(result.content))
    assert not Counter(written) - after
    new = set(text_lines(three.ours)) - set(text_lines(three.base))
    assert new <= after.keys()
    assert new <= set(written)


@given(three=threes())
def test_what_the_person_wrote_is_known_line_by_line(three: Three):
    regions = merge(*three).regions
    in_regions = [region.place.ours + at for region in regions for at in region.written]
    assert in_regions == [line for some in find_written_lines(three.base, three.ours) for line in some]


@given(three=threes(), own=texts)
def test_decisions_make_the_text(three: Three, own: bytes):
    result = merge(*three)
    if isinstance(result, MergedText):
        assert assemble(result.regions, []) == result.content
        return
    for decision in (*ConflictChoice, own):
        text = assemble(result.regions, [decision] * len(result.conflicts))
        kept = [line for region in result.regions for line in region.merged]
        # Only a last line may change: it gets a newline if others follow.
        assert not Counter(line.rstrip(b"\r\n") for line in kept) - Counter(
            line.rstrip(b"\r\n") for line in text_lines(text)
        )
    with pytest.raises(ValueError, match="as many decisions"):
        assemble(result.regions, [])


def test_each_conflict_has_its_base_and_its_decision():
    base = b"".join(b"%d\n" % number for number in range(12))
    ours = base.replace(b"1\n", b"one\n", 1).replace(b"9\n", b"nine\n").replace(b"5\n", b"five\n")
    theirs = base.replace(b"1\n", b"uno\n", 1).replace(b"9\n", b"nueve\n")
    result = merge(base, ours, theirs)
    assert isinstance(result, Conflicted)
    assert [(one.base, one.ours, one.theirs) for one in result.conflicts] == [
        ([b"1\n"], [b"one\n"], [b"uno\n"]),
        ([b"9\n"], [b"nine\n"], [b"nueve\n"]),
    ]
    text = assemble(result.regions, [ConflictChoice.BOTH, b"my own\n"])
    assert text == b"0\none\nuno\n2\n3\n4\nfive\n6\n7\n8\nmy own\n10\n11\n"
    assert assemble(result.regions, [ConflictChoice.BASE, ConflictChoice.THEIRS]) == base.replace(
        b"5\n", b"five\n"
    ).replace(b"9\n", b"nueve\n")
    assert [len(one.written) for one in result.regions if one.kind is RegionKind.OURS] == [1]


def test_lines_that_both_added_in_a_conflict_are_no_part_of_it():
    result = merge(b"x\n", b"a\n1\n2\n3\n4\nb\n", b"A\n1\n2\n3\n4\nB\n")
    kinds = [(one.kind, one.base, one.ours) for one in result.regions]
    assert kinds == [
        (RegionKind.CONFLICT, [b"x\n"], [b"a\n"]),
        (RegionKind.BOTH, [], [b"1\n", b"2\n", b"3\n", b"4\n"]),
        (RegionKind.CONFLICT, [], [b"b\n"]),
    ]


def test_a_last_line_without_newline_gets_one_if_others_follow():
    result = merge(b"a\n", b"a\nmine", b"a\nyours\n")
    assert assemble(result.regions, [ConflictChoice.BOTH]) == b"a\nmine\nyours\n"
    windows = merge(b"a\r\n", b"a\r\nmine", b"a\r\nyours\r\n")
    assert assemble(windows.regions, [ConflictChoice.BOTH]) == b"a\r\nmine\r\nyours\r\n"


LF = b"".join(b"line %d\n" % number for number in range(8))
CRLF = LF.replace(b"\n", b"\r\n")
EDITED = LF.replace(b"line 3", b"edited")


@pytest.mark.parametrize(
    ("three", "content"),
    [
        (Three(LF, CRLF, EDITED), EDITED.replace(b"\n", b"\r\n")),
        (Three(CRLF, LF, EDITED.replace(b"\n", b"\r\n")), EDITED),
        (Three(LF, EDITED, CRLF), EDITED),
        (Three(LF, EDITED, CRLF + b"more\r\n"), EDITED + b"more\n"),
        (Three(LF, CRLF, EDITED.removesuffix(b"\n")), EDITED.replace(b"\n", b"\r\n").removesuffix(b"\r\n")),
        (Three(LF, CRLF.replace(b"line 3", b"mine"), EDITED), None),
        (Three(LF, CRLF + b"mixed\n", EDITED), None),
        (Three(LF, CRLF, EDITED + b"odd\r\n"), None),
        (Three(LF, CRLF.replace(b"line 1", b"line 1\r"), EDITED), None),
        (Three(LF, b"no line end", EDITED), None),
        (Three(LF, LF.replace(b"line 3", b"mine"), EDITED), None),
    ],
)
def test_line_ends_alone_need_no_decision(folder: Path, three: Three, content: bytes | None):
    assert not misjudged(folder, [three])
    result = merge(*three)
    assert isinstance(result, Conflicted)
    assert result.across_line_ends == content


def test_line_ends_changed_and_nothing_else_is_clean():
    result = merge(LF, CRLF, LF)
    assert isinstance(result, MergedText)
    assert result.content == CRLF


def test_a_long_text_is_merged():
    base = [b"%d\n" % (number % 5000) for number in range(60_000)]
    ours, theirs = list(base), list(base)
    ours[100:101], theirs[50_000:50_001] = [b"mine\n"] * 3, []
    result = merge(*map(b"".join, (base, ours, theirs)))
    assert isinstance(result, MergedText)
    assert result.content == b"".join([*ours[:50_002], *ours[50_003:]])


def test_an_edit_is_never_merged_into_a_text_that_could_not_be_compared():
    dice = random.Random(1)
    words = [b"%d\n" % number for number in range(300)]
    base, ours = ([b"head\n", *dice.choices(words, k=60_000), b"tail\n"] for _ in range(2))
    theirs = [b"edited\n", *base[1:]]
    result = merge(*map(b"".join, (base, ours, theirs)))
    assert isinstance(result, Conflicted)
    assert assemble(result.regions, [ConflictChoice.OURS] * len(result.conflicts)) == b"".join(ours)
