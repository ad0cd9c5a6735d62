"""Whatever comes in, the playbook answers with valid documents, always the same."""

# ruff: noqa: E501  # one case a line reads best

import re
from typing import Any, TypeVar

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.kernel.document import Document
from ringi.models.prompt import (
    Budget,
    LanguageModel,
    NewDecisions,
    NewQuestions,
    NewSummary,
    Prompt,
    QuestionType,
)
from ringi.models.usage import Purpose, TokenUsage
from ringi.project.context import ProjectFacts
from ringi.sessions.document import Brief, DecisionPoint, DesignOption, Question, Tradeoffs
from ringi.sessions.playbook import Playbook
from ringi.sessions.playbook.questions import decisions
from tests.tables import each

T = TypeVar("T")

KINDS: dict[Purpose, Any] = {
    Purpose.DISCOVERY: NewQuestions,
    Purpose.DESIGN: NewDecisions,
    Purpose.REVIEW: NewSummary,
}
PROJECT = ProjectFacts(
    languages=("Python",),
    manifests=("pyproject.toml",),
    tests=("tests/",),
    entries=("src", "tests", "README.md", "pyproject.toml"),
)
MOST_READ = 8_000


def answer(purpose: Purpose, brief: Brief | None, kind: type[T]) -> T:
    prompt = Prompt(purpose, "rules", (), brief)
    return Playbook().ask(prompt, kind, Budget(10, 1_000), lambda _: None).value


def check_valid(purpose: Purpose, brief: Brief) -> None:
    value = answer(purpose, brief, KINDS[purpose])
    raw = msgspec.json.encode(value)
    assert msgspec.json.decode(raw, type=KINDS[purpose]) == value
    if isinstance(value, NewQuestions):
        assert len({question.question for question in value.questions}) == len(value.questions) <= 2
        assert all(len(question.options) != 1 and question.context for question in value.questions)
    if isinstance(value, NewDecisions):
        topics = [decision.topic for decision in value.decisions]
        assert len(set(topics)) == len(topics)
        for decision in value.decisions:
            assert [option.recommendation for option in decision.options].count(True) == 1


# --- anything at all --------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        *(
            "fix",
            "add",
            "テスト",
            "を追加",
            "slow",
            "`src/a.py`",
            "```",
            "\n# ",
            "。",
            "https://x.y/z",
            "--json",
            "```\n",
        ),
        *(
            "{",
            "}",
            "{thing}",
            "%s",
            "only",
            "だけ",
            "no new dependency",
            "\x00",
            "\ud800",
            "\u202e",
            "😀",
            "e\u0301",
        ),
        *(
            "not a flag",
            "フラグではなく",
            "v2.0",
            "3秒",
            "KeyError",
            "「",
            "」",
            "“",
            "*",
            "<b>",
            "](",
            "\\",
            "\r\n",
        ),
    ]
)
TEXTS = st.one_of(
    st.lists(PIECES, max_size=12).map(" ".join),
    st.lists(PIECES, max_size=12).map("".join),
    st.text(max_size=200),
)
WORDED = TEXTS.filter(bool)
OPTIONS = st.lists(
    st.builds(
        DesignOption,
        id=st.sampled_from(["opt-a", "opt-b"]),
        name=TEXTS,
        description=TEXTS,
        tradeoffs=st.builds(Tradeoffs, pros=st.lists(TEXTS, max_size=2).map(tuple), cons=st.just(("slow",))),
    ),
    max_size=3,
).map(tuple)
BRIEFS = st.builds(
    Brief,
    instruction=TEXTS,
    language=st.sampled_from(["en", "ja"]),
    project=st.builds(
        ProjectFacts,
        languages=st.lists(WORDED, max_size=2).map(tuple),
        manifests=st.lists(WORDED, max_size=2).map(tuple),
        tests=st.lists(WORDED, max_size=2).map(tuple),
        entries=st.lists(WORDED, max_size=2).map(tuple),
    ),
    questions=st.lists(
        st.builds(
            Question,
            id=st.just("q-1"),
            type=st.sampled_from(QuestionType),
            question=TEXTS,
            answer=st.none() | TEXTS,
            answered_at=st.just("2026-01-01"),
        ),
        max_size=5,
    ).map(tuple),
    decisions=st.lists(
        st.builds(
            DecisionPoint,
            id=st.just("d-1"),
            topic=TEXTS,
            options=OPTIONS,
            selected_option_id=st.sampled_from(["opt-a", "opt-b", None]),
            rationale=st.none() | TEXTS,
        ),
        max_size=3,
    ).map(tuple),
    feedback=st.lists(TEXTS, max_size=2).map(tuple),
)


