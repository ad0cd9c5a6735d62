import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.models.prompt import NewQuestions, NewSummary
from ringi.models.reply import MAX_ANSWER_BYTES, Unusable, read
from tests.tables import each

GOOD = '{"summary": "do {it} \\"so\\""}'
_SAID = st.text(st.characters(codec="utf-8"), max_size=80).filter(str.strip)
_CHATTER = st.text(st.characters(blacklist_characters='{}[]"`<', blacklist_categories=["Cs"]), max_size=60)


@each(
    "text",
    [
        GOOD,
        f"\ufeff \n{GOOD}\n",
        f"```json\n{GOOD}\n```",
        f"Sure, here it is:\n```\n{GOOD}\n```\nAnything else?",
        f"The answer is {GOOD}. Good luck!",
        f"<think>maybe {{}} or {{'a'}}…</think>\n{GOOD}",
        f"<thinking>one</thinking><think>two</think>{GOOD}",
        f"I took {{care}} of it: {GOOD}",
        f'First {{"example": 1}}, then {GOOD}',
        f"An open brace {{ is no object. {GOOD}",
        f'{GOOD} {{"summary": 3',
    ],
)
def test_the_object_is_found_wherever_it_stands(text):
    assert read(text, NewSummary).summary == 'do {it} "so"'


@given(before=_CHATTER, after=_CHATTER, words=_SAID)
def test_any_object_is_found_in_any_chatter(before, after, words):
    text = f"{before}{json.dumps({'summary': words})}{after}"
    assert read(text, NewSummary).summary == words


@each(
    ("text", "words"),
    [
        ("I do not know", "there is no JSON object in it"),
        ('{"summary": "x', "Unterminated string"),
        ('{"summary": 1}', "$.summary: "),
        ('{"summary": "x", "more": 1}', "$.more: there is no such field"),
        ('{"summary": "x", "summary": "y"}', "summary is in it twice"),
        ("{}", "$.summary: it is missing"),
        ('{"summary": NaN}', "NaN is not a number"),
        ('{"summary": ""}', "it is empty"),
        ('{"summary": "' + "x" * 16_001 + '"}', "characters, "),
        ('{"summary": "\\ud800"}', "half a character"),
        ("[" * 200_000 + "]" * 200_000, "nested too deeply"),
        ('{the plan} is {"summary": [1, 2, 3]}', "$.summary: "),
        ('{"schema_version": 99, "summary": "x"}', "later version"),
    ],
)
def test_what_is_wrong_is_said(text, words):
    with pytest.raises(Unusable) as caught:
        read(text, NewSummary)
    assert words in str(caught.value)
    assert not caught.value.empty


@each("text", ["", " \n", "\ufeff", "<think>hm</think>", "<think>hm, for ever"])
def test_nothing_is_nothing(text):
    with pytest.raises(Unusable) as caught:
        read(text, NewSummary)
    assert caught.value.empty


def test_five_questions_are_the_most():
    one = {"type": "scope", "question": "What?"}
    assert len(read(json.dumps({"questions": [one] * 5}), NewQuestions).questions) == 5
    with pytest.raises(Unusable):
        read(json.dumps({"questions": [one] * 6}), NewQuestions)


@each("piece", ["{", '{"a":', '\\"', '"', "```\n{\n", "{}", "<think>", '{"a":"', "[{", "``` \n", "{\\"])
def test_nothing_makes_it_slow(piece):
    text = piece * (MAX_ANSWER_BYTES // len(piece))
    with pytest.raises(Unusable):
        read(text, NewSummary)


def test_a_longer_text_is_not_even_read():
    with pytest.raises(Unusable, match="longer than"):
        read(" " * MAX_ANSWER_BYTES + GOOD, NewSummary)
