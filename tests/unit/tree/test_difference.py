"""How many changes a plan can hold, and where most of them are."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.process.git import ABSENT, TreeChange
from ringi.tree.difference import too_many
from tests.tables import each


def new(path: str, oid: str = "") -> TreeChange:
    return TreeChange(path.encode(), ABSENT, "100644", oid or path, "0")


def gone(path: str, oid: str) -> TreeChange:
    return TreeChange(path.encode(), "100644", ABSENT, "0", oid)


@each(
    ("paths", "where"),
    [
        ([f"out/a/{n}" for n in range(8)] + [f"out/b/{n}" for n in range(2)], "; 10 are in out/"),
        ([f"web/node_modules/{n}/{n}" for n in range(20)] + ["web/a.js"], "; 20 are in web/node_modules/"),
        (["a/x", "a/y", "b/z", "top"], "; 2 are in a/"),
        (["one", "two", "three", "four"], ""),
    ],
)
def test_it_names_the_folder_that_most_are_in(paths: list[str], where: str) -> None:
    why = too_many([new(path) for path in paths], 3)
    assert str(why) == f"it changes {len(paths)} files, a plan can have 3{where}"


def test_a_moved_file_is_one_change() -> None:
    moved = [change for n in range(4) for change in (gone(f"old/{n}", f"{n}"), new(f"new/{n}", f"{n}"))]
    assert too_many(moved, 4) is None
    assert too_many([*moved, new("more")], 4) is not None


@given(st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=4), min_size=1, max_size=30))
def test_the_count_is_that_of_the_folder(parts: list[list[str]]) -> None:
    paths = ["/".join([*names, str(number)]) for number, names in enumerate(parts)]
    why = too_many([new(path) for path in paths], 0)
    assert why is not None
    folder, part = why.details["folder"], why.details["part"]
    assert part == sum(path.startswith(f"{folder}/") for path in paths)
    assert int(part) >= max(Counter(path.partition("/")[0] for path in paths).values()) * 0.9
