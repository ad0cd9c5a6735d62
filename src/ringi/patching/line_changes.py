"""Which lines changed between two texts, line by line the answer that git gives.

A merge is clean or not depending on how equal lines are paired. So this is git's comparison (Myers 1986, with
git's limits and its way to shift a change among equal lines), not the one that `render` makes for readers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import count, pairwise
from typing import Final, NamedTuple

Lines = Sequence[bytes]
_Run = tuple[int, int]

# Lines that occur this often in the other text, or as often as its size suggests, are frequent.
_MOST_FREQUENT: Final = 1024
# How far around a frequent line to look for lines that occur nowhere else.
_WINDOW: Final = 100
# A frequent line is dropped if less than a quarter of the lines around it are frequent.
_FREQUENT_SHARE: Final = 4
# From this cost on, a search may end early.
_COSTLY: Final = 256
# So many equal lines in a row make a path promising.
_LONG_SNAKE: Final = 20
_PROMISING: Final = 4
# Compared one by one up to here, then in ever larger pieces.
_STEPS: Final = 16
_FAR: Final = 1 << 62
# More steps would take seconds.
_PATIENCE: Final = 40_000_000
_LONG_SEARCH: Final = 20_000
_NO_RUN: Final = (0, 0)


class Change(NamedTuple):
    """Lines `old` to `old_end` became lines `new` to `new_end`; counted from 0, either may be empty."""

    old: int
    old_end: int
    new: int
    new_end: int


def line_changes(old: Lines, new: Lines, in_old: Counter[bytes] | None = None) -> list[Change]:
    """In order; between two changes there is at least one line that is the same in both texts.

    Two large texts that have almost nothing in common are one change from the first line to the last.
    `in_old` counts the lines of `old`, if somebody did that already.
    """
    shorter = min(len(old), len(new))
    head = _equal_ahead(old, new, 0, 0, shorter)
    tail = _equal_behind(old, new, len(old), len(new), shorter - head)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    a_runs, b_runs = [(0, len(a))] if a else [], [(0, len(b))] if b else []
    if a and b:
        a_runs = _not_compared(a, Counter(new), _root(len(old)))
        b_runs = _not_compared(b, in_old or Counter(old), _root(len(new)))
        a_left, b_left = _without(a, a_runs), _without(b, b_runs)
        if a_left != b_left:
            search = _Search(a_left, b_left)
            if not search.run():
                # A guess could call a merge clean that git does not: everything touches this.
                return [Change(0, len(old), 0, len(new))]
            a_runs, b_runs = _together(a_runs, search.a_runs), _together(b_runs, search.b_runs)
    a_runs = [(low + head, high + head) for low, high in a_runs]
    b_runs = [(low + head, high + head) for low, high in b_runs]
    a_runs = _settled(old, a_runs, frozenset(_places(b_runs)))
    b_runs = _settled(new, b_runs, frozenset(_places(a_runs)))
    return list(_paired(a_runs, b_runs))


def _root(number: int) -> int:
    """A power of two near its square root."""
    return 1 << (number.bit_length() + 1) // 2


def _equal_ahead(a: Sequence[object], b: Sequence[object], at: int, other: int, limit: int) -> int:
    """How many lines are equal from here on, at most `limit`."""
    found, size = 0, _STEPS
    while found < limit and a[at + found] == b[other + found]:
        found += 1
        if found >= _STEPS:
            break
    else:
        return found
    while found < limit:
        size = min(size, limit - found)
        low, high = at + found, other + found
        if a[low : low + size] == b[high : high + size]:
            found += size
            size *= 2
        else:
            limit = found + size - 1
            size = max(1, size // 2)
    return found


def _equal_behind(a: Sequence[object], b: Sequence[object], at: int, other: int, limit: int) -> int:
    """How many lines before these two are equal, at most `limit`."""
    found, size = 0, _STEPS
    while found < limit and a[at - found - 1] == b[other - found - 1]:
        found += 1
        if found >= _STEPS:
            break
    else:
        return found
    while found < limit:
        size = min(size, limit - found)
        low, high = at - found, other - found
        if a[low - size : low] == b[high - size : high]:
            found += size
            size *= 2
        else:
            limit = found + size - 1
            size = max(1, size // 2)
    return found


def _not_compared(lines: Lines, there: Counter[bytes], limit: int) -> list[_Run]:
    """Lines that are known to have changed without a search."""
    kept = bytearray(map(there.__contains__, lines))
    limit = min(limit, _MOST_FREQUENT)
    runs = _runs(kept)
    dropped: list[int] = []
    for (_, low), (high, _) in pairwise(runs):
        # Most often the first line settles it.
        if there[lines[low]] >= limit and all(there[line] >= limit for line in lines[low:high]):
            dropped += [at for at in range(low, high) if _is_noise(lines, kept, there, limit, at)]
    for at in dropped:
        kept[at] = 0
    return _runs(kept) if dropped else runs


def _is_noise(lines: Lines, kept: bytearray, there: Counter[bytes], limit: int, at: int) -> bool:
    """Whether a frequent line is among lines that changed, so that comparing it would only mislead."""
    gone = 0
    frequent = 2
    for places in (
        range(at - 1, max(0, at - _WINDOW) - 1, -1),
        range(at + 1, min(len(lines), at + _WINDOW + 1)),
    ):
        before = gone
        for place in places:
            if not kept[place]:
                gone += 1
            elif there[lines[place]] >= limit:
                frequent += 1
            else:
                break
        if gone == before:
            return False
    return frequent * _FREQUENT_SHARE < frequent + gone


def _runs(kept: bytearray) -> list[_Run]:
    """Where lines are not kept, from and to."""
    runs: list[_Run] = []
    at = kept.find(0)
    while at >= 0:
        end = kept.find(1, at)
        if end < 0:
            end = len(kept)
        runs.append((at, end))
        at = kept.find(0, end)
    return runs


def _without(lines: Lines, runs: list[_Run]) -> list[bytes]:
    left: list[bytes] = []
    at = 0
    for low, high in runs:
        left += lines[at:low]
        at = high
    left += lines[at:]
    return left


def _together(runs: list[_Run], among: list[_Run]) -> list[_Run]:
    """Runs of a text, and more of them found in what was left of it without the first."""
    result: list[_Run] = []
    at = shift = 0
    for low, high in (*among, (_FAR, _FAR)):
        while at < len(runs) and runs[at][0] - shift <= low:
            _add(result, *runs[at])
            shift += runs[at][1] - runs[at][0]
            at += 1
        start = low + shift
        while at < len(runs) and runs[at][0] - shift < high:
            shift += runs[at][1] - runs[at][0]
            at += 1
        if low < _FAR:
            _add(result, start, high + shift)
    return result


def _add(runs: list[_Run], low: int, high: int) -> None:
    """Runs that touch are one."""
    if runs and runs[-1][1] == low:
        low = runs.pop()[0]
    runs.append((low, high))


def _places(runs: list[_Run]) -> Iterator[int]:
    """For each run how many unchanged lines precede it: equal for runs of both texts that face each other."""
    changed = 0
    for low, high in runs:
        yield low - changed
        changed += high - low


def _settled(lines: Lines, runs: list[_Run], facing: frozenset[int]) -> list[_Run]:
    """Among equal lines, each run as far down as it can go, or beside a change of the other text."""
    done: list[_Run] = []
    todo = runs[::-1]
    changed = 0
    while todo:
        low, high = todo.pop()
        size = top = 0
        beside = False
        while size != high - low:
            size = high - low
            while low and lines[low - 1] == lines[high - 1]:
                low, high = low - 1, high - 1
                if done and done[-1][1] == low:
                    above = done.pop()
                    changed -= above[1] - above[0]
                    low = above[0]
            top = high
            beside = low - changed in facing
            while high < len(lines) and lines[low] == lines[high]:
                low, high = low + 1, high + 1
                if todo and todo[-1][0] == high:
                    high = todo.pop()[1]
                beside = beside or low - changed in facing
        if beside and high != top:
            while low - changed not in facing:
                low, high = low - 1, high - 1
        done.append((low, high))
        changed += high - low
    return done


def _paired(a_runs: list[_Run], b_runs: list[_Run]) -> Iterator[Change]:
    a_at, b_at = (
        dict(zip(_places(a_runs), a_runs, strict=True)),
        dict(zip(_places(b_runs), b_runs, strict=True)),
    )
    a_changed = b_changed = 0
    for place in sorted(a_at.keys() | b_at.keys()):
        a, a_end = a_at.get(place, (place + a_changed,) * 2)
        b, b_end = b_at.get(place, (place + b_changed,) * 2)
        yield Change(a, a_end, b, b_end)
        a_changed += a_end - a
        b_changed += b_end - b


class _Box(NamedTuple):
    """A stretch of both texts; `exact` if the shortest path through it is wanted, whatever it costs."""

    a: int
    a_end: int
    b: int
    b_end: int
    exact: bool


class _Split(NamedTuple):
    a: int
    b: int
    exact_before: bool = True
    exact_after: bool = True


class _Search:
    """Which lines of two texts changed, by paths from both corners that meet in the middle.

    A diagonal is the place in `a` less the place in `b`; it may be negative, and so may an index of a list.
    """

    def __init__(self, a: Lines, b: Lines) -> None:
        self._a: Sequence[object] = a
        self._b: Sequence[object] = b
        self._numbered = False
        self._known: dict[int, _Run] = {}
        self.a_runs: list[_Run] = []
        self.b_runs: list[_Run] = []
        size = len(a) + len(b) + 3
        self._down, self._up = [0] * size, [0] * size
        self._most = max(_COSTLY, _root(size))
        self._patience = _PATIENCE
        self._long_snake = False

    def run(self) -> bool:
        """False if it would take too long."""
        boxes = [_Box(0, len(self._a), 0, len(self._b), False)]
        while boxes:
            a, a_end, b, b_end, exact = boxes.pop()
            if a < a_end and b < b_end:
                stop = self._ahead(a, a - b, min(a_end, b_end + a - b))
                a, b = stop, stop - a + b
            if a < a_end and b < b_end:
                stop = self._behind(a_end, a_end - b_end, max(a, b + a_end - b_end))
                a_end, b_end = stop, stop - a_end + b_end
            if a == a_end or b == b_end:
                if a < a_end:
                    _add(self.a_runs, a, a_end)
                if b < b_end:
                    _add(self.b_runs, b, b_end)
                continue
            if self._patience < _PATIENCE - _LONG_SEARCH and not self._numbered:
                self._number()
            split = self._split(_Box(a, a_end, b, b_end, exact))
            if split is None:
                return False
            boxes.append(_Box(split.a, a_end, split.b, b_end, split.exact_after))
            boxes.append(_Box(a, split.a, b, split.b, split.exact_before))
        return True

    def _number(self) -> None:
        """For a long search: numbers are compared faster than lines."""
        numbers = defaultdict[object, int](count().__next__)
        self._a = list(map(numbers.__getitem__, self._a))
        self._b = list(map(numbers.__getitem__, self._b))
        self._numbered = True

    def _split(self, box: _Box) -> _Split | None:
        """Where to divide a box in two; None if the patience is over."""
        lowest, highest = box.a - box.b_end, box.a_end - box.b
        first, last = box.a - box.b, box.a_end - box.b_end
        odd = bool((first - last) & 1)
        down, up = (first, first), (last, last)
        self._down[first], self._up[last] = box.a, box.a_end
        cost = 0
        while self._patience > 0:
            cost += 1
            self._long_snake = False
            down = _widened(self._down, down, lowest, highest, -1)
            self._step_down(box, down)
            if odd and (found := self._met(down, down, up, self._down)):
                return found
            up = _widened(self._up, up, lowest, highest, _FAR)
            self._step_up(box, up)
            if not odd and (found := self._met(up, down, up, self._up)):
                return found
            self._patience -= down[1] - down[0] + up[1] - up[0]
            if box.exact:
                continue
            if (
                self._long_snake
                and cost > _COSTLY
                and (found := self._promising_down(box, down, cost) or self._promising_up(box, up, cost))
            ):
                return found
            if cost >= self._most:
                return self._furthest(box, down, up)
        return None

    def _ahead(self, at: int, diagonal: int, stop: int) -> int:
        """Where equal lines end; a long run is remembered, since every box asks again."""
        a, b = self._a, self._b
        if a[at] != b[at - diagonal]:
            return at
        low, high = self._known.get(diagonal, _NO_RUN)
        if low <= at < high:
            if high >= stop:
                return stop
            if a[high] != b[high - diagonal]:
                return high
        else:
            low = high = at
        end = high + _equal_ahead(a, b, high, high - diagonal, stop - high)
        if end - low > _STEPS:
            self._known[diagonal] = low, end
        return end

    def _behind(self, at: int, diagonal: int, stop: int) -> int:
        a, b = self._a, self._b
        if a[at - 1] != b[at - 1 - diagonal]:
            return at
        low, high = self._known.get(diagonal, _NO_RUN)
        if low < at <= high:
            if low <= stop:
                return stop
            if a[low - 1] != b[low - 1 - diagonal]:
                return low
        else:
            low = high = at
        end = low - _equal_behind(a, b, low, low - diagonal, low - stop)
        if high - end > _STEPS:
            self._known[diagonal] = end, high
        return end

    def _step_down(self, box: _Box, span: _Run) -> None:
        """One more change on every path from the top."""
        a, b, reach = self._a, self._b, self._down
        _, a_end, _, b_end, _ = box
        low, high = span
        right = reach[high + 1]
        for diagonal in range(high, low - 1, -2):
            left = reach[diagonal - 1]
            at = left + 1 if left >= right else right
            if at < a_end and at - diagonal < b_end and a[at] == b[at - diagonal]:
                limit = b_end + diagonal
                end = self._ahead(at, diagonal, min(a_end, limit))
                if end - at > _LONG_SNAKE:
                    self._long_snake = True
                at = end
            reach[diagonal] = at
            right = left

    def _step_up(self, box: _Box, span: _Run) -> None:
        a, b, reach = self._a, self._b, self._up
        start, _, b_start, _, _ = box
        low, high = span
        right = reach[high + 1]
        for diagonal in range(high, low - 1, -2):
            left = reach[diagonal - 1]
            at = left if left < right else right - 1
            if at > start and at - diagonal > b_start and a[at - 1] == b[at - diagonal - 1]:
                limit = b_start + diagonal
                end = self._behind(at, diagonal, max(start, limit))
                if at - end > _LONG_SNAKE:
                    self._long_snake = True
                at = end
            reach[diagonal] = at
            right = left

    def _met(self, stepped: _Run, down: _Run, up: _Run, reach: list[int]) -> _Split | None:
        """Where a path that just took a step meets one from the other corner."""
        high = min(down[1], up[1])
        for diagonal in range(high - (stepped[1] - high) % 2, max(down[0], up[0]) - 1, -2):
            if self._up[diagonal] <= self._down[diagonal]:
                return _Split(reach[diagonal], reach[diagonal] - diagonal)
        return None

    def _promising_down(self, box: _Box, span: _Run, cost: int) -> _Split | None:
        """The furthest path that came far for its cost and ends with many equal lines."""
        best, found = _PROMISING * cost, None
        for diagonal in range(span[1], span[0] - 1, -2):
            at = self._down[diagonal]
            there = at - diagonal
            worth = at - box.a + there - box.b - abs(diagonal - box.a + box.b)
            if (
                worth > best
                and box.a + _LONG_SNAKE <= at < box.a_end
                and box.b + _LONG_SNAKE <= there < box.b_end
                and self._a[at - _LONG_SNAKE : at] == self._b[there - _LONG_SNAKE : there]
            ):
                best, found = worth, _Split(at, there, exact_after=False)
        return found

    def _promising_up(self, box: _Box, span: _Run, cost: int) -> _Split | None:
        best, found = _PROMISING * cost, None
        for diagonal in range(span[1], span[0] - 1, -2):
            at = self._up[diagonal]
            there = at - diagonal
            worth = box.a_end - at + box.b_end - there - abs(diagonal - box.a_end + box.b_end)
            if (
                worth > best
                and box.a < at <= box.a_end - _LONG_SNAKE
                and box.b < there <= box.b_end - _LONG_SNAKE
                and self._a[at : at + _LONG_SNAKE] == self._b[there : there + _LONG_SNAKE]
            ):
                best, found = worth, _Split(at, there, exact_before=False)
        return found

    def _furthest(self, box: _Box, down: _Run, up: _Run) -> _Split:
        """It cost too much: wherever a path came furthest."""
        ahead, ahead_a = -1, -1
        for diagonal in range(down[1], down[0] - 1, -2):
            at = min(self._down[diagonal], box.a_end, box.b_end + diagonal)
            if ahead < 2 * at - diagonal:
                ahead, ahead_a = 2 * at - diagonal, at
        behind, behind_a = _FAR, _FAR
        for diagonal in range(up[1], up[0] - 1, -2):
            at = max(self._up[diagonal], box.a, box.b + diagonal)
            if 2 * at - diagonal < behind:
                behind, behind_a = 2 * at - diagonal, at
        if box.a_end + box.b_end - behind < ahead - box.a - box.b:
            return _Split(ahead_a, ahead - ahead_a, exact_after=False)
        return _Split(behind_a, behind - behind_a, exact_before=False)


def _widened(reach: list[int], span: _Run, lowest: int, highest: int, nowhere: int) -> _Run:
    """One more diagonal on either side, or one less where the box ends."""
    low, high = span
    if low > lowest:
        low -= 1
        reach[low - 1] = nowhere
    else:
        low += 1
    if high < highest:
        high += 1
        reach[high + 1] = nowhere
    else:
        high -= 1
    return low, high
