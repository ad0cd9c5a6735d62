"""Briefs of a small project for tests of the playbook, answered and decided as a person would."""

from typing import Any, Final

import msgspec

from ringi.project.context import Definition, FileKind, FoundFile, ProjectFacts
from ringi.sessions.document import Brief, DecisionPoint, DesignOption, Question, Tradeoffs
from ringi.sessions.playbook.questions import decisions, questions

FOUND: Final = (
    FoundFile(
        path="src/shop/report.py",
        kind=FileKind.SOURCE,
        definitions=(Definition("Report.total", "method", 12, 30), Definition("render", "function", 40, 60)),
        tests=("tests/test_report.py",),
    ),
    FoundFile(path="src/shop/orders.py", kind=FileKind.SOURCE, tests=("tests/test_orders.py",)),
    FoundFile(path="docs/reports.md", kind=FileKind.DOC),
    FoundFile(path="tests/test_cli.py", kind=FileKind.TEST),
    FoundFile(path=".github/workflows/ci.yml", kind=FileKind.OTHER),
)
PROJECT: Final = ProjectFacts(
    languages=("Python",),
    manifests=("pyproject.toml",),
    tests=("tests",),
    entries=("src", "tests", "docs", "README.md", "pyproject.toml"),
    test_commands=("make test",),
    changelog="CHANGES.md",
    found=FOUND,
)
PATHS: Final = frozenset(
    [
        *(file.path for file in FOUND),
        *(test for file in FOUND for test in file.tests),
        *("pyproject.toml", "tests", "CHANGES.md", "make test"),
    ]
)


def brief_of(text: str, language: Any = "en", project: ProjectFacts = PROJECT) -> Brief:
    return Brief(instruction=text, language=language, project=project)


def answered(brief: Brief, answer: str = "", *, option: int = 0) -> Brief:
    asked = tuple(
        Question(
            id=f"q-{number}",
            type=made.type,
            question=made.question,
            answer=answer or (made.options[option % len(made.options)] if made.options else "an example"),
            answered_at="t",
        )
        for number, made in enumerate(questions(brief).questions, 1)
    )
    return msgspec.structs.replace(brief, questions=asked)


def decided(brief: Brief, *, option: int | None = None, rationale: str | None = None) -> Brief:
    """With the recommended options unless one is given."""
    points = []
    for number, made in enumerate(decisions(brief).decisions, 1):
        best = [o.recommendation for o in made.options].index(True) if option is None else option
        offered = tuple(
            DesignOption(
                id=str(at), name=o.name, description=o.description, tradeoffs=Tradeoffs(o.pros, o.cons)
            )
            for at, o in enumerate(made.options)
        )
        points.append(
            DecisionPoint(
                id=f"d-{number}",
                topic=made.topic,
                options=offered,
                selected_option_id=str(best),
                rationale=rationale,
            )
        )
    return msgspec.structs.replace(brief, decisions=tuple(points))
