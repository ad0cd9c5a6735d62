"""What the parser leaves is handed to a model: its specs come last, marked, and checked like any other."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from ringi.errors import BadModelAnswer, ModelDeclined, ModelFailed, ModelUnreachable
from ringi.kernel.fs import OsFileSystem
from ringi.ledger.event import Actor
from ringi.models.backend import Call, Reply
from ringi.models.client import ModelClient
from ringi.models.prompt import Budget, ModelProgress
from ringi.models.usage import Purpose
from ringi.plans.document import DropSpec, NewContent, PlanStatus
from ringi.plans.extract import Extraction, extract
from ringi.plans.extract_with_model import Extractor, ask_model
from ringi.plans.propose import keep_specs
from ringi.plans.tool import PlanTool
from ringi.plans.versions import Versions
from ringi.policy.risk_level import Risk, RiskCode
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from tests.fakes.world import World
from tests.helpers import write
from tests.tables import each

pytestmark = pytest.mark.req("PT-14")

PLAN = """\
# Greet

```text notes.txt
polite
```

Then the greeting changes:

```python
print("hi")
```

And a folder for drafts is needed.
"""
WRITE = ActionSpec(SpecKind.WRITE, "notes.txt", "polite\n")


class Words:
    """Says these, one after the other, and then the last one again."""

    name = "scripted:words"

    def __init__(self, *said: object) -> None:
        self._said = list(said)
        self.calls: list[Call] = []

    def prepare(self) -> None:
        pass

    def send(self, call: Call) -> Reply:
        self.calls.append(call)
        said = self._said.pop(0) if len(self._said) > 1 else self._said[0]
        if isinstance(said, Exception):
            raise said
        return Reply(said if isinstance(said, str) else json.dumps(said))


class Desk:
    def __init__(self, world: World, *said: object) -> None:
        self.words = Words(*said)
        self.workspace = world.workspace.replace(
            model=lambda: ModelClient(self.words), model_budget=Budget(seconds=60.0, output_tokens=100)
        )
        self.tool = PlanTool(self.workspace)
        self.extractor = Extractor(self.workspace)
        self.versions = Versions(self.workspace)

    def extract(self, text: str = PLAN) -> Extraction:
        return ask_model(self.workspace, text, extract(text), None)

    def taken(self, text: str = PLAN) -> str:
        """The id of a plan that got the specs of parser and model."""
        plan_id = self.tool.propose(text)
        found = self.extractor.extract(plan_id, with_model=True)
        report = self.tool.set_action_specs(plan_id, found.specs, from_model=found.from_model)
        assert report.ok, report.issues
        return plan_id

    def marked(self, plan_id: str) -> object:
        return self.tool.get_state(plan_id).from_model


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "state").mkdir()
    (root / "app.py").write_text('print("hello")\n')
    with World(tmp_path / "state", root, OsFileSystem()) as made:
        yield made


def spec(kind: str, path: str = "", **more: Any) -> dict[str, Any]:
    return {"kind": kind, "path": path, **more}


GREETING = spec("write", "app.py", content='print("hi")\n', line=9, description="Greet shorter")
DRAFTS = spec("mkdir", "drafts", content="", target="", argv=[], description="A folder", line=0)


def answer(*specs: dict[str, Any]) -> dict[str, Any]:
    return {"specs": list(specs)}


# What is handed over, and what comes back


def test_the_models_specs_come_after_the_parsers(world: World):
    desk = Desk(world, answer(GREETING, DRAFTS))
    found = desk.extract()
    assert found == Extraction(
        specs=(
            WRITE,
            ActionSpec(SpecKind.WRITE, "app.py", 'print("hi")\n', description="Greet shorter"),
            ActionSpec(SpecKind.MKDIR, "drafts", description="A folder"),
        ),
        unplaced=(),
        from_model=(1, 2),
    )


def test_the_model_gets_the_text_and_what_was_not_placed(world: World):
    asked = []

    class Listening(ModelClient):
        def ask(self, prompt: Any, *others: Any) -> Any:
            asked.append(prompt)
            return super().ask(prompt, *others)

    parts = world.workspace.replace(model=lambda: Listening(Words(answer())))
    ask_model(parts, PLAN, extract(PLAN), None)
    [prompt] = asked
    assert prompt.purpose is Purpose.EXTRACTION
    material = {one.name: one.text for one in prompt.material}
    assert material["plan"] == PLAN
    assert material["unparsed lines"] == "line 9 (no path is named for it): ```python"
    assert material["existing specs"] == "write notes.txt"
    assert PLAN not in prompt.rules
    assert len(prompt.rules) < 1200


def test_what_the_model_leaves_stays_listed(world: World):
    left = extract(PLAN).unplaced
    assert Desk(world, answer()).extract() == Extraction((WRITE,), left)
    assert Desk(world, answer(DRAFTS)).extract().unplaced == left
    assert Desk(world, answer(GREETING)).extract().unplaced == ()
    assert Desk(world, answer({**GREETING, "line": 3})).extract().unplaced == left


def test_words_are_left_to_the_model(world: World):
    text = "```text notes.txt\npolite\n```\n\nThen delete app.py.\n"
    assert extract(text) == Extraction((WRITE,), ())
    found = Desk(world, answer(spec("delete", "app.py"))).extract(text)
    assert found.specs == (WRITE, ActionSpec(SpecKind.DELETE, "app.py"))
    assert found.from_model == (1,)


def test_without_a_model_the_parsers_part_comes_back(world: World):
    plan_id = world.tool.propose(PLAN)
    extractor = Extractor(world.workspace)
    assert extractor.extract(plan_id, with_model=True) == extractor.extract(plan_id)


def test_progress_is_told(world: World):
    told: list[ModelProgress] = []
    plan_id = world.tool.propose(PLAN)
    Desk(world, answer()).extractor.extract(plan_id, with_model=True, on_progress=told.append)
    assert told


def test_a_command_is_taken_and_looked_at_like_any_other(world: World):
    desk = Desk(world, answer(spec("run", argv=["rm", "-rf", "build"], line=9)))
    plan_id = desk.taken()
    made = desk.tool.get_state(plan_id).action_specs[1]
    assert (made.base.kind, made.base.argv, made.risk) == (SpecKind.RUN, ("rm", "-rf", "build"), Risk.HIGH)


# It never replaces what the parser placed


@pytest.mark.parametrize(
    "repeated",
    [
        spec("write", "notes.txt", content="mine\n", line=9),
        spec("create", "./notes.txt", content="mine\n"),
        spec("write", "./notes.txt/", content="mine\n"),
        spec("delete", "notes.txt"),
        spec("move", "app.py", target="notes.txt"),
        spec("patch", "notes.txt", content="--- a/notes.txt\n+++ b/notes.txt\n@@ -1 +1 @@\n-a\n+b\n"),
    ],
)
def test_a_spec_about_a_file_of_the_parsers_is_dropped(world: World, repeated: dict[str, Any]):
    found = Desk(world, answer(repeated, DRAFTS)).extract()
    assert found.specs == (WRITE, ActionSpec(SpecKind.MKDIR, "drafts", description="A folder"))
    assert found.from_model == (1,)
    assert found.unplaced == extract(PLAN).unplaced


def test_the_same_twice_is_once(world: World):
    assert Desk(world, answer(GREETING, GREETING)).extract().from_model == (1,)
    runs = [spec("run", argv=["make", "test"])] * 2 + [spec("run", argv=["make"])]
    found = Desk(world, answer(*runs)).extract()
    assert [one.argv for one in found.specs] == [(), ("make", "test"), ("make",)]


# Hostile answers


@each(
    "hostile",
    [
        spec("write", "/etc/passwd", content="x"),
        spec("write", "../outside.txt", content="x"),
        spec("write", "a/../../outside.txt", content="x"),
        spec("write", ".git/hooks/pre-commit", content="#!/bin/sh\n"),
        spec("write", ".GIT/config", content="x"),
        spec("write", ".agent/config.yaml", content="x"),
        spec("write", "a\0b", content="x"),
        spec("write", "", content="x"),
        spec("move", "app.py", target="/tmp/x"),
        spec("move", "app.py"),
        spec("patch", "app.py", content="no diff"),
        spec("patch", "app.py", content="--- a/other.py\n+++ b/other.py\n@@ -1 +1 @@\n-a\n+b\n"),
        spec("delete", "not-there.txt"),
        spec("delete", "app.py", content="why?"),
        spec("create", "app.py", content="x"),
        spec("read", "app.py", argv=["sh"]),
        spec("run", argv=[]),
        spec("run", argv=["sh", "-c", "x\0y"]),
        spec("run", "../..", argv=["true"]),
        spec("mkdir", "app.py/x"),
    ],
)
def test_a_hostile_spec_ends_in_the_ordinary_validation(world: World, hostile: dict[str, Any]):
    desk = Desk(world, answer(hostile))
    plan_id = desk.tool.propose(PLAN)
    found = desk.extractor.extract(plan_id, with_model=True)
    report = desk.tool.set_action_specs(plan_id, found.specs, from_model=found.from_model)
    assert not report.ok
    assert [one.validated for one in report.normalized] == [True, False]
    assert desk.marked(plan_id) == ("s2",)


def test_two_specs_about_one_file_end_in_the_ordinary_validation(world: World):
    desk = Desk(world, answer(GREETING, {**GREETING, "content": "other\n"}))
    plan_id = desk.tool.propose(PLAN)
    assert not desk.tool.set_action_specs(plan_id, desk.extract().specs).ok


def test_a_secret_raises_the_risk(world: World):
    token = "ghp" + "_" + "kX9vQ2mPz7" * 4
    desk = Desk(world, answer({**GREETING, "content": f"TOKEN = '{token}'\n"}))
    made = desk.tool.get_state(desk.taken()).action_specs[1]
    assert made.risk is Risk.HIGH
    assert RiskCode.SECRET in {reason.code for reason in made.risk_reasons}


@pytest.mark.parametrize(
    "hostile",
    [
        answer(*[spec("mkdir", f"d{number}") for number in range(10_000)]),
        answer(*[spec("mkdir", f"d{number}") for number in range(51)]),
        answer(spec("call", tool="mail")),
        answer(spec("call")),
        answer(spec("exec", "app.py")),
        answer(spec("write", "x" * 301, content="")),
        answer(spec("write", "x", content="x" * 200_001)),
        answer(spec("run", argv=["x"] * 65)),
        answer(spec("run", argv="rm -rf /")),
        answer(spec("write", "x", content=None)),
        answer(spec("write", "x", mode="0777")),
        answer(spec("write", "x", optional=True)),
        answer(spec("write", "x", line=-1)),
        answer({"path": "x"}),
        {"specs": "none"},
        {"specs": [], "approved": True},
        {},
        "I would rather not.",
        "[" * 100_000,
        '{"specs": [{"kind": "write", "path": "\\ud800", "content": "x"}]}',
    ],
    ids=lambda hostile: str(hostile)[:40],
)
def test_an_answer_of_another_form_is_refused_and_changes_nothing(world: World, hostile: object):
    desk = Desk(world, hostile)
    plan_id = desk.tool.propose(PLAN)
    before = desk.tool.get(plan_id)
    with pytest.raises(BadModelAnswer):
        desk.extractor.extract(plan_id, with_model=True)
    assert desk.tool.get(plan_id) == before
    # The parser's part can still be had.
    assert desk.extractor.extract(plan_id).specs == (WRITE,)


def test_an_answer_is_asked_for_again_with_what_was_wrong(world: World):
    desk = Desk(world, answer(spec("call")), answer(GREETING))
    assert desk.extract().from_model == (1,)
    assert "call" in desk.words.calls[1].turns[-1].text


@pytest.mark.parametrize("error", [ModelUnreachable(model="m", why="w"), ModelDeclined(model="m", why="w")])
def test_a_model_that_fails_leaves_the_plan_as_it_is(world: World, error: ModelFailed):
    desk = Desk(world, error)
    plan_id = desk.tool.propose(PLAN)
    desk.tool.set_action_specs(plan_id, [write("notes.txt", "mine\n")])
    before = desk.tool.get(plan_id)
    with pytest.raises(ModelFailed):
        desk.extractor.extract(plan_id, with_model=True)
    assert desk.tool.get(plan_id) == before


# The mark


def test_the_plan_says_which_specs_a_model_made(world: World):
    desk = Desk(world, answer(GREETING, DRAFTS))
    plan_id = desk.taken()
    state = desk.tool.get_state(plan_id)
    assert state.status is PlanStatus.PENDING_REVIEW
    assert state.from_model == ("s2", "s3")
    assert desk.tool.preview(plan_id).diffs[1].added == 1
    *_, last = world.ledger.events(plan_id)
    assert last.event.reason == "by the model: s2, s3"


def test_other_specs_take_the_mark_away(world: World):
    desk = Desk(world, answer(GREETING))
    plan_id = desk.taken()
    desk.tool.set_action_specs(plan_id, [write("notes.txt", "a\n"), write("app.py", "b\n")])
    assert desk.marked(plan_id) is UNSET
    # What cannot be carried out replaces nothing, the mark neither.
    plan_id = desk.taken()
    assert not desk.tool.set_action_specs(plan_id, [write("../x", "a\n")]).ok
    assert desk.marked(plan_id) == ("s2",)


def test_an_amended_spec_is_still_the_models(world: World):
    desk = Desk(world, answer(GREETING, DRAFTS))
    plan_id = desk.taken()
    assert desk.tool.amend(plan_id, [NewContent("s2", 'print("hey")\n'), DropSpec("s1")]).ok
    kept = [one.id for one in desk.tool.get_state(plan_id).action_specs]
    assert kept == ["s2", "s3"]
    assert set(kept) <= set(desk.tool.get_state(plan_id).from_model or ())
    assert desk.versions.revert(plan_id, 1).ok
    assert desk.marked(plan_id) == ("s2", "s3")


def test_what_is_kept_keeps_its_mark(world: World):
    desk = Desk(world, answer(GREETING, DRAFTS))
    plan_id = desk.taken()
    seen = desk.tool.get(plan_id)
    keep_specs(desk.workspace, plan_id, ["s1", "s3"], seen=seen, actor=Actor.USER, reason="")
    assert desk.marked(plan_id) == ("s3",)


def test_a_fork_knows_it_too(world: World):
    desk = Desk(world, answer(GREETING, DRAFTS))
    plan_id = desk.taken()
    assert desk.marked(desk.versions.fork(plan_id)) == ("s2", "s3")
    seen = desk.tool.get(plan_id)
    keep_specs(desk.workspace, plan_id, ["s3"], seen=seen, actor=Actor.USER, reason="")
    assert desk.marked(desk.versions.fork(plan_id)) == ("s1",)
    by_hand = desk.tool.propose("By hand")
    desk.tool.set_action_specs(by_hand, [write("notes.txt", "a\n")])
    assert desk.marked(desk.versions.fork(by_hand)) is UNSET
