"""The record of one process: what is known of it now, what of that is saved, and how it ends (PP-9)."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from msgspec.structs import replace

from ringi.engine.document import NEEDS_PERSON, CompletionDocument, CompletionSummary
from ringi.engine.instruction import language_of
from ringi.engine.process import (
    PROCESS_MACHINE,
    ActionRecord,
    ActionState,
    Process,
    ProcessPhase,
    RecoveryRecord,
    Wait,
)
from ringi.kernel.telemetry.port import Component, LogLevel
from ringi.kernel.text import Text, in_language
from ringi.models.usage import Spent, since, total
from ringi.runs.process.context import ProcessContext, ProcessTask

_OPEN = frozenset([ActionState.STARTED, ActionState.WAITING])


class ProcessRecord:
    def __init__(self, context: ProcessContext, task: ProcessTask) -> None:
        """As it is in the ledger, or a new one."""
        self._context = context
        self._began = context.seconds()
        self._spent = context.model.spent
        self._changed: set[int] = set()
        self._learnt: list[tuple[RecoveryRecord, bool]] = []
        stored = context.store.processes.get(task.process_id)
        self._revision = stored.revision if stored else 0
        self.is_new = stored is None
        self._records = {record.number: record for record in stored.records} if stored else {}
        if stored:
            self.process = stored.process
            return
        now = context.clock.now()
        self.process = Process(
            process_id=task.process_id,
            run_id=task.run_id,
            step_id=task.step_id,
            task=task.words,
            tree=task.tree,
            created_at=now,
            updated_at=now,
        )
        self.say(Component.PLANNING, f"Task started: {task.process_id}")

    @property
    def records(self) -> tuple[ActionRecord, ...]:
        return tuple(self._records.values())

    def record(self, number: int) -> ActionRecord:
        return self._records[number]

    def has_begun(self) -> bool:
        """Whether an action has no outcome yet."""
        return any(record.state in _OPEN for record in self._records.values())

    def put(self, record: ActionRecord) -> None:
        self._records[record.number] = record
        self._changed.add(record.number)

    def set(self, **changes: Any) -> None:
        self.process = replace(self.process, **changes)

    def learn(self, *, helped: bool) -> None:
        """Whether what the last revision tried has helped (PP-24); saved with the action that shows it."""
        if self.process.trying is not None:
            self._learnt.append((self.process.trying, helped))
            self.set(trying=None)

    def enter(self, phase: ProcessPhase) -> None:
        """Raises BadTransition."""
        if self.process.phase is not phase:
            self.set(phase=PROCESS_MACHINE.advance(self.process.phase, phase))

    def seconds_left(self) -> float:
        """Seconds that the whole task may still take."""
        spent = self.process.elapsed_sec + self._context.seconds() - self._began
        return self._context.config.planning.execution.total_timeout - spent

    def charge(self, phase: str) -> None:
        """What the model took since the last time."""
        now = self._context.model.spent
        self.add(phase, since(now, self._spent))
        self._spent = now

    def add(self, phase: str, spent: Spent) -> None:
        self.set(**{phase: total([getattr(self.process, phase), spent])})

    def save(self) -> None:
        now = self._context.seconds()
        elapsed = round(self.process.elapsed_sec + now - self._began, 3)
        self.set(elapsed_sec=elapsed, updated_at=self._context.clock.now())
        self._began = now
        changed = [self._records[number] for number in sorted(self._changed)]
        with self._context.store.transaction() as transaction:
            transaction.processes.save(self.process, changed, self._revision)
            for tried, helped in self._learnt:
                transaction.processes.note_recovery(tried.kind, tried.tool, tried.strategy, helped=helped)
        self._revision += 1
        self._changed.clear()
        self._learnt.clear()

    def say(
        self, component: Component, message: str, detail: str = "", level: LogLevel = LogLevel.INFO
    ) -> None:
        self._context.telemetry.log(component, level, message, detail)


_LATEST: Final = 3


_NOT_CHECKED: Final = Text("Every task is done. Nothing has checked whether the goal is achieved.")


def complete(book: ProcessRecord, now: str) -> None:
    """Its tasks are done. Nothing has checked whether the goal is achieved, so that is not claimed."""
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
    """It goes on when a person says so."""
    say = in_language(language_of(book.process.task))
    words = mask(say(reason))
    book.say(Component.EXECUTION, "A person is needed", words, LogLevel.WARN)
    given = dict.fromkeys(say(one) if isinstance(one, Text) else one for one in recommendations)
    told = tuple(mask(one) for one in given if one)
    summary = _summary(book, reason=words, recommendations=told, current_state=_state(book))
    _finish(book, CompletionDocument(status=NEEDS_PERSON, summary=summary, comment=words), Wait.PERSON, now)


def is_stuck(process: Process) -> bool:
    return process.completion is not None and process.completion.status == NEEDS_PERSON


def resume(process: Process) -> Process:
    """One that was stuck, after a person said to go on."""
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
