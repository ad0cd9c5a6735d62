"""A table is one test, and the case that fails is named."""

import inspect

import pytest

from tests.tables import each


def test_every_row_runs_with_the_fixtures_of_the_test() -> None:
    seen = []

    @each("letter", [pytest.param("a", id="first"), "b"])
    @each(("one", "two"), [(1, 2), (3, 4)])
    def test(place: str, letter: str, one: int, two: int) -> None:
        seen.append((place, letter, one, two))

    assert list(inspect.signature(test).parameters) == ["place"]
    test(place="here")
    assert seen == [("here", "a", 1, 2), ("here", "a", 3, 4), ("here", "b", 1, 2), ("here", "b", 3, 4)]


def test_the_case_that_fails_is_named() -> None:
    @each("number", [1, None, 3])
    def test(number: int | None) -> None:
        assert number

    with pytest.raises(AssertionError) as caught:
        test()
    assert caught.value.__notes__ == ["in the case {'number': None}"]


def test_a_table_without_rows_proves_nothing() -> None:
    with pytest.raises(AssertionError, match="without a row"):
        each("number", [])


def test_a_fixture_is_called_between_the_rows() -> None:
    seen: list[object] = []

    @each("number", [1, 2, 3], between="rewind")
    def test(number: int) -> None:
        seen.append(number)

    assert list(inspect.signature(test).parameters) == ["rewind"]
    test(rewind=lambda: seen.append("rewind"))
    assert seen == [1, "rewind", 2, "rewind", 3]
