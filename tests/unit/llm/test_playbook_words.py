"""English and Japanese are equals: the same keys, the same shapes, and words that fit."""

import re
from collections import Counter
from itertools import chain
from string import Formatter

import pytest

from ringi.llm.playbook.asks import ASKS
from ringi.llm.playbook.deciding import FEEDBACK
from ringi.llm.playbook.feedback import KINDS
from ringi.llm.playbook.kinds import Trait, Words
from ringi.llm.playbook.slots import WORDS
from ringi.llm.playbook.topics import TOPICS

EN, JA = WORDS["en"], WORDS["ja"]
ASKED = {ask.key: ask for asks in ASKS.values() for ask in asks}
DECIDED = {topic.key: topic for topics in TOPICS.values() for topic in topics}
SLOTS = {"subject", "matter", "thing", "place", "manifest", "language", "folder", "tests"}

both = pytest.mark.parametrize("words", [EN, JA], ids=["en", "ja"])


def slots(template: str) -> Counter[str]:
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name)


def test_both_have_the_same_questions():
    assert EN.questions.keys() == JA.questions.keys() == ASKED.keys()
    for key, asked in ASKED.items():
        english, japanese = EN.questions[key], JA.questions[key]
        assert len(english.options) == len(japanese.options) == len(asked.replies), key
        assert slots(english.question) == slots(japanese.question), key
        for pair in zip(english.options, japanese.options, strict=True):
            assert slots(pair[0]) == slots(pair[1]), key


def test_both_have_the_same_decisions():
    assert EN.topics.keys() == JA.topics.keys() == {*DECIDED, FEEDBACK}
    for key in EN.topics:
        english, japanese = EN.topics[key], JA.topics[key]
        expected = len(DECIDED[key].choices) if key in DECIDED else len(KINDS)
        assert len(english.options) == len(japanese.options) == expected, key
        for one, other in zip(english.options, japanese.options, strict=True):
            assert (len(one.pros), len(one.cons)) == (len(other.pros), len(other.cons)), one.name


def test_both_have_the_same_work():
    assert EN.work.keys() == JA.work.keys() == set(Trait)
    for trait in Trait:
        assert len(EN.work[trait].steps) == len(JA.work[trait].steps)
    assert EN.ways.keys() == JA.ways.keys()
    assert [list(way) for way in EN.ways.values()] == [list(way) for way in JA.ways.values()]
    assert EN.sentences.keys() == JA.sentences.keys()
    for key, template in EN.sentences.items():
        assert slots(template) == slots(JA.sentences[key]), key


def all_texts(words: Words) -> list[str]:
    return [
        *chain(*([q.question, q.context, *q.options] for q in words.questions.values())),
        *(t.topic for t in words.topics.values()),
        *chain(
            *([o.name, o.description, *o.pros, *o.cons] for t in words.topics.values() for o in t.options)
        ),
        *chain(*([*w.steps, w.check, w.beyond] for w in words.work.values())),
        *chain(*(way.values() for way in words.ways.values())),
    ]


@both
def test_templates_name_only_what_is_filled_in(words: Words):
    assert set(chain(*(slots(text) for text in all_texts(words)))) <= {*SLOTS, "feedback"}


@both
def test_no_option_is_a_question(words: Words):
    offered = [option for question in words.questions.values() for option in question.options]
    assert [option for option in offered if re.search(r"[?？]|ですか", option)] == []  # noqa: RUF001


@both
def test_a_decision_is_known_again_by_its_words(words: Words):
    topics = [topic.topic for topic in words.topics.values()]
    assert len(set(topics)) == len(topics)
    for topic in words.topics.values():
        names = [option.name for option in topic.options]
        assert len(set(names)) == len(names)
    offered = [(q.question, option) for q in words.questions.values() for option in q.options]
    assert len(set(offered)) == len(offered)


@both
def test_options_have_both_sides_and_texts_are_short_enough(words: Words):
    for topic in words.topics.values():
        assert len(topic.topic) < 70
        for option in topic.options:
            assert option.pros
            assert option.cons
            assert max(map(len, [option.name, *option.pros, *option.cons])) < 100
            assert len(option.description) < 180
    for question in words.questions.values():
        assert len(question.question) < 180
        assert len(question.context) < 160
        assert all(len(option) < 90 for option in question.options)


def test_japanese_sentences_end_politely():
    sentences = [
        *chain(*((q.question, q.context) for q in JA.questions.values())),
        *(o.description for t in JA.topics.values() for o in t.options),
        *(step for w in JA.work.values() for step in w.steps if step),
        *(step for way in JA.ways.values() for step in way.values() if step),
    ]
    rude = [text for text in sentences if not re.search(r"(?:す|せん|い|う|か)(?:（.*）)?[。？]$", text)]  # noqa: RUF001
    assert rude == []


def test_nothing_was_left_in_the_other_language():
    latin = re.compile(r"[A-Za-z]{3,}")
    known = {"import", "docstring", "docstringや", "CI", "DB"}
    for text in all_texts(JA):
        assert set(latin.findall(re.sub(r"\{\w+\}", "", text))) <= known, text
    assert [text for text in all_texts(EN) if not text.replace("“", "").replace("”", "").isascii()] == []


@pytest.mark.parametrize("trait", Trait)
def test_each_kind_of_work_has_all_five_types_and_a_decision(trait: Trait):
    assert len({ask.type for ask in ASKS[trait]}) == 5
    assert len(TOPICS[trait]) >= 2
    for ask in ASKS[trait]:
        assert ask.key.startswith(f"{trait}.")


def test_what_answers_and_ways_speak_of_exists():
    named = {reply.settles for ask in ASKED.values() for reply in ask.replies if reply.settles}
    real = {f"{topic.key}={choice.key}" for topic in DECIDED.values() for choice in topic.choices}
    # An answer may also name its own question, for the steps alone; the instruction itself settles some ways.
    own = {name for name in named if name.partition("=")[0] in ASKED}
    assert named <= real | own
    assert set(EN.ways) <= real | own | {"migration.way=add", "migration.way=output"}
    assert own - real <= set(EN.ways)
