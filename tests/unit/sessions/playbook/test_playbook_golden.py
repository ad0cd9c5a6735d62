"""Whole sessions as they were when the file beside this one was written.

After a change of content, run this file to write that one anew, and read the difference.
"""

# ruff: noqa: E501  # one case a line reads best

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec

from ringi.models.prompt import NewQuestions
from ringi.sessions.document import Brief, Question
from ringi.sessions.playbook.questions import decisions, questions
from ringi.sessions.playbook.summary import summary
from tests.tables import each
from tests.unit.sessions.playbook.sessions import brief_of, decided

GOLDEN: Final = Path(__file__).with_name("sessions.json")


class Case(NamedTuple):
    language: Any
    instruction: str
    answer: str
    """To questions without options."""
    feedback: str


CASES: Final = [
    Case("en", "Add a login page", "a user with a password sees the settings", "in a separate module, please"),
    Case("en", "Change the schema of the orders table", "one row before, two after", "do it at once, and also log it"),
    Case("en", "Report.total is wrong if `render` got no orders", "0.00", "say so in the manual"),
    Case("en", "hello", "hello, world", "louder"),
    Case("ja", "空のCSVを読み込むと落ちる不具合を修正", "空のファイルでは何も表示しない", "先にテストを書いてほしい"),
    Case("ja", "XMLのエンドポイントを廃止する", "特になし", "非推奨にしてください"),
]  # fmt: skip


def session(case: Case) -> list[object]:
    """What is asked, then decisions and summary before and after the feedback."""
    brief = brief_of(case.instruction, case.language)
    asked = questions(brief)
    brief = replied(brief, asked, case.answer)
    shown: list[object] = [msgspec.to_builtins(asked)]
    for feedback in ((), (case.feedback,)):
        brief = msgspec.structs.replace(brief, feedback=feedback)
        shown.append(msgspec.to_builtins(decisions(brief)))
        brief = decided(brief)
        made = summary(brief)
        shown += [made.summary.splitlines(), msgspec.to_builtins(msgspec.structs.replace(made, summary="-"))]
    return json.loads(msgspec.json.encode(shown))  # type: ignore[no-any-return]


def replied(brief: Brief, asked: NewQuestions, answer: str) -> Brief:
    """With the case's answer to open questions."""
    answers = tuple(
        Question(
            id=f"q-{at}",
            type=made.type,
            question=made.question,
            answer=made.options[at % len(made.options)] if made.options else answer,
            answered_at="now",
        )
        for at, made in enumerate(asked.questions)
    )
    return msgspec.structs.replace(brief, questions=answers)


@each("case", CASES)
def test_a_session_is_as_it_was(case: Case):
    assert session(case) == json.loads(GOLDEN.read_text())[case.instruction]


if __name__ == "__main__":
    written = {case.instruction: session(case) for case in CASES}
    GOLDEN.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n")
