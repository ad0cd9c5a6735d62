"""The `model` role works at a step with tools: a process in the copy, with the step's limits and gates."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.config.keys import RoleHow
from ringi.engine.engine import one_step
from ringi.engine.instruction import language_of
from ringi.engine.levels import measure_of
from ringi.engine.plan_checks import PlanRules
from ringi.engine.process import Process, Wait
from ringi.engine.run_plan import RunRole
from ringi.errors import RingiError
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.text import Text
from ringi.kernel.tokens import tokens
from ringi.models.prompt import Material
from ringi.models.usage import Spent, since, total
from ringi.plans.outside_call import PlannedCalls
from ringi.policy.globs import inside
from ringi.runs.configured_tools import server_tools
from ringi.runs.document import Run, StopCode
from ringi.runs.process.context import ProcessContext, ProcessTask
from ringi.runs.process.coordinator import ExecutionCoordinator
from ringi.runs.process.reflection import ReflectionEngine
from ringi.runs.role_model import BudgetedModel
from ringi.runs.role_work import RoleTask
from ringi.runs.tool_box import ToolBox, tool_box
from ringi.tree.copy_steps import checkout
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

_MOST_SUBTASKS: Final = 15


class StepOrder(NamedTuple):
    """What a model is to do at a step."""

    process_id: str
    task: RoleTask
    brief: str
    material: tuple[Material, ...]


class ToolTurn(NamedTuple):
    """How a turn of the role ended."""

    waits: StopCode | None = None
    """A person is needed; the same turn goes on afterwards."""
    why: Text | None = None
    then: str = ""


class StepPlace:
    """The copy of a step, and what the step may change in it."""

    def __init__(self, task: RoleTask) -> None:
        self._copy = task.copy
        scope = task.step.scope
        self._targets = (*scope.target_paths, *task.run.allowed) if scope.target_paths else ()
        self._forbidden = scope.forbidden_paths or ()
        self._tree = Tree(OsFileSystem(), task.copy.tree)

    def checkout(self, tree: str) -> None:
        checkout(self._copy, tree)

    def has(self, path: str) -> bool:
        try:
            return self._tree.look(path) is not None
        except (RingiError, OSError):
            return False

    def beyond(self, changed: Sequence[str]) -> tuple[str, ...]:
        return tuple(
            path
            for path in changed
            if inside(path, self._forbidden) or (self._targets and not inside(path, self._targets))
        )


def work_with_tools(workspace: Workspace, order: StepOrder, caller: BudgetedModel) -> ToolTurn:
    """Raises ModelFailed and BudgetUsed."""
    task, config, mask = order.task, workspace.config, workspace.mask_lines

    def on_event(text: Text) -> None:
        task.log(f"{mask(str(text))}\n".encode("utf-8", "backslashreplace"))

    with _tools(workspace, task) as tools:
        rules = PlanRules(tools.rules(), _MOST_SUBTASKS)
        reflection = ReflectionEngine(
            ask=caller.ask,
            config=config,
            tools=tools.list_tools(),
            rules=rules,
            recoveries=workspace.store.processes.recoveries,
            mask=mask,
            complexity=measure_of(tokens(order.brief), config).level,
            model=caller.name,
        )
        context = ProcessContext(
            store=workspace.store,
            clock=workspace.clock,
            ids=workspace.ids,
            seconds=time.monotonic,
            model=caller,
            tools=tools,
            place=StepPlace(task),
            outside=PlannedCalls(workspace, task.run.run_id, caller.name, language_of(order.brief)),
            reflection=reflection,
            rules=rules,
            config=config,
            mask=mask,
            telemetry=workspace.telemetry,
            on_event=on_event,
        )
        whole = ProcessTask(
            process_id=order.process_id,
            words=order.brief,
            material=order.material,
            plan=one_step(task.step.title).document,
            run_id=task.run.run_id,
            step_id=task.step.step_id,
            session=_session(task),
            tree=task.state.tree or task.state.base_tree,
        )
        return _describe_end(ExecutionCoordinator(context).execute_with_planning(whole), task)


@contextmanager
def _tools(workspace: Workspace, task: RoleTask) -> Iterator[ToolBox]:
    """Those that work in the copy, and those of servers, which see the copy and are closed with the turn."""
    config, environment, copy = workspace.config, workspace.environment, task.copy
    with ExitStack() as stack:
        # None is started before it is asked what it offers.
        servers = (
            [stack.enter_context(server_tools(config, environment, copy.tree))] if config.mcp_servers else []
        )
        yield tool_box(workspace, copy, environment, workspace.mask_lines, servers, task.log)


def _session(task: RoleTask) -> str:
    """The same for the same step of the same plan, so that the same prompt is the same bytes."""
    return f"{task.plan.context.summary}\n{task.step.step_id}"


def process_of(task: RoleTask) -> str:
    """The id of the turn: the same until the run has taken what came of it, so that nothing is done twice."""
    taken = sum(1 for one in task.state.attempts if one.role is task.role and one.exit_code == 0)
    return f"{task.run.run_id}/{task.step.step_id}/{task.state.plan_id[:8]}/{task.state.cycle}.{taken + 1}"


def sum_uncounted(store: Store, run: Run) -> Spent:
    """What processes of the run took and no attempt counts: of a turn that waited, was killed or given up."""
    processes = store.processes.of(run.run_id)
    # An attempt that ended before the first process began has nothing to do with any of them.
    first = min((one.created_at for one in processes), default="")
    took = total(spent for one in processes for spent in (one.planning, one.execution, one.reflection))
    counted = total(
        attempt.spent
        for step in run.steps
        for attempt in step.attempts
        if (attempt.how, attempt.role) == (RoleHow.MODEL, RunRole.IMPLEMENTER) and attempt.ended_at >= first
    )
    return since(took, counted) if processes else Spent()


def _describe_end(process: Process, task: RoleTask) -> ToolTurn:
    run = task.run.run_id
    if process.waits is None:
        return ToolTurn()
    if process.waits is Wait.CALL:
        why = Text("a call of an outside tool waits for your approval")
        return ToolTurn(StopCode.CALL_WAITS, why, f"ringi review, then: ringi continue {run}")
    if process.waits is Wait.REVISION:
        why = Text("a revision of the plan waits for your approval")
        return ToolTurn(StopCode.REVISION_WAITS, why, f"ringi continue {run}")
    summary = process.completion.summary if process.completion else None
    told = [summary.reason or "", *(summary.recommendations or ())] if summary else []
    why = Text("{why}", why=" ".join(map(_sentence, filter(None, told))) or process.hint)
    then = f'ringi feedback {run} "…", then: ringi continue {run}'
    return ToolTurn(StopCode.HELP_NEEDED, why, then)


def _sentence(words: str) -> str:
    return words if words.endswith((".", "?", "!", "。")) else f"{words}."
