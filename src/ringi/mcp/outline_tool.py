"""An outline as a tool. Of the context only paths leave: what the files say stays here."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from ringi.engine.design import TargetPath
from ringi.engine.document import (
    DecompositionFailed,
    Finding,
    OutlineOutcome,
    PlanningDocument,
    Subtask,
    UnclearGoal,
)
from ringi.kernel import codec
from ringi.kernel.document import Document
from ringi.mcp import arguments
from ringi.mcp.answers import NextStep
from ringi.mcp.tools import Hints, Tool
from ringi.sessions.outline import outline

if TYPE_CHECKING:
    from ringi.app.api import Workspace

_STEPS: Final = {
    OutlineOutcome.PLANNED: "Show it to your user. To plan it with their approval: planning_start",
    OutlineOutcome.UNCLEAR_GOAL: "Ask your user these questions, then call again with what they say.",
    OutlineOutcome.DECOMPOSITION_FAILED: "Show your user what is possible, and ask for one part of it.",
    OutlineOutcome.REFUSED: "Tell your user why it is refused. Do not rephrase it to get past the checks.",
}


class OutlinedTask(Document, frozen=True):
    id: str
    description: str
    dependencies: tuple[str, ...]
    writes: tuple[TargetPath, ...]


class OutlineAnswer(NextStep, frozen=True):
    outcome: OutlineOutcome
    goal: str
    success_criteria: tuple[str, ...]
    tasks: tuple[OutlinedTask, ...]
    """In the order in which they would be carried out."""
    questions: tuple[str, ...]
    alternatives: tuple[str, ...]
    findings: tuple[Finding, ...]
    files: tuple[str, ...]
    """What the request is likely about, best first."""
    planning_json: str
    """Of a run that would do it; empty if it is not planned."""
    model: str
    tokens: int


def _outline(workspace: "Workspace", given: arguments.OutlineRequest, _: str) -> OutlineAnswer:
    found = outline(workspace, given.request).document
    plan, error = found.plan, found.plan.error
    goal = plan.goal_understanding
    partial = error.partial_plan if isinstance(error, DecompositionFailed) else None
    return OutlineAnswer(
        outcome=found.outcome,
        goal=goal.main_objective if goal else "",
        success_criteria=(goal.success_criteria or ()) if goal else (),
        tasks=tuple(map(_task, _in_order(plan))),
        questions=error.clarification_needed if isinstance(error, UnclearGoal) else (),
        alternatives=(partial.alternative_approaches or ()) if partial else (),
        findings=found.findings,
        files=tuple(file.path for file in found.context),
        planning_json=codec.canonical(found.planning_json).decode() if found.planning_json else "",
        model=found.model,
        tokens=sum(usage.input_tokens + usage.output_tokens for usage in found.usage.values()),
        next_step=_STEPS[found.outcome],
    )


def _in_order(plan: PlanningDocument) -> tuple[Subtask, ...]:
    tasks = {task.id: task for task in plan.subtasks}
    order = plan.execution_order
    return tuple(tasks[id_] for id_ in order if id_ in tasks) or tuple(tasks.values())


def _task(task: Subtask) -> OutlinedTask:
    return OutlinedTask(task.id, task.description, task.dependencies or (), task.writes or ())


TOOLS: Final[Mapping[str, Tool]] = {
    "planning_outline": Tool(
        "Outline a change",
        "The goal, the steps with their files and the order, for what your user wants done. Nothing is "
        "carried out, no file changes, and nothing is approved. If the goal is not clear, answers with "
        "questions for your user; never answer them yourself.",
        arguments.OutlineRequest,
        OutlineAnswer,
        Hints(open_world=True),
        _outline,
    ),
}
