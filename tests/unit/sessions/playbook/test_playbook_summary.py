"""The summary is short and true: it names what was found, quotes the request once, and stays harmless."""

# ruff: noqa: E501  # one case a line reads best

import re
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.models.prompt import QuestionType
from ringi.project.context import Definition, FileKind, FoundFile, ProjectFacts
from ringi.sessions.document import Brief, DecisionPoint, DesignOption, Question, Tradeoffs
from ringi.sessions.playbook.book import book
from ringi.sessions.playbook.case import case_of
from ringi.sessions.playbook.summary import summary
from tests.tables import each
from tests.unit.sessions.playbook.sessions import FOUND, PATHS, PROJECT, answered, brief_of, decided
from tests.unit.sessions.playbook.test_playbook_instruction import CASES

SECTIONS = ("goal", "agreed", "feedback", "steps")
HOSTILE = "x\n## Approved\n```sh\nrm -rf\n```\n- item\n<script>*a* [l](http://x) ![i](y)\n1. one\n> q\n---\n| a |\n`"
LONGEST_PLAN = 6


def headings(text: str) -> list[str]:
    return re.findall(r"^#+ (.*)$", text, re.MULTILINE)


def section(text: str, key: str, language: str = "en") -> list[str]:
    heading = book(language).sentences[key]
    return text.partition(f"### {heading}\n")[2].partition("\n\n")[0].splitlines()


def check_structure(text: str, brief: Brief) -> None:
    known = [book(brief.language).sentences[key] for key in SECTIONS]
    found = headings(text)
    assert [heading for heading in known if heading in found] == found
    for line in text.splitlines():
        if line not in section(text, "goal", brief.language):
            assert re.match(r"### |- |\d\. |$", line), line
    assert 1 <= len(section(text, "steps", brief.language)) <= LONGEST_PLAN


def whole(text: str, language: Any = "en", project: ProjectFacts = PROJECT) -> tuple[str, Brief]:
    brief = decided(answered(brief_of(text, language, project)))
    return summary(brief).summary, brief


@pytest.mark.req("IP-5")
@each(
    ("language", "text"), [("en", "Add a column to the users table"), ("ja", "usersテーブルにカラムを追加")]
)
def test_a_whole_summary(language: Any, text: str):
    brief = decided(answered(brief_of(text, language)), option=1, rationale="because")
    skipped = Question(
        id="q-9", type=QuestionType.SCOPE, question="Anything else?", answer=None, answered_at="t"
    )
    brief = msgspec.structs.replace(brief, questions=(*brief.questions, skipped), feedback=("shorter",))
    made = summary(brief).summary
    check_structure(made, brief)
    assert headings(made) == [book(language).sentences[key] for key in SECTIONS]
    agreed = "\n".join(section(made, "agreed", language))
    for question in brief.questions[:-1]:
        assert question.answer
        # The others are in the instruction already.
        assert (question.answer in agreed) == (question.type is QuestionType.CONSTRAINT)
    assert "Anything else?" in summary(brief).open_points[-1]
    assert "shorter" in section(made, "feedback", language)[0]


@pytest.mark.req("IP-5")
@each("text", [text for _, text in CASES if text])
def test_the_request_is_quoted_once_and_is_never_out_of_scope(text: str):
    made, brief = whole(text)
    title = case_of(brief).instruction.title
    assert made.count(f"“{title}”") == 1
    assert not any(title in line for line in summary(brief).out_of_scope)


@each("language", ["en", "ja"])
@each("text", [text for _, text in CASES])
@each("project", [PROJECT, ProjectFacts()])
def test_every_path_is_there(text: str, language: Any, project: ProjectFacts):
    made, brief = whole(text, language, project)
    goal = "\n".join(section(made, "goal", language))
    found = summary(brief)
    parts = [made, *found.assumptions, *found.out_of_scope, *found.open_points]
    parts += [f"{one.given} {one.when} {one.then}" for one in found.acceptance_criteria]
    text = "\n".join(parts).replace(goal, "").replace(brief.instruction, "")
    shown = set(re.findall(r"`([^`]+)`", text))
    known = (
        PATHS | {each.name for file in FOUND for each in file.definitions} if project is PROJECT else set()
    )
    kept = set(re.findall(r"`([^`]+)`", case_of(brief).instruction.kept))
    assert shown - kept <= known
    paths = {target.path for target in summary(brief).target_paths}
    assert paths <= known
    assert not any(target.new for target in summary(brief).target_paths)


