"""How a process ends: complete, or with a pause until a person says how to go on (PP-9)."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ringi.engine.document import NEEDS_PERSON, CompletionDocument, CompletionSummary
from ringi.engine.language import language_of
from ringi.engine.process import PROCESS_MACHINE, ActionState, Process, ProcessPhase, Wait
from ringi.kernel.telemetry.port import Component, LogLevel
from ringi.kernel.text import Text, in_language
from ringi.runs.process.process_record import ProcessRecord

_LATEST: Final = 3


_NOT_CHECKED: Final = Text("Every task is done. Nothing has checked whether the goal is achieved.")


def complete(book: ProcessRecord, now: str) -> None:
    """Its tasks are done; whether the goal is achieved, nobody has checked, so that is not claimed."""
    book.say(Component.EXECUTION, "Task completed")
    reason = in_language(language_of(book.process.task))(_NOT_CHECKED)
    _finish(book, CompletionDocument(summary=_summary(book, reason=reason), done=True), None, now)


def needs_person(
    book: ProcessRecord,
    now: str,
    reason: Text,
    recommendations: Sequence[str | Text],
    mask: Callable[[str], str],
) -> None:
    """It goes on when somebody says so."""
    say = in_language(language_of(book.process.task))
    words = mask(say(reason))
    book.say(Component.EXECUTION, "A person is needed", words, LogLevel.WARN)
    given = dict.fromkeys(say(one) if isinstance(one, Text) else one for one in recommendations)
    told = tuple(mask(one) for one in given if one)
    summary = _summary(book, reason=words, recommendations=told, current_state=_state(book))
    _finish(book, CompletionDocument(status=NEEDS_PERSON, summary=summary, comment=words), Wait.PERSON, now)


def is_stuck(process: Process) -> bool:
    return process.completion is not None and process.completion.status == NEEDS_PERSON


def resumed(process: Process) -> Process:
    """One that was stuck, after somebody who knows said to go on."""
    phase = PROCESS_MACHINE.advance(process.phase, ProcessPhase.REFLECTION)
    return replace(
        process,
        phase=PROCESS_MACHINE.advance(phase, ProcessPhase.EXECUTION),
        completion=None,
        waits=None,
        waiting_since="",
        failures=0,
        turns=0,
        since=0,
    )


def _finish(book: ProcessRecord, completion: CompletionDocument, waits: Wait | None, now: str) -> None:
    book.enter(ProcessPhase.COMPLETION)
    book.set(completion=completion, waits=waits, waiting_since=now if waits else "", ending=False)


def _summary(book: ProcessRecord, **more: Any) -> CompletionSummary:
    process = book.process
    failed = {record.task_id for record in book.records if record.state is ActionState.FAILURE}
    lessons = (one.reflection.root_cause_analysis for one in process.revisions)
    return CompletionSummary(
        goal_achieved=False,  # the specification knows true and false: what is not checked is not true
        tasks_completed=len(process.done),
        tasks_failed=len(failed - {*process.done}),
        key_outcomes=process.notes[-_LATEST:],
        lessons_learned=tuple(lesson for lesson in lessons if lesson),
        revision_attempts=process.revised,
        **more,
    )


def _state(book: ProcessRecord) -> str:
    left = [task.id for task in book.process.plan.subtasks if task.id not in book.process.done]
    changed = dict.fromkeys(path for record in book.records for path in record.changed)
    return "; ".join(
        f"{name}: {', '.join(found)}" for name, found in (("left", left), ("changed", changed)) if found
    )
