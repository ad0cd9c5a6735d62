"""`ringi with` and real agents: they edit and test in a copy, and continue with what a person said."""

import itertools
import re
from pathlib import Path

import pytest

from ringi.agents.table import AGENTS
from tests.agents.agent_desk import AgentDesk, agent_desk
from tests.agents.cases import ASKED, CASES, CLAUDE, CODEX, GEMINI, OPENCODE, SAID, Case, installed
from tests.functional.beside_desk import walled


def _work(desk: AgentDesk, start: tuple[str, ...] = ()) -> None:
    told = desk.ringi("with", *(start or desk.case.start))
    assert "ringi review p1" in told, told + str(desk.model.asked)
    assert (desk.root / "app/hello.py").read_text().endswith("'hello'\n"), "the project itself is untouched"
    diff = desk.ringi("show", "p1", "--diff")
    assert "+    return 'good day'" in diff
    if desk.case.tests:
        assert "tested good day" in desk.model.turns[-1].results[-1]
    assert {asked.model for asked in desk.model.turns} == {desk.case.model}


def _resume(desk: AgentDesk, *, expected: str) -> None:
    before = len(desk.model.turns)
    told = desk.ringi("with", "--resume")
    first = desk.model.turns[before]
    assert expected in told, told
    assert ASKED in first.whole, "it remembers what it was asked"
    assert SAID in first.whole, "it remembers what it said"
    assert first.model == desk.case.model, "its options are those it was started with"


@walled
@pytest.mark.parametrize("root", [True, False], ids=["root", "person"])
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_an_agent_edits_tests_and_continues_with_a_comment_and_after_the_apply(
    case: Case, root: bool, base: Path
) -> None:
    with agent_desk(installed(case), base, root=root) as desk:
        _work(desk)
        desk.comment("p1", "app/hello.py", 2, "write down why")
        _resume(desk, expected="p1 is now version 2")
        assert "write down why" in desk.model.turns[-1].said[-1]
        assert "+notes" in desk.ringi("show", "p1", "--diff")
        desk.apply("p1")
        assert (desk.root / "NOTES.md").read_text() == "notes\n"
        (desk.root / "NOTES.md").unlink()  # so that there is something to do once more
        _resume(desk, expected="ringi review p2")
        assert "applied it to the project" in desk.model.turns[-1].said[-1]
        assert "+notes" in desk.ringi("show", "p2", "--diff")


@walled
@pytest.mark.parametrize("case", [CLAUDE, CODEX], ids=lambda case: case.name)
def test_the_settings_of_an_agent_stay_as_they_are(case: Case, base: Path) -> None:
    with agent_desk(installed(case), base) as desk:
        names = {"claude": ".claude/settings.json", "codex": ".codex/config.toml"}
        settings = desk.home / names[case.name]
        before = settings.read_bytes() if settings.exists() else None
        _work(desk)
        assert settings.read_bytes() == (b"{}\n" if before is None else before)


@walled
@pytest.mark.parametrize("case", [CLAUDE, CODEX], ids=lambda case: case.name)
def test_each_copy_has_its_own_conversation(case: Case, base: Path) -> None:
    with agent_desk(installed(case), base) as desk:
        _work(desk)
        other = [f"{ASKED}, says another" if word == ASKED else word for word in case.start]
        assert "ringi review p2" in desk.ringi("with", *other)
        before = len(desk.model.turns)
        desk.ringi("with", "--resume", "p1")
        assert SAID in desk.model.turns[before].whole
        assert "says another" not in desk.model.turns[before].whole


@walled
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_without_a_terminal_the_start_of_a_screen_answers_and_ends(case: Case, base: Path) -> None:
    with agent_desk(installed(case), base) as desk:
        _work(desk, case.screen)
        desk.comment("p1", "app/hello.py", 2, "write down why")
        _resume(desk, expected="p1 is now version 2")
        assert "+notes" in desk.ringi("show", "p1", "--diff")


@walled
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_without_a_terminal_and_a_message_it_is_not_started(case: Case, base: Path) -> None:
    with agent_desk(installed(case), base) as desk:
        done = desk.run("with", case.name)
        assert done.returncode == 2, done.stdout + done.stderr
        assert f"ringi with {case.name} " in done.stderr
        assert not desk.model.asked
        passed = desk.run("with", case.name, "--version")
        assert passed.returncode == 0, passed.stdout + passed.stderr


@pytest.mark.parametrize("case", [CLAUDE, CODEX, OPENCODE, GEMINI], ids=lambda case: case.name)
def test_the_table_knows_the_commands_and_flags_of_its_help(case: Case, base: Path) -> None:
    with agent_desk(installed(case), base) as desk:
        resume = AGENTS[case.name].resume
        assert resume
        line, told = resume.line, desk.agent(case.name, "--help")
        shown = told.stdout or told.stderr
        assert commands_of(case.name, shown) - {case.name} <= line.modes | line.own
        assert flags_of(shown)
        assert flags_of(shown) <= line.flags | line.outer


def commands_of(name: str, shown: str) -> set[str]:
    """The words that name a command, in what commander, clap and yargs print."""
    found: set[str] = set()
    _, _, rest = shown.partition("\nCommands:\n")
    for text in itertools.takewhile(str.strip, rest.splitlines()):
        if match := re.match(rf"  (?:{name} )?([a-z][\w|-]*)(?= |$)", text):
            found |= {*match[1].split("|")}
        found |= {
            alias.strip() for part in re.findall(r"\[aliases: ([^\]]+)\]", text) for alias in part.split(",")
        }
    return found


def flags_of(shown: str) -> set[str]:
    """Options without a value."""
    _, _, rest = shown.partition("Options:\n")
    yargs = "[boolean]" in rest
    kind = r"(?s:(?:(?!\n +-).)*?)\[boolean\]" if yargs else r"(?=\n|  )"
    found = re.findall(rf"^ +(?:-\w, )?(--[a-z][\w-]*){kind}", rest, re.MULTILINE)
    return {*found}
