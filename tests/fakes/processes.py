"""Plans, tools and results of a process, and a reflection engine around them."""

from collections.abc import Sequence
from typing import Any

from ringi.config.keys import DecompositionLevel
from ringi.engine.document import (
    ActionPlan,
    GoalUnderstanding,
    PlannedAction,
    PlanningDocument,
    Subtask,
    TaskDecomposition,
)
from ringi.engine.plan_checks import PlanRules
from ringi.engine.process import ActionRecord, ActionState, Process, RecoveryRecord
from ringi.models.prompt import Prompt
from ringi.runs.process.reflection import ReflectionEngine
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolInfo
from ringi.tools.rules import ToolRules
from tests.fakes.config import config_with

_PATH = {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]}
_QUERY = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
_GITHUB = {"owner": {"type": "string"}, "repo": {"type": "string"}}


def tool(name: str, effect: ToolEffect = ToolEffect.READS, schema: dict[str, Any] | None = None) -> ToolInfo:
    return ToolInfo(name, name, schema or _PATH, effect)


TOOLS = (
    tool("list"),
    tool("read"),
    tool("search", schema=_QUERY),
    tool("write", ToolEffect.COPY),
    tool("patch", ToolEffect.COPY),
    tool("run", ToolEffect.COPY),
    tool("files_read_file"),
    tool(
        "github_get_file_contents",
        schema={"properties": {**_GITHUB, **_PATH["properties"]}, "required": ["owner", "repo", "path"]},
    ),
    tool(
        "github_search_code",
        schema={"properties": {**_GITHUB, **_QUERY["properties"]}, "required": ["owner", "repo", "query"]},
    ),
    tool("github_create_or_update_file", ToolEffect.OUTSIDE),
)
RULES = PlanRules(ToolRules(tuple(one.name for one in TOOLS)), 15)


def action(task_id: str, tool: str = "read", **parts: Any) -> PlannedAction:
    return PlannedAction(task_id=task_id, action_type="tool_call", tool=tool, **parts)


def plan(*actions: PlannedAction, after: dict[str, tuple[str, ...]] | None = None) -> PlanningDocument:
    tasks = tuple(
        Subtask(
            id=one.task_id or "",
            description=one.description or f"Do {one.task_id}",
            dependencies=(after or {}).get(one.task_id or "", ()),
        )
        for one in actions
    )
    return PlanningDocument(
        goal_understanding=GoalUnderstanding(main_objective="Mend the report"),
        task_decomposition=TaskDecomposition(subtasks=tasks),
        action_plan=ActionPlan(execution_order=tuple(one.id for one in tasks), actions=actions),
    )


TWO = plan(action("task_1", arguments={"path": "src/config.js"}), action("task_2", "write"))


def process(found: PlanningDocument = TWO, task: str = "Mend the report", **parts: Any) -> Process:
    return Process(process_id="process-1", run_id="run-1", task=task, plan=found, **parts)


def record(
    error: ErrorKind | None = None, number: int = 1, task: str = "task_1", **parts: Any
) -> ActionRecord:
    given: dict[str, Any] = {
        "tool": "read",
        "arguments": {"path": "src/config.js"},
        "state": ActionState.FAILURE if error else ActionState.SUCCESS,
        "result": "" if error else "text",
        **parts,
    }
    return ActionRecord(
        number=number, action_id=f"{task}_action_{number}", task_id=task, error=error, **given
    )


class Thinker:
    """Answers with what was written down, in order; raises what is an exception."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[Prompt] = []

    def __call__(self, prompt: Prompt, kind: type) -> Any:
        self.asked.append(prompt)
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, kind)
        return answer


def engine(
    *answers: Any,
    recoveries: Sequence[RecoveryRecord] = (),
    tools: Sequence[ToolInfo] = TOOLS,
    level: DecompositionLevel = DecompositionLevel.MODERATE,
    mask: Any = str,
    **reflection: Any,
) -> tuple[ReflectionEngine, Thinker]:
    """With a model if it has answers."""
    thinker = Thinker(*answers)
    found = ReflectionEngine(
        ask=thinker,
        config=config_with(**{f"planning.reflection.{name}": value for name, value in reflection.items()}),
        tools=tools,
        rules=RULES,
        recoveries=lambda kind: tuple(one for one in recoveries if one.kind is kind),
        mask=mask,
        complexity=level,
        model="scripted:model" if answers else "",
    )
    return found, thinker
