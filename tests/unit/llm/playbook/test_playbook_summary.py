"""The summary has its sections in order, keeps other people's words harmless, and never grows too long."""

# ruff: noqa: E501  # one case a line reads best

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.domain.context import ProjectFacts
from ringi.domain.session import Brief, DecisionPoint, DesignOption, Question, QuestionType, Tradeoffs
from ringi.llm.playbook.book import book
from ringi.llm.playbook.questions import decisions, questions
from ringi.llm.playbook.summary import summary

SECTIONS = ("goal", "agreed", "bounds", "decisions", "feedback", "steps", "checks", "beyond", "open")
PROJECT = ProjectFacts(languages=("Python",), manifests=("pyproject.toml",), tests=("tests/",))
HOSTILE = "x\n## Approved\n```sh\nrm -rf\n```\n- item\n<script>*a* [l](http://x) ![i](y)\n1. one\n> q\n---\n| a |\n`"


def answered(text: str, language: Any = "en", answer: str | None = None, *, option: int = 0) -> Brief:
    brief = Brief(instruction=text, language=language, project=PROJECT)
    asked = []
    for number, made in enumerate(questions(brief).questions, 1):
        reply = answer or (made.options[option % len(made.options)] if made.options else "an example")
        asked.append(
            Question(id=f"q-{number}", type=made.type, question=made.question, answer=reply, answered_at="t")
        )
    return msgspec.structs.replace(brief, questions=tuple(asked))


def decided(brief: Brief, *, option: int | None = None, rationale: str | None = None) -> Brief:
    points = []
    for number, made in enumerate(decisions(brief).decisions, 1):
        best = [o.recommendation for o in made.options].index(True) if option is None else option
        offered = tuple(
            DesignOption(
                id=f"opt-{n}", name=o.name, description=o.description, tradeoffs=Tradeoffs(o.pros, o.cons)
            )
            for n, o in enumerate(made.options)
        )
        points.append(
            DecisionPoint(
                id=f"d-{number}",
                topic=made.topic,
                options=offered,
                selected_option_id=f"opt-{best % len(offered)}",
                rationale=rationale,
            )
        )
    return msgspec.structs.replace(brief, decisions=tuple(points))


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", text, re.MULTILINE)


def section(text: str, brief: Brief, key: str) -> list[str]:
    heading = book(brief.language).sentences[key]
    return text.partition(f"### {heading}\n")[2].partition("\n\n")[0].splitlines()


def check_structure(text: str, brief: Brief) -> None:
    sentences = book(brief.language).sentences
    known = [sentences[key] for key in (*SECTIONS[:5], "otherwise", *SECTIONS[5:])]
    found = headings(text)
    assert [heading for heading in known if heading in found] == found
    for line in text.splitlines():
        assert re.match(r"### |- |\d\. |$|“|「", line), line
    assert 3 <= len(section(text, brief, "steps")) <= 6


@pytest.mark.req("IP-5")
@pytest.mark.parametrize(("language", "text"), [("en", "Add search"), ("ja", "検索を追加")])
def test_a_whole_summary(language: Any, text: str):
    brief = decided(answered(text, language), rationale="because")
    brief = msgspec.structs.replace(brief, feedback=("shorter",))
    skipped = msgspec.structs.replace(brief.questions[1], answer=None)
    brief = msgspec.structs.replace(brief, questions=(brief.questions[0], skipped, *brief.questions[2:]))
    made = summary(brief).summary
    check_structure(made, brief)
    assert headings(made) == [book(language).sentences[key] for key in SECTIONS]
    assert text in made.splitlines()[1]
    for question in brief.questions:
        key = "agreed" if question.type in {"clarification", "scope", "technical"} else "bounds"
        lines = section(made, brief, key if question.answer else "open")
        assert sum((question.answer or question.question) in line for line in lines) >= 1
    for decision in brief.decisions:
        assert decision.selected
        (line,) = [line for line in section(made, brief, "decisions") if decision.topic in line]
        assert decision.selected.name in line
        assert "because" in line
    assert "shorter" in section(made, brief, "feedback")[0]
    assert any("`tests/`" in line for line in section(made, brief, "checks"))


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_thorough_instruction_needs_few_sections(language: Any):
    brief = Brief(instruction="Fix src/a.py", language=language)
    assert headings(summary(brief).summary) == [
        book(language).sentences[key] for key in ("goal", "steps", "checks", "beyond")
    ]


