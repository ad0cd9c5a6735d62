"""A model with tools makes three steps on a real package with its real tests: `make show-runs MIRROR=…`."""

import difflib
import json
import os
import shutil
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tools.packages import FOLDER, PACKAGES
from tools.tasks import python_of

from ringi.engine.process import ActionState
from ringi.engine.run_state import RunPhase
from ringi.runs.document import Review
from ringi.tools.effects import ErrorKind
from tests.fakes.model_server import ModelServer, Request
from tests.functional.run_desk import RunDesk, a_plan, a_step, at_home, git, project

if not os.environ.get("RINGI_MIRROR"):
    pytest.skip("it is fetched first: make show-runs MIRROR=…", allow_module_level=True)

NAME = "click"
CODE, TESTS, PAGE = "src/click/utils.py", "tests/test_utils.py", "CHANGES.rst"
PYTEST = f"env PYTHONPATH=src {python_of(NAME)} -m pytest -q -p no:cacheprovider {TESTS}"
DOT, WRONG, RIGHT = 'if word[-1] == ".":', 'if word[-1] not in ".!?":', 'if word[-1] in ".!?":'
TEST = """

def test_short_help_ends_with_a_question():
    assert click.utils.make_default_short_help("Why? Because it is there.", 10) == "Why?"
"""
LINE = "-   A short help text also ends with a question or an exclamation mark.\n"
RELEASED = "Released 2023-08-17\n\n"


def patch(path: str, before: str, after: str) -> str:
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), f"a/{path}", f"b/{path}")
    return "".join(lines)


class Reader:
    """Answers by what it is told; what it has not seen it asks for."""

    def __init__(self, root: Path) -> None:
        self._files = {name: (root / name).read_text() for name in (CODE, TESTS, PAGE)}

    def __call__(self, request: Request) -> dict[str, Any]:
        results = request.text.partition(" results>")[2]
        step = next(name for name in ("S01", "S02", "S03") if name in request.text)
        if "read" not in results:
            return {
                "read": ["src/click/utils.py:60-100"],
                "search": ["make_default_short_help"],
                "done": False,
            }
        code, tests, page = self._files.values()
        if step == "S02":
            return {"patch": patch(TESTS, tests, tests + TEST), "run": [PYTEST], "note": "tested"}
        if step == "S03":
            return {"patch": patch(PAGE, page, page.replace(RELEASED, RELEASED + LINE, 1)), "note": "said so"}
        wrong = code.replace(DOT, WRONG)
        if "command_failed" in results:
            mended = patch(CODE, wrong, code.replace(DOT, RIGHT))
            return {"patch": mended, "run": [PYTEST], "note": "The condition was the wrong way round."}
        return {"patch": patch(CODE, code, wrong), "run": [PYTEST]}


@pytest.fixture
def root(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-none")
        with tarfile.open(FOLDER / f"{NAME}-{PACKAGES[NAME]}.tar.gz") as archive:
            archive.extractall(base, filter="data")
        package = base / f"{NAME}-{PACKAGES[NAME]}"
        for made in package.glob("**/*.egg-info"):
            shutil.rmtree(made)
        yield project(base / "project", package)


@pytest.mark.req("PP-4", "PP-7", "RN-9")
def test_a_model_makes_three_steps_and_mends_what_its_tests_find(
    root: Path, record_property: Callable[[str, object], None]
) -> None:
    unit = {"unit": [PYTEST]}
    titles = ("End a short help text with any sentence", "Test it", "Document it")
    plan = a_plan(
        *(
            a_step(at, title=title, commands=unit, scope={"target_paths": [path]})
            for at, (title, path) in enumerate(zip(titles, (CODE, TESTS, PAGE), strict=True), 1)
        ),
        limits={"timeout_sec": 600},
    )
    with ModelServer(Reader(root)) as server:
        desk = RunDesk(root)
        config = {
            "llm": {"base_url": f"{server.url}/v1"},
            "roles": {"implementer": {"model": "openai:gpt-5"}},
        }
        desk.configure(json.dumps(config))
        desk.start(plan)
        desk.go(review=Review.EACH)
        run = [desk.decide(step) for step in ("S01", "S02", "S03")][-1]
        asked = len(server.requests)
    assert run.phase is RunPhase.COMPLETED
    assert desk.commits() == list(titles)
    assert RIGHT in desk.file(CODE)
    assert "ends_with_a_question" in desk.file(TESTS)
    assert LINE in desk.file(PAGE)
    assert git(root, "status", "--porcelain") == ""
    with desk.open() as workspace:
        processes = workspace.store.processes.of(desk.run_id)
        records = [workspace.store.processes.actions(one.process_id) for one in processes]
    assert [one.step_id for one in processes] == ["S01", "S02", "S03"]
    failed = [one for one in records[0] if one.state is ActionState.FAILURE]
    assert [(one.tool, one.error) for one in failed] == [("run", ErrorKind.COMMAND_FAILED)]
    assert "FAILED tests/test_utils.py" in failed[0].result
    assert all(one.state is ActionState.SUCCESS for step in records[1:] for one in step)
    assert [step.cycle for step in run.steps] == [0, 0, 0]
    actions = sum(map(len, records))
    record_property("story", [f"{NAME}: a model made 3 steps with {asked} calls and {actions} actions"])
