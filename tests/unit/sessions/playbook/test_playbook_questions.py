"""Few questions, none that the request answers; the recommendation is what was asked for."""

# one case a line reads best

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ringi.project.context import ProjectFacts
from ringi.sessions.playbook.questions import MOST_ASKED, decisions, questions
from ringi.sessions.playbook.summary import summary
from tests.tables import each
from tests.unit.sessions.playbook.sessions import PROJECT, answered, brief_of, decided
from tests.unit.sessions.playbook.test_playbook_instruction import CASES


def asked(text: str, language: Any = "en", project: ProjectFacts = PROJECT) -> list[str]:
    return [made.question for made in questions(brief_of(text, language, project)).questions]


def recommended(text: str, answer: str = "", *, feedback: str = "") -> list[str]:
    brief = answered(brief_of(text), answer)
    if feedback:
        brief = msgspec.structs.replace(decided(brief), feedback=(feedback,))
    return [o.name for made in decisions(brief).decisions for o in made.options if o.recommendation]


@pytest.mark.req("IP-3")
@each("text", [text for _, text in CASES])
def test_two_questions_at_most(text: str):
    assert len(asked(text)) <= MOST_ASKED == 2


@pytest.mark.req("IP-3")
@each(
    ("text", "count"),
    [
        ("fix typo in README.md", 0),
        ("Fix the crash when the file is empty; it should print nothing", 0),
        ("rename Report.total to Report.sum", 0),
        ("upgrade django to 5.1", 0),
        ("release 2.4.0", 0),
        ("remove dead code in report.py", 0),
        ("use pathlib instead of os.path", 0),
        ("change the default timeout from 30 to 60 seconds", 0),
        ("lineplot ignores its colour when `x` is empty", 0),
        ("Saving fails with a KeyError\n\n```\nsave()\n```\n", 0),
        ("Sums are wrong\n\n```\nsum()\n```\n", 1),
        ("add a --json option to the list command", 1),
        ("Fix the crash when the file is empty", 1),
        ("upgrade django", 1),
        ("rename Report.total", 1),
        ("make it faster", 2),
        ("fix the login bug", 2),
        ("add a login", 2),
    ],
)
def test_nothing_is_asked_that_the_request_says(text: str, count: int):
    assert len(asked(text)) == count


@each(("text", "language"), [("asdf", "en"), ("", "en"), ("こんにちは", "ja")])
def test_what_is_not_recognised_gets_one_open_question(text: str, language: Any):
    (made,) = questions(brief_of(text, language)).questions
    assert not made.options
    assert decisions(answered(brief_of(text, language))).decisions == ()


WORDS = st.lists(
    st.sampled_from(
        [
            "deprecated",
            "old",
            "public",
            "downstream",
            "users",
            "alias",
            "warning",
            "compatible",
            "keep",
            "legacy",
            "soft",
            "archive",
        ]
    ),
    max_size=5,
).map(" ".join)


@pytest.mark.req("IP-4")
@settings(max_examples=100, deadline=None)
@given(words=WORDS, where=st.sampled_from(["the {} endpoint", "the endpoint of the {} client"]))
def test_a_removal_is_never_answered_with_keeping_it(words: str, where: str):
    text = f"remove {where.format(words)}"
    assert recommended(text, "I do not know") in (["Remove it now"], [])


@pytest.mark.req("IP-4")
@each(
    ("text", "name"),
    [
        ("rename Report.total to Report.sum", "Drop it now"),
        (
            "rename Report.total to Report.sum, keep the old name as an alias",
            "Keep it as an alias that warns",
        ),
        ("rename Report.total to Report.sum, no alias please", "Drop it now"),
        ("remove the deprecated XML endpoint", "Remove it now"),
        ("delete users who have not logged in for two years", "Deleted, after a look at the list"),
        (
            "delete users who have not logged in for two years, as a soft delete",
            "Marked first, deleted later",
        ),
        ("add a report module", "In `src/shop/report.py`"),
    ],
)
def test_the_recommendation_is_what_was_asked_for(text: str, name: str):
    assert recommended(text) == [name]


@pytest.mark.req("IP-4")
@each("more", ["", " in favour of JSON", ".\n\nIt is unused."])
def test_what_the_request_begins_with_is_not_decided_again(more: str):
    brief = brief_of(f"Deprecate the XML endpoint{more}")
    assert decisions(brief).decisions == ()
    steps = summary(brief).summary
    assert "Let it warn" in steps
    assert "Remove it" not in steps


def test_an_answer_can_speak_for_another_option():
    text = "remove the XML endpoint"
    assert recommended(text, "Only this project") == ["Remove it now"]
    assert recommended(text, "Others too, and they need time") == [
        "Deprecate it now, remove it in a later release"
    ]
    assert recommended("add a column to the users table", "No, it is in use all the time") == [
        "New beside old, then switch"
    ]
    assert recommended("add a column to the users table", "never, zero downtime") == [
        "New beside old, then switch"
    ]


@pytest.mark.req("IP-2", "IP-4")
def test_feedback_changes_the_recommendation_and_says_so():
    text = "rename Report.total to Report.sum"
    assert recommended(text, feedback="keep the old name for a while") == ["Keep it as an alias that warns"]
    assert recommended(text, feedback="the colour is odd") == ["Drop it now"]
    brief = msgspec.structs.replace(decided(brief_of(text)), feedback=("an alias, please",))
    (made,) = decisions(brief).decisions
    (best,) = [option for option in made.options if option.recommendation]
    assert best.pros[0] == "Your feedback asks for it"


def test_feedback_opens_a_decision_that_nobody_was_asked_about():
    text = "remove dead code in report.py"
    assert recommended(text) == []
    assert recommended(text, feedback="deprecate it first") == [
        "Deprecate it now, remove it in a later release"
    ]


def test_a_choice_stays_chosen_after_other_feedback():
    brief = decided(brief_of("rename Report.total to Report.sum"), option=1)
    again = msgspec.structs.replace(brief, feedback=("the colour is odd",))
    (made,) = decisions(again).decisions
    assert [option.recommendation for option in made.options] == [False, True]


def test_a_place_is_offered_only_if_it_was_found():
    assert decisions(brief_of("add a report module")).decisions
    assert decisions(brief_of("add a report module", project=ProjectFacts())).decisions == ()
    assert decisions(brief_of("add a --json option to the report")).decisions == ()
    nowhere = brief_of("add a report module", project=ProjectFacts())
    assert decisions(msgspec.structs.replace(nowhere, feedback=("in a separate file",))).decisions == ()
