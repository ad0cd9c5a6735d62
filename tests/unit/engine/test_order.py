"""The order of subtasks."""

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from ringi.engine.design import TargetPath
from ringi.engine.document import Subtask
from ringi.engine.order import Cycle, FoundDependency, Order, RepeatedId, UnknownId, Unordered, order_subtasks
from tests.tables import each

pytestmark = pytest.mark.req("PP-6")


def task(id_: str, *on: str, reads: str = "", writes: str = "", parent: str = "") -> Subtask:
    made = Subtask(
        id=id_,
        description="…",
        dependencies=on,
        reads=tuple(reads.split()),
        writes=tuple(TargetPath(path) for path in writes.split()),
    )
    return made if not parent else Subtask(**{**made_fields(made), "parent": parent})


def made_fields(made: Subtask) -> dict[str, object]:
    return {name: getattr(made, name) for name in made.__struct_fields__}


def order(*tasks: Subtask) -> Order:
    found = order_subtasks(tasks)
    assert isinstance(found, Order)
    return found


def test_as_listed_unless_something_waits():
    assert order(task("b"), task("a"), task("c")).tasks == ("b", "a", "c")
    assert order(task("c", "a"), task("b"), task("a")).tasks == ("b", "a", "c")
    assert order() == Order((), ())


def test_what_waits_for_nothing_runs_together():
    found = order(task("1"), task("2"), task("3", "1", "2"), task("4"))
    assert found.groups == (("1", "2", "4"), ("3",))
    assert found.group_of == {"1": 1, "2": 1, "4": 1, "3": 2}


def test_a_reader_comes_after_the_writer_that_nobody_named():
    found = order(task("test", reads="src/a.py"), task("code", writes="./src/a.py"))
    assert found.tasks == ("code", "test")
    assert found.groups == (("code",), ("test",))
    assert found.found == (FoundDependency("test", "code", "src/a.py"),)


def test_a_reader_that_the_writer_waits_for_stays_before_it():
    found = order(task("1", reads="README.md"), task("2", "1"), task("3", "2", writes="README.md"))
    assert found.tasks == ("1", "2", "3")
    assert found.found == ()


def test_readers_between_two_writers():
    found = order(
        task("look", reads="a"),
        task("first", "look", writes="a"),
        task("second", writes="a"),
        task("use", reads="a"),
    )
    assert found.tasks.index("use") > max(found.tasks.index("first"), found.tasks.index("second"))


def test_two_that_write_a_file_never_run_together():
    found = order(task("1", writes="a"), task("2", writes="a b"), task("3", writes="b"))
    assert found.groups == (("1",), ("2",), ("3",))
    assert found.found == (FoundDependency("2", "1", "a"), FoundDependency("3", "2", "b"))


def test_readers_and_writers_in_a_circle_go_as_listed():
    found = order(task("1", reads="b", writes="a"), task("2", reads="a", writes="b"))
    assert found.tasks == ("1", "2")
    assert found.groups == (("1",), ("2",))


def test_parts_are_carried_out_and_the_whole_is_not():
    found = order(
        task("whole", "before"),
        task("part1", parent="whole"),
        task("part2", "part1", parent="whole"),
        task("after", "whole"),
        task("before"),
    )
    assert found.tasks == ("before", "part1", "part2", "after")
    assert found.groups == (("before",), ("part1",), ("part2",), ("after",))


def test_a_whole_may_name_its_parts():
    assert order(task("whole", "part"), task("part", parent="whole")).tasks == ("part",)


@each(
    ("tasks", "path"),
    [
        ([task("a", "a")], ("a", "a")),
        ([task("a", "b"), task("b", "a")], ("a", "b", "a")),
        ([task("x"), task("a", "x", "c"), task("b", "a"), task("c", "b")], ("a", "c", "b", "a")),
        ([task("late", "a"), task("a", "b"), task("b", "a")], ("a", "b", "a")),
        ([task("a", parent="a")], ("a", "a")),
        ([task("a", parent="b"), task("b", parent="a")], ("a", "b", "a")),
        (
            [task("whole", "other"), task("part", parent="whole"), task("other", "part")],
            ("whole", "other", "part", "whole"),
        ),
    ],
)
def test_a_cycle_is_told_with_its_path(tasks: list[Subtask], path: tuple[str, ...]):
    assert order_subtasks(tasks) == Unordered((Cycle(path),))


def test_wrong_ids_are_all_named():
    found = order_subtasks([task("a", "ghost", "a2"), task("a"), task("b", parent="nobody")])
    assert isinstance(found, Unordered)
    assert set(found.problems) == {
        RepeatedId("a"),
        UnknownId("a", "ghost"),
        UnknownId("a", "a2"),
        UnknownId("b", "nobody"),
    }
    assert found.tasks == {"a", "b"}


@each(
    "ids",
    [["", " "], ["\0", "\x1b[2J"], ["a", "A"], ["\uff41", "a"], ["\ud800", "😀"], ["x" * 100_000, "start"]],
)
def test_ids_are_only_compared(ids: list[str]):
    assert order(task(ids[0], ids[1]), task(ids[1])).tasks == (ids[1], ids[0])


COUNT = 10_000


