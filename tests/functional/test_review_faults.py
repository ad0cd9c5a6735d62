"""What a review must not do: take silence for an answer, or an answer for something that was not shown."""

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ringi import ActionSpec, SpecKind, open_workspace
from ringi.plans.document import PlanStatus
from tests.functional.desk import MENU, RINGI, Desk
from tests.functional.screens import Screen
from tests.functional.test_review_screen import (
    BY_AGENT,
    MANY,
    TWO_HUNKS,
    Screens,
    commit_all,
    propose,
    sandboxed,
    state,
)
from tests.helpers import holds_soon

END_OF_INPUT = "\x04"


@pytest.fixture
def shop(desk: Desk) -> Desk:
    (desk.root / "many.txt").write_text(MANY)
    return desk


@pytest.fixture
def screens(desk: Desk) -> Iterator[Screens]:
    opened = Screens(desk.root)
    yield opened
    for screen in opened.all:
        screen.end()


def set_specs(desk: Desk, name: str, *specs: ActionSpec) -> None:
    """As the proposer does, in another process."""
    with open_workspace(desk.root) as workspace:
        assert workspace.plan.set_action_specs(name, list(specs)).ok


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(("letter", "question"), [("m", "note.*:"), ("r", r"change\?")])
def test_the_end_of_input_is_no_answer(shop: Desk, letter: str, question: str) -> None:
    name = propose(shop, TWO_HUNKS)
    terminal = shop.terminal("review", name, "--plain")
    terminal.answer(MENU, letter)
    terminal.read(question)
    terminal.child.send(END_OF_INPUT)
    code, rest = terminal.end()
    assert code == 3, rest
    now = state(shop, name)
    assert now.status is PlanStatus.PENDING_REVIEW
    assert (now.approvals, now.feedback, now.comments or ()) == ((), (), ())


def test_bytes_that_are_no_text_are_no_answer(shop: Desk) -> None:
    name = propose(shop, TWO_HUNKS)
    terminal = shop.terminal("review", name, "--plain", PYTHONIOENCODING="utf-8:strict")
    terminal.read(MENU)
    terminal.child.setecho(False)
    time.sleep(0.3)
    os.write(terminal.child.child_fd, b"\xff\xe4\n")
    assert "one of the letters" in terminal.read(MENU)
    terminal.type("q")
    assert terminal.end()[0] == 3


@pytest.mark.req("PT-8")
@pytest.mark.parametrize(
    ("before", "after", "shown"),
    [
        (
            ActionSpec(SpecKind.RUN, argv=("make", "test"), timeout_sec=5),
            ActionSpec(SpecKind.RUN, argv=("make", "test"), timeout_sec=77),
            "at most 77 s",
        ),
        (
            ActionSpec(SpecKind.MOVE, "many.txt", target="one.txt"),
            ActionSpec(SpecKind.MOVE, "many.txt", target="two.txt"),
            "→ two.txt",
        ),
    ],
)
def test_what_came_instead_is_what_is_shown(
    shop: Desk, screens: Screens, before: ActionSpec, after: ActionSpec, shown: str
) -> None:
    name = propose(shop, before)
    screen = screens.review(name)
    screen.wait(r"\[a\]pply")
    assert shown not in screen.text
    set_specs(shop, name, after)
    screen.press("a")
    screen.wait("changed since you looked")
    assert shown in screen.text, screen.framed()


@pytest.mark.req("PT-15")
def test_the_proposers_new_version_is_not_taken_back(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS)
    screen = screens.review(name)
    screen.wait(r"\[a\]pply")
    screen.press("d")
    screen.wait("dropped")
    set_specs(shop, name, ActionSpec(SpecKind.CREATE, "new.txt", "better\n"))
    screen.press("s")
    screen.wait("better")
    screen.press("u")
    screen.wait("no change of yours")
    assert [spec.base.path for spec in state(shop, name).action_specs] == ["new.txt"]


@pytest.mark.req("PT-15")
def test_an_update_is_of_what_was_shown(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS)
    (shop.root / "many.txt").write_text(MANY.replace("line 3\n", "mine\n"))
    screen = screens.review(name)
    screen.wait("undecided")
    set_specs(shop, name, ActionSpec(SpecKind.CREATE, "new.txt", "better\n"))
    screen.press("u")
    screen.wait("changed since you looked")
    assert [spec.base.path for spec in state(shop, name).action_specs] == ["new.txt"]


def test_an_editor_that_is_stopped_gives_the_shell_back(shop: Desk, tmp_path: Path) -> None:
    editor = tmp_path / "editor"
    editor.write_text('#!/bin/sh\necho stopping; kill -TSTP 0; sed -i "s/line three/line 3.0/" "$1"\n')
    editor.chmod(0o755)
    name = propose(shop, TWO_HUNKS)
    shell = {"PS1": "shell> ", "VISUAL": str(editor)}
    with Screen(["bash", "--norc", "--noprofile", "-i"], cwd=shop.root, variables=shell) as screen:
        screen.wait("shell>")
        screen.type(shlex.join([*RINGI, "review", name]), enter=True)
        screen.wait(r"\[a\]pply")
        screen.press("E")
        screen.wait(r"Stopped[\s\S]*shell>$")
        screen.type("fg", enter=True)
        screen.wait("1 line edited")
        screen.press("q")
        assert "nothing was decided" in screen.wait("still waits").lower()


@sandboxed
def test_the_tests_end_with_the_review(shop: Desk, screens: Screens) -> None:
    commit_all(shop)
    name = shop.agent(BY_AGENT, "--check", "test $(grep -c 'line t' many.txt) = 2 || sleep 615")
    screen = screens.review(name)
    screen.wait(r"\[a\]pply")
    screen.press("d")
    assert holds_soon(lambda: "sleep 615" in processes())
    screen.child.kill(signal.SIGKILL)
    assert holds_soon(lambda: "sleep 615" not in processes())


def processes() -> str:
    return subprocess.run(["ps", "-axo", "args"], capture_output=True, text=True, check=True).stdout


@pytest.mark.req("PT-8")
def test_the_arguments_of_a_call_are_seen_in_the_dialogue(shop: Desk) -> None:
    call = ActionSpec(SpecKind.CALL, tool="mail", arguments={"to": "everybody"})
    with open_workspace(shop.root) as workspace:
        plan_id = workspace.plan.propose("tell them", proposer="the agent")
        workspace.plan.set_action_specs(plan_id, [call])
    assert '{"to": "everybody"}' in shop.run("show", "p1").stdout


@pytest.mark.req("PT-8")
def test_words_typed_where_none_are_taken_press_no_keys(shop: Desk, screens: Screens) -> None:
    name = propose(shop, TWO_HUNKS)
    screen = screens.review(name)
    screen.wait(r"\[a\]pply")
    screen.press("home", "c")
    screen.wait("comments are about lines")
    screen.type("all of this is wrong")
    screen.settle()
    assert screen.alive
    assert state(shop, name).status is PlanStatus.PENDING_REVIEW
    time.sleep(1.6)
    screen.press("a")
    assert screen.exit_code == 0
