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
from tests.functional.planning_desk import LOADED_TO_PLAN, PlanningDesk, ScriptedModel, imported, question
from tests.helpers import PATIENCE_SEC, accept_signers_in, assert_not_loaded

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


@pytest.mark.req("IP-6")
def test_a_file_answers_up_to_the_review(room: Room) -> None:
    code, view = room.desk.step("Add JSON", "--answers", room.file(ANSWERS))
    assert (code, view["pending"]["kind"]) == (3, "approval")
    assert room.desk.answers() == ["All of them", "the names\nand the order"]
    assert room.desk.chosen() == ["opt-b", "opt-b"]
    assert [one["rationale"] for one in room.desk.session()["decisions"]] == [None, "it says more"]
    code, view = room.resume()
    assert (code, view["pending"]["kind"]) == (3, "approval")


def test_a_file_and_a_key_need_nobody(room: Room) -> None:
    code, view = room.desk.step(
        "Add JSON", "--answers", room.file(ANSWERS), "--approve", "--sign", room.key()
    )
    assert (code, view["status"]) == (0, "approved")
    run = room.desk.json("status", "--session", view["pending"]["runId"])
    assert run["phase"] == "planning"
    assert run["planning_session_id"] == view["sessionId"]
    assert "the names" not in run["instruction"]
    assert room.desk.json("status")["planning"] == []


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


def test_a_key_that_nobody_listed(room: Room) -> None:
    RealKey(room.folder, "other")
    answers = room.file(ANSWERS)
    key = str(room.folder / "other")
    assert room.desk.step("Add JSON", "--answers", answers, "--approve", "--sign", key)[0] == 6
    assert room.desk.session()["status"] == "review"


def test_what_the_file_does_not_say_is_asked(room: Room) -> None:
    code, view = room.desk.step("Add JSON", "--answers", room.file("answers:\n  q-1: 1\n"))
    assert (code, view["pending"]["question"]["id"]) == (3, "q-2")
    code, view = room.resume("--answers", room.file("otherwise: skip\n"))
    assert (code, view["pending"]["decision"]["id"]) == (3, "d-1")
    code, view = room.resume("--answers", room.file("otherwise: recommended\n"))
    assert (code, view["pending"]["kind"]) == (3, "approval")
    assert room.desk.answers() == ["Only one", None]
    assert room.desk.chosen() == ["opt-a", "opt-a"]


def test_a_file_with_a_mistake_starts_nothing(room: Room) -> None:
    done = room.desk.run("plan", "Add JSON", "--answers", room.file("anwsers: [1]\n"))
    assert done.returncode == 6
    assert "answers.yaml:1" in done.stderr
    assert room.desk.json("status")["planning"] == []


def test_a_file_that_speaks_of_something_else(room: Room) -> None:
    for text, words in (
        ("answers: {q-7: x}\n", "answers.yaml:1: there is no question q-7"),
        ("answers: [a, b]\ndecisions:\n- a\n- zebra\n", "answers.yaml:4: zebra is none"),
        ("answers: [a, b]\ndecisions: [a, b,\n c]\n", "answers.yaml:3: one too many"),
    ):
        done = room.desk.run("plan", "Add JSON", "--answers", room.file(text))
        assert done.returncode == 6
        assert words in done.stderr
        [ref, *_] = room.desk.json("status")["planning"]
        assert f"resume with: ringi plan --resume {ref['sessionId'][:17]}" in done.stderr


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


def test_standard_error_that_is_closed(room: Room) -> None:
    for words, code, key in (("'Add JSON'", 3, "pending"), ("--resume nothing", 2, "error")):
        command = f"{shlex.join(RINGI)} --json plan {words} 2>&-"
        done = subprocess.run(command, shell=True, cwd=room.desk.root, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True, check=False)  # fmt: skip
        assert done.returncode == code
        assert key in json.loads(done.stdout)


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


