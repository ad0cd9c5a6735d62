"""The loop with reflection and revisions: recovery, approval, people, and the limit of it all."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ringi.config.keys import Depth
from ringi.config.rules import Value
from ringi.engine.document import NEEDS_PERSON
from ringi.engine.process import Process, ProcessPhase, Wait
from ringi.tools.effects import ErrorKind
from ringi.tools.ports_process import ToolInfo, ToolResult
from tests.unit.runs.process_desk import ProcessDesk, plan, shown
from tests.unit.runs.test_coordinator import in_a_run, say

READ = {"tool": "read", "arguments": {"path": "src/config.js"}}
WRITE = {"tool": "write", "arguments": {"path": "a", "content": "1"}}
SCHEMAS = {"search": {"properties": {"query": {}}, "required": ["query"]}}
FOUND = {"read": ["config/app.config.js"], "done": True}


class Desk(ProcessDesk):
    """With the schema of a search."""

    def __init__(self, *parts: Any, **more: Any) -> None:
        super().__init__(*parts, **more)
        offered = self.tools.list_tools()
        self.tools.list_tools = lambda: [  # type: ignore[method-assign]
            ToolInfo(one.name, "", SCHEMAS.get(one.name, {}), one.effect) for one in offered
        ]


def desk(
    tmp_path: Path, *said: Any, actions: tuple[dict[str, Any], ...] = (READ, WRITE), **more: Any
) -> Desk:
    made = Desk(tmp_path / "state", *said, **more)
    made.task = made.task._replace(plan=plan(*actions))
    made.tools.files["config/app.config.js"] = "x"
    return made


def answered(made: Desk, *, approved: bool) -> None:
    """As a person does with `ringi continue`."""
    stored = made.ledger.processes.get(made.task.process_id)
    assert stored
    assert stored.process.proposed
    process = replace(stored.process, proposed=replace(stored.process.proposed, approved=approved))
    with made.ledger.transaction() as transaction:
        transaction.processes.save(process, (), stored.revision)


def is_complete(process: Process) -> bool:
    return process.completion is not None and process.completion.done is True


@pytest.mark.req("PP-8")
@pytest.mark.req("PP-24")
def test_file_not_found_is_searched_and_the_next_time_sooner(tmp_path: Path):
    """The error recovery of chapters 13.2.2 and 15.2.1, by rules; then from memory."""
    made = desk(tmp_path, FOUND)
    made.tools.answers["search"] = [ToolResult("config/app.config.js")]
    process = made.go()
    assert is_complete(process)
    assert [name for name, _ in made.tools.called] == ["read", "search", "read", "read", "write"]
    assert made.tools.called[1] == ("search", {"query": "config"})
    assert [one.strategy for one in process.revisions] == ["find", "new_call"]
    known = {
        one.strategy: (one.helped, one.failed)
        for one in made.ledger.processes.recoveries(ErrorKind.NOT_FOUND)
    }
    # The search itself worked, and so did the call that the model made of it.
    assert known == {"find": (1, 0), "new_call": (1, 0)}
    assert len(made.model.asked) == 1
    assert "config/app.config.js" in shown(made.model.asked[0])


ONE: dict[str, Value] = {"planning.revision.max_revisions": 1}


@pytest.mark.req("PP-9")
def test_after_the_last_revision_a_person_is_needed_who_can_go_on(tmp_path: Path):
    made = in_a_run(desk(tmp_path, FOUND, config=ONE))  # type: ignore[assignment]
    process = made.go()
    assert process.completion
    summary = process.completion.summary
    assert process.completion.status == NEEDS_PERSON
    assert process.waits is Wait.PERSON
    assert summary.reason == "the limit of revisions is reached"
    assert summary.revision_attempts == 1
    assert summary.recommendations
    assert summary.current_state
    assert made.go() == process, "as long as the run has not told anybody"
    made.resume()
    say(made, "It is config/app.config.js")
    process = made.go()
    assert is_complete(process)
    assert process.revisions[-1].reflection.feedback_type == "human"
    assert "ann says: It is config/app.config.js" in shown(made.model.asked[0])


@pytest.mark.req("PP-9")
def test_what_an_agent_says_does_not_lift_the_limit(tmp_path: Path):
    made = in_a_run(desk(tmp_path, FOUND, config=ONE))
    made.go()
    made.resume()
    say(made, "It is config/app.config.js", agent=True)
    process = made.go()
    assert process.waits is Wait.PERSON
    assert process.revised == 1


ASKING: dict[str, Value] = {
    "planning.revision.require_human_approval": True,
    "planning.revision.approval_timeout": 60,
}


@pytest.mark.req("PP-20")
def test_a_revision_waits_until_a_person_approves_it(tmp_path: Path):
    made = desk(tmp_path, FOUND, config=ASKING)
    process = made.go()
    assert process.waits is Wait.REVISION
    assert process.phase is ProcessPhase.PLAN_REVISION
    assert process.proposed
    before = made.tools.called.copy()
    assert made.go().waits is Wait.REVISION
    assert made.tools.called == before
    answered(made, approved=True)
    process = made.go()
    assert process.revisions[0].approved is True
    assert process.revised == 1
    assert [name for name, _ in made.tools.called][:3] == ["read", "search", "read"]
    # The next one is another question.
    assert process.waits is Wait.REVISION
    known = made.ledger.processes.recoveries(ErrorKind.NOT_FOUND)
    assert [(one.strategy, one.helped) for one in known] == [("find", 1)]


@pytest.mark.req("PP-20")
def test_a_declined_revision_is_not_proposed_again(tmp_path: Path):
    made = desk(tmp_path, FOUND, config=ASKING)
    first = made.go().proposed
    answered(made, approved=False)
    process = made.go()
    assert first
    assert process.revised == 0
    assert "search" not in [name for name, _ in made.tools.called]
    assert all(one.revision != first.revision or one.approved is False for one in process.revisions)
    assert process.proposed is None or process.proposed.revision != first.revision


@pytest.mark.req("PP-20")
def test_time_approves_nothing(tmp_path: Path):
    made = desk(tmp_path, FOUND, config=ASKING)
    made.go()
    for _ in range(70):
        made.clock.now()
    process = made.go()
    assert process.waits is Wait.PERSON
    assert process.completion
    assert process.completion.status == NEEDS_PERSON
    assert (process.proposed, process.revised) == (None, 0)
    assert "search" not in [name for name, _ in made.tools.called]
    # A person goes on without it.
    assert is_complete(made.go())


@pytest.mark.req("PP-8")
def test_every_few_actions_the_model_looks_at_the_plan(tmp_path: Path):
    reads = tuple({"tool": "read", "arguments": {"path": "config/app.config.js"}} for _ in range(4))
    thought = {
        "status": "success",
        "evaluation": "The last reading is not needed",
        "changes": [{"type": "remove_action", "action_id": "task_4"}],
    }
    config: dict[str, Value] = {
        "planning.reflection.trigger_interval": 2,
        "planning.reflection.depth": Depth.MODERATE,
    }
    fine = {"status": "success", "evaluation": "All is well"}
    made = desk(tmp_path, thought, fine, actions=reads, config=config)
    process = made.go()
    assert is_complete(process)
    assert len(made.tools.called) == 3
    assert process.revisions[0].by == "scripted:model"
    assert len(made.model.asked) == 1
