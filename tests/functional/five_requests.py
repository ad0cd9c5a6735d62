"""From a request to planning.json, with a model that knows only what it is sent, and what must hold."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ringi.app.api import open_workspace
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.design import Design
from ringi.engine.run_parts import PartsInput
from tests.fakes.model_server import ModelServer
from tests.fakes.reading_model import SLOW, answer
from tests.functional.desk import Desk

NAMES = RunNames("RQ-20260101-001", "20260101-000000-abc", "2026-01-01T00:00:00+00:00", "main")


class Request(NamedTuple):
    words: str
    files: tuple[str, ...]
    """That the plan must name."""
    slow: str = ""
    """What the person answers if asked what is slow."""


class Story(NamedTuple):
    """What came of one."""

    calls: int
    tokens: int
    asked: tuple[str, ...]
    design: Design


def led(desk: Desk, request: Request, folder: Path) -> Story:
    """A session up to the summary, and an outline; both become a planning.json that passes the check."""
    answers = folder / "answers.yaml"
    said = [request.slow] if request.slow else []
    answers.write_text(json.dumps({"answers": said, "otherwise": "recommended"}))
    with ModelServer(answer) as server:
        model = {**server.environment(), "RINGI_MODEL": "openai:m"}
        done = desk.run("plan", request.words, "--answers", str(answers), **model)
        assert done.returncode == 3, done.stderr
        view = json.loads(done.stdout)
        assert view["pending"]["kind"] == "approval", view["pending"]
        calls, tokens = len(server.requests), server.prompt_tokens
        outlined = desk.run("--json", "run", "--outline", request.words, **model)
    with open_workspace(desk.root) as workspace:
        session, facts, _ = workspace.planning.get(view["sessionId"])
    asked = tuple(question.question for question in session.questions)
    assert set(asked) <= ({SLOW} if request.slow else set()), "the project answers it"
    assert facts.design is not None
    assert facts.missing == ()
    for target in facts.design.target_paths:
        assert (desk.root / target.path).exists() is not target.new, target
    named = {target.path for target in facts.design.target_paths}
    assert named.issuperset(request.files), named
    assert facts.design.open_points == ()
    plan = compile_run_plan(
        PartsInput(session.instruction, design=facts.design, project=facts.project), NAMES
    )
    _passes(desk, folder, msgspec.to_builtins(plan), named)
    if request.slow:
        assert outlined.returncode == 3, "what is slow is for a person to say"
        assert json.loads(outlined.stdout)["plan"]["error"]["clarification_needed"] == [SLOW]
    else:
        _passes(desk, folder, _planned(desk, outlined), named)
    return Story(calls, tokens, asked, facts.design)


def _planned(desk: Desk, outlined: Any) -> Any:
    assert outlined.returncode == 0, outlined.stdout + outlined.stderr
    found = json.loads(outlined.stdout)
    for task in found["plan"]["task_decomposition"]["subtasks"]:
        for one in task.get("writes", ()):
            assert (desk.root / one["path"]).exists() is not one["new"], one
    return found["planning_json"]


def _passes(desk: Desk, folder: Path, plan: Any, known: set[str]) -> None:
    paths = {path for step in plan["steps"] for path in step["scope"]["target_paths"]}
    unknown = [path for path in paths - known if not (desk.root / path).exists()]
    assert unknown == []
    file = folder / "planning.json"
    file.write_text(json.dumps(plan))
    done = desk.run("check", str(file))
    assert done.returncode == 0, done.stdout
