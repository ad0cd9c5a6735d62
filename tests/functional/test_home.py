"""`ringi` alone, as a person sees it."""

import json
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from ringi.app.api import open_workspace
from ringi.cli.ui import width
from ringi.kernel.places import places_of
from ringi.kernel.process.ancestors import process_start
from ringi.plans.tool import PlanTool
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from tests.fakes.people import SeatedPerson
from tests.functional.desk import Desk
from tests.functional.planning_desk import LOADED_TO_PLAN, imported
from tests.functional.screens import Screen
from tests.helpers import assert_not_loaded
from tests.tables import each

NOTHING = "Nothing waits for you."


def in_workspace(root: Path, work: Callable[[PlanTool], str]) -> str:
    with open_workspace(root, person=SeatedPerson()) as workspace:
        return work(workspace.plan)


def proposed(
    root: Path, files: Mapping[str, str], title: str = "Add a file", proposer: str = "claude"
) -> str:
    def propose(plan: PlanTool) -> str:
        plan_id = plan.propose(title, proposer=proposer)
        specs = [ActionSpec(SpecKind.WRITE, path, content) for path, content in files.items()]
        assert plan.set_action_specs(plan_id, specs).ok
        return plan_id

    return in_workspace(root, propose)


def copied(root: Path, name: str = "c1", **facts: Any) -> Path:
    """A work copy's record, as `ringi with` writes it."""
    folder = places_of(root, os.environ).copies / name
    folder.mkdir(parents=True)
    record = {
        "schema_version": 1,
        "workspace": str(root),
        "created_at": "2026-01-01T00:00:00Z",
        "base": "0" * 40,
    }
    (folder / "copy.json").write_text(json.dumps({**record, "command": ["/usr/bin/claude", "-p"], **facts}))
    return folder


def myself() -> dict[str, object]:
    return {"pid": os.getpid(), "start": process_start(os.getpid())}


def test_a_line_fits_the_terminal(desk: Desk) -> None:
    proposed(
        desk.root, {"a.py": "1\n"}, "言葉の多い題名" * 12, proposer="an agent with a very long name indeed"
    )
    with Screen.ringi(desk.root, columns=80) as screen:
        assert screen.exit_code == 0
        line = next(line for line in screen.lines if " p1 " in line)
    assert 70 < width(line) <= 80
    assert line.endswith("low")
    assert line.count("…") == 2
    assert "言葉の多い題名" * 12 in desk.run().stdout


def test_titles_cannot_command_the_terminal(desk: Desk) -> None:
    proposed(desk.root, {"a.py": "1\n"}, "evil \x1b[2J\u202e title")
    with Screen.ringi(desk.root) as screen:
        assert screen.exit_code == 0
        assert b"\x1b[2J" not in screen.raw
        assert r"evil \x1b[2J\u202e title" in screen.text


def test_a_plan_sent_back_is_resumed_where_its_copy_is(desk: Desk) -> None:
    plan_id = proposed(desk.root, {"a.py": "1\n"}, "nearly right")
    kept = copied(desk.root, plan_id=plan_id, taken=True)
    assert "sent back" not in desk.run().stdout

    def reject(plan: PlanTool) -> str:
        plan.ask(plan_id)
        return str(plan.reject(plan_id, "add a test"))

    in_workspace(desk.root, reject)
    lines = desk.run().stdout.splitlines()
    assert lines[0] == NOTHING
    assert lines[1] == "1 sent back"
    assert lines[-1].strip() == "→ ringi with --resume p1"
    found = desk.json()
    assert [ref["id"] for ref in found["sent_back"]] == [plan_id]
    assert found["sessions"] == []
    record = json.loads((kept / "copy.json").read_text())
    editors = {**record, "by_editor": True, "command": ["/usr/bin/an-agent", "acp"]}
    # One that waits for the next prompt is not at work, whichever agent it is.
    for facts in (editors, {**record, "by_editor": True, "supervisor": myself()}):
        (kept / "copy.json").write_text(json.dumps(facts))
        lines = desk.run().stdout.splitlines()
        assert lines[-2].strip() == "In your editor, the agent is told with your next prompt."
        assert lines[-1].strip() == "→ ringi review p1"
    (kept / "copy.json").unlink()
    assert "sent back" not in desk.run().stdout


def test_work_that_was_cut_off(desk: Desk) -> None:
    copied(desk.root, supervisor={"pid": os.getpid(), "start": "long ago"})
    shown = desk.run().stdout
    assert "The work of claude is not a plan yet." in shown
    assert "→ ringi doctor --repair" in shown
    assert desk.json()["sessions"][0]["running"] is False


@each(
    "written", [b"", b"{", b"[]", b'"x"', b'{"command": "x"}', b'{"command": [1], "supervisor": 7}', b"\xff"]
)
def test_a_record_that_is_damaged_stops_nothing(desk: Desk, written: bytes) -> None:
    (copied(desk.root, uuid4().hex) / "copy.json").write_bytes(written)
    assert desk.run().returncode == 0
    assert desk.run().stdout.startswith(NOTHING)


@pytest.mark.req("IP-6")
def test_sessions_that_are_open(desk: Desk) -> None:
    for words in ("Add an option to the tool", "evil \x1b[2J " + "長い題名" * 30):
        assert desk.run("plan", words).returncode == 3
    lines = desk.run().stdout.splitlines()
    assert lines[:2] == [NOTHING, "2 being planned"]
    assert lines[2].startswith(r"  evil \x1b[2J 長い題名")
    assert re.fullmatch(r"  Add an option to the tool   just now   0 of \d questions", lines[4])
    found = desk.json()["planning"]
    assert [line.strip() for line in lines[3::2]] == [
        f"→ ringi plan --resume {ref['sessionId'][:17]}" for ref in found
    ]
    with Screen.ringi(desk.root, columns=60) as screen:
        assert screen.exit_code == 0
        assert max(map(width, screen.lines)) <= 60
        assert "…   just now   0 of" in screen.text
    assert desk.run("plan", "--resume", found[0]["sessionId"], "--cancel").returncode == 5
    assert len(desk.json()["planning"]) == 1
    assert_not_loaded(imported(desk.root), *LOADED_TO_PLAN)
