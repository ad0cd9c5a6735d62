"""The order of subtasks (PP-6): pure, and linear in what a model may send.

A subtask with parts is not carried out itself: it begins with its first part and ends with its last. Whoever
depends on it waits for all of them, and they wait for what it depends on.
"""

import posixpath
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

from ringi.engine.document import Subtask


class Cycle(NamedTuple):
    path: tuple[str, ...]
    """Each waits for the next; the last is the first."""


class UnknownId(NamedTuple):
    task: str
    id: str


class RepeatedId(NamedTuple):
    id: str


Problem = Cycle | UnknownId | RepeatedId


class FoundDependency(NamedTuple):
    """A dependency that was not named: both use the same file, and one of them writes it."""

    task: str
    on: str
    path: str


class Order(NamedTuple):
    tasks: tuple[str, ...]
    """What is carried out, in order; as listed where nothing else decides."""
    groups: tuple[tuple[str, ...], ...]
    """The same in groups: the members of one can run at the same time."""
    found: tuple[FoundDependency, ...] = ()

    @property
    def group_of(self) -> dict[str, int]:
        """By task, from 1."""
        return {task: number for number, group in enumerate(self.groups, 1) for task in group}


class Unordered(NamedTuple):
    problems: tuple[Problem, ...]

    @property
    def tasks(self) -> frozenset[str]:
        """Those with a problem."""
        found: set[str] = set()
        for problem in self.problems:
            match problem:
                case Cycle(path):
                    found.update(path)
                case UnknownId(task, _) | RepeatedId(task):
                    found.add(task)
        return frozenset(found)


def order_subtasks(subtasks: Sequence[Subtask]) -> Order | Unordered:
    """Stable: a task that could run earlier or later stays where it is listed."""
    problems = tuple(_wrong_ids(subtasks))
    if problems:
        return Unordered(problems)
    graph = _graph(subtasks)
    ranks = _ranks(graph)
    if len(ranks) < len(graph.before):
        return Unordered((_cycle(graph, ranks),))
    return _Schedule(subtasks, graph, ranks).run()


def normal(path: str) -> str:
    """One spelling for one file."""
    return posixpath.normpath(unicodedata.normalize("NFC", path.strip()))


def _wrong_ids(subtasks: Sequence[Subtask]) -> Iterator[Problem]:
    counts = Counter(task.id for task in subtasks)
    yield from (RepeatedId(id_) for id_, count in counts.items() if count > 1)
    for task in subtasks:
        named = dict.fromkeys([*(task.dependencies or ()), *([task.parent] if task.parent else [])])
        yield from (UnknownId(task.id, id_) for id_ in named if id_ not in counts)


# --- the graph --------------------------------------------------------------------------------------------

_START = "start"
_END = "end"
Node = tuple[str, str]
"""An id, and which end of it; a task without parts has one node only, its end."""


class _Graph(NamedTuple):
    place: Mapping[str, int]
    """Where a task is listed."""
    leaves: frozenset[str]
    before: Mapping[Node, tuple[Node, ...]]
    """What each waits for."""
    after: Mapping[Node, Sequence[Node]]


def _graph(subtasks: Sequence[Subtask]) -> _Graph:
    parents = {task.parent for task in subtasks if task.parent}
    before: dict[Node, dict[Node, None]] = {}
    for task in subtasks:
        first = (task.id, _START if task.id in parents else _END)
        waits = before.setdefault(first, {})
        waits.update(((id_, _END), None) for id_ in task.dependencies or ())
        if task.id in parents:
            before.setdefault((task.id, _END), {})[first] = None
        if task.parent:
            waits[task.parent, _START] = None
            before.setdefault((task.parent, _END), {})[task.id, _END] = None
    _without_parts(before, subtasks)
    after: dict[Node, list[Node]] = {node: [] for node in before}
    for node, waits in before.items():
        for one in waits:
            after[one].append(node)
    place = {task.id: at for at, task in enumerate(subtasks)}
    leaves = frozenset(task.id for task in subtasks if task.id not in parents)
    return _Graph(place, leaves, {node: tuple(waits) for node, waits in before.items()}, after)


def _without_parts(before: dict[Node, dict[Node, None]], subtasks: Sequence[Subtask]) -> None:
    """A task that depends on its own parts says nothing new: it ends after them anyway."""
    for task in subtasks:
        if task.parent:
            before.get((task.parent, _START), {}).pop((task.id, _END), None)


def _ranks(graph: _Graph) -> dict[Node, int]:
    """A topological order, as listed if possible; what is on or behind a cycle is missing."""
    waiting = {node: len(waits) for node, waits in graph.before.items()}
    ready = [(graph.place[node[0]], node) for node, count in waiting.items() if not count]
    heapify(ready)
    ranks: dict[Node, int] = {}
    while ready:
        _, node = heappop(ready)
        ranks[node] = len(ranks)
        for one in graph.after[node]:
            waiting[one] -= 1
            if not waiting[one]:
                heappush(ready, (graph.place[one[0]], one))
    return ranks


