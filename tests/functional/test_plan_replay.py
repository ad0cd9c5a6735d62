"""A whole session can be repeated offline, byte for byte."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.model_server import ModelServer, Request, Say, Status
from tests.functional.planning_desk import PlanningDesk, ScriptedModel, decision
from tests.functional.test_plan_faults import ANSWERS, purpose_of

INSTRUCTION = "Add a login"
DESIGN = {"decisions": [decision("Where it is kept", "In a file", "In memory")]}
SAID = "answers: {q-1: only one of them}\notherwise: recommended\n"


class Mishaps:
    """The first answer has the wrong shape, the second call is refused for a moment; then all is well."""

    def __init__(self) -> None:
        self._first = iter([Say({"questions": "none"}), Status(503)])

    def __call__(self, request: Request) -> Any:
        return next(self._first, None) or {**ANSWERS, "design": DESIGN}[purpose_of(request)]


@pytest.fixture(params=["command", "openai:m"])
def model(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    match request.param:
        case "command":
            yield ScriptedModel(tmp_path / "model").name
        case name:
            with ModelServer(Mishaps()) as server:
                for variable, value in server.environment().items():
                    monkeypatch.setenv(variable, value)
                yield name


@pytest.fixture
def desk(repo: Path) -> PlanningDesk:
    """The answers lie in the workspace, as the recording does: both are new in it."""
    (repo / "answers.yaml").write_text(SAID)
    return PlanningDesk(repo)


def planned(desk: PlanningDesk, model: str) -> str:
    code, view = desk.step(INSTRUCTION, "--answers", "answers.yaml", RINGI_MODEL=model)
    assert (code, view["pending"]["kind"]) == (3, "approval")
    return str(view["sessionId"])


def kept(desk: PlanningDesk, session_id: str) -> dict[str, str]:
    """Its document and its logs, but for what says which session it is and when it was."""
    folder = desk.root / ".agent"
    files = [folder / "planning-sessions" / f"{session_id}.json", *(folder / "logs" / session_id).iterdir()]
    assert len(files) == 4
    return {
        path.suffix + path.stem.replace(session_id, ""): re.sub(
            r"\d{4}-\d\d-\d\dT[0-9:.]+Z", "(when)", path.read_text().replace(session_id, "(which)")
        )
        for path in files
    }


@pytest.mark.req("IP-6")
def test_a_whole_session_can_be_repeated_offline_byte_for_byte(desk: PlanningDesk, model: str) -> None:
    recorded = kept(desk, planned(desk, f"record:talk.jsonl,{model}"))
    tape = (desk.root / "talk.jsonl").read_bytes()
    (desk.root / "something-new.py").touch()

    again = [kept(desk, planned(desk, "replay:talk.jsonl")) for _ in "12"]

    assert again == [recorded, recorded]
    assert (desk.root / "talk.jsonl").read_bytes() == tape
    assert "only one of them" in recorded[".json"]


def test_a_recording_in_the_project_is_not_shown_to_a_model(desk: PlanningDesk) -> None:
    place = "tapes/talk[1].jsonl"
    (desk.root / place).parent.mkdir(exist_ok=True)
    planned(desk, f"record:{place},playbook")
    assert INSTRUCTION in (desk.root / place).read_text()
    found = {
        model: [file["path"] for file in json.loads(shown.stdout)["files"]]
        for model in ("playbook", f"record:{place},playbook", f"replay:{place}")
        if (shown := desk.run("--json", "run", "--context", "add a login to the talk", RINGI_MODEL=model))
    }
    assert [place in paths for paths in found.values()] == [True, False, False]
