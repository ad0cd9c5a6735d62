"""Which lines changed between two texts, line by line the answer that git gives.

A merge is clean or not depending on how equal lines are paired. So this is git's comparison (Myers 1986, with
git's limits and its way to shift a change among equal lines), not the one that `render` makes for readers.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, compress, count, pairwise
from operator import ne
from typing import Final, NamedTuple

Lines = Sequence[bytes]
_Run = tuple[int, int]
_Place = tuple[int, int]
_Known = dict[int, _Run]
_Text = Sequence[object]

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
# Lines are compared one by one, then in ever larger pieces.
_FEW: Final = 2
_FIRST_PIECE: Final = 16
_LAST_PIECE: Final = 1024
# So many equal lines in a row are remembered.
_LONG_RUN: Final = 16
_FAR: Final = 1 << 62
# More steps would take seconds.
_PATIENCE: Final = 40_000_000
_LONG_SEARCH: Final = 20_000
_NO_RUN: Final = (0, 0)
# How far to look at first for equal lines behind two that differ.
_NEAR: Final = 8
# A quick look goes over no more of the text than one line in so many.
_QUICK_SHARE: Final = 8


class LineChange(NamedTuple):
    """Lines `old` to `old_end` became lines `new` to `new_end`; counted from 0, either may be empty."""

    old: int
    old_end: int
    new: int
    new_end: int


def line_changes(old: Lines, new: Lines, in_old: Counter[bytes] | None = None) -> list[LineChange]:
    """In order; between two changes there is at least one line that is the same in both texts.

    Two large texts that have almost nothing in common are one change from the first line to the last.
    `in_old` counts the lines of `old`, if somebody did that already.
    """
    shorter = min(len(old), len(new))
    head = _equal_lines(old, new, 0, 0, shorter)
    tail = _equal_lines(old[::-1], new[::-1], 0, 0, shorter - head)
    a, b = old[head : len(old) - tail], new[head : len(new) - tail]
    a_runs, b_runs = [(0, len(a))] if a else [], [(0, len(b))] if b else []
    if a and b:
        a_apart, b_apart = _apart(a, b)
        in_old = Counter(old) if in_old is None else in_old
        few = sum(high - low for low, high in a_apart + b_apart) < len(new) // 2
        in_new = _count_lines(in_old, _within(a, a_apart), _within(b, b_apart)) if few else Counter(new)
        a_runs = _not_compared(a, a_apart, in_new, _root(len(old)))
        b_runs = _not_compared(b, b_apart, in_old, _root(len(new)))
        a_left, b_left = _without(a, a_runs), _without(b, b_runs)
        if a_left != b_left:
            search = _ChangeSearch(a_left, b_left)
            if not search.run():
                # A guess could call a merge clean that git does not: everything touches this.
                return [LineChange(0, len(old), 0, len(new))]
            a_runs, b_runs = _together(a_runs, search.a_runs), _together(b_runs, search.b_runs)
    a_runs = [(low + head, high + head) for low, high in a_runs]
    b_runs = [(low + head, high + head) for low, high in b_runs]
    a_runs = _shift_runs(old, a_runs, frozenset(_places(b_runs)))
    b_runs = _shift_runs(new, b_runs, frozenset(_places(a_runs)))
    return list(_pair_runs(a_runs, b_runs))


def _root(number: int) -> int:
    """A power of two near its square root."""
    return 1 << (number.bit_length() + 1) // 2


def _equal_lines(a: _Text, b: _Text, at: int, other: int, limit: int) -> int:
    """How many lines are equal from here on, at most `limit`."""
    found, size = 0, _FIRST_PIECE
    while found < limit:
        size = min(size, limit - found)
        low, high = at + found, other + found
        one, two = a[low : low + size], b[high : high + size]
        if one != two:
            return found + next(compress(count(), map(ne, one, two)))
        found += size
        size = min(2 * size, _LAST_PIECE)
    return found


def _apart(a: Lines, b: Lines) -> tuple[list[_Run], list[_Run]]:
    """Outside of these each line has its equal in the other text: a quick look, so that few need a search."""
    a_apart: list[_Run] = []
    b_apart: list[_Run] = []
    at = there = 0
    near, patience = _NEAR, len(b) // _QUICK_SHARE
    while at < len(a) and there < len(b) and patience > 0:
        skipped, facing = _next_equal(a[at : at + near], b[there : there + near])
        _add(a_apart, at, at + skipped)
        _add(b_apart, there, there + facing)
        at, there = at + skipped, there + facing
        size = _equal_lines(a, b, at, there, min(len(a) - at, len(b) - there))
        at, there = at + size, there + size
        patience -= near
        near = _NEAR if size else 2 * near
    _add(a_apart, at, len(a))
    _add(b_apart, there, len(b))
    return a_apart, b_apart


def _next_equal(a: Lines, b: Lines) -> _Place:
    """Where two equal lines follow each other in both, or the end of both."""
    places = {line: at for at, line in enumerate(b)}
    for at, line in enumerate(a):
        there = places.get(line)
        if there is not None and a[at + 1 : at + 2] == b[there + 1 : there + 2]:
            return at, there
    return len(a), len(b)


def _count_lines(before: Counter[bytes], gone: Iterable[bytes], come: Iterable[bytes]) -> Counter[bytes]:
    now = Counter(before)
    now.subtract(gone)
    now.update(come)
    return now


def _not_compared(lines: Lines, apart: list[_Run], there: Counter[bytes], limit: int) -> list[_Run]:
    """Lines that are known to have changed without a search."""
    kept = bytearray(b"\1") * len(lines)
    for low, high in apart:
        kept[low:high] = bytes(map(bool, map(there.get, lines[low:high])))
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


def _within(lines: Lines, runs: list[_Run]) -> Iterator[bytes]:
    return chain.from_iterable(lines[low:high] for low, high in runs)


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
    """Runs that touch are one, and an empty one is none."""
    if low == high:
        return
    if runs and runs[-1][1] == low:
        low = runs.pop()[0]
    runs.append((low, high))


def _places(runs: list[_Run]) -> Iterator[int]:
    """For each run how many unchanged lines precede it: equal for runs of both texts that face each other."""
    changed = 0
    for low, high in runs:
        yield low - changed
        changed += high - low


def _shift_runs(lines: Lines, runs: list[_Run], facing: frozenset[int]) -> list[_Run]:
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


def _pair_runs(a_runs: list[_Run], b_runs: list[_Run]) -> Iterator[LineChange]:
    a_at, b_at = (
        dict(zip(_places(a_runs), a_runs, strict=True)),
        dict(zip(_places(b_runs), b_runs, strict=True)),
    )
    a_changed = b_changed = 0
    for place in sorted(a_at.keys() | b_at.keys()):
        a, a_end = a_at.get(place, (place + a_changed,) * 2)
        b, b_end = b_at.get(place, (place + b_changed,) * 2)
        yield LineChange(a, a_end, b, b_end)
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


class _ChangeSearch:
    """Which lines of two texts changed, by paths from both corners that meet in the middle."""

    def __init__(self, a: Lines, b: Lines) -> None:
        self._a_size, self._b_size = len(a), len(b)
        known, known_turned = _Known(), _Known()
        self._down = _Paths(a, b, known, known_turned, turned=False)
        self._up = _Paths(a[::-1], b[::-1], known_turned, known, turned=True)
        self._numbered = False
        self.a_runs: list[_Run] = []
        self.b_runs: list[_Run] = []
        self._most = max(_COSTLY, _root(len(a) + len(b) + 3))
        self._patience = _PATIENCE

    def run(self) -> bool:
        """False if it would take too long."""
        boxes = [_Box(0, self._a_size, 0, self._b_size, False)]
        while boxes:
            a, a_end, b, b_end, exact = boxes.pop()
            if limit := min(a_end - a, b_end - b):
                equal = self._down.equal_lines(a, b, limit)
                a, b = a + equal, b + equal
            if limit := min(a_end - a, b_end - b):
                equal = self._up.equal_lines(self._a_size - a_end, self._b_size - b_end, limit)
                a_end, b_end = a_end - equal, b_end - equal
            if a == a_end or b == b_end:
                _add(self.a_runs, a, a_end)
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
        for paths in (self._down, self._up):
            paths.a = list(map(numbers.__getitem__, paths.a))
            paths.b = list(map(numbers.__getitem__, paths.b))
        self._numbered = True

    def _split(self, box: _Box) -> _Split | None:
        """Where to divide a box in two; None if the patience is over."""
        a, a_end, b, b_end, exact = box
        down, up = self._down, self._up
        down.begin(box)
        up.begin(_Box(self._a_size - a_end, self._a_size - a, self._b_size - b_end, self._b_size - b, exact))
        odd = bool((a_end - a - b_end + b) & 1)
        cost = 0
        while self._patience > 0:
            cost += 1
            promising = down.step()
            if odd and (at := self._find_meeting(down)):
                return _Split(*at)
            promising = up.step() or promising
            if not odd and (at := self._find_meeting(up)):
                return _Split(*at)
            self._patience -= down.high - down.low + up.high - up.low
            if exact:
                continue
            if promising and cost > _COSTLY:
                if at := down.promising(cost):
                    return _Split(*at, exact_after=False)
                if at := up.promising(cost):
                    return _Split(*self._turn(at), exact_before=False)
            if cost >= self._most:
                # Wherever a path came furthest.
                (ahead, at), (behind, from_end) = down.furthest(), up.furthest()
                if behind < ahead:
                    return _Split(*at, exact_after=False)
                return _Split(*self._turn(from_end), exact_before=False)
        return None

    def _find_meeting(self, stepped: "_Paths") -> _Place | None:
        """Where a path that just took a step meets one from the other corner."""
        down, up, size = self._down, self._up, self._a_size
        last = size - self._b_size
        high = min(down.high, last - up.low)
        odd = (high - (down.high if stepped is down else last - up.low)) % 2
        ahead, behind = down.reach, up.reach
        for diagonal in range(high - odd, max(down.low, last - up.high) - 1, -2):
            if ahead[diagonal] + behind[last - diagonal] >= size:
                at = ahead[diagonal] if stepped is down else size - behind[last - diagonal]
                return at, at - diagonal
        return None

    def _turn(self, place: _Place) -> _Place:
        return self._a_size - place[0], self._b_size - place[1]


class _Paths:
    """How far paths come from the first corner of a box; turned texts have the last corner there.

    A diagonal is the place in `a` less the place in `b`; it may be negative, and so may an index of a list.
    """

    def __init__(self, a: _Text, b: _Text, known: _Known, known_turned: _Known, *, turned: bool) -> None:
        self.a, self.b = a, b
        self._turned = turned
        self._known, self._known_turned = known, known_turned
        self.reach = [0] * (len(a) + len(b) + 3)
        self._box = _Box(0, 0, 0, 0, False)
        self.low = self.high = 0

    def begin(self, box: _Box) -> None:
        self._box = box
        self.low = self.high = box.a - box.b
        self.reach[self.low] = box.a

    def equal_lines(self, at: int, other: int, limit: int) -> int:
        """How many are equal from here on; a long run is remembered, since every box asks again."""
        a, b = self.a, self.b
        low, high = self._known.get(at - other, _NO_RUN)
        if low <= at < high:
            if high - at >= limit:
                return limit
            if a[high] != b[high - at + other]:
                return high - at
        else:
            low = high = at
        high += _equal_lines(a, b, high, high - at + other, at + limit - high)
        if high - low > _LONG_RUN:
            self._known[at - other] = low, high
            self._known_turned[len(a) - len(b) - at + other] = len(a) - high, len(a) - low
        return high - at

    def step(self) -> bool:
        """One more change on every path; whether one came to many equal lines."""
        a, b, reach = self.a, self.b, self.reach
        low, high, (start, a_end, b_start, b_end, _) = self.low, self.high, self._box
        # One more diagonal on either side, or one less where the box ends.
        if low > start - b_end:
            low -= 1
            reach[low - 1] = -1
        else:
            low += 1
        if high < a_end - b_start:
            high += 1
            reach[high + 1] = -1
        else:
            high -= 1
        self.low, self.high = low, high
        found = False
        right = reach[high + 1]
        for diagonal in range(high, low - 1, -2):
            left = reach[diagonal - 1]
            at = start = left + 1 if left >= right else right
            while at < a_end and at - diagonal < b_end and a[at] == b[at - diagonal]:
                at += 1
                if at > start + _FEW:
                    at += self.equal_lines(at, at - diagonal, min(a_end - at, b_end - at + diagonal))
                    found = found or at > start + _LONG_SNAKE
                    break
            reach[diagonal] = at
            right = left
        return found

    def promising(self, cost: int) -> _Place | None:
        """Where the furthest path ends that came far for its cost, over many equal lines."""
        a, a_end, b, b_end, _ = self._box
        best, found = _PROMISING * cost, None
        for diagonal in self._diagonals():
            at = self.reach[diagonal]
            there = at - diagonal
            worth = at - a + there - b - abs(diagonal - a + b)
            if (
                worth > best
                and a + _LONG_SNAKE <= at < a_end
                and b + _LONG_SNAKE <= there < b_end
                and self.a[at - _LONG_SNAKE : at] == self.b[there - _LONG_SNAKE : there]
            ):
                best, found = worth, (at, there)
        return found

    def furthest(self) -> tuple[int, _Place]:
        """How many lines the path took that took most, and where it ends."""
        a, a_end, b, b_end, _ = self._box
        best, found = -1, (a, b)
        for diagonal in self._diagonals():
            at = min(self.reach[diagonal], a_end, b_end + diagonal)
            taken = at - a + at - diagonal - b
            if taken > best:
                best, found = taken, (at, at - diagonal)
        return best, found

    def _diagonals(self) -> range:
        """From high to low in the texts as they were: of equally good paths the first counts."""
        return range(self.low, self.high + 1, 2) if self._turned else range(self.high, self.low - 1, -2)
