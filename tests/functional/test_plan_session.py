"""Planning sessions at a real terminal, from the instruction to the run."""

import getpass
import json
import os
import shlex
import signal
import time
from pathlib import Path
from typing import NamedTuple
from uuid import uuid4

import pexpect
import pytest

from ringi.app.api import open_workspace
from ringi.cli.ui import width
from tests.functional.desk import RINGI
from tests.functional.planning_desk import (
    MENU,
    PROMPT,
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


@pytest.mark.req("IP-3", "IP-6")
@pytest.mark.parametrize(
    ("instruction", "language"),
    [("Add a --json option to the list command", "en"), ("一覧に --json を追加する", "ja")],
)
def test_without_any_model(room: Room, instruction: str, language: str) -> None:
    with room.talk(instruction, "--lang", language, RINGI_MODEL="playbook") as talk:
        asked = talk.say("/skip")
        while MENU not in talk.seen:
            at = talk.child.expect([PROMPT, MENU])
            asked += talk.noted(f"{talk.child.before}{talk.child.after}")
            if at == 1:
                break
            talk.send("1\n")
        talk.send("a\n")
        talk.say("y", YES_NO)
        talk.say("y", YES_NO)
        code, rest = talk.end()
    # It begins, and says who is missing.
    assert code == 3
    assert "implementer: {command: claude}" in rest
    session = room.desk.session()
    assert session["status"] == "approved"
    assert len(session["questions"]) == 1
    assert len(session["decisions"]) <= 1
    japanese = any(
        "\u3040" <= character <= "\u30ff"
        for character in json.dumps(session["questions"], ensure_ascii=False)
    )
    assert japanese == (language == "ja")


@pytest.mark.req("IP-10")
def test_a_question_that_is_skipped_keeps_no_answer(room: Room) -> None:
    with room.talk("Add JSON", RINGI_PLANNING_SKIP_AFTER_SEC="0.2") as talk:
        talk.read()
        talk.send("half ")
        assert "/skip" in talk.read(r"> half ")
        talk.send("an answer\n")
        talk.say("/skip")
        talk.decide("1")
    assert room.desk.answers() == ["half an answer", None]
    assert room.desk.session()["questions"][1]["answeredAt"]


@pytest.mark.req("IP-10")
def test_silence_never_skips(room: Room) -> None:
    with room.talk("Add JSON", columns=40, RINGI_PLANNING_SKIP_AFTER_SEC="0.1") as talk:
        talk.read("Still there")
        rest = "Still there" + talk.read()
        assert max(map(len, rest.split("\n"))) <= 40
        assert "/skip leaves it without an answer" in plain(rest)
        with pytest.raises(pexpect.TIMEOUT):
            talk.child.expect("Still there", timeout=0.5)
    assert room.desk.answers() == [None, None]
    assert room.desk.session()["questions"][0]["answeredAt"] is None


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


def test_progress_leaves_nothing_behind(room: Room) -> None:
    room.model.is_slow("questions")
    with room.talk("Add JSON") as talk:
        talk.read(r"Preparing \w+ … \d")
        (room.model.folder / "questions.slow").unlink()
        talk.child.sendintr()
        code, rest = talk.end()
    assert code == 130
    assert "\x1b" not in talk.seen
    assert rest.rstrip().endswith(f"ringi plan --resume {room.desk.short_id()}")


@pytest.mark.parametrize("at", ["question", "reason", "review"])
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


@pytest.mark.parametrize("how", ["/quit", "\x04", "q"])
def test_leaving_says_how_to_go_on(room: Room, how: str) -> None:
    with room.talk("Add JSON") as talk:
        if how == "q":
            to_review(talk)
            talk.say("q", MENU)
        else:
            talk.read()
            talk.send(how if how == "\x04" else f"{how}\n")
        code, rest = talk.end()
    assert code == 3
    assert f"→ ringi plan --resume {room.desk.short_id()}" in rest


def test_the_window_is_closed(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        talk.say("1")
        talk.read("What must stay")
        talk.hang_up()
    with room.resume() as talk:
        assert "Question 2 of 2" in talk.say("x")


def test_after_an_approval_the_end_of_the_input_changes_nothing(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        to_review(talk)
        talk.approve()
        talk.read(YES_NO)
        talk.child.sendeof()
        code, rest = talk.end()
    assert code == 0
    assert "→ ringi run " in rest


def test_what_is_no_answer_is_asked_again(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        talk.say("")
        assert "no answer" in talk.say("/back")
        assert "nothing before it" in talk.say("/skp")
        assert "Did you mean /skip?" in talk.say("?")
        assert "/quit" in talk.say("/foo")
        assert "no command /foo" in talk.say("Skip")
        assert "Did you mean /skip?" in talk.say("３")  # noqa: RUF001
        assert "its options are 1 to 2" in plain(talk.say("/tmp/x"))
        talk.say(" /skip")
        assert "Where it is kept" in talk.say("9")
        assert "number or the letter" in talk.say("/skip")
        assert "cannot be skipped" in talk.say("２")  # noqa: RUF001
        talk.say("help")
        assert "Did you mean /help?" in talk.say("")
        talk.decide("1")
        talk.say("x", MENU)
        assert "letters in brackets" in talk.say("ｒ", MENU)  # noqa: RUF001
        talk.say("")
        assert "nothing was decided" in talk.say("a", MENU)
        talk.say("no", YES_NO)
        assert "Nothing was approved" in talk.say("i", MENU)
        assert "Original Instruction: Add JSON" in talk.say("q", MENU)
        assert talk.end()[0] == 3
    assert room.desk.answers() == ["/tmp/x", "/skip"]
    assert room.desk.chosen() == ["opt-b", "opt-a"]


@pytest.mark.req("IP-2")
def test_a_slip_is_no_reject(room: Room) -> None:
    """There are only three, and the last one is the end of the session."""
    with room.talk("Add JSON") as talk:
        to_review(talk)
        talk.reject("?")
        assert "show word for word" in talk.reject("quit")
        assert "Did you mean /quit?" in talk.reject("/quit")
        assert talk.end()[0] == 3
    assert room.desk.session()["rejectCount"] == 0


def test_whoever_comes_back_sees_what_was_rejected_and_why(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        to_review(talk)
        talk.reject("on disk, please")
        talk.read("Decision 1 of 2")
    with room.resume() as talk:
        assert "on disk, please\n" in talk.read()
    assert "on disk, please\n" in room.desk.run("status", "--session", room.desk.short_id()).stdout


def test_what_the_screen_shows_chooses(room: Room) -> None:
    """An option may be named as the number of another one; a file may bring more than there are letters."""
    names = ["2", "3", *(f"option {number}" for number in range(3, 31))]
    room.model.answers(decisions=[decision("How many", *names[:4])])
    room.desk.step("Add JSON")
    room.desk.step("--resume", room.desk.short_id(), "--skip")
    room.desk.step("--resume", room.desk.short_id(), "--skip")
    with room.resume() as talk:
        talk.decide("2")
        talk.read(MENU)
    assert room.desk.chosen() == ["opt-b"]
    session = room.desk.session()
    [point] = session["decisions"]
    point["options"] = [{**point["options"][0], "id": f"o{number}", "name": name}
                        for number, name in enumerate(names, 1)]  # fmt: skip
    file = room.model.folder / "session.json"
    more = {**session, "sessionId": f"planning-{uuid4()}", "status": "design", "currentDecisionIndex": 0}
    file.write_text(json.dumps(more))
    with room.talk("--from", str(file)) as talk:
        talk.say("option 30")
        talk.read("Why")


def test_back_from_the_first_decision_and_from_the_review(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        talk.say("1")
        talk.say("the names")
        talk.say("/back")
        assert "the names\n> " in talk.say("other names")
        talk.decide("1")
        talk.decide("1", "short")
        talk.say("b", MENU)
        assert "Short (short)\n> " in talk.decide("2", "long")
        talk.say("q", MENU)
        assert talk.end()[0] == 3
    assert room.desk.answers()[1] == "other names"
    assert room.desk.session()["decisions"][1]["rationale"] == "long"


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


def test_forty_columns_are_enough(room: Room) -> None:
    long = "a fairly long sentence about what is meant, "
    room.model.answers(
        questions=[
            question(
                long * 3, options=[long * 2, "とても長い文章なので、どこかで折り返す。" * 3], why=long * 2
            )
        ],
        decisions=[decision(long[:60] * 2, "とても長い名前" * 5, long)],
        summary=f"## {long * 2}\n\n- {long * 3}",
    )
    with room.talk("Add JSON", columns=40) as talk:
        talk.say("?")
        talk.say("2")
        talk.decide("1")
        talk.read("What would be done")
        talk.read(r"Answered:")
        # What is shown while the model works is written over itself.
        lines = talk.seen.replace("\r", "\n").split("\n")
    assert [line for line in lines if width(line) > 40] == []


@pytest.mark.req("IP-13")
def test_somebody_else_continues_meanwhile(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        talk.read()
        code, view = room.desk.step("--resume", room.desk.short_id(), "--answer", "from elsewhere")
        assert (code, view["pending"]["question"]["id"]) == (3, "q-2")
        talk.send("too late\n")
        shown = talk.say("the names")
        assert "q-1 is not" in shown
        assert "q-2 is\n" in shown
        assert "Question 2 of 2" in shown
        talk.read()
        assert room.desk.step("--resume", room.desk.short_id(), "--cancel")[0] == 5
        talk.send("1\n")
        talk.say("")
        code, _rest = talk.end()
    assert code == 5
    assert room.desk.answers() == ["from elsewhere", "the names"]


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


def test_what_a_person_typed_is_not_called_an_agents(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        to_review(talk)
        assert "agent" not in talk.say("q", MENU)
        talk.end()
    assert "agent" not in room.desk.run("status", "--session", room.desk.short_id()).stdout


@pytest.mark.req("IP-9")
def test_who_approved_is_told(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        to_review(talk)
        talk.approve()
        talk.say("n", YES_NO)
        assert "(weak)" in talk.seen
        assert talk.end()[0] == 0
    name, user = room.desk.short_id(), os.environ.get("USER") or getpass.getuser()
    shown = room.desk.run("status", "--session", name).stdout
    assert f"approved by {user}, " in shown
    assert f"typed by {user} at /dev/" in shown
    approval = room.desk.json("status", "--session", name)["approval"]
    assert (approval["approver"], approval["proof"], approval["strength"]) == (user, "typed", "weak")
    lines = room.desk.run("status").stdout.splitlines()
    assert lines[:2] == ["Runs: 1", "  Add JSON"]
    assert "waits to be started" in lines[2]


@pytest.mark.req("IP-2")
def test_an_approved_session_is_cancelled_by_a_person_alone(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        to_review(talk)
        talk.approve()
        talk.say("n", YES_NO)
        talk.end()
    name = room.desk.short_id()
    assert room.desk.run("plan", "--resume", name, "--cancel").returncode == 3
    with room.talk("--resume", name, "--cancel", CLAUDECODE="1") as talk:
        assert talk.end()[0] == 3
    assert room.desk.session()["status"] == "approved"
    with room.talk("--resume", name, "--cancel") as talk:
        assert talk.end()[0] == 5
    assert room.desk.session()["status"] == "cancelled"


def test_an_option_may_be_named_as_a_command(room: Room) -> None:
    room.model.answers(
        questions=[question("Which?", options=["Skip", "/login"]), question("And?", options=["/login"])]
    )
    with room.talk("Add JSON") as talk:
        talk.say("skip")
        talk.say("/login")
        talk.read("Where it is kept")
    assert room.desk.answers() == ["Skip", "/login"]


def test_whoever_comes_back_to_the_program_sees_the_prompt(room: Room) -> None:
    with room.talk("Add JSON") as talk:
        talk.read()
        talk.child.kill(signal.SIGCONT)
        talk.read("> ")
        talk.send("1\n")
        assert "Question 2 of 2" in talk.read()
    assert room.desk.answers()[0] == "Only one"


def test_a_session_that_has_ended_promises_nothing(room: Room) -> None:
    room.desk.step("Add JSON", "--answers", str(all_recommended(room)))
    name = room.desk.short_id()
    for feedback in ("not so", "nor so", "never"):
        room.desk.step("--resume", name, "--reject", feedback)
        room.desk.step("--resume", name, "--answers", str(all_recommended(room)))
    with room.resume() as talk:
        code, shown = talk.end()
    assert code == 5
    assert f"{name}\n" in shown
    assert "saved" not in shown
    told = room.desk.run("status", "--session", name).stdout
    assert [words for words in ("not so", "nor so", "never") if f"{words}\n" not in told] == []


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


@pytest.mark.req("IP-12")
def test_a_model_that_fails_can_be_tried_again(room: Room) -> None:
    room.model.breaks("decisions")
    with room.talk("Add JSON") as talk:
        talk.say("1")
        talk.say("the names")
        code, rest = talk.end()
    assert code == 1
    assert f"ringi plan --resume {room.desk.short_id()}" in plain(rest)
    assert room.desk.session()["status"] == "failed"
    assert "stopped by an error" in room.desk.run().stdout
    room.model.answers(decisions=[decision("Again", "One", "Two")])
    with room.resume() as talk:
        assert "Again" in talk.decide("1")
    assert room.desk.answers() == ["Only one", "the names"]


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


@pytest.mark.req("IP-2")
def test_where_nothing_is_to_be_asked_the_review_comes_at_once(room: Room) -> None:
    room.model.answers(questions=[], decisions=[])
    with room.talk("Add JSON") as talk:
        shown = plain(talk.say("b", MENU))
        assert "What it is based on" in shown
        assert "Answered" not in shown
        assert "nothing before it" in talk.approve()
        talk.say("n", YES_NO)
        assert talk.end()[0] == 0


def test_a_terminal_that_can_do_nothing(room: Room) -> None:
    room.model.is_slow("questions", 1)
    with room.talk("Add JSON", TERM="dumb") as talk:
        talk.say("/quit")
        talk.end()
    assert "works" not in talk.seen
    assert "\x1b" not in talk.seen


def test_colours_if_they_are_wanted(room: Room) -> None:
    with room.talk("Add JSON", NO_COLOR="") as talk:
        assert "\x1b[1mQuestion 1 of 2" in talk.read()


def test_nothing_to_resume(room: Room) -> None:
    with room.talk("--resume") as talk:
        code, rest = talk.end()
    assert code == 0
    assert 'ringi plan "…"' in rest


def test_one_step_at_a_terminal_never_starts_the_dialogue(room: Room) -> None:
    room.desk.step("Add JSON")
    with room.talk("--resume", room.desk.short_id(), "--answer", "1") as talk:
        code, rest = talk.end()
    assert code == 3
    assert "Question 2 of 2" in rest
    assert "{" not in rest


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