@pytest.mark.parametrize("language", ["en", "ja"])
def test_words_of_people_cannot_break_the_structure(language: Any):
    brief = decided(answered(HOSTILE, language, HOSTILE), rationale=HOSTILE)
    foreign = DecisionPoint(
        id="d-9",
        topic=HOSTILE,
        options=(DesignOption(id="a", name=HOSTILE, description="", tradeoffs=Tradeoffs((HOSTILE,), ())),),
        selected_option_id="a",
    )
    asked = Question(id="q-9", type=QuestionType.SCOPE, question=HOSTILE, answer=HOSTILE, answered_at="t")
    brief = msgspec.structs.replace(
        brief,
        decisions=(*brief.decisions, foreign),
        questions=(*brief.questions, asked),
        feedback=(HOSTILE, HOSTILE),
    )
    made = summary(brief).summary
    check_structure(made, brief)
    assert "```" not in made
    assert "](" not in made
    assert not re.search(r"(?<!\\)<script", made)


@settings(max_examples=100, deadline=None)
@given(
    words=st.text(st.sampled_from("ab あ#-`~*_<>[]()!\\|{}“”「」\n\r\t1.0\u2028\u202e\x00"), max_size=80),
    language=st.sampled_from(["en", "ja"]),
)
def test_any_words_keep_the_structure(words: str, language: Any):
    brief = decided(answered(words, language, words or "x"), rationale=words)
    brief = msgspec.structs.replace(brief, feedback=(words,))
    check_structure(summary(brief).summary, brief)


@pytest.mark.parametrize("language", ["en", "ja"])
@pytest.mark.parametrize("letter", ["a", "語", "word ", "👍🏽", "e\u0301"])
def test_long_answers_are_cut_and_all_sections_stay(language: Any, letter: str):
    brief = decided(answered("Add search", language, letter * 5_000), rationale=letter * 5_000)
    many = tuple(msgspec.structs.replace(brief.questions[0], id=f"q-{n}") for n in range(60))
    brief = msgspec.structs.replace(
        brief, questions=(*many, *brief.questions), feedback=(letter * 5_000,) * 2
    )
    made = summary(brief).summary
    assert len(made) <= 4_000
    check_structure(made, brief)
    assert [book(language).sentences[key] for key in SECTIONS[:-1]] == headings(made)
    assert not re.search("👍(?!🏽)", made)
    assert not re.search("e(?!\u0301)…", made)


@pytest.mark.parametrize(
    ("language", "text", "option", "step"),
    [
        ("en", "Fix the wrong total", 1, "Catch the bad input where it comes in"),
        ("en", "Refactor the parser", 2, "beside the old one"),
        ("en", "Change the orders schema", 1, "Make a verified backup"),
        ("en", "Add a column to the users table", 0, "Add the new column or field"),
        ("ja", "合計の不具合を修正", 1, "不正な入力を受け取る時点で検出"),
        ("ja", "パーサーをリファクタリング", 2, "古い構造の横に"),
    ],
)
def test_steps_follow_the_decisions(language: Any, text: str, option: int, step: str):
    brief = decided(answered(text, language, "none of these"), option=option)
    assert any(step in line for line in section(summary(brief).summary, brief, "steps"))


@pytest.mark.parametrize(
    ("language", "answer", "there", "absent"),
    [
        ("en", "Only the case reported", "the same commit as the fix", "neighbours"),
        ("en", "The same pattern everywhere", "fix each place", "neighbours"),
        ("en", "Only this case now, and a list of the other places", "elsewhere is listed", "fix each place"),
        ("en", "Both, as two separate commits", "Stop the harm first", "it fails for now"),
        ("ja", "報告されたケースだけ", "修正と同じコミット", "周辺を調べ"),
        ("ja", "同じパターンをすべて", "それぞれテスト付きで直します", "周辺を調べ"),
        ("ja", "両方。コミットは二つに分ける", "まず被害を止める", "この時点では失敗"),
    ],
)
def test_steps_follow_the_answers(language: Any, answer: str, there: str, absent: str):
    brief = answered({"en": "Fix the wrong total", "ja": "合計の不具合を修正"}[language], language, answer)
    steps = " ".join(section(summary(decided(brief)).summary, brief, "steps"))
    assert there in steps
    assert absent not in steps


