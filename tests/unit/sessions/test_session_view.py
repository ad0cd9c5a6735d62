"""How a session looks: it fits the terminal, and nothing in it commands the terminal."""

import fcntl
import os
import re
import struct
import termios
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.cli.planning import dialogue, review
from ringi.cli.ui import Ui, help_lines, width
from ringi.kernel.markdown import markdown
from ringi.kernel.text import Text
from ringi.models.prompt import QuestionType
from ringi.models.usage import TokenUsage
from ringi.sessions.document import (
    ApprovalPending,
    DecisionPending,
    DecisionPoint,
    DesignOption,
    PlanningSession,
    Question,
    QuestionPending,
    SessionFacts,
    SessionStatus,
    StoredSession,
    Tradeoffs,
)
from ringi.sessions.view import MINUS, answer_lines, decision_lines, question_lines, review_lines, totals
from tests.tables import each

HOSTILE = "evil \x1b[2J\x1b]0;title\x07 \u202e end"
LONG = "a fairly long sentence about what is meant "
LONG_JA = "とても長い文章なので、どこかで折り返さなければなりません。"


def on_terminal(columns: int, show: Callable[[Ui], None], **environment: str) -> list[str]:
    """What it writes to a real terminal of this width."""
    master, slave = os.openpty()
    try:
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        os.set_blocking(master, False)
        with open(slave, "w", encoding="utf-8", closefd=False) as out:
            ui = Ui(as_json=False, environment=environment)
            ui.out, ui._colour = out, not environment
            show(ui)
        data = b""
        while True:
            try:
                data += os.read(master, 65536)
            except BlockingIOError:
                return data.decode().replace("\r\n", "\n").splitlines()
    finally:
        os.close(master)
        os.close(slave)


def a_question(text: str = LONG * 3) -> QuestionPending:
    question = Question(
        id="q-2", type=QuestionType.SCOPE, question=text, context=LONG_JA * 2, options=(LONG, LONG_JA, "短い")
    )
    return QuestionPending(question, 2, 4)


def a_decision(text: str = LONG * 2, name: str = "d-1") -> DecisionPending:
    options = tuple(
        DesignOption(
            id=f"opt-{letter}",
            name=f"{letter} {text[:40]}",
            description=LONG_JA,
            tradeoffs=Tradeoffs((LONG, LONG_JA), (text,)),
            recommendation=letter == "b",
        )
        for letter in "abc"
    )
    decision = DecisionPoint(
        id=name, topic=text, options=options, selected_option_id="opt-c", rationale=LONG_JA
    )
    return DecisionPending(decision, 1, 3)


def a_session(text: str = LONG) -> PlanningSession:
    question = a_question(text).question
    return PlanningSession(
        session_id="planning-1",
        instruction=text,
        status=SessionStatus.REVIEW,
        questions=(question,),
        decisions=(a_decision(text).decision,),
        design_summary=text,
        conversation_history=(),
        planner_session_id=None,
        created_at="",
        updated_at="",
    )


def a_stored(text: str = LONG) -> StoredSession:
    return StoredSession(a_session(text), SessionFacts(feedback=(text, LONG_JA)), 1)


@each("columns", [20, 40, 80, 200])
def test_everything_fits_the_terminal(columns: int) -> None:
    def show(ui: Ui) -> None:
        ui.show(question_lines(a_question()))
        ui.show(decision_lines(a_decision()))
        ui.show(answer_lines(a_session()))
        ui.show(markdown(f"# {LONG * 2}\n\n1. {LONG_JA * 2}\n   - {LONG * 3}\n\n{LONG_JA * 3}"))
        ui.show(review_lines(a_stored(), ApprovalPending(f"## {LONG_JA}\n- {LONG}", 3)))

    lines = on_terminal(columns, show, NO_COLOR="1")
    headings = ("Question", "Decision", "Your answer", "You chose")
    assert lines
    assert [line for line in lines if width(line) > min(columns, 100) and not line.startswith(headings)] == []
    assert not any(line != line.rstrip() for line in lines)


@pytest.mark.req("IP-4")
def test_a_decision_says_in_words_what_is_recommended() -> None:
    lines = on_terminal(80, lambda ui: ui.show(decision_lines(a_decision("short"))), NO_COLOR="1")
    assert "  2  b short  (recommended)" in lines
    assert lines.count(f"     {MINUS} short") == 3
    assert sum(line.startswith("     + ") for line in lines) == 6
    assert sum("(recommended)" in line for line in lines) == 1


@pytest.mark.req("IP-3")
def test_a_question_says_why_and_offers_its_options() -> None:
    lines = on_terminal(80, lambda ui: ui.show(question_lines(a_question("Which ones?"))), NO_COLOR="1")
    assert lines[:3] == ["", "Question 2 of 4 · scope", "Which ones?"]
    assert lines[-1] == "  3  短い"


def test_nothing_in_a_session_commands_the_terminal() -> None:
    def show(ui: Ui) -> None:
        ui.show(question_lines(a_question(HOSTILE)))
        ui.show(decision_lines(a_decision(HOSTILE)))
        ui.show(answer_lines(a_session(HOSTILE)))
        ui.show(answer_lines(replace(a_session(), decisions=(a_decision(name=HOSTILE).decision,))))
        summary = f"# {HOSTILE}\n```\n{HOSTILE}\n```\n- {HOSTILE}"
        ui.show(review_lines(a_stored(HOSTILE), ApprovalPending(summary, 3)))

    shown = "\n".join(on_terminal(80, show, NO_COLOR="1"))
    assert r"evil \x1b[2J\x1b]0;title\x07" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