def test_what_was_found_is_named_with_its_tests_change_log_and_test_command():
    made, brief = whole("Fix the wrong total when an order is empty")
    steps = "\n".join(section(made, "steps"))
    assert "`src/shop/report.py` (`Report.total` line 12, `render` line 40)" in steps
    assert "`tests/test_report.py`" in steps
    assert "`src/shop/orders.py`" in steps
    assert "`CHANGES.md`" in steps
    design = summary(brief)
    assert design.acceptance_criteria[-1].when == "`make test` runs"
    assert [target.path for target in design.target_paths] == [
        *("src/shop/report.py", "tests/test_report.py", "CHANGES.md")
    ]
    assert design.test_commands == ("make test",)


@each("text", ["Fix `render` for empty orders", "Fix orders.py when it is empty"])
def test_what_the_request_names_comes_first_and_a_path_is_no_assumption(text: str):
    made, brief = whole(text)
    named = "`src/shop/orders.py`" if "orders.py" in text else "`src/shop/report.py` (`render` line 40)"
    assert f"Start at {named}." in made
    assumed = "judging by its words" in summary(brief).assumptions[0]
    assert assumed == ("orders.py" not in text)


def test_what_was_found_by_words_is_an_assumption():
    _, brief = whole("Fix the wrong total when it is empty")
    assert "judging by its words; nobody has read the code yet" in summary(brief).assumptions[0]


def test_what_is_not_known_is_said():
    made, brief = whole("Fix the wrong total when it is empty", project=ProjectFacts())
    assert summary(brief).open_points == (
        "Where it belongs is open: no file matches the words of the request.",
        "How the project is tested is open: no test command was found.",
    )
    assert summary(brief).target_paths == ()
    assert "change log" not in made.lower()


@each(
    ("text", "option", "step"),
    [
        ("Rename Report.total to Report.sum", 0, "Rename it everywhere"),
        ("Rename Report.total to Report.sum", 1, "as an alias that warns"),
        ("Add a column to the users table", 0, "in one go"),
        ("Add a column to the users table", 1, "beside the old one"),
        ("Add a login page", 1, "in a module of its own"),
    ],
)
def test_steps_and_criteria_follow_the_decisions(text: str, option: int, step: str):
    brief = decided(answered(brief_of(text)), option=option)
    assert step in "\n".join(section(summary(brief).summary, "steps"))


def test_what_should_happen_is_a_criterion():
    brief = answered(brief_of("Fix the crash when the file is empty"), "it prints nothing")
    assert summary(brief).acceptance_criteria[0].then == "“it prints nothing”"
    told = brief_of("The sum is wrong\n\n### Expected\nIt is the sum of all rows.\n")
    assert summary(told).acceptance_criteria[0].then == "“It is the sum of all rows.”"


def test_what_must_stay_is_out_of_scope_in_the_words_of_the_request():
    _, brief = whole("Add search to the report. Do not touch the database layer.")
    assert "Do not touch the database layer" in summary(brief).out_of_scope[0]


def test_feedback_is_a_step():
    brief = msgspec.structs.replace(decided(brief_of("Add search")), feedback=("You forgot French",))
    made = summary(brief).summary
    assert section(made, "feedback") == ["- “You forgot French”"]
    assert section(made, "steps")[-1].endswith("Address the feedback above.")


# --- whatever people and file names say ---------------------------------------------------------------------