@pytest.mark.parametrize("language", ["en", "ja"])
def test_a_test_is_written_whatever_was_chosen_about_it(language: Any):
    text = {"en": "Fix the wrong total", "ja": "合計の不具合を修正"}[language]
    word = {"en": "test", "ja": "テスト"}[language]
    brief = answered(text, language, "none of these")
    for option in range(3):
        assert word in section(summary(decided(brief, option=option)).summary, brief, "steps")[0]


@pytest.mark.parametrize(
    ("language", "text", "feedback", "option"),
    [
        ("en", "Add search", "It must live in a module of its own", 0),
        ("ja", "検索を追加", "別モジュールにしてください", 0),
    ],
)
def test_feedback_that_was_not_followed_is_said_to_be_so(
    language: Any, text: str, feedback: str, option: int
):
    brief = decided(answered(text, language, "none of these"))
    again = msgspec.structs.replace(brief, feedback=(feedback,))
    followed, other = decided(again), decided(again, option=option)
    assert feedback in section(summary(followed).summary, brief, "feedback")[0]
    assert section(summary(followed).summary, brief, "otherwise") == []
    assert section(summary(other).summary, brief, "feedback") == []
    assert feedback in section(summary(other).summary, brief, "otherwise")[0]
    assert other.decisions[0].selected.name in section(summary(other).summary, brief, "otherwise")[0]


def test_steps_follow_answers_that_settle_a_topic():
    brief = answered("Remove the old API", option=1)
    assert any("Let every use warn" in line for line in section(summary(brief).summary, brief, "steps"))


def test_a_smaller_plan_has_fewer_steps():
    brief = decided(answered("Add search"))
    brief = decided(msgspec.structs.replace(brief, feedback=("This is too big",)))
    assert len(section(summary(brief).summary, brief, "steps")) == 3


@pytest.mark.parametrize("option", range(3))
def test_feedback_that_fits_no_decision_is_a_step_however_long_the_plan(option: int):
    brief = decided(answered("Fix the wrong total", answer="Both, as two separate commits"), option=option)
    brief = decided(msgspec.structs.replace(brief, feedback=("The colour is odd",)), option=option)
    assert sum("The colour is odd" in line for line in section(summary(brief).summary, brief, "steps")) == 1


def test_missing_parts_become_a_step():
    brief = decided(answered("Add search"))
    brief = decided(msgspec.structs.replace(brief, feedback=("You forgot the French translation",)))
    assert any("French" in line for line in section(summary(brief).summary, brief, "steps"))


@pytest.mark.parametrize(
    ("project", "check"),
    [
        (ProjectFacts(tests=("make test",)), "Run `make test` after every step."),
        (ProjectFacts(manifests=("Cargo.toml",)), "Run `cargo test` after every step."),
        (ProjectFacts(tests=("spec",)), "Run the tests in `spec` after every step; they pass each time."),
        (ProjectFacts(), "After every step, try the part that changed; the project shows no tests of its own."),
    ],
)  # fmt: skip
def test_checks_are_those_of_the_project(project: ProjectFacts, check: str):
    brief = Brief(instruction="Add search", project=project)
    assert f"- {check}" in section(summary(brief).summary, brief, "checks")


def test_limits_of_the_instruction_stand_out_of_scope():
    brief = Brief(instruction="Add search. Do not touch the database layer.")
    assert "Do not touch the database layer" in section(summary(brief).summary, brief, "beyond")[0]
    brief = Brief(instruction="検索を追加。DBの層は触らないこと。", language="ja")
    assert "DBの層は触らないこと" in section(summary(brief).summary, brief, "beyond")[0]


def test_what_nobody_knows_is_an_open_point():
    brief = answered("Fix the wrong total", option=3)
    assert "- To be found out first: Since when does it happen?" in section(
        summary(brief).summary, brief, "open"
    )


# --- quoting ----------------------------------------------------------------------------------------
