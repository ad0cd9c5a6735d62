"""`ringi with` and real agents: they edit and test in a copy, and continue with what a person said."""

from pathlib import Path

import pytest

from tests.agents.agent_desk import AgentDesk, agent_desk
from tests.agents.cases import ASKED, CASES, CLAUDE, CODEX, SAID, Case, installed
from tests.functional.beside_desk import walled


def _work(desk: AgentDesk) -> None:
    told = desk.ringi("with", *desk.case.start)
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
