"""A process on a real ledger; the model's words, the tools and the person are written down beforehand."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringi.app.store import Store
from ringi.config.keys import DecompositionLevel, Depth
from ringi.config.rules import Value
from ringi.engine.document import ActionPlan, PlannedAction, PlanningDocument, Subtask, TaskDecomposition
from ringi.engine.engine import one_step
from ringi.engine.plan_checks import PlanRules
from ringi.engine.process import ActionRecord, Process
from ringi.kernel.system import new_id
from ringi.models.prompt import Prompt
from ringi.models.usage import Spent
from ringi.runs.process.context import ProcessContext, ProcessTask
from ringi.runs.process.coordinator import ExecutionCoordinator
from ringi.runs.process.process_record import resume
from ringi.runs.process.reflection import ReflectionEngine
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolInfo, ToolResult
from ringi.tools.rules import ToolRules
from tests.fakes.config import config_with
from tests.fakes.people import SteppingClock

BUILT_IN = {
    "list": ToolEffect.READS,
    "read": ToolEffect.READS,
    "search": ToolEffect.READS,
    "write": ToolEffect.COPY,
    "patch": ToolEffect.COPY,
    "run": ToolEffect.COPY,
}


class ScriptedTools:
    """Files in memory; what stands in `answers` comes instead, one after another."""

    def __init__(self, **more: ToolEffect) -> None:
        self.infos = {**BUILT_IN, **more}
        self.files: dict[str, str] = {}
        self.answers: dict[str, list[ToolResult | Callable[[Mapping[str, Any]], ToolResult]]] = {}
        self.called: list[tuple[str, dict[str, Any]]] = []
        self.seconds: list[float] = []

    def list_tools(self) -> Sequence[ToolInfo]:
        return [ToolInfo(name, "", {}, effect) for name, effect in self.infos.items()]

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        self.seconds.append(timeout_sec)
        self.called.append((name, dict(arguments)))
        if self.answers.get(name):
            said = self.answers[name].pop(0)
            return said(arguments) if callable(said) else said
        path = str(arguments.get("path", ""))
        match name:
            case "read" if path not in self.files:
                return ToolResult("", ErrorKind.NOT_FOUND, f"{path} is not there.")
            case "read":
                return ToolResult(self.files[path])
            case "write":
                self.files[path] = str(arguments["content"])
                return ToolResult("", changed=(path,), tree=self.tree())
            case name if name not in self.infos:
                return ToolResult("", ErrorKind.UNKNOWN_TOOL, f"There is no tool {name}.")
        return ToolResult("done", tree=self.tree() if self.infos[name] is ToolEffect.COPY else "")

    def check(self, name: str, arguments: Mapping[str, Any]) -> ToolResult | None:
        del name, arguments
        return None

    def tree(self) -> str:
        return repr(sorted(self.files.items()))


class ScriptedPlace:
    def __init__(self, tools: ScriptedTools) -> None:
        self._tools = tools
        self.stood_at: list[str] = []
        self.allowed: tuple[str, ...] | None = None

    def checkout(self, tree: str) -> None:
        self.stood_at.append(tree)
        self._tools.files = dict(eval(tree))  # our own repr

    def has(self, path: str) -> bool:
        return path in self._tools.files

    def beyond(self, changed: tuple[str, ...]) -> tuple[str, ...]:
        return () if self.allowed is None else tuple(one for one in changed if one not in self.allowed)


class ScriptedPerson:
    """Decides about outside calls."""

    def __init__(self) -> None:
        self.proposed: dict[str, ActionRecord] = {}
        self.decided: dict[str, ToolResult] = {}

    def propose(self, record: ActionRecord) -> None:
        self.proposed[record.plan_id] = record

    def result(self, plan_id: str) -> ToolResult | None:
        return self.decided.get(plan_id)


class ScriptedAsker:
    """Answers one prompt after another; what stands there is raised if it is an error."""

    name = "scripted:model"

    def __init__(self, *said: Any) -> None:
        self.said = list(said)
        self.asked: list[Prompt] = []
        self.settled: list[bool] = []
        self.seconds = float("inf")

    @property
    def calls(self) -> int:
        return len(self.asked)

    @property
    def spent(self) -> Spent:
        return Spent(input_tokens=100 * self.calls, output_tokens=10 * self.calls, calls=self.calls)

    def seconds_left(self) -> float:
        return self.seconds

    def settle(self, *, usable: bool) -> None:
        self.settled.append(usable)

    def ask(self, prompt: Prompt, kind: type[Any]) -> Any:
        self.asked.append(prompt)
        said = self.said.pop(0)
        if isinstance(said, BaseException):
            raise said
        return msgspec.convert(said(prompt) if callable(said) else said, kind)


def shown(prompt: Prompt) -> str:
    return "\n".join(f"{one.name}: {one.text}" for one in prompt.material)


def plan(*actions: dict[str, Any], parts: Sequence[dict[str, Any]] = ()) -> PlanningDocument:
    """One task for each action, one after another, or these."""
    tasks = tuple(
        Subtask(id=f"task_{at}", description=f"part {at}", dependencies=(f"task_{at - 1}",) if at > 1 else ())
        for at in range(1, len(actions) + 1)
    )
    if parts:
        tasks = tuple(Subtask(**{"description": "a part", "dependencies": (), **one}) for one in parts)
    made = tuple(PlannedAction(task_id=f"task_{at}", **one) for at, one in enumerate(actions, 1))
    return PlanningDocument(
        task_decomposition=TaskDecomposition(subtasks=tasks), action_plan=ActionPlan(actions=made)
    )


class ProcessDesk:
    def __init__(
        self,
        folder: Path,
        *said: Any,
        config: dict[str, Value] | None = None,
        bounds: dict[str, int] | None = None,
        **task: Any,
    ) -> None:
        """`config` has keys and what they are set to, `bounds` what no key says: most_turns, for instance."""
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.model = ScriptedAsker(*said)
        self.tools = ScriptedTools()
        self.place = ScriptedPlace(self.tools)
        self.person = ScriptedPerson()
        self.clock = SteppingClock()
        self.seconds = 0.0
        self.config = config_with(**{"planning.reflection.depth": Depth.SHALLOW, **(config or {})})
        self.bounds = bounds or {}
        self.task = ProcessTask("p/1", "Add a login", plan=one_step("Add a login").document, **task)
        self.ledger = Store(folder, clock=self.clock, ids=new_id, wait_sec=1.0, after_commit=lambda *_: None)
        self.saves = 0

    def services(self) -> ProcessContext:
        rules = PlanRules(ToolRules(tuple(self.tools.infos)), 15)
        reflection = ReflectionEngine(
            ask=self.model.ask,
            config=self.config,
            tools=self.tools.list_tools(),
            rules=rules,
            recoveries=self.ledger.processes.recoveries,
            mask=str,
            complexity=DecompositionLevel.MINIMAL,
            model=self.model.name,
        )
        return ProcessContext(
            store=self.ledger,
            clock=self.clock,
            ids=new_id,
            seconds=lambda: self.seconds,
            model=self.model,
            tools=self.tools,
            place=self.place,
            outside=self.person,
            reflection=reflection,
            rules=rules,
            config=self.config,
            **self.bounds,
        )

    def resume(self) -> None:
        """Somebody goes on with the run that stopped because of it."""
        stored = self.ledger.processes.get(self.task.process_id)
        assert stored
        with self.ledger.transaction() as transaction:
            transaction.processes.save(resume(stored.process), (), stored.revision)

    def go(self) -> Process:
        return ExecutionCoordinator(self.services()).execute_with_planning(self.task)

    def records(self) -> tuple[ActionRecord, ...]:
        return self.ledger.processes.actions(self.task.process_id)
