"""Whether a file came from one state to another only by steps that count.

States of one path are nodes; approvals and commits are links. A chain is as strong as its weakest link.
"""

from collections import deque
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ringi.approvals.statement import FileAt
from ringi.provenance.verdict import Evidence, Level, at_least, weakest


class Link(NamedTuple):
    """One way in which a path may get from one state to the next."""

    before: FileAt
    after: FileAt
    evidence: Evidence

    @property
    def level(self) -> Level:
        return self.evidence.level


class Merge(NamedTuple):
    """What a commit with several parents made of their states of a path."""

    before: tuple[FileAt, ...]
    """In each parent; the state after it may be among them."""
    after: FileAt
    evidence: Evidence
    parents: tuple[str, ...] = ()


def find_strongest(before: FileAt, after: FileAt, links: Sequence[Link]) -> tuple[Link, ...] | None:
    """The strongest chain; of those the shortest. None if there is none."""
    for floor in Level:
        usable = [link for link in links if at_least(link.level, floor)]
        if floor is not Level.NONE and (found := _find_shortest(before, after, usable)) is not None:
            return found
    return None


def uses_twice(chain: Iterable[Link]) -> bool:
    """Whether one approval stands for two changes, as it was given and replayed."""
    given = [replace(link.evidence, replayed=False) for link in chain if not link.evidence.commit]
    return len(given) != len(set(given))


def level_of(chain: Iterable[Link] | None) -> Level:
    return Level.NONE if chain is None else weakest(link.level for link in chain)


def _find_shortest(before: FileAt, after: FileAt, links: Iterable[Link]) -> tuple[Link, ...] | None:
    leaving: dict[FileAt, list[Link]] = {}
    for link in links:
        leaving.setdefault(link.before, []).append(link)
    came: dict[FileAt, Link | None] = {before: None}
    waiting = deque([before])
    while waiting and after not in came:
        state = waiting.popleft()
        for link in leaving.get(state, ()):
            if link.after not in came:
                came[link.after] = link
                waiting.append(link.after)
    if after not in came:
        return None
    chain: list[Link] = []
    while (last := came[chain[-1].before if chain else after]) is not None:
        chain.append(last)
    return tuple(reversed(chain))


def links_of_merges(merges: Iterable[Merge], links: Sequence[Link], made: Collection[FileAt]) -> list[Link]:
    """The links that merges are.

    Merging unapproved changes approves nothing: a merge counts as far as each state that it combines.
    `made` are the states that came about meanwhile; the others were there before. `links` come oldest first.
    """
    merges = [one for one in merges if one.evidence.level is not Level.NONE]
    if not merges:
        return []
    standing = _rate_states(merges, links, made)
    found = []
    for one in merges:
        level = weakest([one.evidence.level, *(standing.get(state, Level.NONE) for state in one.before)])
        if level is not Level.NONE:
            evidence = replace(one.evidence, level=level)
            found += [Link(state, one.after, evidence) for state in {*one.before} - {one.after}]
    return found


def _rate_states(
    merges: Sequence[Merge], links: Sequence[Link], made: Collection[FileAt]
) -> dict[FileAt, Level]:
    """How well each state is covered, from whatever was there before."""
    states = {link.before for link in links} | {state for one in merges for state in one.before}
    known = dict.fromkeys(states.difference(made), Level.SIGNED)
    steps: list[tuple[tuple[FileAt, ...], FileAt, Level]]
    steps = [((link.before,), link.after, link.level) for link in links]
    steps += [(one.before, one.after, one.evidence.level) for one in merges]
    grew = True
    while grew:
        grew = False
        for befores, after, level in steps:
            found = weakest([level, *(known.get(state, Level.NONE) for state in befores)])
            if not at_least(known.get(after, Level.NONE), found):
                known[after] = found
                grew = True
    return known
