"""A model's subtasks and actions as documents: what is wrong with them, and what can be put right."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ringi.engine.answers import NewAction, NewDecomposition, NewSubtask
from ringi.engine.design import TargetPath
from ringi.engine.document import ActionPlan, Complexity, PlannedAction, Subtask, TaskDecomposition
from ringi.engine.order import Cycle, Order, RepeatedId, UnknownId, Unordered, normal, order_subtasks
from ringi.kernel.text import Text
from ringi.tools.rules import ToolRules, refusal, tool_named

Has = Callable[[str], bool]
_SAFE_ID: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,39}", re.ASCII)
_RANK: Final = {Complexity.LOW: 0, Complexity.MEDIUM: 1, Complexity.HIGH: 2}


class SubtaskDraft(NamedTuple):
    subtasks: tuple[Subtask, ...]
    order: Order | Unordered
    too_many: int
    """How many there are, if more than allowed."""
    problems: tuple[str, ...]
    """For the model, in words: unusable, or to be improved."""

    @property
    def usable(self) -> bool:
        return bool(self.subtasks) and not self.too_many and isinstance(self.order, Order)


def draft_subtasks(found: NewDecomposition, most: int, tools: ToolRules, has: Has) -> SubtaskDraft:
    subtasks = _documents(found.subtasks, tools)
    order = order_subtasks(subtasks)
    too_many = len(subtasks) if len(subtasks) > most else 0
    problems = [*_amount(subtasks, most), *_disorder(order)]
    if not too_many:
        problems += [*_tools(subtasks, tools), *_paths(subtasks, has)]
    return SubtaskDraft(subtasks, order, too_many, tuple(problems))


def settle_paths(subtasks: Sequence[Subtask], has: Has) -> tuple[tuple[Subtask, ...], tuple[Text, ...]]:
    """Every path exists, or is marked new; a file that does not exist and that no task writes is not read."""
    written = {normal(one.path) for task in subtasks for one in task.writes or ()}
    notes: dict[Text, None] = {}
    made = []
    for task in subtasks:
        writes = [TargetPath(one.path, new=not has(one.path)) for one in task.writes or ()]
        for before, after in zip(task.writes or (), writes, strict=True):
            if after.new and not before.new:
                notes[Text("{path} does not exist; it is taken for a new file", path=after.path)] = None
        reads = [path for path in task.reads or () if has(path) or normal(path) in written]
        for path in task.reads or ():
            if path not in reads:
                notes[Text("{path} does not exist; nothing is read there", path=path)] = None
        made.append(replace(task, reads=tuple(reads), writes=tuple(writes)))
    return tuple(made), tuple(notes)


def action_plan(
    subtasks: Sequence[Subtask], order: Order, actions: Sequence[NewAction], tools: ToolRules, reasoning: str
) -> ActionPlan:
    """In the order that follows from the dependencies, not in that of the actions."""
    by_task: dict[str, list[NewAction]] = {}
    for action in actions:
        by_task.setdefault(action.task_id, []).append(action)
    groups, tasks = order.group_of, {task.id: task for task in subtasks}
    found = {task: [one.on for one in order.found if one.task == task] for task in order.tasks}
    ranked = [tasks[id_].estimated_complexity or Complexity.MEDIUM for id_ in order.tasks]
    return ActionPlan(
        execution_order=order.tasks,
        actions=tuple(
            _action(
                action,
                tools,
                group=groups[id_],
                shared=len(order.groups[groups[id_] - 1]) > 1,
                after=(*(tasks[id_].dependencies or ()), *found[id_]),
            )
            for id_ in order.tasks
            for action in by_task.get(id_, ())
        ),
        total_steps=len(order.tasks),
        estimated_complexity=max(ranked, key=_RANK.__getitem__, default=Complexity.LOW),
        reasoning=reasoning or UNSET,
    )


def decomposition(subtasks: Sequence[Subtask], reasoning: str) -> TaskDecomposition:
    return TaskDecomposition(reasoning=reasoning, subtasks=tuple(subtasks))


def _action(
    action: NewAction, tools: ToolRules, *, group: int, shared: bool, after: Sequence[str]
) -> PlannedAction:
    return PlannedAction(
        task_id=action.task_id,
        action_type="tool_call",
        tool=tool_named(action.tool, tools) or action.tool,
        purpose=action.purpose.strip(),
        expected_outcome=action.expected_outcome.strip(),
        fallback_strategy=action.fallback_strategy.strip(),
        parallel_group=group,
        can_parallelize=shared,
        dependencies=tuple(dict.fromkeys(after)),
        arguments={"argv": list(action.argv)} if action.argv else UNSET,
    )


def safe_ids(subtasks: Sequence[NewSubtask]) -> Mapping[str, str]:
    """Ids become parts of file names and commands: strange ones are replaced, unless two are the same."""
    ids = [task.id for task in subtasks]
    if all(map(_SAFE_ID.fullmatch, ids)) or len(set(ids)) < len(ids):
        return {}
    return {id_: f"task_{number}" for number, id_ in enumerate(ids, 1)}


def _documents(found: Sequence[NewSubtask], tools: ToolRules) -> tuple[Subtask, ...]:
    names = safe_ids(found)
    return tuple(
        Subtask(
            id=names.get(task.id, task.id),
            description=task.description.strip(),
            dependencies=tuple(dict.fromkeys(names.get(one, one) for one in task.dependencies)),
            estimated_complexity=task.estimated_complexity,
            required_tools=tuple(dict.fromkeys(tool_named(one, tools) or one for one in task.required_tools)),
            parent=names.get(task.parent, task.parent.strip()) or UNSET,
            reads=tuple(dict.fromkeys(normal(path) for path in task.reads)),
            writes=tuple({path: TargetPath(path, new) for path, new in _writes(task)}.values()),
            criteria=task.criteria or UNSET,
        )
        for task in found
    )


def _writes(task: NewSubtask) -> Iterator[tuple[str, bool]]:
    return ((normal(one.path), one.new) for one in task.writes)


def _amount(subtasks: Sequence[Subtask], most: int) -> Iterator[str]:
    if not subtasks:
        yield "there are no subtasks"
    if len(subtasks) > most:
        yield f"there are {len(subtasks)} subtasks, at most {most} are allowed"


def _disorder(order: Order | Unordered) -> Iterator[str]:
    for problem in order.problems if isinstance(order, Unordered) else ():
        match problem:
            case Cycle(path):
                yield f"these subtasks wait for each other: {' → '.join(path)}"
            case UnknownId(task, id_):
                yield f"{task} depends on {id_}, which is no subtask"
            case RepeatedId(id_):
                yield f"several subtasks have the id {id_}"


def _tools(subtasks: Sequence[Subtask], tools: ToolRules) -> Iterator[str]:
    named = dict.fromkeys(tool for task in subtasks for tool in task.required_tools or ())
    yield from (f"{tool} is no tool that may be used" for tool in named if refusal(tool, tools))


def _paths(subtasks: Sequence[Subtask], has: Has) -> Iterator[str]:
    written = {one.path for task in subtasks for one in task.writes or ()}
    wrong = [one.path for task in subtasks for one in task.writes or () if not one.new and not has(one.path)]
    wrong += [path for task in subtasks for path in task.reads or () if path not in written and not has(path)]
    yield from (f"{path} does not exist and is not marked new" for path in dict.fromkeys(wrong))