def _cycle(graph: _Graph, ranks: Mapping[Node, int]) -> Cycle:
    """Every node without a rank waits for another one: following them comes round."""
    node = min((node for node in graph.before if node not in ranks), key=lambda node: graph.place[node[0]])
    walked: dict[Node, int] = {}
    while node not in walked:
        walked[node] = len(walked)
        node = next(one for one in graph.before[node] if one not in ranks)
    names = [name for name, _ in list(walked)[walked[node] :]]
    path = [name for at, name in enumerate(names) if not at or names[at - 1] != name]
    if len(path) > 1 and path[0] == path[-1]:
        path.pop()
    return Cycle((*path, path[0]))


# --- the schedule -----------------------------------------------------------------------------------------


class _Schedule:
    """Readers wait for writers unless a writer waits for the reader; what shares a file shares no group."""

    def __init__(self, subtasks: Sequence[Subtask], graph: _Graph, ranks: Mapping[Node, int]) -> None:
        self._graph = graph
        self._ranks = ranks
        self._nodes = sorted(ranks, key=lambda node: ranks[node])
        self._reads = {task.id: _paths(task.reads or ()) for task in subtasks}
        self._writes = {task.id: _paths(one.path for one in task.writes or ()) for task in subtasks}
        self._writers: dict[str, int] = defaultdict(int)
        """Of each path, as bits by rank; without those that are done."""
        for node in self._nodes:
            for path in self._writes[node[0]] if node[0] in graph.leaves else ():
                self._writers[path] |= 1 << ranks[node]
        self._later = self._all_later()
        self._level: dict[Node, int] = {}
        self._last_write: dict[str, Node] = {}
        self._read_since: dict[str, list[Node]] = defaultdict(list)
        self._found: list[FoundDependency] = []

    def _all_later(self) -> dict[Node, int]:
        """What waits for each node, directly or not, as bits by rank; needed only if files are shared."""
        later: dict[Node, int] = dict.fromkeys(self._nodes, 0)
        if self._writers:
            for node in reversed(self._nodes):
                mine = later[node] | 1 << self._ranks[node]
                for one in self._graph.before[node]:
                    later[one] |= mine
        return later

    def run(self) -> Order:
        waiting = {node: len(waits) for node, waits in self._graph.before.items()}
        ready = [(self._place(node), node) for node, count in waiting.items() if not count]
        heapify(ready)
        parked: dict[int, list[Node]] = defaultdict(list)
        held: list[tuple[int, Node]] = []
        while ready or held:
            # If everything waits for a writer, they wait in a circle: the first as listed begins.
            forced = not ready
            _, node = heappop(held) if forced else heappop(ready)
            if node in self._level:
                continue
            blocker = -1 if forced else self._blocker(node)
            if blocker >= 0:
                parked[blocker].append(node)
                heappush(held, (self._place(node), node))
                continue
            self._place_now(node)
            for one in parked.pop(self._ranks[node], ()):
                heappush(ready, (self._place(one), one))
            for one in self._graph.after[node]:
                waiting[one] -= 1
                if not waiting[one]:
                    heappush(ready, (self._place(one), one))
        return self._order()

    def _place(self, node: Node) -> int:
        return self._graph.place[node[0]]

    def _blocker(self, node: Node) -> int:
        """The rank of the last writer that it should wait for; -1 if there is none."""
        if node[0] not in self._graph.leaves:
            return -1
        due = 0
        for path in self._reads[node[0]]:
            due |= self._writers.get(path, 0)
        due &= ~(self._later[node] | 1 << self._ranks[node])
        return due.bit_length() - 1

    def _place_now(self, node: Node) -> None:
        task = node[0]
        own = 1 if task in self._graph.leaves else 0
        level = max((self._level[one] for one in self._graph.before[node]), default=0) + own
        if own:
            for on, path in self._shares(task):
                level = max(level, self._level[on] + 1)
                if not self._later[on] >> self._ranks[node] & 1:
                    self._found.append(FoundDependency(task, on[0], path))
            self._note_use(node)
        self._level[node] = level

    def _shares(self, task: str) -> Iterator[tuple[Node, str]]:
        for path in dict.fromkeys((*self._reads[task], *self._writes[task])):
            if path in self._last_write:
                yield self._last_write[path], path
        for path in self._writes[task]:
            yield from ((reader, path) for reader in self._read_since[path])

    def _note_use(self, node: Node) -> None:
        for path in self._reads[node[0]]:
            self._read_since[path].append(node)
        for path in self._writes[node[0]]:
            self._writers[path] &= ~(1 << self._ranks[node])
            self._last_write[path] = node
            self._read_since[path] = []

    def _order(self) -> Order:
        tasks = [task for task, _ in self._level if task in self._graph.leaves]
        # A parent's own nodes have no step of their own, so levels may be skipped only by them.
        groups: dict[int, list[str]] = defaultdict(list)
        for node, level in self._level.items():
            if node[0] in self._graph.leaves:
                groups[level].append(node[0])
        return Order(
            tuple(tasks),
            tuple(
                tuple(sorted(groups[level], key=self._graph.place.__getitem__)) for level in sorted(groups)
            ),
            tuple(dict.fromkeys(self._found)),
        )


def _paths(given: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(normal(path) for path in given if path.strip()))
