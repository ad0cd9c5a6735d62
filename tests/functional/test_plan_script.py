"""Planning sessions without a terminal: single steps, a file of answers, and a signature at the end."""

import json
import os
import shlex
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringi.app.api import open_workspace
from ringi.cli.main import main
from tests.fakes.signing import RealKey
from tests.functional import warm
from tests.functional.desk import RINGI
from tests.functional.planning_desk import PlanningDesk, ScriptedModel
from tests.helpers import PATIENCE_SEC, accept_signers_in
from tests.tables import each

ANSWERS = """\
answers:
- 2
- |
  the names
  and the order
decisions:
  d-1: opt-b
  d-2: {option: Long, reason: it says more}
"""


class Room(NamedTuple):
    desk: PlanningDesk
    model: ScriptedModel
    folder: Path

    def file(self, text: str, name: str = "answers.yaml") -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def resume(self, *words: str) -> tuple[int, Any]:
        return self.desk.step("--resume", self.desk.short_id(), *words)

    def key(self) -> str:
        """One that is listed as the person's."""
        key = RealKey(self.folder, "key")
        signers = Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "allowed_signers"
        signers.parent.mkdir(parents=True, exist_ok=True)
        signers.write_text(f'hanako namespaces="ringi-approval" {key.public}\n')
        signers.chmod(0o600)
        accept_signers_in(self.desk.root)
        return str(key.path)