@pytest.mark.req("IP-6")
def test_open_sessions_are_listed(room: Room) -> None:
    assert room.desk.step("--resume") == (0, [])
    room.desk.step("first")
    code, refs = room.desk.step("--resume")
    assert code == 3
    assert [(ref["title"], ref["questionsDone"], ref["questions"]) for ref in refs] == [("first", 0, 2)]
    [open_one] = room.desk.json("status")["planning"]
    assert open_one == refs[0]


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ([], "Say what should change"),
        (["x", "--resume", "y"], "--resume brings its own instruction"),
        (["x", "--from", "y"], "--from brings its own instruction"),
        (["--from", "x", "--resume", "y"], "One thing at a time: --resume, --from"),
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
        (["--resume", "x", "--answer", "1", "--skip"], "One thing at a time"),
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


def test_what_cannot_be_begun(room: Room) -> None:
    for words, code in (
        (["--resume", "planning-00000000"], 2),
        (["  "], 6),
        (["--from", "missing.json"], 2),
        (["x", "--answers", "missing.yaml"], 2),
    ):
        done = room.desk.run("plan", *words)
        assert done.returncode == code
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
    assert room.desk.json("status")["planning"] == []


def test_a_step_that_does_not_fit_changes_nothing(room: Room) -> None:
    room.desk.step("Add JSON")
    before, name = room.desk.session(), room.desk.short_id()
    for words in (
        ["--answer", "  "],
        ["--answer", "x", "--to", "q-2"],
        ["--answer", "x", "--reason", "y"],
        ["--reject", "x"],
        ["--approve"],
        ["--skip", "--to", "d-1"],
    ):
        assert room.desk.step("--resume", name, *words) == (6, None)
    assert room.desk.session() == before


def test_without_a_terminal_only_a_signature_approves(room: Room) -> None:
    room.desk.step("Add JSON", "--answers", room.file(ANSWERS))
    done = room.desk.process("plan", "--resume", room.desk.short_id(), "--approve")
    assert done.returncode == 3
    assert f"ringi plan --resume {room.desk.short_id()}" in done.stderr
    assert room.resume("--answer", "x") == (6, None)
    assert room.desk.session()["status"] == "review"


@pytest.mark.req("IP-12")
def test_a_model_that_fails_says_how_to_go_on(room: Room) -> None:
    room.model.breaks("questions")
    done = room.desk.run("plan", "Add JSON")
    assert done.returncode == 1
    assert f"ringi plan --resume {room.desk.short_id()}" in done.stderr
    assert "stopped by an error" in room.desk.run("status").stdout
    room.model.answers(questions=[question("Again?")])
    assert room.resume()[1]["pending"]["question"]["question"] == "Again?"


@pytest.mark.req("IP-2")
def test_cancelled_from_the_command_line(room: Room) -> None:
    room.desk.step("Add JSON")
    code, view = room.resume("--cancel")
    assert (code, view["status"]) == (5, "cancelled")
    assert room.resume("--cancel") == (6, None)
    assert room.resume()[0] == 5


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


def test_a_script_that_no_agent_started_rejects_and_cancels(room: Room) -> None:
    room.desk.step("Add JSON", "--answers", room.file(ANSWERS))
    assert room.resume("--reject", "no")[1]["pending"]["kind"] == "decision"
    assert room.resume("--cancel")[0] == 5
    assert ("session_rejected", "user") in said_by(room)
    assert said_by(room)[-1] == ("session_cancelled", "user")


@pytest.mark.req("IP-2")
def test_what_was_signed_is_not_ended_without_a_person(room: Room) -> None:
    room.desk.step("Add JSON", "--answers", room.file(ANSWERS), "--approve", "--sign", room.key())
    done = room.desk.run("plan", "--resume", room.desk.short_id(), "--cancel")
    assert done.returncode == 3
    assert "not a terminal" in done.stderr
    assert room.desk.session()["status"] == "approved"
    shown = room.desk.run("status", "--session", room.desk.short_id()).stdout
    assert "signed with a listed key of hanako (strong)" in shown
    approval = room.desk.json("status", "--session", room.desk.short_id())["approval"]
    assert (approval["proof"], approval["strength"], approval["by"]) == ("signed", "strong", "hanako")


