"""An outline as lines: what the model saw, what it understood, and what would be done in which order."""

from collections.abc import Iterator
from typing import Final

from ringi.engine.document import (
    DecompositionFailed,
    Finding,
    GoalUnderstanding,
    Outline,
    OutlineOutcome,
    PartialPlan,
    PlannedAction,
    PlanningDocument,
    Subtask,
    UnclearGoal,
)
from ringi.engine.run_plan import RunPlan
from ringi.kernel.lines import EMPTY, Line, Style, line, prose, step
from ringi.kernel.text import Text
from ringi.models.usage import PLAYBOOK
from ringi.plans.words import format_reused
from ringi.sessions.run_plan_view import step_lines
from ringi.tools.effects import FindingKind

_FINDINGS: Final = {
    FindingKind.ENDLESS_LOOP: Text("it may never end"),
    FindingKind.RESOURCE_EXHAUSTION: Text("it may use up time, memory or disk"),
    FindingKind.PRIVILEGE_ESCALATION: Text("it reaches for rights it must not have"),
    FindingKind.LEAKING_SECRETS: Text("it may give away secrets"),
    FindingKind.FORBIDDEN_TOOL: Text("the tool is forbidden"),
    FindingKind.UNKNOWN_TOOL: Text("there is no such tool"),
    FindingKind.DISGUISED_TOOL: Text("the tool only looks like a known one"),
}
_MOST_FILES: Final = 8


def outline_lines(found: Outline, notes: tuple[Text, ...]) -> Iterator[Line]:
    yield from _context(found)
    if found.plan.goal_understanding:
        yield from _goal(found.plan.goal_understanding)
    if found.plan.task_decomposition:
        yield from _tasks(found.plan)
    if found.planning_json:
        yield from _run_plan(found.planning_json)
    for note in notes:
        yield prose(note, Style.WARNING, mark="! ")
    yield from _outcome(found)
    yield EMPTY
    yield from _usage_lines(found)


def _heading(text: Text) -> Iterator[Line]:
    yield line(text, Style.STRONG)


def _context(found: Outline) -> Iterator[Line]:
    if not found.context_tokens:
        return
    yield from _heading(Text("Context (about {count} tokens)", count=f"{found.context_tokens:,}"))
    for file in found.context[:_MOST_FILES]:
        yield line(file.path, Style.PLACE, indent=2)
    if len(found.context) > _MOST_FILES:
        more = len(found.context) - _MOST_FILES
        yield line(Text("… and {count} more: ringi run --context", count=more), Style.FAINT, indent=2)
    yield EMPTY


def _goal(goal: GoalUnderstanding) -> Iterator[Line]:
    yield from _heading(Text("Goal"))
    yield prose(goal.main_objective, indent=2)
    for one in goal.goals or ():
        yield prose(one, indent=2, mark="• ")
    for heading, items in ((Text("Done when"), goal.success_criteria), (Text("Limits"), goal.constraints)):
        if items:
            yield EMPTY
            yield from _heading(heading)
            yield from (prose(one, indent=2, mark=f"{number}. ") for number, one in enumerate(items, 1))
    yield EMPTY


def _tasks(plan: PlanningDocument) -> Iterator[Line]:
    tasks = {task.id: task for task in plan.subtasks}
    order = plan.execution_order
    actions: dict[str, list[PlannedAction]] = {}
    for action in plan.actions:
        actions.setdefault(action.task_id or "", []).append(action)
    yield from _heading(Text("Steps"))
    for number, id_ in enumerate(order or tuple(tasks), 1):
        if id_ in tasks:
            yield from _task(number, tasks[id_], tasks, actions.get(id_, []))
    yield EMPTY


def _task(
    number: int, task: Subtask, tasks: dict[str, Subtask], actions: list[PlannedAction]
) -> Iterator[Line]:
    yield prose(task.description, indent=2, mark=f"{number}. ")
    if task.parent and task.parent in tasks:
        part = Text("part of: {whole}", whole=tasks[task.parent].description)
        yield prose(part, Style.FAINT, indent=5)
    for target in task.writes or ():
        words = Text("{path} (new)", path=target.path) if target.new else target.path
        yield line(words, Style.PLACE, indent=5)
    for action in actions:
        yield from _action(action, task)