@pytest.fixture
def room(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    model = ScriptedModel(tmp_path / "model")
    monkeypatch.setenv("RINGI_MODEL", model.name)
    return Room(PlanningDesk(repo), model, tmp_path)


@pytest.mark.req("IP-3", "IP-4", "IP-5", "IP-9")
def test_step_by_step_to_a_signed_approval(room: Room) -> None:
    code, view = room.desk.step("Add", "JSON")
    assert (code, view["instruction"], view["pending"]["kind"]) == (3, "Add JSON", "question")
    assert view["pending"]["question"]["options"] == ["Only one", "All of them"]
    code, view = room.resume("--answer", "2", "--to", "q-1")
    assert (code, view["pending"]["number"], view["pending"]["of"]) == (3, 2, 2)
    code, view = room.resume("--skip")
    assert (code, view["pending"]["kind"]) == (3, "decision")
    code, view = room.resume("--answer", "opt-b", "--reason", "no disk")
    assert (code, view["pending"]["decision"]["id"]) == (3, "d-2")
    code, view = room.resume("--answer", "Long")
    assert (code, view["pending"]["kind"], view["pending"]["rejectsLeft"]) == (3, "approval", 3)
    code, view = room.resume("--reject", "on disk")
    assert (code, view["pending"]["kind"]) == (3, "decision")
    room.resume("--answer", "a")
    room.resume("--answer", "1")
    code, view = room.resume("--approve", "--sign", room.key())
    assert (code, view["status"], view["pending"]["kind"]) == (0, "approved", "approved")
    session = room.desk.session()
    assert session["plannerSessionId"] == view["pending"]["runId"]
    assert room.desk.answers() == ["All of them", None]
    assert room.desk.chosen() == ["opt-a", "opt-a"]
    with open_workspace(room.desk.root) as workspace:
        approval = workspace.planning.approval(session["sessionId"])
    assert approval is not None
    assert approval.proof.kind == "signed"
    assert approval.proof.principal == "hanako"
    again = room.resume("--answer", "1")
    assert again == (6, None)


@pytest.mark.req("IP-5")
def test_what_is_signed_is_shown(room: Room) -> None:
    words = ("plan", "Add JSON", "--answers", room.file(ANSWERS), "--approve", "--sign", room.key())
    done = room.desk.run(*words)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["status"] == "approved"
    summary = room.desk.session()["designSummary"]
    assert summary
    for line in filter(None, summary.splitlines()):
        assert line.strip("#* ") in done.stderr


def test_instruction_and_answers_from_standard_input(room: Room) -> None:
    def piped(text: str, *words: str) -> subprocess.CompletedProcess[str]:
        return warm.run([*RINGI, *words], cwd=room.desk.root, given=text, timeout=PATIENCE_SEC)

    begun = piped("Add JSON\nto all\n", "plan", "-")
    assert begun.returncode == 3
    assert json.loads(begun.stdout)["instruction"] == "Add JSON\nto all"
    name = room.desk.short_id()
    assert piped("in several\nlines\n", "plan", "--resume", name, "--answer", "-").returncode == 3
    assert room.desk.answers()[0] == "in several\nlines"
    assert piped("otherwise: recommended", "plan", "--resume", name, "--answers", "-").returncode == 3
    assert piped("too wide\n", "plan", "--resume", name, "--reject", "-").returncode == 3
    assert room.desk.session()["rejectCount"] == 1


def test_standard_input_that_is_closed(room: Room) -> None:
    command = f"{shlex.join(RINGI)} plan - <&-"
    done = subprocess.run(
        command, shell=True, cwd=room.desk.root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "standard input could not be read" in done.stderr


def test_nothing_is_read_that_was_not_asked_for(room: Room) -> None:
    """Standard input stays open and silent: a command that read it would hang."""
    reader, writer = os.pipe()
    try:
        done = subprocess.run(
            [*RINGI, "plan", "Add JSON"],
            cwd=room.desk.root,
            stdin=reader,
            capture_output=True,
            timeout=60,
            check=False,
        )
    finally:
        os.close(reader)
        os.close(writer)
    assert done.returncode == 3
    assert json.loads(done.stdout)["pending"]["kind"] == "question"


@each(
    ("words", "complaint"),
    [
        ([], "Say what should change"),
        (["x", "--resume", "y"], "--resume brings its own instruction"),
        (["x", "--from", "y"], "--from brings its own instruction"),
        (["--from", "x", "--resume", "y"], "Choose one: --resume, --from"),
        (["x", "--answer", "1"], "--answer needs a session"),
        (["--answer", "1"], "--answer needs a session"),
        (["--answers", "x.yaml"], "--answers needs a session"),
        (["--resume", "x", "--answer", "one", "--answer=two"], "--answer can be given only once"),
        (["--resume", "x", "--resume", "y"], "--resume can be given only once"),
        (["x", "--answers", "a", "--answers", "b"], "--answers can be given only once"),
        (["--resume", "x1", "--reject", "a", "--reject", "b"], "--reject can be given only once"),
        (["--resume", "x1"], "x1 is too short for an id"),
        (["--resume", "p1"], "See it: ringi show p1"),
        (["--resume", "planning-"], "planning- is too short for an id"),
        (["--resume", "--answer", "1"], "needs a session"),
        (["--resume", "x", "--answer", "1", "--skip"], "Choose one: "),
        (["--resume", "x", "--reason", "1"], "--reason belongs"),
        (["--resume", "x", "--to", "q-1"], "--to belongs"),
        (["--resume", "x", "--sign", "k"], "--sign belongs"),
        (["-", "--answers", "-"], "only once"),
    ],
)
def test_what_makes_no_sense_is_refused(
    words: list[str], complaint: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is opened, so that not even a workspace is needed."""
    assert main(["--workspace", str(tmp_path), "plan", *words]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.req("IP-9")
@pytest.mark.parametrize("how", ["variable", "process"])
def test_what_an_agent_does_is_told_as_an_agents(room: Room, how: str) -> None:
    program = room.folder / "claude"
    program.write_text('#!/bin/sh\n"$@" </dev/null\n')
    program.chmod(0o755)

    def step(*words: str) -> int:
        if how == "variable":
            return room.desk.run("plan", *words, CLAUDECODE="1").returncode
        command = [str(program), *RINGI, "plan", *words]
        return subprocess.run(command, cwd=room.desk.root, capture_output=True, check=False).returncode

    assert step("Add JSON") == 3
    name = room.desk.short_id()
    resume = ("--resume", name)
    for words, code in (
        (["--cancel"], 3),
        (["--answer", "1"], 3),
        (["--skip"], 3),
        (["--answers", room.file("otherwise: recommended\n")], 3),
        (["--reject", "no"], 3),
        (["--reject", "no"], 3),
        (["--reject", "no"], 3),
        (["--cancel"], 3),
    ):
        assert step(*resume, *words) == code
    session = room.desk.session()
    assert (session["status"], session["rejectCount"]) == ("review", 0)
    said = [one for one in said_by(room) if not one[0].endswith("prepared")]
    assert said == [
        ("session_started", "ai"),
        *[("session_answered", "ai")] * 2,
        *[("session_decided", "ai")] * 2,
    ]
    shown = room.desk.run("status", *("--session", name)).stdout
    assert "An agent began this session" in shown
    assert "given by an agent, not typed here: 4" in shown
    assert room.desk.json("status", "--session", name)["byAgent"] == {
        "instruction": True,
        "answers": 4,
        "design": False,
    }


def said_by(room: Room) -> list[tuple[str, str]]:
    with open_workspace(room.desk.root) as workspace:
        events = list(workspace.log(room.desk.session()["sessionId"]))
    return [(str(logged.event.event), str(logged.event.actor)) for logged in events]


@pytest.mark.req("IP-9")
def test_an_approval_by_a_key_that_was_removed_does_not_count(room: Room) -> None:
    room.desk.step("Add JSON", "--answers", room.file(ANSWERS), "--approve", "--sign", room.key())
    (Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "allowed_signers").write_text("")
    shown = room.desk.run("status", "--session", room.desk.short_id()).stdout
    assert "! its approval does not count:" in shown
    assert "signed with a listed key" not in shown
    assert "approval" not in room.desk.json("status", "--session", room.desk.short_id())


@pytest.mark.req("IP-13")
def test_two_processes_answer_the_same_question(room: Room) -> None:
    room.desk.step("Add JSON")
    name = room.desk.short_id()
    words = ("plan", "--resume", name, "--to", "q-1", "--answer")
    with ThreadPoolExecutor(2) as pool:
        codes = list(pool.map(lambda word: room.desk.process(*words, word).returncode, "xy"))
    assert min(codes) == 3
    assert max(codes) in {6, 7}
    assert room.desk.answers()[0] in {"x", "y"}
    assert room.desk.answers()[1] is None
