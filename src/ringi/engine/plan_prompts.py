"""What a model is told when it plans (PP-23): the rules of the process, and the material they are about."""

from collections.abc import Collection, Iterator, Sequence
from typing import Final

from ringi.engine.document import GoalUnderstanding, PlanningBrief, PlanningDocument, Subtask
from ringi.engine.levels import Measure
from ringi.models.prompt import Material, Prompt
from ringi.models.usage import Purpose

RULES: Final = (
    "You plan a change to a software project before anybody works on it. Write in the language of the "
    "task, in short plain sentences. Use only what the data says; name no file that the context does not "
    "show unless you mark it new."
)
"""The same in every call, so that a service can reuse what it has read."""
_GOAL: Final = (
    "Goal: state the main objective, 3 to 6 success criteria that can be checked, the constraints, and "
    "the background as context. If the task has several goals, list every one in goals. Put a question "
    "into clarification_needed only if the task is so unclear or contradictory that the answer would "
    "change what is built and the context does not answer it; state the likeliest reading all the same. "
)
_SUBTASKS: Final = (
    "Subtasks: make {least} to {most}, each a piece of work that can be done and checked by itself, with "
    "ids task_1, task_2 …. A subtask names in dependencies the ids that must be done before it, in reads "
    "and writes the files it reads and changes (new: true if a file does not exist yet), in "
    "required_tools tools of the list only, in criteria the numbers of the success criteria it serves. "
    "Tests and documentation that belong to a change are part of the plan. No cycles. What these tools "
    "cannot do goes into infeasible_subtasks, with alternative_approaches. "
)
_THINK: Final = (
    "In reasoning, think step by step: what is there now, what has to change, in which order, why. "
)
_NO_THINKING: Final = "Leave reasoning empty. "
_PARTS: Final = (
    "The task is large: first make 2 to 4 subtasks that are parts of the whole, then for each of them the"
    " subtasks that it consists of, which name it as parent. Others have an empty parent. "
)
_FLAT: Final = "Leave parent empty. "
_ACTIONS: Final = (
    "Actions: for each subtask without parts, in the order of work, the tool it begins with, the purpose,"
    " the expected outcome, and as fallback_strategy what to do if it fails (never to try for ever). argv"
    " is the command line if the tool is run, otherwise empty. "
)
_REPLAN: Final = (
    "Feedback or a result shows that the plan below must change. Compare what was expected with what "
    "came, find the cause, and change as little as possible: everything that you do not name stays. "
    "add_action needs description, tool and purpose, and before_task if it comes before another task; "
    "modify_action and remove_action need action_id, the id of the task. Leave fields empty that stay as "
    "they are. "
)
_AGAIN: Final = (
    "Your last plan could not be used; the problems are below. Make a coarser one without them, with at "
    "most {most} subtasks. "
)
MOST_PROBLEMS: Final = 12


def task_for(purpose: Purpose, measure: Measure, *, again: bool = False) -> str:
    """What this call asks for."""
    thinking = _THINK if measure.reasoned else _NO_THINKING
    parts = {
        Purpose.GOAL: [_GOAL, thinking],
        Purpose.SUBTASKS: [_SUBTASKS, thinking, _PARTS if measure.hierarchical else _FLAT],
        Purpose.ACTIONS: [_ACTIONS, thinking],
        Purpose.REPLAN: [_REPLAN, thinking],
    }
    if purpose is Purpose.OUTLINE:
        chosen = [_GOAL, _SUBTASKS, thinking, _PARTS if measure.hierarchical else _FLAT, _ACTIONS]
    else:
        chosen = parts[purpose]
    words = "".join(chosen) + (_AGAIN if again else "")
    return words.replace("{least}", str(measure.least)).replace("{most}", str(measure.most)).strip()


def prompt_for(
    purpose: Purpose, measure: Measure, brief: PlanningBrief, context: str, problems: Sequence[str] = ()
) -> Prompt:
    # What stays the same comes first.
    material = {"context": context, "task": brief.task, "tools": ", ".join(brief.tools)}
    material |= dict(_earlier_documents(brief.plan, purpose))
    material["feedback"] = brief.feedback
    material["problems"] = "\n".join(problems[:MOST_PROBLEMS])
    given = tuple(Material(name, text) for name, text in material.items() if text)
    return Prompt(
        purpose,
        RULES,
        given,
        session=brief.task,
        task=task_for(purpose, measure, again=bool(problems)),
        planning=brief,
    )


def _earlier_documents(plan: PlanningDocument, purpose: Purpose) -> Iterator[tuple[str, str]]:
    if plan.goal_understanding and purpose in {Purpose.SUBTASKS, Purpose.REPLAN}:
        yield "goal", _goal(plan.goal_understanding)
    if plan.task_decomposition and purpose in {Purpose.ACTIONS, Purpose.REPLAN}:
        yield "subtasks", "\n".join(map(_subtask, plan.task_decomposition.subtasks))


def describe_plan(plan: PlanningDocument, done: Collection[str]) -> str:
    """Its goal and its tasks, a line each."""
    subtasks = plan.subtasks
    lines = [_goal(plan.goal_understanding)] if plan.goal_understanding else []
    return "\n".join([*lines, *(_subtask(one) + (" [done]" if one.id in done else "") for one in subtasks)])


def _goal(goal: GoalUnderstanding) -> str:
    lines = [goal.main_objective]
    lines += [f"goal: {one}" for one in goal.goals or ()]
    lines += [f"criterion {number}: {one}" for number, one in enumerate(goal.success_criteria or (), 1)]
    return "\n".join([*lines, *(f"constraint: {one}" for one in goal.constraints or ())])


def _subtask(task: Subtask) -> str:
    named = {
        "after": task.dependencies or (),
        "part of": (task.parent,) if task.parent else (),
        "tools": task.required_tools or (),
        "reads": task.reads or (),
        "writes": tuple(one.path for one in task.writes or ()),
    }
    facts = "; ".join(f"{name} {', '.join(values)}" for name, values in named.items() if values)
    return f"{task.id}: {task.description}" + (f" ({facts})" if facts else "")
