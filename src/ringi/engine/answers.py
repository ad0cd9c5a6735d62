"""What a language model answers with when it plans: the JSON of the specification, every length bounded.

The bounds here only stop a model that does not stop. The rules name the aim, and the engine judges the rest:
ten thousand subtasks are an answer that it reports on, not one that nobody could read.
"""

from typing import Annotated, Any, Literal

from msgspec import Meta

from ringi.engine.document import ActionStatus, Complexity
from ringi.kernel.document import Document

_Line = Annotated[str, Meta(min_length=1, max_length=1_200)]
_Text = Annotated[str, Meta(max_length=4_000)]
_Lines = Annotated[tuple[_Line, ...], Meta(max_length=20)]
_Id = Annotated[str, Meta(min_length=1, max_length=80)]
_Path = Annotated[str, Meta(min_length=1, max_length=500)]
_Tool = Annotated[str, Meta(min_length=1, max_length=120)]


def _at_most(shown: int) -> Any:
    """Shown to models that obey a schema; an answer may still be longer, and is then told so."""
    return Meta(max_length=20_000, extra_json_schema={"maxItems": shown})


class NewGoal(Document, frozen=True):
    main_objective: _Line
    success_criteria: _Lines
    constraints: _Lines = ()
    context: _Text = ""
    goals: _Lines = ()
    """All of them, if the task has several."""
    reasoning: _Text = ""
    clarification_needed: _Lines = ()
    """Questions without whose answer the goal cannot be known."""


class NewWrite(Document, frozen=True):
    path: _Path
    new: bool = False


class NewSubtask(Document, frozen=True):
    id: _Id
    description: _Line
    dependencies: Annotated[tuple[_Id, ...], _at_most(20)] = ()
    estimated_complexity: Complexity = Complexity.MEDIUM
    required_tools: Annotated[tuple[_Tool, ...], _at_most(10)] = ()
    parent: Annotated[str, Meta(max_length=80)] = ""
    reads: Annotated[tuple[_Path, ...], _at_most(20)] = ()
    writes: Annotated[tuple[NewWrite, ...], _at_most(20)] = ()
    criteria: Annotated[tuple[int, ...], _at_most(20)] = ()


class NewDecomposition(Document, frozen=True):
    subtasks: Annotated[tuple[NewSubtask, ...], _at_most(30)]
    reasoning: _Text = ""
    infeasible_subtasks: _Lines = ()
    """What cannot be done with these tools."""
    alternative_approaches: _Lines = ()


class NewAction(Document, frozen=True):
    task_id: _Id
    tool: _Tool
    purpose: _Line
    expected_outcome: _Text = ""
    fallback_strategy: _Text = ""
    argv: Annotated[tuple[Annotated[str, Meta(max_length=1_000)], ...], _at_most(30)] = ()
    """Of a command."""


class NewActionPlan(Document, frozen=True):
    actions: Annotated[tuple[NewAction, ...], _at_most(60)]
    reasoning: _Text = ""


class NewOutline(Document, frozen=True):
    goal_understanding: NewGoal
    task_decomposition: NewDecomposition
    action_plan: NewActionPlan


class NewRemedy(Document, frozen=True):
    """A change of a plan. Fields that its type does not need, or that stay as they are, are empty."""

    type: Literal["add_action", "modify_action", "remove_action"]
    action_id: Annotated[str, Meta(max_length=80)] = ""
    """The task that is modified or removed."""
    before_task: Annotated[str, Meta(max_length=80)] = ""
    """The task that an added one is put before."""
    description: _Text = ""
    tool: Annotated[str, Meta(max_length=120)] = ""
    arguments: Annotated[str, Meta(max_length=20_000)] = ""
    """A JSON object, as text: services that enforce a schema know no free one."""


class NewChange(NewRemedy, frozen=True):
    purpose: _Text = ""
    expected_outcome: _Text = ""
    fallback_strategy: _Text = ""
    file: Annotated[str, Meta(max_length=500)] = ""
    writes: Annotated[tuple[NewWrite, ...], _at_most(20)] = ()


class NewReplan(Document, frozen=True):
    reason: _Line
    changes: Annotated[tuple[NewChange, ...], _at_most(20)]
    reasoning: _Text = ""


class NewReflection(Document, frozen=True):
    """What a model makes of the result of an action."""

    status: ActionStatus
    evaluation: _Text
    root_cause_analysis: _Text = ""
    missing: _Text = ""
    """What would have to be known to judge it; empty if it can be judged."""
    changes: Annotated[tuple[NewRemedy, ...], _at_most(20)] = ()
    """None if the plan stays as it is."""
    recommendations: Annotated[tuple[_Text, ...], _at_most(20)] = ()
    """For a person, if it cannot go on by itself."""