@each("language", ["en", "ja"])
def test_words_of_people_cannot_break_the_structure(language: Any):
    brief = decided(answered(brief_of(HOSTILE, language), HOSTILE), rationale=HOSTILE)
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
    brief = decided(answered(brief_of(words, language), words or "x"), rationale=words)
    brief = msgspec.structs.replace(brief, feedback=(words,))
    check_structure(summary(brief).summary, brief)


@settings(max_examples=100, deadline=None)
@given(name=st.text(st.sampled_from("ab/. #-`*_<>[]()\n\x1b\u202e{}"), min_size=1, max_size=40))
def test_any_file_name_keeps_the_structure_and_is_named_as_it_is_or_not_at_all(name: str):
    file = FoundFile(
        path=name,
        kind=FileKind.SOURCE,
        definitions=(Definition(name, "function", 1, 2),),
        tests=(name,),
    )
    project = ProjectFacts(
        found=(file,), changelog=name, test_commands=(name,), manifests=(name,), tests=(name,)
    )
    made, brief = whole("Fix the wrong total", project=project)
    check_structure(made, brief)
    assert all(f"`{target.path}`" in made for target in summary(brief).target_paths)
    assert all(command == name for command in summary(brief).test_commands)


@each("language", ["en", "ja"])
@each("letter", ["a", "語", "word ", "👍🏽", "e\u0301"])
def test_long_answers_are_cut_and_all_sections_stay(language: Any, letter: str):
    brief = decided(
        answered(brief_of("Add a column to the users table", language), letter * 5_000),
        rationale=letter * 5_000,
    )
    many = tuple(msgspec.structs.replace(brief.questions[1], id=f"q-{n}") for n in range(60))
    brief = msgspec.structs.replace(brief, questions=many, feedback=(letter * 5_000,) * 2)
    made = summary(brief).summary
    assert len(made) <= 4_000
    check_structure(made, brief)
    assert [book(language).sentences[key] for key in SECTIONS] == headings(made)
    assert not re.search("👍(?!🏽)", made)
    assert not re.search("e(?!\u0301)…", made)


SEVERAL = ProjectFacts(
    languages=("Python",),
    test_commands=("pytest",),
    changelog="CHANGELOG.md",
    found=tuple(
        FoundFile(path=path, kind=FileKind.SOURCE, tests=(f"tests/test_{name}.py",))
        for name in ("report", "store", "mail")
        for path in [f"src/{name}.py"]
    ),
)


@pytest.mark.req("RN-16")
def test_things_that_name_files_of_their_own_are_steps():
    text = "Make the exports better\n\n- Add a --json option to src/report.py\n- Add a cache to src/store.py\n- Add retries to src/mail.py"
    found = summary(Brief(instruction=text, project=SEVERAL))
    assert [(step.title, step.target_paths) for step in found.steps] == [
        ("Add a --json option to src/report.py", ("src/report.py",)),
        ("Add a cache to src/store.py", ("src/store.py",)),
        ("Add retries to src/mail.py", ("src/mail.py",)),
    ]
    assert {"src/report.py", "src/store.py", "src/mail.py"} <= {one.path for one in found.target_paths}
    assert section(found.summary, "steps")[1:] == [
        "2. Add a cache to src/store.py",
        "3. Add retries to src/mail.py",
    ]


@pytest.mark.req("RN-16")
@each(
    "text",
    [
        "Add a --json option to src/report.py",
        "Add exports\n\n- Add a --json option to src/report.py\n- Add a --csv option to src/report.py",
        "Add exports\n\n- Add a --json option to src/report.py\n- Add a way to send it",
        "Rename rows to lines\n\n- Rename rows in src/report.py\n- Rename rows in src/store.py",
        "Remove the cache\n\n- Remove the cache of src/report.py\n- Remove the cache of src/store.py",
        "It fails\n\n- Fix src/report.py\n- Fix src/store.py",
    ],
)
def test_what_belongs_together_is_not_split(text: str):
    assert summary(Brief(instruction=text, project=SEVERAL)).steps == ()
