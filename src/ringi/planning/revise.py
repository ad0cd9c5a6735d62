"""Applies a revision to a plan (PP-8): what it does not name stays."""

import re
from collections.abc import Iterable
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import fields, replace

from ringi.domain.plan_answers import NewChange, NewReplan
from ringi.domain.planning import (
    ActionPlan,
    AddAction,
    Change,
    ModifyAction,
    PlannedAction,
    PlanningDocument,
    PlanRevision,
    RemoveAction,
    Subtask,
    TaskDecomposition,
)
from ringi.domain.session import TargetPath
from ringi.planning.order import Order, normal, ordered

_OF_ACTION: Final = re.compile(r"(.+)_action_\d+")
"""The specification names actions so: task_1_action_1."""
_ACTION_FIELDS: Final = frozenset(field.name for field in fields(PlannedAction)) - {"extra"}


def revision_of(found: NewReplan) -> PlanRevision:
    return PlanRevision(reason=found.reason, changes=tuple(_change(one) for one in found.changes))


def _change(new: NewChange) -> Change:
    named = {
        "description": new.description.strip(),
        "tool": new.tool.strip(),
        "purpose": new.purpose.strip(),
        "expected_outcome": new.expected_outcome.strip(),
        "fallback_strategy": new.fallback_strategy.strip(),
        "before_task": new.before_task.strip(),
    }
    given: dict[str, Any] = {name: value for name, value in named.items() if value}
    if new.writes:
        given["writes"] = [{"path": normal(one.path), "new": one.new} for one in new.writes]
    if new.type == "add_action":
        extra = {"writes": given.pop("writes")} if "writes" in given else {}
        name = new.action_id.strip() or UNSET
        return AddAction(action=PlannedAction(task_id=name, action_type="tool_call", extra=extra, **given))
    if new.type == "modify_action":
        return ModifyAction(action_id=new.action_id.strip(), updates=given)
    return RemoveAction(action_id=new.action_id.strip())


def revised(plan: PlanningDocument, revision: PlanRevision) -> PlanningDocument:
    """Without effect if a change names no task of the plan; strings only tell what changed."""
    subtasks = list(plan.task_decomposition.subtasks) if plan.task_decomposition else []
    actions = list((plan.action_plan.actions or ()) if plan.action_plan else ())
    for change in revision.changes or ():
        match change:
            case AddAction():
                subtasks, actions = _added(subtasks, actions, change.action)
            case ModifyAction():
                subtasks, actions = _modified(subtasks, actions, change)
            case RemoveAction():
                subtasks, actions = _removed(subtasks, actions, _task(change.action_id, subtasks))
    before = plan.task_decomposition or TaskDecomposition(subtasks=())
    return replace(
        plan,
        task_decomposition=replace(before, subtasks=tuple(subtasks)),
        action_plan=_in_order(plan.action_plan or ActionPlan(), subtasks, actions),
    )


def _in_order(plan: ActionPlan, subtasks: Iterable[Subtask], actions: Iterable[PlannedAction]) -> ActionPlan:
    tasks = tuple(subtasks)
    order = ordered(tasks)
    if not isinstance(order, Order):
        return replace(plan, actions=tuple(actions))
    place, groups = {task: at for at, task in enumerate(order.tasks)}, order.group_of
    placed = sorted(actions, key=lambda one: place.get(one.task_id or "", len(place)))
    made = [
        replace(
            one,
            parallel_group=groups[one.task_id],
            can_parallelize=len(order.groups[groups[one.task_id] - 1]) > 1,
        )
        if one.task_id and one.task_id in groups
        else one
        for one in placed
    ]
    return replace(plan, execution_order=order.tasks, actions=tuple(made), total_steps=len(order.tasks))


_Parts = tuple[list[Subtask], list[PlannedAction]]


def _task(action_id: str, subtasks: Iterable[Subtask]) -> str:
    """An action may be named by its task, or as one of its task's actions."""
    ids = {task.id for task in subtasks}
    match = _OF_ACTION.fullmatch(action_id)
    return action_id if action_id in ids or not match else match[1]


def _added(subtasks: list[Subtask], actions: list[PlannedAction], action: PlannedAction) -> _Parts:
    ids = {task.id for task in subtasks}
    name = action.task_id or next(f"task_{n}" for n in range(len(ids) + 1) if f"task_{n}" not in ids)
    action = replace(action, task_id=name)
    if name in ids:
        return subtasks, [*actions, action]
    before = _task(action.before_task or "", subtasks)
    written = action.extra.get("writes", ())
    task = Subtask(
        id=name,
        description=action.description or action.purpose or name,
        dependencies=(),
        required_tools=(action.tool,) if action.tool else UNSET,
        writes=tuple(TargetPath(one["path"], one["new"]) for one in written) or UNSET,
    )
    if before not in ids:
        return [*subtasks, task], [*actions, action]
    at = next(at for at, one in enumerate(subtasks) if one.id == before)
    # It takes over what the next one waited for.
    after = replace(subtasks[at], dependencies=(*(subtasks[at].dependencies or ()), name))
    task = replace(task, dependencies=subtasks[at].dependencies or ())
    return [*subtasks[:at], task, after, *subtasks[at + 1 :]], [*actions, action]


def _modified(subtasks: list[Subtask], actions: list[PlannedAction], change: ModifyAction) -> _Parts:
    task = _task(change.action_id, subtasks)
    known = {name: value for name, value in change.updates.items() if name in _ACTION_FIELDS}
    rest = {name: value for name, value in change.updates.items() if name not in _ACTION_FIELDS | {"writes"}}
    changed = [
        replace(one, **known, extra={**one.extra, **rest}) if one.task_id == task else one for one in actions
    ]
    own: dict[str, Any] = {}
    if words := change.updates.get("description"):
        own["description"] = words
    if tool := change.updates.get("tool"):
        own["required_tools"] = (tool,)
    if writes := change.updates.get("writes"):
        own["writes"] = tuple(TargetPath(one["path"], one["new"]) for one in writes)
    return [replace(one, **own) if own and one.id == task else one for one in subtasks], changed


def _removed(subtasks: list[Subtask], actions: list[PlannedAction], gone: str) -> _Parts:
    """Whoever waited for it waits for what it waited for."""
    removed = next((one for one in subtasks if one.id == gone), None)
    before = tuple(removed.dependencies or ()) if removed else ()
    kept = [
        replace(
            one,
            dependencies=tuple(
                dict.fromkeys(new for old in one.dependencies for new in (before if old == gone else (old,)))
            ),
        )
        if one.dependencies and gone in one.dependencies
        else one
        for one in subtasks
        if one.id != gone
    ]
    return kept, [one for one in actions if one.task_id != gone]