# Made when they are needed: thousands of them would be made in each process that collects the tests.
MANY: dict[str, Callable[[], list[Subtask]]] = {
    "alone": lambda: [task(f"t{n}") for n in range(COUNT)],
    "chain": lambda: [*(task(f"t{n}", f"t{n + 1}") for n in range(COUNT - 1)), task(f"t{COUNT - 1}")],
    "ring": lambda: [task(f"t{n}", f"t{(n + 1) % COUNT}") for n in range(COUNT)],
    "nested": lambda: [task("t0"), *(task(f"t{n}", parent=f"t{n - 1}") for n in range(1, COUNT))],
    "one file": lambda: [task(f"t{n}", reads="a", writes="a") for n in range(COUNT)],
    "readers first": lambda: [
        *(task(f"r{n}", reads="a") for n in range(COUNT // 2)),
        *(task(f"w{n}", f"w{n + 1}", writes="a") for n in range(COUNT // 2 - 1)),
        task(f"w{COUNT // 2 - 1}", writes="a"),
    ],
    "dense": lambda: [
        task(f"t{n}", *(f"t{max(0, n - back)}" for back in range(1, 20) if n)) for n in range(COUNT)
    ],
}


@each("shape", MANY)
def test_ten_thousand(shape: str):
    """Slow ones would take minutes here, deep ones a stack."""
    found = order_subtasks(MANY[shape]())
    assert isinstance(found, Unordered) or len(found.tasks) in {COUNT, 1}


names = st.sampled_from("abcdefgh")
paths = st.lists(st.sampled_from("xyz"), max_size=2).map(" ".join)


@st.composite
def plans(draw: st.DrawFn) -> list[Subtask]:
    ids = draw(st.lists(names, unique=True, max_size=8))
    some = st.lists(st.sampled_from(ids), max_size=3) if ids else st.just([])
    parents = {}
    for at, id_ in enumerate(ids):
        parents[id_] = draw(st.sampled_from(["", *ids[:at]]))
    return [task(id_, *draw(some), reads=draw(paths), writes=draw(paths), parent=parents[id_]) for id_ in ids]


def wholes(tasks: list[Subtask]) -> dict[str, list[str]]:
    """The leaves of each task; of a leaf, itself."""
    children: dict[str, list[str]] = {one.id: [] for one in tasks}
    for one in tasks:
        if one.parent:
            children[one.parent].append(one.id)

    def leaves(id_: str) -> list[str]:
        return [leaf for child in children[id_] for leaf in leaves(child)] or [id_]

    return {one.id: leaves(one.id) for one in tasks}


@given(tasks=plans())
def test_whatever_the_plan(tasks: list[Subtask]):
    found = order_subtasks(tasks)
    by_id = {one.id: one for one in tasks}
    if isinstance(found, Unordered):
        for problem in found.problems:
            assert isinstance(problem, Cycle)
            assert problem.path[0] == problem.path[-1]
            assert len(problem.path) > 1
            for one, on in pairwise(problem.path):
                related = {*(by_id[one].dependencies or ()), by_id[one].parent or ""}
                parts = {part.id for part in tasks if part.parent == one}
                assert on in related | parts
        return
    in_order(tasks, found)
    apart(tasks, found)


def in_order(tasks: list[Subtask], found: Order) -> None:
    by_id, parts = {one.id: one for one in tasks}, wholes(tasks)
    assert sorted(found.tasks) == sorted(id_ for id_ in by_id if parts[id_] == [id_])
    assert sorted(found.tasks) == sorted(one for group in found.groups for one in group)
    at, group = {id_: n for n, id_ in enumerate(found.tasks)}, found.group_of
    for one in tasks:
        for on in one.dependencies or ():
            for mine in parts[one.id]:
                for theirs in parts[on]:
                    if theirs not in parts[one.id]:
                        assert at[theirs] < at[mine]
                        assert group[theirs] < group[mine]
    for edge in found.found:
        assert at[edge.on] < at[edge.task]


def apart(tasks: list[Subtask], found: Order) -> None:
    """What shares a file is never carried out together."""
    by_id = {one.id: one for one in tasks}
    for together in found.groups:
        written = [
            target.path
            for id_ in together
            for target in {t.path: t for t in by_id[id_].writes or ()}.values()
        ]
        assert len(written) == len(set(written))
        for id_ in together:
            others = {t.path for other in together if other != id_ for t in by_id[other].writes or ()}
            assert not others & set(by_id[id_].reads or ())


@given(tasks=plans())
@example(tasks=[task("a"), task("c", reads="x", writes="x"), task("d", reads="x", writes="x"), task("e")])
def test_the_order_can_be_ordered_again(tasks: list[Subtask]):
    """With what was found written down, nothing more is found and nothing moves apart."""
    found = order_subtasks(tasks)
    if isinstance(found, Unordered):
        return
    more = [
        Subtask(
            **{
                **made_fields(one),
                "dependencies": (*(one.dependencies or ()), *(f.on for f in found.found if f.task == one.id)),
            }
        )
        for one in tasks
    ]
    again = order_subtasks(more)
    assert isinstance(again, Order)
    assert again.groups == found.groups
    assert again.found == ()
