"""Whole sessions as they were when the file beside this one was written.

After a change of content, run this file to write that one anew, and read the difference.
"""

# ruff: noqa: E501  # one case a line reads best

import json
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
import pytest

from ringi.domain.context import ProjectFacts
from ringi.domain.session import Brief, DecisionPoint, DesignOption, Question, Tradeoffs
from ringi.llm.playbook.questions import decisions, questions
from ringi.llm.playbook.summary import summary

GOLDEN: Final = Path(__file__).with_name("sessions.json")
PROJECT: Final = ProjectFacts(languages=("Python",), manifests=("pyproject.toml",), tests=("tests/",))


class Case(NamedTuple):
    language: Any
    instruction: str
    answer: str
    """To questions without options."""
    feedback: str


CASES: Final = [
    Case("en", "Add a login to the settings page", "a user with a password sees the settings", "no flag, please"),
    Case("en", "Change the schema of the orders table", "one row before, two after", "do it at once, and also log it"),
    Case("ja", "空のCSVを読み込むと落ちる不具合を修正", "空のファイルでは何も表示しない", "先にテストを書いてほしい"),
    Case("ja", "XMLのエンドポイントを廃止する", "特になし", "大きすぎるので小さくしてください"),
]  # fmt: skip


def session(case: Case) -> list[object]:
    """What is asked, then decisions and summary before and after the feedback."""
    brief = Brief(instruction=case.instruction, language=case.language, project=PROJECT)
    asked = questions(brief)
    answered = tuple(
        Question(
            id=f"q-{at}",
            type=made.type,
            question=made.question,
            answer=made.options[at % len(made.options)] if made.options else case.answer,
            answered_at="now",
        )
        for at, made in enumerate(asked.questions)
    )
    shown: list[object] = [msgspec.to_builtins(asked)]
    brief = msgspec.structs.replace(brief, questions=answered)
    for feedback in ((), (case.feedback,)):
        brief = msgspec.structs.replace(brief, feedback=feedback)
        made = decisions(brief)
        brief = msgspec.structs.replace(brief, decisions=tuple(map(_chosen, made.decisions)))
        shown += [msgspec.to_builtins(made), summary(brief).summary.splitlines()]
    return json.loads(msgspec.json.encode(shown))  # type: ignore[no-any-return]


def _chosen(made: Any) -> DecisionPoint:
    options = tuple(
        DesignOption(id=str(at), name=o.name, description=o.description, tradeoffs=Tradeoffs(o.pros, o.cons))
        for at, o in enumerate(made.options)
    )
    best = [option.recommendation for option in made.options].index(True)
    return DecisionPoint(id="d", topic=made.topic, options=options, selected_option_id=str(best))


@pytest.mark.parametrize("case", CASES, ids=[case.instruction for case in CASES])
def test_a_session_is_as_it_was(case: Case):
    assert session(case) == json.loads(GOLDEN.read_text())[case.instruction]


if __name__ == "__main__":
    written = {case.instruction: session(case) for case in CASES}
    GOLDEN.write_text(json.dumps(written, ensure_ascii=False, indent=1) + "\n")