@pytest.mark.req("IP-3", "IP-4", "IP-5")
@settings(max_examples=150, deadline=None)
@given(brief=BRIEFS, purpose=st.sampled_from(list(KINDS)))
def test_any_brief_gets_a_valid_answer(brief: Brief, purpose: Purpose):
    check_valid(purpose, brief)


@settings(max_examples=60, deadline=None)
@given(brief=BRIEFS, purpose=st.sampled_from(list(KINDS)))
def test_same_brief_same_bytes(brief: Brief, purpose: Purpose):
    first, second = (msgspec.json.encode(answer(purpose, brief, KINDS[purpose])) for _ in range(2))
    assert first == second


ODD = {
    "empty": "",
    "spaces": "   \n\t  ",
    "emoji": "🚀🔥👩\u200d👩\u200d👧\u200d👦" * 20,
    "punctuation": "?!... --- ***",
    "control characters": "fix\x00\x1b[31m the\x07 bug",
    "half a character": "fix \ud83d the bug",
    "mixed": "READMEのinstall手順をupdateして、please",
    "only code": "```python\ndef f():\n    return 1\n```",
    "only a link": "https://example.org/issues/42?fix=bug#add-tests",
    "braces": "add {thing} and {0} and {} to %s",
    "one letter": "x",
    "an issue": "# Crash\n\n## Steps\n1. open\n2. save\n\n## Expected\nsaved\n\n## Actual\n```\nKeyError: 'a'\n```\n",
}
LONG = {
    "letters": "a" * 100_000,
    "words": "fix the slow report when it is empty " * 2_700,
    "sentences": "空のCSVを読み込むと落ちるので直す。" * 5_000,
    "digits": "1" * 100_000,
    "paths": "a/" * 50_000,
    "backticks": "`a" * 50_000,
    "fences": "```\n" * 25_000,
    "accents": "e" + "\u0301" * 99_999,
    "newlines": "\n" * 100_000,
    "marks": "*_<[](\\" * 14_000,
}


@each("language", ["en", "ja"])
@each("text", ODD.values())
def test_odd_instructions(text: str, language: Any):
    for purpose in KINDS:
        check_valid(purpose, Brief(instruction=text, language=language, project=PROJECT))


def decided(brief: Brief) -> tuple[DecisionPoint, ...]:
    """What the playbook offers, with the recommendations taken."""
    return tuple(
        DecisionPoint(
            id=f"d-{number}",
            topic=made.topic,
            options=tuple(
                DesignOption(
                    id=str(at), name=o.name, description=o.description, tradeoffs=Tradeoffs(o.pros, o.cons)
                )
                for at, o in enumerate(made.options)
            ),
            selected_option_id=str([o.recommendation for o in made.options].index(True)),
            rationale=brief.instruction,
        )
        for number, made in enumerate(decisions(brief).decisions, 1)
    )


def replied(text: str) -> Brief:
    """The same text as instruction, answers, reasons and feedback."""
    asked = answer(Purpose.DISCOVERY, Brief(instruction=text), NewQuestions).questions
    questions = tuple(
        Question(id="q", type=q.type, question=q.question, answer=text, answered_at="now") for q in asked
    )
    brief = Brief(instruction=text, project=PROJECT, questions=questions, feedback=(text,))
    return msgspec.structs.replace(brief, decisions=decided(brief))


@each("text", LONG.values())
def test_only_the_beginning_of_a_long_text_is_read(text: str):
    whole, beginning = replied(text), replied(text[:MOST_READ])
    for purpose, kind in KINDS.items():
        check_valid(purpose, whole)
        assert answer(purpose, whole, kind) == answer(purpose, beginning, kind)


# --- as a language model ----------------------------------------------------------------------------


def test_it_is_a_language_model_that_costs_nothing():
    model: LanguageModel = Playbook()
    brief = Brief(instruction="Add a --json option")
    got = model.ask(Prompt(Purpose.DISCOVERY, "", (), brief), NewQuestions, Budget(1, 1), lambda _: None)
    assert (model.name, got.model, got.usage) == ("playbook", "playbook", TokenUsage(requests=1))
    (exchange,) = got.exchanges
    assert re.fullmatch(r"[^\n]+", exchange.request)
    assert msgspec.json.decode(exchange.reply, type=NewQuestions) == got.value


class Placed(Document, frozen=True):
    specs: tuple[str, ...]


def test_it_places_nothing_that_the_parser_could_not():
    assert answer(Purpose.EXTRACTION, None, Placed) == Placed(())
