"""Chains of approvals: the search against brute force, and merges that approve nothing by themselves."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from ringi.approvals.statement import NOT_THERE, FileAt
from ringi.provenance.chain import Link, Merge, find_strongest, level_of, links_of_merges
from ringi.provenance.verdict import Evidence, Level, Mode, at_least, suffices, weakest
from tests.tables import each

COUNTING = [level for level in Level if level is not Level.NONE]


def state(number: int) -> FileAt:
    return FileAt("100644", f"{number:040x}") if number else NOT_THERE


def because(level: Level, by: str = "") -> Evidence:
    return Evidence(level=level, by=by, at="")


def link(before: int, after: int, level: Level, by: str = "") -> Link:
    return Link(state(before), state(after), because(level, by))


numbers = st.integers(0, 4)
links = st.builds(link, numbers, numbers, st.sampled_from(COUNTING))


def by_trying_everything(before: FileAt, after: FileAt, found: list[Link]) -> tuple[Level, int] | None:
    """The best level of any simple chain, and the length of the shortest of that level."""
    best: tuple[int, int] | None = None
    order = list(Level)
    for count in range(1, len(found) + 1):
        for chain in permutations(found, count):
            states = [before, *(one.after for one in chain)]
            if states[-1] == after and all(one.before == at for one, at in zip(chain, states, strict=False)):
                rank = max(order.index(one.level) for one in chain), count
                best = min(best, rank) if best else rank
    return (order[best[0]], best[1]) if best else None


@given(st.lists(links, max_size=5))
def test_the_strongest_chain_is_that_of_brute_force(found: list[Link]) -> None:
    before, after = state(0), state(1)
    chain = find_strongest(before, after, found)
    expected = by_trying_everything(before, after, found)
    assert (None if chain is None else (level_of(chain), len(chain))) == expected
    if chain is not None:
        assert [one.before for one in chain] == [before, *(one.after for one in chain[:-1])]
        assert chain[-1].after == after


def test_the_weakest_link_counts_and_a_detour_of_signatures_wins() -> None:
    found = [
        link(1, 2, Level.TYPED),
        link(1, 3, Level.SIGNED, "a"),
        link(3, 1, Level.SIGNED, "back"),
        link(3, 4, Level.CONFIRMED, "b"),
        link(4, 2, Level.SIGNED, "c"),
    ]
    chain = find_strongest(state(1), state(2), found)
    assert chain is not None
    assert [one.evidence.by for one in chain] == ["a", "b", "c"]
    assert level_of(chain) is Level.CONFIRMED


def test_a_hundred_approvals_of_one_state_and_a_long_way() -> None:
    found = [link(1, 2, Level.TYPED) for _ in range(100)]
    found += [link(number, number + 1, Level.SIGNED) for number in range(2, 3000)]
    chain = find_strongest(state(1), state(3000), found)
    assert chain is not None
    assert (len(chain), level_of(chain)) == (2999, Level.TYPED)


def test_a_file_that_was_deleted_and_made_again() -> None:
    found = [link(1, 2, Level.SIGNED), link(2, 0, Level.SIGNED), link(0, 3, Level.CONFIRMED)]
    assert level_of(find_strongest(state(1), state(3), found)) is Level.CONFIRMED
    assert find_strongest(state(3), state(1), found) is None


@given(st.sampled_from(Level), st.sampled_from(Level))
def test_levels_have_one_order(one: Level, other: Level) -> None:
    assert at_least(weakest([one]), weakest([one, other]))
    assert at_least(one, other) or at_least(other, one)
    for mode in Mode:
        assert not suffices(other, mode) or not at_least(one, other) or suffices(one, mode)


@each(
    ("mode", "enough"),
    [
        (Mode.REPORT, {*COUNTING}),
        (Mode.AGENTS, {*COUNTING} - {Level.TYPED}),
        (Mode.STRICT, {Level.SIGNED}),
    ],
)
def test_what_suffices(mode: Mode, enough: set[Level]) -> None:
    assert {level for level in Level if suffices(level, mode)} == enough


# A merge takes in what others made.

PLAIN = because(Level.UNASSISTED, "merge")


def test_a_merge_does_not_approve_what_it_takes_in() -> None:
    """1 → 2 by an agent, unapproved; a person merges it: 2 is among the parents' states."""
    taken = Merge((state(1), state(2)), state(2), PLAIN)
    assert links_of_merges([taken], [], {state(2)}) == []


def test_a_merge_of_approved_states_counts() -> None:
    """Main came from 1 to 4, the branch from 1 to 2 with an approval; the merge made 3 of both."""
    links = [link(1, 4, Level.UNASSISTED), link(1, 2, Level.SIGNED)]
    both = Merge((state(4), state(2)), state(3), PLAIN)
    found = links_of_merges([both], links, {state(2), state(4), state(3)})
    assert {(one.before, one.after, one.level) for one in found} == {
        (state(4), state(3), Level.UNASSISTED),
        (state(2), state(3), Level.UNASSISTED),
    }


def test_a_merge_with_one_unapproved_side_does_not_count() -> None:
    links = [link(1, 4, Level.UNASSISTED)]
    both = Merge((state(4), state(2)), state(3), PLAIN)
    assert links_of_merges([both], links, {state(2), state(4), state(3)}) == []


def test_a_signed_merge_is_as_weak_as_what_it_combines() -> None:
    links = [link(1, 4, Level.SIGNED), link(1, 2, Level.TYPED)]
    both = Merge((state(4), state(2)), state(3), because(Level.SIGNED))
    found = links_of_merges([both], links, {state(2), state(4), state(3)})
    assert {one.level for one in found} == {Level.TYPED}


def test_taking_one_side_as_it_is_counts_if_that_side_does() -> None:
    links = [link(1, 4, Level.UNASSISTED), link(1, 2, Level.SIGNED)]
    theirs = Merge((state(4), state(2)), state(2), PLAIN)
    found = links_of_merges([theirs], links, {state(2), state(4)})
    assert [(one.before, one.after) for one in found] == [(state(4), state(2))]


def test_merges_do_not_support_each_other() -> None:
    one = Merge((state(1), state(3)), state(2), PLAIN)
    other = Merge((state(1), state(2)), state(3), PLAIN)
    assert links_of_merges([one, other], [], {state(2), state(3)}) == []
