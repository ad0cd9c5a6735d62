"""What a process tells about itself while it works: spans for a receiver, lines for a log (PP-22).

Neither ever fails or holds up the work. `SILENT` does nothing and imports nothing.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from enum import IntEnum, StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:  # only names of types
    from collections.abc import Mapping, Sequence


class Phase(StrEnum):
    """The six spans of the specification (chapter 16.4)."""

    UNDERSTAND_GOAL = "planning.understand_goal"
    DECOMPOSE_TASK = "planning.decompose_task"
    GENERATE_ACTION_PLAN = "planning.generate_action_plan"
    EXECUTE_ACTION = "execution.execute_action"
    EVALUATE_ACTION = "reflection.evaluate_action"
    REVISE_PLAN = "reflection.revise_plan"


# Attributes: those of the GenAI conventions, and ours.
OPERATION: Final = "gen_ai.operation.name"
PROVIDER: Final = "gen_ai.provider.name"
REQUEST_MODEL: Final = "gen_ai.request.model"
MAX_TOKENS: Final = "gen_ai.request.max_tokens"
INPUT_TOKENS: Final = "gen_ai.usage.input_tokens"
OUTPUT_TOKENS: Final = "gen_ai.usage.output_tokens"
CACHED_TOKENS: Final = "gen_ai.usage.cache_read.input_tokens"
FINISH_REASONS: Final = "gen_ai.response.finish_reasons"
OUTPUT_TYPE: Final = "gen_ai.output.type"
AGENT_NAME: Final = "gen_ai.agent.name"
WORKFLOW: Final = "gen_ai.workflow.name"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_TYPE: Final = "gen_ai.tool.type"
INPUT_MESSAGES: Final = "gen_ai.input.messages"
OUTPUT_MESSAGES: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
ERROR_TYPE: Final = "error.type"
RUN_ID: Final = "ringi.run.id"
SESSION_ID: Final = "ringi.session.id"
STEP_ID: Final = "ringi.step.id"
ACTION_ID: Final = "ringi.action.id"
PURPOSE: Final = "ringi.purpose"
OUTCOME: Final = "ringi.outcome"
COUNT: Final = "ringi.count"
COST_USD: Final = "ringi.cost_usd"

Value = str | bool | int | float


class Span(Protocol):
    def note(self, attributes: Mapping[str, Value | Sequence[str]]) -> None:
        """Kinds, names, ids and counts only: whatever people or models wrote is content."""

    def note_failure(self, kind: str) -> None:
        """A kind of failure, for one that raises nothing; an error that passes through is noted by itself."""

    def content(self, name: str, text: str) -> None:
        """Left out, unless somebody asked for content; then masked."""

    def messages(self, name: str, said: Sequence[tuple[str, str]]) -> None:
        """Content as well: who (system, user, assistant) said what."""


class Spans(Protocol):
    def span(
        self, name: str, attributes: Mapping[str, Value] = ..., *, outward: bool = False
    ) -> AbstractContextManager[Span]:
        """Below the one that is open in this context. `outward`: it waits for another program."""

    def root(
        self, name: str, subject_id: str, attributes: Mapping[str, Value] = ...
    ) -> AbstractContextManager[Span]:
        """A turn of this subject; all its turns are one trace, however often it was interrupted."""


class LogLevel(IntEnum):
    DEBUG = 10
    INFO = 20
    WARN = 30
    ERROR = 40


class Component(StrEnum):
    PLANNING = "Planning"
    EXECUTION = "Execution"
    REFLECTION = "Reflection"
    TRACING = "Tracing"


class ProcessLog(Protocol):
    """`[2024-01-15 10:30:00] [INFO] [Planning] Task started: issue-123`"""

    def __call__(self, component: Component, level: LogLevel, message: str, detail: str = "") -> None:
        """`message` is ours: fixed words, names of tools, ids and counts. What others wrote is `detail`: it
        follows after a colon, and is left out of the log of a confidential repository.
        """


class _NoSpan:
    def note(self, *_: object) -> None:
        pass

    note_failure = content = messages = note


_NOTHING: Final[AbstractContextManager[Span]] = nullcontext(_NoSpan())


class _NoSpans:
    def span(self, *_: object, **__: object) -> AbstractContextManager[Span]:
        return _NOTHING

    root = span


def _no_line(*_: object, **__: object) -> None:
    pass


NO_SPANS: Final[Spans] = _NoSpans()
NO_LOG: Final[ProcessLog] = _no_line


class Telemetry(NamedTuple):
    spans: Spans = NO_SPANS
    log: ProcessLog = NO_LOG


SILENT: Final = Telemetry()


def tool_call(spans: Spans, tool: str) -> AbstractContextManager[Span]:
    """Around one call of a tool."""
    attributes = {OPERATION: "execute_tool", TOOL_NAME: tool, TOOL_TYPE: "function"}
    return spans.span(f"execute_tool {tool}", attributes)
