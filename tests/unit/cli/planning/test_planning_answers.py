"""A file of answers: what it may say, and what is wrong with it, by its line."""

import pytest

from ringi.cli.planning.answers import GivenReply, Otherwise, read_answers
from ringi.errors import BadDocument
from ringi.models.prompt import QuestionType
from ringi.sessions.document import DecisionPoint, DesignOption, Question, Tradeoffs
from tests.tables import each

QUESTIONS = tuple(
    Question(id=f"q-{number}", type=QuestionType.SCOPE, question=f"Which {number}?") for number in (1, 2, 3)
)


def option(letter: str, *, recommended: bool = False) -> DesignOption:
    return DesignOption(
        id=f"opt-{letter}",
        name=letter.upper(),
        description="",
        tradeoffs=Tradeoffs((), ()),
        recommendation=recommended,
    )


DECISIONS = (
    DecisionPoint(id="d-1", topic="One", options=(option("a"), option("b", recommended=True))),
    DecisionPoint(id="d-2", topic="Two", options=(option("a"), option("b"))),
)


def told(text: str | bytes) -> str:
    with pytest.raises(BadDocument) as caught:
        use(text.encode() if isinstance(text, str) else text)
    return str(caught.value)


def use(data: bytes) -> None:
    given = read_answers(data, "a.yaml")
    given.to_question(QUESTIONS, 0)
    given.to_decision(DECISIONS, 0)


def test_in_order() -> None:
    given = read_answers(
        b"answers:\n- first\n- ~\n- 3\ndecisions:\n- b\n- {option: opt-a, reason: cheap}\n", "a.yaml"
    )
    assert [given.to_question(QUESTIONS, index) for index in range(3)] == [
        GivenReply("a.yaml:2", "first"),
        GivenReply("a.yaml:3", None),
        GivenReply("a.yaml:4", "3"),
    ]
    assert given.to_decision(DECISIONS, 0) == GivenReply("a.yaml:6", "b")
    assert given.to_decision(DECISIONS, 1) == GivenReply("a.yaml:7", "opt-a", "cheap")


def test_by_id_and_in_several_lines() -> None:
    given = read_answers(b"answers:\n  q-2: |\n    one\n    two\ndecisions:\n  d-1: 1\n", "a.yaml")
    assert given.to_question(QUESTIONS, 0) is None
    assert given.to_question(QUESTIONS, 1) == GivenReply("a.yaml:2", "one\ntwo\n")
    assert given.to_decision(DECISIONS, 0) == GivenReply("a.yaml:6", "1")
    assert given.to_decision(DECISIONS, 1) is None


@each("text", ["", "answers:\n", "answers: []\ndecisions: {}\n", "otherwise: stop\n"])
def test_a_file_may_say_nothing(text: str) -> None:
    given = read_answers(text.encode(), "a.yaml")
    assert given.otherwise is Otherwise.STOP
    assert given.to_question(QUESTIONS, 0) is None
    assert given.to_decision(DECISIONS, 0) is None


def test_otherwise_skip_leaves_decisions_to_people() -> None:
    given = read_answers(b"otherwise: skip", "a.yaml")
    assert given.to_question(QUESTIONS, 0) == GivenReply("", None)
    assert given.to_decision(DECISIONS, 0) is None


def test_otherwise_recommended_takes_only_what_is_recommended() -> None:
    given = read_answers(b"otherwise: recommended", "a.yaml")
    assert given.to_question(QUESTIONS, 0) == GivenReply("", None)
    assert given.to_decision(DECISIONS, 0) == GivenReply("", "opt-b")
    assert given.to_decision(DECISIONS, 1) is None


@each(
    ("text", "words"),
    [
        ("answers: [a]\nanswer: b\n", "a.yaml:2: there is no key answer; did"),
        ("answers: yes please", "a.yaml:1: it must be a list"),
        ("answers:\n- a\n- [b]\n", "a.yaml:3: it must be a text, not a list"),
        ("answers:\n- ''\n", "a.yaml:2: an empty text is no answer"),
        ("answers:\n  q-9: x\n", "a.yaml:2: there is no question q-9; there are: q-1, q-2"),
        ("answers: [a, b, c,\n d]\n", "a.yaml:2: one too many"),
        ("decisions:\n  d-7: a\n", "a.yaml:2: there is no decision d-7"),
        ("decisions:\n- {reason: x}\n", "a.yaml:2: the option is missing"),
        ("decisions:\n- {option: a,\n   why: x}\n", "a.yaml:3: there is no key why"),
        ("decisions:\n- ~\n", "a.yaml:2: it must be a text, not nothing"),
        ("otherwise: guess", "a.yaml:1: it must be one of stop, skip, recommended"),
        ("answers: [a]\nanswers: [b]\n", "a.yaml:2"),
        ("answers: [a", "this is not YAML"),
        ("- a\n- b\n", "a.yaml:1"),
        ("a: &x 1\n", "a.yaml:1"),
        (b"answers: [\xff]", "not UTF-8"),
        (b"x" * 1_100_000, "more than"),
    ],
)  # fmt: skip
def test_mistakes_have_their_line(text: str | bytes, words: str) -> None:
    assert words in told(text)


def test_standard_input_has_a_name() -> None:
    with pytest.raises(BadDocument, match="standard input:1"):
        read_answers(b"what: 1", "-")
