"""The content is whole, its words fit, and English and Japanese are equals."""

import re
from collections import Counter
from itertools import chain
from pathlib import Path
from string import Formatter

import msgspec
import pytest

from ringi.sessions.playbook.book import (
    CONTENT,
    Book,
    DecisionEntry,
    Kind,
    QuestionEntry,
    book,
    list_sentences,
    vocabulary,
)
from tests.tables import each

EN, JA = book("en"), book("ja")
SLOTS = {"start", "place", "home", "others", "test", "beside", "docs", "changelog", "log", "manifest", "run"}

both = pytest.mark.parametrize("words", [EN, JA], ids=["en", "ja"])


def slots(template: str) -> Counter[str]:
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name)


def questions(words: Book) -> list[QuestionEntry]:
    return [question for chapter in words.chapters.values() for question in chapter.questions]


def decisions(words: Book) -> list[DecisionEntry]:
    return [decision for chapter in words.chapters.values() for decision in chapter.decisions]


def all_texts(words: Book) -> list[str]:
    chapters = words.chapters.values()
    return [
        *chain(*([q.question, q.context, *(a.text for a in q.answers)] for q in questions(words))),
        *(d.topic for d in decisions(words)),
        *chain(*([o.name, o.description, *o.pros, *o.cons] for d in decisions(words) for o in d.options)),
        *chain(*([c.meant, c.place, *(step.step for step in c.steps)] for c in chapters)),
        *chain(*([each.given, each.when, each.then] for c in chapters for each in c.criteria)),
    ]


def test_there_is_a_file_for_each_kind_and_none_besides():
    assert {path.stem for path in CONTENT.glob("kinds/*")} == set(Kind)


def test_a_field_that_nobody_reads_is_refused(tmp_path: Path):
    for path in CONTENT.rglob("*.toml"):
        copy = tmp_path / path.relative_to(CONTENT)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(path.read_text().replace("steps]]", "stepps]]"))
    with pytest.raises(msgspec.ValidationError, match="stepps"):
        list_sentences(tmp_path)


def test_every_sentence_is_translated():
    pairs = [*zip(all_texts(EN), all_texts(JA), strict=True)]
    pairs += [(text, JA.sentences[key]) for key, text in EN.sentences.items()]
    same = [english for english, japanese in pairs if english == japanese and english]
    assert set(same) == {"{run}", "`{path}`", "{question} → {answer}"}


def test_japanese_fills_in_the_same():
    pairs = [*zip(all_texts(EN), all_texts(JA), strict=True)]
    pairs += [(text, JA.sentences[key]) for key, text in EN.sentences.items()]
    assert [english for english, japanese in pairs if slots(english) != slots(japanese)] == []


@both
def test_templates_name_only_what_is_filled_in(words: Book):
    assert set(chain(*(slots(text) for text in all_texts(words)))) <= SLOTS


@both
def test_no_option_is_a_question(words: Book):
    offered = [answer.text for question in questions(words) for answer in question.answers]
    assert [option for option in offered if re.search(r"[?？]|ですか", option)] == []  # noqa: RUF001


@both
def test_a_decision_is_known_again_by_its_words(words: Book):
    topics = [decision.topic for decision in decisions(words)]
    assert len(set(topics)) == len(topics)
    for decision in decisions(words):
        names = [option.name for option in decision.options]
        assert len(set(names)) == len(names)
    offered = [
        (question.question, answer.text) for question in questions(words) for answer in question.answers
    ]
    assert len(set(offered)) == len(offered)


@both
def test_options_have_both_sides_and_texts_are_short_enough(words: Book):
    for decision in decisions(words):
        assert len(decision.topic) < 70
        for option in decision.options:
            assert option.pros
            assert option.cons
            assert max(map(len, [option.name, *option.pros, *option.cons])) < 100
            assert len(option.description) < 180
    for question in questions(words):
        assert len(question.question) < 180
        assert len(question.context) < 160
        assert all(len(answer.text) < 90 for answer in question.answers)


def test_japanese_sentences_end_politely():
    sentences = [
        *chain(*((q.question, q.context) for q in questions(JA))),
        *(o.description for d in decisions(JA) for o in d.options),
        *(step.step for chapter in JA.chapters.values() for step in chapter.steps),
        *(chapter.meant for chapter in JA.chapters.values()),
    ]
    assert [text for text in sentences if not re.search(r"(?:す|た|せん|い|う|か)[。？]$", text)] == []  # noqa: RUF001


def test_nothing_was_left_in_the_other_language():
    latin = re.compile(r"[A-Za-z]{3,}")
    assert [text for text in all_texts(JA) if latin.search(re.sub(r"\{\w+\}", "", text))] == []
    assert [text for text in all_texts(EN) if not text.isascii()] == []


@each("kind", Kind)
def test_steps_and_criteria_follow_options_that_are_offered(kind: Kind):
    chapter = EN.chapters[kind]
    offered = [option.key for decision in chapter.decisions for option in decision.options]
    assert len(set(offered)) == len(offered)
    named = {entry.option.removeprefix("!") for entry in (*chapter.steps, *chapter.criteria)}
    assert named - {""} <= set(offered)


@each("kind", Kind)
def test_each_kind_asks_something_and_says_when_it_is_done(kind: Kind):
    chapter = EN.chapters[kind]
    assert chapter.meant.endswith(".")
    assert chapter.steps
    assert chapter.criteria
    assert chapter.questions


def test_words_are_compared_in_small_letters():
    signs = [chapter.signs for chapter in EN.chapters.values()]
    words = [*chain(*((*each.tags, *each.nouns, *each.body) for each in signs))]
    words += chain(*(chain(*each.verbs.values(), *each.title.values()) for each in signs))
    words += chain(*vocabulary().said.values())
    words += chain(*(option.hints for decision in decisions(EN) for option in decision.options))
    assert [word for word in words if word != word.lower()] == []
    assert not any("*" in verb for each in signs for verb in chain(*each.verbs.values()))
