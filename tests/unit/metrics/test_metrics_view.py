"""Metrics in words, whatever the ledger holds."""

import pytest

from ringi.kernel.text import in_language
from ringi.metrics import view as words
from ringi.metrics.document import (
    Basis,
    Figure,
    FigureName,
    Group,
    GroupName,
    Unit,
)
from tests.tables import each

ENGLISH, JAPANESE = in_language("en"), in_language("ja")


def figure(**changes: object) -> Figure:
    fields = {"name": FigureName.REJECT_RATE, "unit": Unit.SHARE, "value": 0.25, "of": 4}
    return Figure(**{**fields, "basis": Basis.DECISIONS, **changes})  # type: ignore[arg-type]


def row(**changes: object) -> words.FigureRow:
    [found] = words.rows(Group(GroupName.PEOPLE, (figure(**changes),)))
    return found


@pytest.mark.req("PP-21")
@each(
    ("changes", "value"),
    [
        ({}, "25 %"),
        ({"value": None}, "no data yet"),
        ({"unit": Unit.SECONDS, "value": 1.26}, "1.3 s"),
        ({"unit": Unit.SECONDS, "value": 59.0}, "59 s"),
        ({"unit": Unit.SECONDS, "value": 125.0}, "2 min 5 s"),
        ({"unit": Unit.SECONDS, "value": 3_900.0}, "1 h 5 min"),
        ({"unit": Unit.SECONDS, "value": 300_000.0}, "3 days"),
        ({"unit": Unit.SECONDS, "value": 90.0, "shown_in": "minutes"}, "1.5 minutes"),
        ({"unit": Unit.SECONDS, "value": 90.0, "shown_in": "fortnights"}, "1 min 30 s"),
        ({"unit": Unit.DOLLARS, "value": 0.0123}, "0.0123 USD"),
        ({"unit": Unit.DOLLARS, "value": 12.3}, "12.30 USD"),
        ({"unit": Unit.TOKENS, "value": 12_345.0}, "12,345"),
        ({"unit": Unit.NUMBER, "value": 1.26}, "1.3"),
    ],
)
def test_values_as_people_read_them(changes: dict[str, object], value: str):
    assert str(row(**changes).value) == value


@pytest.mark.req("PP-21")
@each(
    ("changes", "mark", "basis"),
    [
        ({"met": True, "target": "<30%"}, "✓", "decisions: 4"),
        ({"met": False, "target": "<20%"}, "✗", "decisions: 4"),
        ({"without": 2}, "·", "decisions: 4, not known: 2"),
        ({"value": None, "of": 0, "without": 2}, "·", "not known: 2"),
        ({"value": None, "of": 0}, "·", ""),
        ({"value": None, "of": 0, "note": "the file is not there"}, "·", "the file is not there"),
        ({"note": "2026-01-01 10:00"}, "·", "decisions: 4, 2026-01-01 10:00"),
        ({"name": FigureName.TASK_COMPLETION_RATE, "without": 1}, "·", "decisions: 4, still open: 1"),
        ({"name": FigureName.LLM_CALLS, "without": 1}, "·", "decisions: 4, not known of turns: 1"),
    ],
)
def test_each_figure_has_a_mark_and_says_what_it_is_from(changes: dict[str, object], mark: str, basis: str):
    found = row(**changes)
    assert (found.mark, str(found.basis)) == (mark, basis)


@pytest.mark.req("PP-21")
def test_how_it_is_spread_or_what_it_is_made_of():
    seconds = {"unit": Unit.SECONDS, "value": 2.0, "p90": 5.0}
    assert str(row(**seconds, median=1.0).parts) == "median 1.0 s · 9 of 10 at most 5.0 s"
    assert str(row(**seconds, median=2.0).parts) == "9 of 10 at most 5.0 s"
    assert str(row(**seconds, median=2.0, of=1).parts) == ""
    assert str(row(parts={"typed": 3, "signed": 1}).parts) == "typed 3 · signed 1"
    assert row(parts={"typed": 3}, value=None).parts == ""


def test_every_figure_group_and_unit_has_words_in_both_languages():
    assert set(words.LABELS) == set(FigureName)
    assert set(words.GROUPS) == set(GroupName)
    for basis in Basis:
        assert str(row(basis=basis).basis)
    for label in [*words.LABELS.values(), *words.GROUPS.values()]:
        assert JAPANESE(label) != ENGLISH(label), label
