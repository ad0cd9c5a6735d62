"""The documents of the planning process: every example of its specification is one, and stays as it is."""

import json
from pathlib import Path
from typing import Any

import pytest

from ringi.engine.document import (
    ActionPlan,
    AddAction,
    CompletionDocument,
    DecompositionFailed,
    ExecutionDocument,
    ModifyAction,
    PlanningDocument,
    PlanRevision,
    Reflection,
    ReflectionDocument,
    RemoveAction,
    UnclearGoal,
)
from ringi.errors import BadDocument
from ringi.kernel import codec
from ringi.kernel.document import OpenDocument
from tests.tables import each

EXAMPLES = {path.stem: path for path in sorted((Path(__file__).parent / "process_examples").glob("*.json"))}
KINDS: dict[str, type[OpenDocument]] = {
    "planning": PlanningDocument,
    "execution": ExecutionDocument,
    "reflection": ReflectionDocument,
    "completion": CompletionDocument,
}


def example(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(EXAMPLES[name].read_bytes())
    return found


def kind_of(raw: dict[str, Any]) -> type[OpenDocument]:
    """Some examples show one part alone."""
    return KINDS[raw.get("phase", "reflection" if "reflection" in raw else "planning")]


def read(raw: object, kind: type[OpenDocument]) -> Any:
    return codec.decode_foreign(json.dumps(raw).encode(), kind, "it")


@pytest.mark.req("PP-1", "PP-29")
@each("name", EXAMPLES)
def test_every_example_is_valid_and_comes_back_as_it_was(name: str):
    raw = example(name)
    document = codec.decode_foreign(EXAMPLES[name].read_bytes(), kind_of(raw), name)
    for data in (codec.canonical(document), codec.pretty(document)):
        assert json.loads(data) == {"phase": document.__struct_config__.tag} | raw
        assert codec.decode_own(data, kind_of(raw), name) == document


def test_all_examples_are_here():
    assert len(EXAMPLES) == 20


@pytest.mark.req("PP-1")
def test_alternatives_of_the_examples_are_values():
    for complexity in ("low", "medium", "high"):
        task = {"id": "task_1", "description": "…", "estimated_complexity": complexity}
        read({"task_decomposition": {"subtasks": [task]}}, PlanningDocument)
    for status in ("success", "failure", "partial"):
        assert read({"reflection": {"status": status}}, ReflectionDocument).reflection.status == status
    with pytest.raises(BadDocument, match="estimated_complexity"):
        read({"subtasks": [], "estimated_complexity": "huge"}, ActionPlan)


@pytest.mark.req("PP-1")
def test_a_document_of_another_phase_is_refused():
    with pytest.raises(BadDocument, match="phase"):
        read(example("2-completion"), PlanningDocument)


@pytest.mark.req("PP-29")
def test_the_examples_say_what_they_say():
    readme = read(example("15-readme"), PlanningDocument)
    assert [task.dependencies for task in readme.task_decomposition.subtasks] == [
        (),
        ("task_1",),
        ("task_2",),
        ("task_3",),
    ]
    assert (readme.action_plan.total_steps, readme.action_plan.estimated_complexity) == (4, "low")
    assert not read(example("15-authentication"), PlanningDocument).action_plan.actions
    parallel = read(example("11-parallel"), PlanningDocument).action_plan.actions
    assert [(one.parallel_group, bool(one.can_parallelize), one.dependencies or ()) for one in parallel] == [
        (1, True, ()),
        (1, True, ()),
        (2, False, ("task_1", "task_2")),
    ]
    assert not parallel[0].action_type


@pytest.mark.req("PP-10")
def test_errors_are_types():
    unclear = read(example("10-unclear-goal"), PlanningDocument)
    assert isinstance(unclear.error, UnclearGoal)
    assert len(unclear.error.clarification_needed) == 2
    failed = read(example("10-decomposition-failed"), PlanningDocument).error
    assert isinstance(failed, DecompositionFailed)
    assert failed.partial_plan.feasible_subtasks[0].id == "task_1"
    with pytest.raises(BadDocument):
        read({"phase": "planning", "error": {"type": "bad_mood", "message": "…"}}, PlanningDocument)


@pytest.mark.req("PP-1", "PP-8")
def test_both_shapes_of_a_reflection_and_every_change():
    automatic = read(example("10-tool-error"), ReflectionDocument)
    assert automatic.reflection.action == "github_get_file_contents"
    assert read({"action_id": "a"}, Reflection).action == "a"
    human = read(example("15-after-feedback"), ReflectionDocument)
    assert human.reflection.feedback_type == "human"
    modified, added = human.plan_revision.changes
    assert isinstance(modified, ModifyAction)
    assert modified.updates["file"] == "src/authentication.ts"
    assert isinstance(added, AddAction)
    assert (added.action.task_id, added.action.before_task) == ("task_0", "task_1")
    changes = ["words", {"type": "remove_action", "action_id": "task_1", "why": "…"}]
    words, removed = read({"changes": changes}, PlanRevision).changes
    assert (words, removed) == ("words", RemoveAction(action_id="task_1", extra={"why": "…"}))
    with pytest.raises(BadDocument):
        read({"changes": [{"type": "replace_person"}]}, PlanRevision)
