"""A task of its own in a real project: planned, executed with the tools of a copy, looked at, revised.

The model is a server on loopback that answers by what it is told.
"""

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from ringi.app.api import Workspace
from ringi.config.keys import DecompositionLevel
from ringi.engine.document import CompletionSummary, PlanningDocument
from ringi.engine.plan_checks import PlanRules
from ringi.engine.process import ActionRecord, ActionState, Process, ProcessPhase
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.telemetry.port import Component, LogLevel, Telemetry
from ringi.plans.outside_call import PlannedCalls
from ringi.runs.configured_tools import server_tools
from ringi.runs.process.context import ProcessContext, ProcessTask
from ringi.runs.process.coordinator import ExecutionCoordinator
from ringi.runs.process.reflection import ReflectionEngine
from ringi.runs.role_model import BudgetedModel, ModelLimits
from ringi.runs.tool_box import tool_box
from ringi.sessions.outline import engine_of
from ringi.tools.effects import ErrorKind
from ringi.tree.copy import WorkCopy
from ringi.tree.copy_steps import checkout
from ringi.tree.tree import Tree
from tests.fakes.model_server import ModelServer, Request
from tests.functional.run_desk import CALC, RunDesk
from tests.helpers import PYTHON

MCP = Path(__file__).parents[1] / "fakes" / "mcp_server.py"
FILES = {
    "calc.py": CALC,
    "test_calc.py": 'from calc import add\n\nassert add(2, 3) == 5, add(2, 3)\nprint("fine")\n',
    "README.md": "# Calc\n",
    "config/app.config.js": "module.exports = {port: 80}\n",
}
Answer = Callable[[str], dict[str, Any]]


def outline(*tasks: tuple[str, str]) -> dict[str, Any]:
    """A plan: what is done, with which tool, one after another."""
    subtasks = [
        {"id": f"task_{at}", "description": words, "dependencies": [f"task_{at - 1}"] if at > 1 else []}
        for at, (words, _) in enumerate(tasks, 1)
    ]
    actions = [
        {"task_id": f"task_{at}", "tool": tool, "purpose": words} for at, (words, tool) in enumerate(tasks, 1)
    ]
    goal = {"main_objective": tasks[0][0], "success_criteria": ["It is done"]}
    return {
        "goal_understanding": goal,
        "task_decomposition": {"subtasks": subtasks},
        "action_plan": {"actions": actions},
    }


def reflected(reason: str, *changes: dict[str, Any]) -> dict[str, Any]:
    return {"status": "failure", "evaluation": reason, "changes": list(changes)}


class CopyPlace:
    """Implements `ToolPlace`; everything may change."""

    def __init__(self, copy: WorkCopy) -> None:
        self._copy = copy
        self._tree = Tree(OsFileSystem(), copy.tree)

    def checkout(self, tree: str) -> None:
        checkout(self._copy, tree)

    def has(self, path: str) -> bool:
        return self._tree.look(path) is not None

    def beyond(self, changed: Sequence[str]) -> tuple[str, ...]:
        del changed
        return ()


class Studio:
    """A project, a model that answers by what it is told, and a task that is worked on in a copy."""

    def __init__(self, root: Path, turn: Answer, **more: Any) -> None:
        """`first` is the plan it makes, `reflect` what it makes of a failure."""
        self._answers = {"outline": more.pop("first", {}), "reflect": more.pop("reflect", {}), "turn": turn}
        self.server = ModelServer(self._answer)
        self.desk = RunDesk(root)
        config = {
            "model": "openai:gpt-5",
            "llm": {"base_url": f"{self.server.url}/v1"},
            "roles": {"implementer": {"model": "openai:gpt-5"}},
            "mcp_servers": {"tracker": shlex.join([PYTHON, str(MCP), "honest"])},
            **more,
        }
        self.desk.configure(json.dumps(config))
        self.lines: list[str] = []

    def _answer(self, request: Request) -> dict[str, Any]:
        schema = str(request.schema)
        kind = "outline" if "goal_understanding" in schema else "turn"
        kind = "reflect" if "root_cause_analysis" in schema else kind
        found = self._answers[kind]
        said: dict[str, Any] = found(request.text) if callable(found) else found
        return said

    def _log(self, component: Component, level: LogLevel, message: str, detail: str = "") -> None:
        del level, detail
        self.lines.append(f"{component}: {message}")

    def carried_out(self, words: str, given: PlanningDocument | None = None) -> Process:
        with self.server, self.desk.open() as workspace, self._context(workspace) as context:
            coordinator = ExecutionCoordinator(context)
            process = coordinator.execute_with_planning(ProcessTask("task", words, plan=given))
            assert coordinator.get_current_phase() is process.phase is ProcessPhase.COMPLETION
            assert workspace.store.processes.of() == [process]
            self.records: tuple[ActionRecord, ...] = workspace.store.processes.actions("task")
            self.offered = [one.name for one in context.tools.list_tools()]
        return process

    @contextmanager
    def _context(self, workspace: Workspace) -> Iterator[ProcessContext]:
        places, config, mask = workspace.places, workspace.config, workspace.mask_lines
        self.copy = WorkCopy.make(self.desk.root, places.state, places.copies)
        caller = BudgetedModel(workspace.model(), ModelLimits((), None), workspace.budget)
        with ExitStack() as stack:
            servers = [
                stack.enter_context(server_tools(config, workspace.environment, self.copy.tree))
                for _ in config.mcp_servers[:1]
            ]
            tools = tool_box(workspace, self.copy, workspace.environment, mask, servers)
            rules = PlanRules(tools.rules(), 15)
            reflection = ReflectionEngine(
                ask=caller.ask, config=config, tools=tools.list_tools(), rules=rules, mask=str,
                recoveries=workspace.store.processes.recoveries, complexity=DecompositionLevel.MINIMAL,
                model=caller.name,
            )  # fmt: skip
            yield ProcessContext(
                store=workspace.store, clock=workspace.clock, ids=workspace.ids, seconds=lambda: 0.0,
                model=caller, tools=tools, place=CopyPlace(self.copy),
                outside=PlannedCalls(workspace, "", "", "en"), reflection=reflection, rules=rules,
                config=config, engine=lambda: engine_of(workspace), telemetry=Telemetry(log=self._log),
            )  # fmt: skip

    def file(self, name: str) -> str:
        return (self.copy.tree / name).read_text()

    def tried(self) -> list[tuple[str, ActionState, ErrorKind | None]]:
        return [(one.tool, one.state, one.error) for one in self.records]


def summary_of(process: Process) -> CompletionSummary:
    assert process.completion
    return process.completion.summary


def is_done(process: Process) -> bool:
    """All its tasks are; whether the goal is achieved nobody has checked, and nothing says so."""
    completion = process.completion
    return completion is not None and completion.done is True and not completion.summary.goal_achieved
