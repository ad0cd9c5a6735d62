"""The promises about the cache: a stream of 100 requests with repeats, paraphrases and near misses."""

import importlib.util
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import Figure, size
from bench.scratch import opened, scratch
from ringi.sessions.outline import outline, similar_outline
from tests.fakes.model_server import ModelServer, Request

FILES = {
    "README.md": "# Report\n\nPrints a report of orders.\n",
    "report.py": "import config\n\n\ndef report(rows):\n    for row in rows:\n        print(row)\n",
    "config.py": "TIMEOUT = 10\nRETRIES = 3\nVERBOSE = False\n",
    "orders.py": "def orders(path):\n    return open(path).read().splitlines()\n",
    "test_report.py": "from report import report\n\nreport([])\n",
    "pyproject.toml": '[project]\nname = "report"\nversion = "1.0"\n',
}


class Ask(NamedTuple):
    words: str
    others: tuple[str, ...]
    """The same in other words."""
    near: tuple[str, ...]
    """Almost the same words for something else."""


STREAM = (
    Ask(
        "Add an install section to README.md",
        ("Please write a section about installation in README.md", "In README.md, add an install section."),
        (
            "Do not add an install section to README.md",
            "Add an install section to pyproject.toml",
            "Add 2 install sections to README.md",
        ),
    ),
    Ask(
        "Raise TIMEOUT in config.py to 30",
        ("Could you raise TIMEOUT in config.py to 30?", "TIMEOUT in config.py should be 30 from now on"),
        (
            "Raise TIMEOUT in config.py to 60",
            "Raise TIMEOUT in orders.py to 30",
            "Never raise TIMEOUT in config.py to 30",
        ),
    ),
    Ask(
        "Fix the typo in report.py",
        ("Please correct the typos in report.py", "There is a typo in report.py: get rid of it"),
        (
            "Fix the typo in test_report.py",
            "Fix no typo in report.py",
            "Fix the 3 typos in report.py",
        ),
    ),
    Ask(
        "Remove RETRIES from config.py",
        ("We need to delete RETRIES from config.py", "I'd like you to remove RETRIES from config.py, thanks"),
        (
            "Remove RETRIES from report.py",
            "Do not remove RETRIES from config.py",
            "Remove RETRIES2 from config.py",
        ),
    ),
    Ask(
        "Show the number of orders at the end of report.py",
        (
            "Display the number of orders at the end of report.py, please",
            "report.py: print how many came",
        ),
        (
            "Show the number of orders at the beginning of report.py",
            "Show the number of orders at the end of orders.py",
            "Show no number of orders at the end of report.py",
        ),
    ),
    Ask(
        "Read orders.py line by line before the report is printed",
        (
            "Please read orders.py line by line before the report is printed",
            "Can you read orders.py line by line before the report is printed?",
        ),
        (
            "Read orders.py line by line after the report is printed",
            "Read report.py line by line before the report is printed",
            "Read orders.py line by line unless the report is printed",
        ),
    ),
    Ask(
        "Test report.py with 100 rows",
        ("Let's test report.py with 100 rows", "Would you test report.py with 100 rows?"),
        (
            "Test report.py with 1000 rows",
            "Test orders.py with 100 rows",
            "Test report.py without 100 rows",
        ),
    ),
    Ask(
        "Enable VERBOSE in config.py",
        ("Please enable VERBOSE in config.py!", "Switch VERBOSE on in config.py"),
        (
            "Disable VERBOSE in config.py",
            "Enable VERBOSE in pyproject.toml",
            "Don't enable VERBOSE in config.py",
        ),
    ),
    Ask(
        "README.mdに使い方の節を追加して",
        ("README.mdに使い方の節を追加してください", "README.mdに使い方の節の追加をお願いします"),
        (
            "README.mdに使い方の節を追加しないで",
            "report.pyに使い方の節を追加して",
            "README.mdから使い方の節を削除して",
        ),
    ),
    Ask(
        "config.pyのTIMEOUTを30に変更して",
        ("config.pyのTIMEOUTを30に変えてください", "config.pyのTIMEOUTを30に変更してほしい"),
        (
            "config.pyのTIMEOUTを60に変更して",
            "orders.pyのTIMEOUTを30に変更して",
            "config.pyのTIMEOUTを30に変更しないで",
        ),
    ),
)
ALONE = tuple(
    f"{verb} {thing} in {file}"
    for verb, thing, file in (
        ("Document", "every function", "report.py"),
        ("Sort", "the rows", "report.py"),
        ("Type", "the arguments", "orders.py"),
        ("Close", "the file", "orders.py"),
        ("Split", "the settings", "config.py"),
        ("Pin", "the dependencies", "pyproject.toml"),
        ("Describe", "the settings", "README.md"),
        ("Add", "a licence", "pyproject.toml"),
        ("Check", "the empty report", "test_report.py"),
        ("Log", "each row", "report.py"),
        ("Explain", "the columns", "README.md"),
        ("Cache", "the orders", "orders.py"),
        ("Name", "the author", "pyproject.toml"),
        ("Translate", "the heading", "README.md"),
        ("Count", "the rows", "report.py"),
        ("Skip", "empty lines", "orders.py"),
        ("Quote", "the names", "report.py"),
        ("Round", "the sums", "report.py"),
        ("Strip", "the spaces", "orders.py"),
        ("Read", "the encoding", "config.py"),
    )
)


