"""The record of one process: what is known of it now, and what of that is saved."""

from typing import Any

from msgspec.structs import replace

from ringi.engine.process import (
    PROCESS_MACHINE,
    ActionRecord,
    ActionState,
    Process,
    ProcessPhase,
    RecoveryRecord,
)
from ringi.kernel.telemetry.port import Component, LogLevel
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

    def left(self) -> float:
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
