"""Planning sessions at a real terminal, from the instruction to the run."""

import shlex
import time
from pathlib import Path
from typing import NamedTuple

import pexpect
import pytest

from ringi.app.api import open_workspace
from tests.functional.desk import RINGI
from tests.functional.planning_desk import (
    MENU,
    YES_NO,
    PlanningDesk,
    ScriptedModel,
    Talk,
    decision,
    plain,
    question,
)

HOSTILE = "evil \x1b[2J\u202e end"


class Room(NamedTuple):
    desk: PlanningDesk
    model: ScriptedModel

    def talk(self, *words: str, columns: int = 80, **variables: str) -> Talk:
        return self.desk.talk("plan", *words, columns=columns, **variables)

    def resume(self, **variables: str) -> Talk:
        return self.talk("--resume", self.desk.short_id(), **variables)


@pytest.fixture
def room(repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Room:
    model = ScriptedModel(tmp_path / "model")
    monkeypatch.setenv("RINGI_MODEL", model.name)
    return Room(PlanningDesk(repo), model)


def all_recommended(room: Room) -> Path:
    file = room.model.folder / "answers.yaml"
    file.write_text("otherwise: recommended\n")
    return file


def to_review(talk: Talk) -> None:
    talk.say("1")
    talk.say("the names")
    talk.decide("1")
    talk.decide("2", "it says more")


@pytest.mark.req("IP-2", "IP-3", "IP-4", "IP-5", "IP-6", "IP-9")
@pytest.mark.parametrize("language", ["en", "ja"])
def test_from_the_instruction_to_the_run(room: Room, language: str) -> None:
    with room.talk("Add JSON", "--lang", language) as talk:
        first = talk.say("2")
        assert "Add JSON" in first
        assert "Which files?" in first
        assert "It decides how much changes." in first
        assert "  1  Only one\n  2  All of them\n" in first
        talk.say("/back")
        assert "All of them\n> " in talk.say("")  # what was answered stands there, and an empty line keeps it
        talk.say("the names\\")
        talk.say("and the order", r"… ")
        assert "Where it is kept" in talk.decide("b", "no disk")
        talk.say("/back")
        assert "In memory (no disk)\n> " in talk.say("")
        talk.decide("a")
        shown = talk.reject("not in memory")
        assert "Where it is kept\n       → In memory (no disk)\n" in shown
        talk.decide("a", "safe")
        talk.decide("Long")
        shown = talk.approve()
        assert "  - first\n  - second\n" in shown
        assert "  not in memory\n" in shown
        talk.say("n", YES_NO)
        code, rest = talk.end()
    session = room.desk.session()
    run_id = session["plannerSessionId"]
    assert code == 0
    assert f"ringi run {run_id}" in rest
    assert f"→ ringi run {run_id}" in rest
    assert session["status"] == "approved"
    assert room.desk.answers() == ["All of them", "the names\nand the order"]
    assert room.desk.chosen() == ["opt-a", "opt-b"]
    assert session["rejectCount"] == 1
    assert session["decisions"][0]["rationale"] == "safe"
    told = room.desk.run("status", "--session", run_id).stdout
    assert "S01  Add JSON" in told
    assert "the names" not in told  # a constraint: only the summary has it


@pytest.mark.req("IP-14")
def test_killed_in_every_phase_it_continues_where_it_was(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        talk.say("1")
        talk.read("What must stay")
        talk.kill()
    with room.resume() as talk:
        assert "Question 2 of 2" in talk.say("the names")
        talk.decide("1", "why not")
        talk.read("How it is named")
        talk.kill()
    with room.resume() as talk:
        assert "Decision 2 of 2" in talk.decide("2")
        talk.read(MENU)
        talk.kill()
    with room.resume() as talk:
        assert "In a file (why not)" in talk.approve()
        talk.read("run is")
        talk.kill()
    assert room.desk.session()["status"] == "approved"
    assert room.desk.answers() == ["Only one", "the names"]
    assert room.model.asked == ["questions", "decisions", "summary"]


@pytest.mark.req("IP-12", "IP-14")
def test_killed_while_the_model_works(room: Room) -> None:
    room.model.is_slow("decisions")
    with room.talk("Add JSON") as talk:
        talk.say("1")
        talk.say("the names")
        talk.read(r"Preparing \w+ … \d")
        talk.kill()
    assert room.desk.answers() == ["Only one", "the names"]
    (room.model.folder / "decisions.slow").unlink()
    with room.resume() as talk:
        assert "Decision 1 of 2" in talk.decide("1")


@pytest.mark.parametrize("at", ["question", "review"])
def test_interrupted_everything_is_saved_and_it_says_how_to_go_on(room: Room, at: str) -> None:
    with room.talk("Add JSON") as talk:
        talk.say("1")
        if at != "question":
            talk.say("the names")
            talk.say("1")
        if at == "review":
            talk.say("")
            talk.decide("1")
            talk.read(MENU)
        else:
            talk.read()
        talk.child.sendintr()
        code, rest = talk.end()
    assert code == 130
    assert f"→ ringi plan --resume {room.desk.short_id()}" in rest
    assert "Traceback" not in talk.seen
    assert room.desk.answers()[0] == "Only one"


def test_the_window_is_closed(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        talk.say("1")
        talk.read("What must stay")
        talk.hang_up()
    with room.resume() as talk:
        assert "Question 2 of 2" in talk.say("x")


def test_nothing_that_was_said_commands_the_terminal(room: Room) -> None:
    room.model.answers(
        questions=[question(HOSTILE, options=[HOSTILE], why=HOSTILE)],
        decisions=[decision(HOSTILE, HOSTILE, "other")],
        summary=f"# {HOSTILE}\n{HOSTILE}",
    )
    with room.talk(HOSTILE) as talk:
        talk.say("1")
        talk.decide("1", "because \x16\x1b[2J")
        talk.say("i", MENU)
        talk.say("q", MENU)
        talk.end()
    shown = talk.seen.replace("^[", "")
    assert r"evil \x1b[2J\u202e end" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    for words in (["status"], ["status", "--session", room.desk.short_id()], []):
        with room.desk.talk(*words) as talk:
            assert talk.end()[0] == 0
            assert r"evil \x1b[2J\u202e end" in talk.seen
            assert "\x1b" not in talk.seen


@pytest.mark.req("IP-9")
def test_an_agent_neither_approves_nor_rejects_nor_cancels(room: Room) -> None:
    with room.talk("Add JSON", CLAUDECODE="1") as talk:
        talk.say("/cancel")
        assert "CLAUDECODE" in talk.say("1")
        talk.say("the names")
        talk.decide("1")
        talk.decide("2", "it says more")
        for letter in "arc":
            talk.say(letter, MENU)
            shown = talk.read(MENU)
            assert "CLAUDECODE" in shown
            assert f"ringi plan --resume {room.desk.short_id()}" in plain(shown)
            talk.send("?\n")
        talk.say("q", MENU)
        talk.end()
    assert room.desk.session()["status"] == "review"
    with room.resume() as talk:
        shown = plain(talk.say("q", MENU))
    assert "An agent began this session" in shown
    assert "given by an agent, not typed here: 4" in shown


def test_nobody_approves_what_is_shown_to_nobody(room: Room) -> None:
    room.desk.step("Add JSON")
    name = room.desk.short_id()
    room.desk.step("--resume", name, "--answers", str(all_recommended(room)))
    script = f"{shlex.join([*RINGI, '--json', 'plan', '--resume', name, '--approve'])} 2>errors"
    child = pexpect.spawn("sh", ["-c", script], cwd=str(room.desk.root), encoding="utf-8", timeout=90)
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 3
    assert "no_channel" in str(child.before)
    assert "standard error is not a terminal" in (room.desk.root / "errors").read_text()


@pytest.mark.req("IP-6")
def test_a_session_is_chosen_from_the_open_ones(room: Room) -> None:
    for words in ("first thing", "second thing"):
        room.desk.step(words)
    with room.talk("--resume") as talk:
        talk.say("0000000011", r"leave: ")
        listed = talk.say("７", r"leave: ")  # noqa: RUF001
        assert "no session with that number" in listed
        assert "1  second thing" in talk.seen
        assert "0 of 2 questions" in talk.seen
        talk.say("2", r"leave: ")
        assert "first thing" in talk.read()
    with room.talk("--resume") as talk:
        talk.say("", r"leave: ")
        assert talk.end()[0] == 3


def test_approving_in_one_step_is_typed(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        to_review(talk)
        talk.say("q", MENU)
        talk.end()
    for answer, status in (("n", "review"), ("y", "approved")):
        with room.talk("--resume", room.desk.short_id(), "--approve") as talk:
            assert "Do it." in talk.read(YES_NO)
            time.sleep(0.2)  # this question is one of the usual ones, which forget what came before
            talk.send(f"{answer}\n")
            code, _ = talk.end()
        assert room.desk.session()["status"] == status
        assert code == (0 if answer == "y" else 3)
    with open_workspace(room.desk.root) as workspace:
        approval = workspace.planning.approval(room.desk.session()["sessionId"])
    assert approval is not None
    assert approval.proof.kind == "typed"
