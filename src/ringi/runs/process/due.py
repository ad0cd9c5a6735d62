"""What is due next: a function of the process and its records alone, so that any process can go on."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ringi.engine.document import PlannedAction, PlanningDocument, Subtask
from ringi.engine.order import Order, order_subtasks
from ringi.engine.process import ActionRecord, ActionState, Process


class UnfinishedActions(NamedTuple):
    """Actions without an outcome: a turn planned them, or they were interrupted."""

    records: tuple[ActionRecord, ...]


class Waiting(NamedTuple):
    record: ActionRecord


class Direct(NamedTuple):
    """Actions that the plan has with all their arguments; they can run at once."""

    actions: tuple[tuple[str, PlannedAction], ...]
    """With their ids."""
    group: int


class PlanningTurn(NamedTuple):
    """The model says what to do for these tasks."""

    tasks: tuple[Subtask, ...]
    actions: tuple[PlannedAction, ...]
    """What the plan has for them."""


def due(
    process: Process, records: Sequence[ActionRecord]
) -> UnfinishedActions | Waiting | Direct | PlanningTurn | None:
    """None if every task is done."""
    for record in records:
        if record.state is ActionState.WAITING:
            return Waiting(record)
    begun = tuple(record for record in records if record.state is ActionState.STARTED)
    if begun:
        return UnfinishedActions(begun)
    tasks = current(process)
    if not tasks:
        return None
    found = [*_next_actions(process, tasks, records)]
    if found:
        return Direct(tuple(found), group_of(process, tasks[0].id))
    named = tuple(action for task in tasks for _, action in actions_of(process.plan, task.id))
    return PlanningTurn(tasks, named)


def _next_actions(
    process: Process, tasks: Sequence[Subtask], records: Sequence[ActionRecord]
) -> Iterator[tuple[str, PlannedAction]]:
    """Of each task the first one that is left, unless it failed: then the plan is revised, or the model
    says what to do instead.
    """
    failed = {
        record.action_id
        for record in records
        if record.state is ActionState.FAILURE and record.revised == process.revised
    }
    for task in tasks:
        for action_id, action in actions_of(process.plan, task.id):
            if has_succeeded(action_id, action, records):
                continue
            if is_direct(action) and action_id not in failed:
                yield action_id, action
            break


def current(process: Process) -> tuple[Subtask, ...]:
    """The tasks of the first group that has any left."""
    order = _order(process)
    by_id = {task.id: task for task in process.plan.subtasks}
    for group in order.groups if order else ():
        if left := [by_id[task] for task in group if task not in process.done]:
            return tuple(left)
    return ()


def _order(process: Process) -> Order | None:
    found = order_subtasks(process.plan.subtasks)
    return found if isinstance(found, Order) else None


def group_of(process: Process, task_id: str) -> int:
    order = _order(process)
    return order.group_of.get(task_id, 0) if order else 0


def actions_of(plan: PlanningDocument, task_id: str) -> tuple[tuple[str, PlannedAction], ...]:
    """Of a task, with their ids: task_1_action_1 …"""
    own = (action for action in plan.actions if action.task_id == task_id)
    return tuple((f"{task_id}_action_{at}", action) for at, action in enumerate(own, 1))


def is_direct(action: PlannedAction) -> bool:
    return bool(action.tool) and isinstance(action.arguments, dict)


def arguments_of(action: PlannedAction) -> dict[str, Any]:
    return dict(action.arguments) if isinstance(action.arguments, dict) else {}


def has_succeeded(action_id: str, action: PlannedAction, records: Sequence[ActionRecord]) -> bool:
    """As it is planned now: one that a revision changed is done anew."""
    return any(
        record.action_id == action_id
        and record.state is ActionState.SUCCESS
        and (record.tool, record.arguments) == (action.tool, arguments_of(action))
        for record in records
    )


def find_completed(process: Process, records: Sequence[ActionRecord]) -> tuple[str, ...]:
    """Tasks at hand whose planned actions have all succeeded."""
    found = []
    for task in current(process):
        own = actions_of(process.plan, task.id)
        if own and all(has_succeeded(action_id, action, records) for action_id, action in own):
            found.append(task.id)
    return tuple(found)