def stream() -> Iterator[tuple[str, str]]:
    """100 requests, each with the one whose plan it may get: its own, or that of the same in other words."""
    some, alone = STREAM[: size(10, 1)], ALONE[: size(20, 2)]
    for one in some:
        yield one.words, one.words
    for words in alone:
        yield words, words
    for round_ in range(3):
        for one in some:
            yield one.near[round_], one.near[round_]
        if round_ < len(STREAM[0].others):
            for one in some:
                yield one.others[round_], one.words
    for one in some:
        yield one.words, one.words
    for words in alone[:10]:
        yield words, words


def figures() -> Iterator[Figure]:
    if any(importlib.util.find_spec(name) is None for name in ("pydantic_ai", "cryptography")):
        print("the models extra is not installed; the cache is not measured", file=sys.stderr)
        return
    with_cache, without = _run("true"), _run("false")
    asked = [*stream()]
    near = {words for one in STREAM for words in one.near}
    same = sum(1 for words, own in asked if words != own)
    yield Figure(
        "calls for 100 requests with the cache ÷ without",
        with_cache.calls / without.calls,
        0.7,
        detail=f"{with_cache.calls} against {without.calls}; {len(asked) - len(dict(asked))} repeats,"
        f" {same} paraphrases ({with_cache.offers} recognised and offered), {len(near)} near misses",
    )
    yield Figure(
        "prompt tokens for 100 requests with the cache ÷ without", with_cache.tokens / without.tokens, 0.7
    )
    yield Figure("near misses served from the cache", with_cache.near, 0, unit="")
    yield Figure("requests that got the plan of another one", with_cache.wrong, 0, unit="")


class Counted(NamedTuple):
    calls: int
    tokens: int
    offers: int
    near: int
    wrong: int


def _run(enabled: str) -> Counted:
    near = {words for one in STREAM for words in one.near}
    offers = served = wrong = 0
    with scratch() as (root, environment), ModelServer(_outline) as server:
        _project(root)
        settings = Path(environment["HOME"]) / ".config" / "ringi" / "config.yaml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"model: openai:bench\nplanning:\n  cache:\n    enabled: {enabled}\n")
        told: Mapping[str, str] = {**environment, **server.environment()}
        with opened(root, told) as workspace:
            for words, own in stream():
                before = len(server.requests)
                offer = similar_outline(workspace, words)
                offers += offer is not None
                # The person says yes to every offer, so that a wrong one would show.
                found = outline(workspace, words, similar=offer, use_it=offer is not None)
                goal = found.document.plan.goal_understanding
                wrong += not goal or goal.main_objective not in {words, own}
                served += words in near and len(server.requests) == before
        return Counted(len(server.requests), server.prompt_tokens, offers, served, wrong)


def _project(root: Path) -> None:
    for name, text in FILES.items():
        (root / name).write_text(text)


def _outline(request: Request) -> Any:
    """A plan that says which request it is for."""
    _, _, after = request.text.partition(" task>\n")
    task = after.partition("\n</data")[0]
    return {
        "goal_understanding": {"main_objective": task, "success_criteria": ["it works"]},
        "task_decomposition": {
            "subtasks": [
                {
                    "id": "task_1",
                    "description": task,
                    "dependencies": [],
                    "required_tools": ["patch"],
                    "criteria": [1],
                }
            ]
        },
        "action_plan": {
            "actions": [
                {
                    "task_id": "task_1",
                    "tool": "patch",
                    "purpose": task,
                    "expected_outcome": "it works",
                    "fallback_strategy": "ask",
                }
            ]
        },
    }
