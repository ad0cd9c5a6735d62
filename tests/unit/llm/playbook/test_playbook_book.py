"""The content is whole, its words fit, and English and Japanese are equals."""

import re
from collections import Counter
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from string import Formatter

import msgspec
import pytest

from ringi.llm.playbook.book import CONTENT, Book, DecisionEntry, Kind, Steps, book, shown, vocabulary

EN, JA = book("en"), book("ja")
SLOTS = {"subject", "matter", "thing", "place", "manifest", "language", "folder", "tests"}

both = pytest.mark.parametrize("words", [EN, JA], ids=["en", "ja"])


def slots(template: str) -> Counter[str]:
    return Counter(name for _, name, _, _ in Formatter().parse(template) if name)


def decisions(words: Book) -> list[DecisionEntry]:
    return [*words.decisions(), words.feedback]


def replaced(words: Book) -> Iterator[Steps]:
    return (steps for kind in Kind for _, steps in words.steps(kind))


def all_texts(words: Book) -> list[str]:
    work = [chapter.work for chapter in words.chapters.values()]
    return [
        *chain(*([q.question, q.context, *(a.text for a in q.answers)] for q in words.questions())),
        *(d.topic for d in decisions(words)),
        *chain(*([o.name, o.description, *o.pros, *o.cons] for d in decisions(words) for o in d.options)),
        *chain(*([*w.steps, w.check, w.beyond] for w in work)),
        *chain(*(steps.values() for steps in replaced(words))),
    ]


def test_there_is_a_file_for_each_kind_and_none_besides():
    assert {path.stem for path in CONTENT.glob("kinds/*")} == set(Kind)


def test_a_field_that_nobody_reads_is_refused(tmp_path: Path):
    for path in CONTENT.rglob("*.toml"):
        copy = tmp_path / path.relative_to(CONTENT)
        copy.parent.mkdir(exist_ok=True)
        copy.write_text(path.read_text().replace("beyond =", "beyound ="))
    with pytest.raises(msgspec.ValidationError, match="beyound"):
        shown(tmp_path)


def test_every_sentence_is_translated():
    pairs = [*zip(all_texts(EN), all_texts(JA), strict=True)]
    pairs += [(text, JA.sentences[key]) for key, text in EN.sentences.items()]
    same = [english for english, japanese in pairs if english == japanese and english]
    assert same == ["{question} → {answer}", "{feedback} → {decision}"]


def test_japanese_fills_in_the_same():
    for english, japanese in zip(EN.questions(), JA.questions(), strict=True):
        assert slots(english.question) == slots(japanese.question), english.key
        for one, other in zip(english.answers, japanese.answers, strict=True):
            assert slots(one.text) == slots(other.text), english.key
    for key, template in EN.sentences.items():
        assert slots(template) == slots(JA.sentences[key]), key


@both
def test_templates_name_only_what_is_filled_in(words: Book):
    assert set(chain(*(slots(text) for text in all_texts(words)))) <= {*SLOTS, "feedback"}


@both
def test_no_option_is_a_question(words: Book):
    offered = [answer.text for question in words.questions() for answer in question.answers]
    assert [option for option in offered if re.search(r"[?？]|ですか", option)] == []  # noqa: RUF001


@both
def test_a_decision_is_known_again_by_its_words(words: Book):
    topics = [decision.topic for decision in decisions(words)]
    assert len(set(topics)) == len(topics)
    for decision in decisions(words):
        names = [option.name for option in decision.options]
        assert len(set(names)) == len(names)
    offered = [
        (question.question, answer.text) for question in words.questions() for answer in question.answers
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
    for question in words.questions():
        assert len(question.question) < 180
        assert len(question.context) < 160
        assert all(len(answer.text) < 90 for answer in question.answers)


def test_japanese_sentences_end_politely():
    sentences = [
        *chain(*((q.question, q.context) for q in JA.questions())),
        *(o.description for d in decisions(JA) for o in d.options),
        *(step for chapter in JA.chapters.values() for step in chapter.work.steps if step),
        *(step for steps in replaced(JA) for step in steps.values() if step),
    ]
    rude = [text for text in sentences if not re.search(r"(?:す|せん|い|う|か)(?:（.*）)?[。？]$", text)]  # noqa: RUF001
    assert rude == []


def test_nothing_was_left_in_the_other_language():
    latin = re.compile(r"[A-Za-z]{3,}")
    known = {"import", "docstring", "docstringや", "CI", "DB"}
    for text in all_texts(JA):
        assert set(latin.findall(re.sub(r"\{\w+\}", "", text))) <= known, text
    assert [text for text in all_texts(EN) if not text.replace("“", "").replace("”", "").isascii()] == []


@pytest.mark.parametrize("kind", Kind)
def test_each_kind_has_all_five_types_and_a_decision(kind: Kind):
    chapter = EN.chapters[kind]
    assert len({question.type for question in chapter.questions}) == 5
    assert len(chapter.decisions) >= 2


@pytest.mark.parametrize("kind", Kind)
def test_what_an_answer_settles_is_an_option(kind: Kind):
    chapter = EN.chapters[kind]
    offered = {
        f"{decision.key}={option.key}" for decision in chapter.decisions for option in decision.options
    }
    for question in chapter.questions:
        for at, answer in enumerate(question.answers):
            own = f"{question.key}={at}" if answer.steps else ""
            assert answer.settles in {*offered, own, ""}


@pytest.mark.parametrize("kind", Kind)
def test_keys_are_unique(kind: Kind):
    chapter = EN.chapters[kind]
    for keys in (
        [question.key for question in chapter.questions],
        [decision.key for decision in chapter.decisions],
        *([option.key for option in decision.options] for decision in chapter.decisions),
    ):
        assert len(set(keys)) == len(keys)


def test_words_are_compared_in_small_letters():
    words = [*chain(*(chain(*chapter.words.values()) for chapter in EN.chapters.values()))]
    words += chain(*vocabulary().said.values(), *vocabulary().leans.values())
    words += chain(*(option.hints for decision in decisions(EN) for option in decision.options))
    assert [word for word in words if word != word.lower()] == []