def test_headings_are_bold_and_need_no_sign() -> None:
    assert on_terminal(80, lambda ui: ui.show(markdown("## Goal")), NO_COLOR="1") == ["  Goal"]
    assert on_terminal(80, lambda ui: ui.show(markdown("## Goal"))) == ["  \x1b[1mGoal\x1b[0m"]


def test_what_is_strong_is_bold_or_marked() -> None:
    text = "- **In a file** and **memory** 2 ** 3 ** 4\n# A **goal**"
    assert on_terminal(80, lambda ui: ui.show(markdown(text)), NO_COLOR="1") == [
        "  - **In a file** and **memory** 2 ** 3 ** 4",
        "  A **goal**",
    ]
    assert on_terminal(80, lambda ui: ui.show(markdown(text))) == [
        "  - \x1b[1mIn a file\x1b[0m and \x1b[1mmemory\x1b[0m 2 ** 3 ** 4",
        "  \x1b[1mA goal\x1b[0m",
    ]


def test_a_quotation_that_is_folded_stays_beside_its_sign() -> None:
    text = "> one two three four five"
    assert on_terminal(20, lambda ui: ui.show(markdown(text))) == ["  > one two three", "    four five"]


@given(st.lists(st.sampled_from(["**", "a", "b ", "言葉、", " ", "-"]), max_size=40), st.integers(20, 60))
def test_bold_loses_only_the_stars_and_fits(pieces: list[str], columns: int) -> None:
    text = "x" + "".join(pieces)
    bold = on_terminal(columns, lambda ui: ui.show(markdown(text)))
    plain = [re.sub(r"\x1b\[[01]m", "", line) for line in bold]
    assert max(map(width, plain)) <= columns
    assert re.sub(r"[\s*]", "", "".join(plain)) == re.sub(r"[\s*]", "", text)
    assert all(line.count("\x1b[1m") == line.count("\x1b[0m") for line in bold)


@pytest.mark.req("IP-9")
def test_what_is_approved_is_all_shown() -> None:
    """Somebody else may have answered and decided; whatever the run gets stands before the person's eyes."""
    stored = a_stored("first line\nsecond line")
    question = replace(stored.session.questions[0], answer="this answer", answered_at="t")
    stored = stored._replace(session=replace(stored.session, questions=(question,)))
    shown = on_terminal(
        80, lambda ui: ui.show(review_lines(stored, ApprovalPending("the summary", 1))), NO_COLOR="1"
    )
    for words in ("the summary", "second line", "this answer", "→ c first line", LONG_JA[:20]):
        assert any(words in line for line in shown), words


@each(
    ("summary", "count"),
    [("### Goal\n“Add JSON”", 1), ("### Goal\n「Add JSON」", 1), ("### Goal\nAdd JSON and more", 2)],
)
def test_a_request_that_the_summary_quotes_is_not_shown_again(summary: str, count: int) -> None:
    stored = a_stored("words")
    stored = stored._replace(session=replace(stored.session, instruction="Add JSON"))
    shown = on_terminal(
        80, lambda ui: ui.show(review_lines(stored, ApprovalPending(summary, 1))), NO_COLOR="1"
    )
    assert sum("Add JSON" in line for line in shown) == count


def test_code_keeps_its_lines() -> None:
    text = "```\na    b\n" + "x" * 120 + "\n```"
    assert on_terminal(80, lambda ui: ui.show(markdown(text)), NO_COLOR="1")[1:3] == [
        "  a    b",
        "  " + "x" * 120,
    ]


@each(
    ("usage", "words"),
    [
        (TokenUsage(3, 1000, 240, 0.004, 8.2), "3 calls, 1,240 tokens, 0.004 USD, 8 s"),
        (TokenUsage(1, 10, 2, 1.5, 0.1), "1 call, 12 tokens, 1.50 USD, 0 s"),
        (TokenUsage(2, 10, 2, None, 61), "2 calls, 12 tokens, 61 s"),
        (TokenUsage(2, 2000, 200, None, 3, 1500), "2 calls, 2,200 tokens, 1,500 of them cached, 3 s"),
    ],
)
def test_totals(usage: TokenUsage, words: str) -> None:
    assert str(totals(usage)) == words


def test_what_took_nothing_is_not_told() -> None:
    assert totals(TokenUsage(3, 0, 0, None, 0.1)) is None


@each("columns", [40, 80])
@each("lines", [dialogue.HELP, review.HELP])
def test_help_is_folded_between_words_and_hangs(columns: int, lines: tuple[tuple[str, Text], ...]) -> None:
    shown = on_terminal(columns, lambda ui: ui.show(help_lines(lines)), NO_COLOR="1")
    assert max(map(width, shown)) <= columns
    words = [word for key, line in lines for word in f"{key} {line}".split()]
    assert [word for line in shown for word in line.split()] == words
    marks = [match for line in shown if (match := re.match(r"  (\S+ {2,})", line))]
    hanging = {len(line) - len(line.lstrip()) for line in shown if line.startswith("   ")}
    assert hanging <= {match.end() for match in marks}