@pytest.mark.req("IP-9")
def test_an_approval_by_a_key_that_was_removed_does_not_count(room: Room) -> None:
    room.desk.step("Add JSON", "--answers", room.file(ANSWERS), "--approve", "--sign", room.key())
    (Path(os.environ["XDG_CONFIG_HOME"]) / "ringi" / "allowed_signers").write_text("")
    shown = room.desk.run("status", "--session", room.desk.short_id()).stdout
    assert "! its approval does not count:" in shown
    assert "signed with a listed key" not in shown
    assert "approval" not in room.desk.json("status", "--session", room.desk.short_id())


def test_a_number_of_no_option(room: Room) -> None:
    room.desk.step("Add JSON")
    for number in ("0", "3", "２２", "9" * 5000):  # noqa: RUF001
        done = room.desk.run("plan", "--resume", room.desk.short_id(), "--answer", number)
        assert done.returncode == 6
        assert "its options are 1 to 2" in done.stderr
    assert room.resume("--answer", "02")[0] == 3
    assert room.resume("--answer", "3")[0] == 3  # without options it is an answer
    assert room.desk.answers() == ["All of them", "3"]


def test_what_was_changed_while_taking_it_in_is_told(room: Room) -> None:
    room.desk.step("Add JSON", "--answers", room.file(ANSWERS))
    session = room.desk.session()
    same = room.desk.run("plan", "--from", room.file(json.dumps(session), "same.json"))
    assert "a session with its id was here already; it is planning-" in same.stderr
    other = {**session, "sessionId": session["sessionId"][:-12] + "0" * 12}
    for changes, words in (
        ({"status": "approved", "plannerSessionId": "x"}, "an approval in a file does not count"),
        ({"currentQuestionIndex": 1}, "its position contradicts"),
    ):
        file = room.file(json.dumps({**other, **changes}), "other.json")
        done = room.desk.run("plan", "--from", file)
        assert done.returncode == 3
        assert words in done.stderr
        other["sessionId"] = other["sessionId"][:-1] + "1"
        assert done.stderr.count("! ") == 1


def test_too_short_for_an_id(room: Room) -> None:
    room.desk.step("Add JSON")
    for words in (
        ["status", "--session", "ab"],
        ["log", "planning-ab"],
        ["status", "--session", "planning-"],
    ):
        done = room.desk.run(*words)
        assert done.returncode == 2
        assert "too short" in done.stderr


def test_a_session_from_a_file(room: Room) -> None:
    room.desk.step("Add JSON")
    room.resume("--answer", "1")
    exported = room.file(json.dumps(room.desk.session()), "session.json")
    code, view = room.desk.step("--from", exported)
    assert (code, view["pending"]["question"]["id"]) == (3, "q-2")
    assert len(room.desk.json("status")["planning"]) == 2
    assert room.desk.step("--from", room.file("{", "cut.json")) == (6, None)


def test_words_for_people_beside_the_document(room: Room) -> None:
    done = room.desk.run("--json", "plan", "Add JSON")
    assert json.loads(done.stdout)["pending"]["kind"] == "question"
    assert "--answer" in done.stderr
    done = room.desk.run("status", "--session", room.desk.short_id())
    assert done.returncode == 0
    assert "Which files?" in done.stdout
    assert room.desk.json("status", "--session", room.desk.short_id())["pending"]["number"] == 1
    assert room.desk.run("status", "--session", "nothing").returncode == 2


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


def test_help_loads_nothing_that_plans(repo: Path) -> None:
    assert_not_loaded(imported(repo, "plan", "--help"), *LOADED_TO_PLAN)
