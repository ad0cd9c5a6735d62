"""The outline without a model is about the same case as the plan."""

import json

import msgspec
import pytest

from ringi.engine.answers import NewOutline
from ringi.engine.document import PlanningBrief
from ringi.project.context import FileKind, FoundFile, ProjectFacts
from ringi.sessions.playbook.case import case_of
from ringi.sessions.playbook.outline import outline
from tests.tables import each
from tests.unit.sessions.playbook.sessions import PROJECT, brief_of

BUG = "Report.total is wrong for no orders"
TRACE = 'Traceback (most recent call last):\n  File "src/shop/orders.py", line 3, in get\nKeyError\n'


def outlined(text: str, project: ProjectFacts = PROJECT, most: int = 5) -> NewOutline:
    return outline(PlanningBrief(text, project=project, most=most))


def written(made: NewOutline) -> list[str]:
    return [one.path for task in made.task_decomposition.subtasks for one in task.writes]


@pytest.mark.req("PP-2", "IP-3")
@each(
    ("text", "paths"),
    [
        (BUG, ["tests/test_report.py", "src/shop/report.py", "CHANGES.md"]),
        (
            f"{BUG}\n\n```\n{TRACE}```\n",
            ["tests/test_report.py", "src/shop/report.py", "src/shop/orders.py", "CHANGES.md"],
        ),
        ("Deprecate Report.total", ["src/shop/report.py", "CHANGES.md"]),
        ("write unit tests for Report", ["tests/test_report.py"]),
        ("upgrade django to 5.1", ["pyproject.toml", "src/shop/report.py", "CHANGES.md"]),
    ],
)
def test_it_changes_what_the_plan_changes(text: str, paths: list[str]):
    made = outlined(text)
    assert written(made) == paths
    case = case_of(brief_of(text))
    texts = [words for _, words in case.steps()]
    assert [task.description for task in made.task_decomposition.subtasks[:-1]] == texts


@pytest.mark.req("PP-2")
def test_the_request_stands_once_in_its_first_line():
    text = f"{BUG}\n\n<!-- a form -->\n```\nx = 1\n```\nThe total of nothing is nothing.\n"
    made = outlined(text)
    document = json.dumps(msgspec.to_builtins(made))
    assert made.goal_understanding.main_objective == BUG
    assert document.count(BUG) == 1
    assert "```" not in document
    assert "<!--" not in document


def test_what_should_happen_is_a_criterion():
    made = outlined(f"{BUG}\n\n### Expected behavior\nIt prints a zero then.\n")
    first, second = made.goal_understanding.success_criteria
    assert "“It prints a zero then.”" in first
    assert "`make test` runs" in second


@each("most", [1, 2, 3, 4, 5, 6])
def test_the_change_is_the_last_to_go_and_the_check_the_last_but_one(most: int):
    tasks = outlined("add a --json option to `render`", most=most).task_decomposition.subtasks
    assert len(tasks) == most
    assert ("src/shop/report.py",) in [tuple(one.path for one in task.writes) for task in tasks]
    assert most == 1 or tasks[-1].required_tools == ("run",)


def test_a_folder_of_fragments_gets_a_new_file():
    project = msgspec.structs.replace(PROJECT, changelog="changes/")
    made = outlined(BUG, project)
    assert written(made)[-1] == "changes/"
    assert "a new file in `changes/`" in made.task_decomposition.subtasks[-2].description
    release = outlined("release 2.4.0", project)
    assert all("changes/" not in task.description for task in release.task_decomposition.subtasks)


def test_without_a_file_it_says_what_is_to_be_done():
    made = outlined(BUG, ProjectFacts())
    assert written(made) == []
    assert [task.required_tools for task in made.task_decomposition.subtasks][-1] == ("analyze",)
    others = ProjectFacts(found=(FoundFile(path="a`b.py", kind=FileKind.SOURCE),))
    assert written(outlined(BUG, others)) == []
