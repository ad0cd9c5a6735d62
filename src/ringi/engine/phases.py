"""The phases of planning, as spans and as lines of the process log (PP-22)."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from ringi.engine.answers import NewGoal
from ringi.engine.document import ActionPlan, DecompositionFailed
from ringi.errors import ModelFailed
from ringi.kernel.telemetry.port import COUNT, OUTCOME, PURPOSE, Component, LogLevel, Phase, Span, Telemetry
from ringi.models.prompt import NewDecisions, NewFiles, NewQuestions, NewRevision, NewSummary, NewTargets
from ringi.models.usage import Purpose

_OF_SESSION: Final[Mapping[Purpose, Phase]] = {
    Purpose.FILES: Phase.UNDERSTAND_GOAL,
    Purpose.DISCOVERY: Phase.UNDERSTAND_GOAL,
    Purpose.DESIGN: Phase.DECOMPOSE_TASK,
    Purpose.REVISION: Phase.DECOMPOSE_TASK,
    Purpose.REVIEW: Phase.GENERATE_ACTION_PLAN,
    Purpose.TARGETS: Phase.GENERATE_ACTION_PLAN,
}


class Phases:
    def __init__(self, telemetry: Telemetry) -> None:
        self._spans, self._log = telemetry

    @contextmanager
    def of(self, phase: Phase) -> Iterator[Span]:
        with self._spans.span(phase) as span:
            try:
                yield span
            except ModelFailed as error:
                self._say(LogLevel.ERROR, f"Model call failed: {error.code}", str(error))
                raise

    @contextmanager
    def of_session(self, purpose: Purpose) -> Iterator[Span]:
        with self.of(_OF_SESSION[purpose]) as span:
            span.note({PURPOSE: str(purpose)})
            yield span

    def log_start(self, task: str) -> None:
        self._say(LogLevel.INFO, f"Task started: {task}")

    def log_goal(self, span: Span, found: NewGoal) -> None:
        if found.clarification_needed:
            questions = found.clarification_needed
            self._say(
                LogLevel.WARN, f"Goal unclear, {_so_many(len(questions), 'question')}", "; ".join(questions)
            )
            span.note({OUTCOME: "unclear", COUNT: len(questions)})
        else:
            self._say(LogLevel.INFO, "Goal understanding completed")
            span.note({OUTCOME: "completed"})

    def log_subtasks(self, span: Span, count: int, failed: DecompositionFailed | None) -> None:
        if failed is not None:
            self._say(LogLevel.WARN, "Task decomposition failed", failed.message)
            span.note_failure("decomposition_failed")
        else:
            self._say(LogLevel.INFO, f"Task decomposition: {_so_many(count, 'subtask')}")
        span.note({COUNT: count})

    def log_plan(self, span: Span, plan: ActionPlan, findings: int = 0) -> None:
        count = len(plan.actions or ())
        if findings:
            self._say(LogLevel.WARN, f"Action plan refused: {_so_many(findings, 'finding')}")
            span.note_failure("plan_refused")
        else:
            self._say(LogLevel.INFO, f"Action plan generated: {_so_many(count, 'action')}")
        span.note({COUNT: count})

    def log_answer(self, span: Span, value: Any) -> None:
        """In a planning session, where a person has a say after each."""
        match value:
            case NewFiles():
                words, count = f"Files asked for: {len(value.paths)}", len(value.paths)
            case NewQuestions():
                count = len(value.questions)
                words = f"Goal understanding completed: {_so_many(count, 'question')}"
            case NewDecisions():
                count = len(value.decisions)
                words = f"Task decomposition: {_so_many(count, 'decision point')}"
            case NewRevision():
                count = len(value.changed) + len(value.added) + len(value.dropped)
                words = f"Task decomposition revised: {_so_many(count, 'decision point')}"
            case NewSummary() | NewTargets():
                count = len(value.steps) or 1
                words = f"Action plan generated: {_so_many(count, 'step')}"
            case _:
                return
        self._say(LogLevel.INFO, words)
        span.note({COUNT: count})

    def _say(self, level: LogLevel, message: str, detail: str = "") -> None:
        self._log(Component.PLANNING, level, message, detail)


def _so_many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