def _action(action: PlannedAction, task: Subtask) -> Iterator[Line]:
    command = action.arguments.get("argv") if action.arguments else None
    how = " ".join(map(str, command)) if isinstance(command, list) else action.purpose or ""
    if action.tool:
        known = not how or how == task.description
        words = (
            Text("{tool}", tool=action.tool) if known else Text("{tool}: {how}", tool=action.tool, how=how)
        )
        yield prose(words, Style.FAINT, indent=5)
    if action.fallback_strategy:
        yield prose(Text("if it fails: {plan}", plan=action.fallback_strategy), Style.FAINT, indent=5)
    if action.can_parallelize:
        together = Text("can run beside the others of group {group}", group=action.parallel_group or 0)
        yield line(together, Style.FAINT, indent=5)


def _run_plan(plan: RunPlan) -> Iterator[Line]:
    yield from _heading(Text("planning.json"))
    yield from step_lines(plan)
    yield prose(Text("The whole document: ringi --json run --outline"), Style.FAINT, indent=2)
    yield EMPTY


def _outcome(found: Outline) -> Iterator[Line]:
    match found.plan.error:
        case UnclearGoal():
            yield line(Text("The goal is not clear. Ask again with the answer to:"), Style.WARNING)
            for question in found.plan.error.clarification_needed:
                yield prose(question, indent=2, mark="? ")
            if found.plan.action_plan:
                yield prose(Text("The steps above are provisional."), Style.FAINT)
        case DecompositionFailed():
            yield line(Text("The task could not be planned completely."), Style.BAD)
            yield from _partial(found.plan.error.partial_plan or PartialPlan())
    if found.outcome is OutlineOutcome.REFUSED:
        yield line(Text("The plan is refused:"), Style.BAD)
        yield from (_finding(one) for one in found.findings)
        yield prose(Text("Say it differently, or use another model."), Style.FAINT)
    elif found.outcome is OutlineOutcome.PLANNED:
        yield line(Text("Nothing was changed. To plan it with a person's approval:"))
        yield step("ringi plan '…'")


def _partial(plan: PartialPlan) -> Iterator[Line]:
    parts = {
        Text("possible"): plan.feasible_subtasks or (),
        Text("not possible"): plan.infeasible_subtasks or (),
        Text("instead"): plan.alternative_approaches or (),
    }
    for what, items in parts.items():
        for item in items:
            words = item if isinstance(item, str) else item.description
            yield prose(Text("{what}: {words}", what=what, words=words), indent=2, mark="- ")


def _finding(found: Finding) -> Line:
    words = Text(
        "{kind} {task}: {why}: {subject}",
        kind=str(found.kind),
        task=found.task,
        why=_FINDINGS[found.kind],
        subject=found.subject,
    )
    return prose(words, indent=2, mark="✗ ")


def _usage_lines(found: Outline) -> Iterator[Line]:
    # A command may report no tokens and was still asked.
    if found.model in {"", PLAYBOOK}:
        yield line(Text("Planned without a model: no tokens were used."), Style.FAINT)
        return
    yield line(Text("{model}, calls: {count}", model=found.model, count=found.calls), Style.FAINT)
    for phase, usage in found.usage.items():
        words = Text(
            "{phase}: {input} tokens in, {output} out, {seconds} s",
            phase=phase,
            input=f"{usage.input_tokens:,}",
            output=f"{usage.output_tokens:,}",
            seconds=f"{usage.duration_sec:.1f}",
        )
        if not (usage.input_tokens or usage.output_tokens):
            words = Text("{phase}: {seconds} s, tokens not reported",
                         phase=phase, seconds=f"{usage.duration_sec:.1f}")  # fmt: skip
        if usage.reused:
            words = Text("{phase}: {reused}", phase=phase, reused=format_reused(usage))
        yield line(words, Style.FAINT, indent=2)
