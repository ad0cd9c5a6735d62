"""Applies a revision to a plan (PP-8): what it does not name stays."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from msgspec import UNSET
from msgspec.structs import asdict, fields, replace

from ringi.engine.answers import NewChange, NewRemedy, NewReplan
from ringi.engine.design import TargetPath
from ringi.engine.document import (
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
from ringi.engine.order import Order, normal, order_subtasks
from ringi.errors import BadDocument
from ringi.kernel import codec

_OF_ACTION: Final = re.compile(r"(.+)_action_(\d{1,9})", re.DOTALL)
"""The specification names actions so: task_1_action_1."""
_CHANGEABLE: Final[Mapping[str, type]] = {
    **dict.fromkeys(("tool", "purpose", "expected_outcome", "fallback_strategy", "file", "description"), str),
    "arguments": dict,
    "writes": list,
}
"""What a revision may say of an action; an order follows from what depends on what."""
_LEFT_OUT: Final = frozenset(["arguments", "file", "expected_outcome", "fallback_strategy"])
"""None takes these away."""
_ACTION_FIELDS: Final = frozenset(field.name for field in fields(PlannedAction)) - {"extra"}


def revision_of(found: NewReplan) -> PlanRevision:
    return PlanRevision(reason=found.reason, changes=tuple(change_of(one) for one in found.changes))


def change_of(remedy: NewRemedy) -> Change:
    new = remedy if isinstance(remedy, NewChange) else NewChange(**asdict(remedy))
    named = {
        "description": new.description.strip(),
        "tool": new.tool.strip(),
        "purpose": new.purpose.strip(),
        "expected_outcome": new.expected_outcome.strip(),
        "fallback_strategy": new.fallback_strategy.strip(),
        "before_task": new.before_task.strip(),
        "file": normal(new.file) if new.file.strip() else "",
        "arguments": _arguments(new.arguments),
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


def _arguments(text: str) -> dict[str, Any]:
    """None that can be read: the call is asked for once more."""
    try:
        found = codec.parse_json(text.encode(errors="replace"), "arguments") if text.strip() else {}
    except BadDocument:
        return {}
    return found if isinstance(found, dict) else {}


def apply_revision(plan: PlanningDocument, revision: PlanRevision) -> PlanningDocument:
    """Without effect if a change names no task of the plan; strings only tell what changed."""
    actions = list(plan.actions)
    subtasks = _subtasks(plan, actions)
    for change in revision.changes or ():
        match change:
            case AddAction():
                subtasks, actions = _add_action(subtasks, actions, change.action)
            case ModifyAction():
                subtasks, actions = _modify_action(subtasks, actions, change)
            case RemoveAction():
                subtasks, actions = _remove_action(subtasks, actions, change.action_id)
    before = plan.task_decomposition or TaskDecomposition(subtasks=())
    return replace(
        plan,
        task_decomposition=replace(before, subtasks=tuple(subtasks)),
        action_plan=_in_order(plan.action_plan or ActionPlan(), subtasks, actions),
    )


def least(plan: PlanningDocument, revision: PlanRevision, done: Collection[str] = ()) -> PlanRevision | None:
    """Only the changes that it names and that change something; None if there are none.

    What is done stays as it is; a whole plan in other words changes nothing.
    """
    now = apply_revision(plan, PlanRevision())
    kept: list[Change] = []
    for change in revision.changes or ():
        sound = None if isinstance(change, str) else _sound(change, now, done)
        after = apply_revision(now, PlanRevision(changes=(sound,))) if sound else now
        if sound and codec.canonical(after) != codec.canonical(now):
            kept.append(sound)
            now = after
    if not kept:
        return None
    return PlanRevision(reason=revision.reason, changes=tuple(kept))


def _sound(change: Change, plan: PlanningDocument, done: Collection[str]) -> Change | None:
    tasks = plan.subtasks
    if isinstance(change, AddAction):
        action = change.action
        if action.task_id and action.task_id in done:
            return None
        before = UNSET if _task(action.before_task or "", tasks) in done else action.before_task
        given = {name: getattr(action, name) or UNSET for name in _CHANGEABLE if name != "writes"}
        kind = action.action_type or "tool_call"
        extra = _fitting({"writes": action.extra.get("writes")})
        new = PlannedAction(
            task_id=action.task_id, action_type=kind, before_task=before, extra=extra, **given
        )
        return AddAction(action=new)
    if _task(change.action_id, tasks) in done:
        return None
    if isinstance(change, ModifyAction):
        return ModifyAction(action_id=change.action_id, updates=_fitting(change.updates))
    return RemoveAction(action_id=change.action_id)


def _fitting(updates: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in updates.items():
        if value is None and name in _LEFT_OUT:
            found[name] = None
        elif name == "writes" and isinstance(value, list):
            found[name] = [
                {"path": normal(one["path"]), "new": one.get("new") is True}
                for one in value
                if isinstance(one, dict) and isinstance(one.get("path"), str)
            ]
        elif name in _CHANGEABLE and isinstance(value, _CHANGEABLE[name]):
            found[name] = value
    return {name: value for name, value in found.items() if value != []}


def _subtasks(plan: PlanningDocument, actions: Iterable[PlannedAction]) -> list[Subtask]:
    """A plan may have actions alone: each is a task then."""
    subtasks = list(plan.subtasks)
    if subtasks:
        return subtasks
    named = {one.task_id: one for one in reversed(list(actions)) if one.task_id}
    return [
        Subtask(
            id=name,
            description=one.description or one.purpose or name,
            dependencies=one.dependencies,
            required_tools=(one.tool,) if one.tool else UNSET,
        )
        for name, one in reversed(named.items())
    ]


def _in_order(plan: ActionPlan, subtasks: Iterable[Subtask], actions: Iterable[PlannedAction]) -> ActionPlan:
    tasks = tuple(subtasks)
    order = order_subtasks(tasks)
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


def _places_of(action_id: str, subtasks: Iterable[Subtask], actions: Iterable[PlannedAction]) -> list[int]:
    """The places of the actions that are meant: one of several of a task, or all that it has."""
    task = _task(action_id, subtasks)
    places = [at for at, one in enumerate(actions) if one.task_id == task]
    match = _OF_ACTION.fullmatch(action_id)
    if match and task != action_id and 1 <= int(match[2]) <= len(places) and len(places) > 1:
        return [places[int(match[2]) - 1]]
    return places


def _add_action(subtasks: list[Subtask], actions: list[PlannedAction], action: PlannedAction) -> _Parts:
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


def _modify_action(subtasks: list[Subtask], actions: list[PlannedAction], change: ModifyAction) -> _Parts:
    task, places = _task(change.action_id, subtasks), _places_of(change.action_id, subtasks, actions)
    updates = {name: UNSET if value is None else value for name, value in change.updates.items()}
    known = {name: value for name, value in updates.items() if name in _ACTION_FIELDS}
    rest = {name: value for name, value in updates.items() if name not in _ACTION_FIELDS | {"writes"}}
    if "arguments" not in known and known.keys() & {"tool", "file", "description"}:
        known["arguments"] = UNSET  # they were for what it was before: the call is asked for anew
    whole = len(places) == sum(one.task_id == task for one in actions)
    changed = [
        replace(one, **_own_words(known, one, whole=whole), extra={**one.extra, **rest})
        if at in places
        else one
        for at, one in enumerate(actions)
    ]
    if not whole:
        return subtasks, changed
    own: dict[str, Any] = {}
    if words := updates.get("description"):
        own["description"] = words
    if tool := updates.get("tool"):
        own["required_tools"] = (tool,)
    if writes := updates.get("writes"):
        own["writes"] = tuple(TargetPath(one["path"], one["new"]) for one in writes)
    return [replace(one, **own) if own and one.id == task else one for one in subtasks], changed


def _own_words(known: Mapping[str, Any], action: PlannedAction, *, whole: bool) -> dict[str, Any]:
    """Its task has the description, unless it has one of its own."""
    left_out = {"description"} if whole and not action.description else set()
    return {name: value for name, value in known.items() if name not in left_out}


def _remove_action(subtasks: list[Subtask], actions: list[PlannedAction], action_id: str) -> _Parts:
    task, places = _task(action_id, subtasks), _places_of(action_id, subtasks, actions)
    if places and len(places) < sum(one.task_id == task for one in actions):
        return subtasks, [one for at, one in enumerate(actions) if at not in places]
    return _remove_task(subtasks, actions, task)


def _remove_task(subtasks: list[Subtask], actions: list[PlannedAction], gone: str) -> _Parts:
    """Tasks that waited for it wait for what it waited for."""
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
