"""Tasks as the ledger has them. A task is a chain of runs, with their planning sessions and processes.

A run that was planned anew belongs to the task of the one it replaces. A session or a process without a run
is a task by itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.config.keys import ComplexityThreshold, DecompositionLevel, RoleHow
from ringi.engine.document import NEEDS_PERSON, Subtask
from ringi.engine.levels import level_of
from ringi.engine.order import Order, order_subtasks
from ringi.engine.process import ActionRecord, ActionState, Process
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.kernel.tokens import tokens
from ringi.models.usage import Purpose, Spent, TokenUsage
from ringi.runs.document import Attempt, Run, StepState, StopCode
from ringi.sessions.document import SessionStatus, StoredSession

if TYPE_CHECKING:
    from ringi.app.store import Store

_A_MILLION: Final = 1_000_000


class TaskPhase(StrEnum):
    PLANNING = "planning"
    EXECUTION = "execution"
    REFLECTION = "reflection"


class Outcome(StrEnum):
    COMPLETED = "completed"
    CANCELLED = "cancelled"
    FAILED = "failed"
    OPEN = "open"


SIZES: Final[Mapping[DecompositionLevel, str]] = {
    DecompositionLevel.MINIMAL: "simple",
    DecompositionLevel.MODERATE: "medium",
    DecompositionLevel.DETAILED: "complex",
}
_OF_ROLE: Final = {
    RunRole.IMPLEMENTER: TaskPhase.EXECUTION,
    RunRole.REVIEWER: TaskPhase.REFLECTION,
    RunRole.QA: TaskPhase.REFLECTION,
    RunRole.PLANNER: TaskPhase.PLANNING,
}
_OF_RUN: Final = {
    RunPhase.COMPLETED: Outcome.COMPLETED,
    RunPhase.CANCELLED: Outcome.CANCELLED,
    RunPhase.FAILED: Outcome.FAILED,
}
_OF_SESSION: Final = {
    SessionStatus.CANCELLED: Outcome.CANCELLED,
    SessionStatus.FAILED: Outcome.FAILED,
}
NO_ERRORS: Final = frozenset(
    [
        StopCode.PERSON_NEEDED,
        StopCode.APPROVAL_NEEDED,
        StopCode.DECLINED,
        StopCode.CALL_WAITS,
        StopCode.REVISION_WAITS,
        StopCode.HELP_NEEDED,
    ]
)
"""A person is asked; what went wrong before is counted by itself."""
CONFLICT: Final = "in conflict"
# The three times of chapter 13.4, by what a model is asked.
GOAL: Final = (Purpose.FILES, Purpose.DISCOVERY, Purpose.GOAL)
DECOMPOSITION: Final = (Purpose.DESIGN, Purpose.REVISION, Purpose.SUBTASKS)
ACTIONS: Final = (Purpose.REVIEW, Purpose.TARGETS, Purpose.ACTIONS)


class Used(NamedTuple):
    """What a phase took, as far as it is known."""

    seconds: float = 0.0
    calls: int = 0
    unknown_calls: int = 0
    """Turns of programs that ask models themselves, or that were recorded before calls were counted."""
    input_tokens: int = 0
    output_tokens: int = 0
    material_tokens: int = 0
    cached_tokens: int = 0
    unknown_material: int = 0
    """Calls recorded before material was counted apart."""
    dollars: float = 0.0
    reused: int = 0
    """Answers from the cache, and what they took when they were new."""
    saved_tokens: int = 0
    priced: int = 0
    """Turns or sessions whose cost is known."""
    unpriced: int = 0

    def plus(self, other: Used) -> Used:
        return Used._make(one + two for one, two in zip(self, other, strict=True))

    @property
    def beside(self) -> int:
        """Tokens without the material read from the project, which no target counts."""
        return self.input_tokens + self.output_tokens - min(self.material_tokens, self.input_tokens)


class TaskStep(NamedTuple):
    done: bool
    lines: int
    granted: bool
    """Committed under a standing approval."""
    committed: bool
    misplaced: bool
    """It needed files that its plan does not name, or did not fit after an earlier one."""
    errors: int
    settled: bool
    """It is done, or never will be."""
    findings: Mapping[str, int]


class MeasuredTask(NamedTuple):
    id: str
    began_at: str
    level: DecompositionLevel
    outcome: Outcome
    revisions: int
    as_planned: bool
    phases: Mapping[TaskPhase, Used]
    subtasks: tuple[int, ...]
    """Of each of its plans."""
    steps: tuple[tuple[TaskStep, ...], ...]
    """Of each of its runs."""
    reflections: tuple[int, ...]
    """Tokens of each, beside material."""
    purposes: Mapping[str, TokenUsage]
    decomposed: int = 0
    """Subtasks of a plan that names dependencies."""
    found: int = 0
    """Of these, those with an unnamed dependency that was found from their files."""
    serial_sec: float = 0.0
    """What its actions took in all, one after the other."""
    wall_sec: float = 0.0
    """What they took as they ran, several at once."""

    @property
    def used(self) -> Used:
        whole = Used()
        for one in self.phases.values():
            whole = whole.plus(one)
        return whole


class Prices(NamedTuple):
    by_model: Mapping[str, tuple[float, float]] = {}
    """Dollars for a million tokens, in and out."""

    def of(self, model: str, taken: TokenUsage | Spent) -> float | None:
        price = self.by_model.get(model)
        if price is None:
            return None
        return (taken.input_tokens * price[0] + taken.output_tokens * price[1]) / _A_MILLION


Reasons = Mapping[str, Sequence[str]]
"""By run: the reasons of the events that say that something went wrong."""


def tasks_of(
    history: Store, reasons: Reasons, threshold: ComplexityThreshold, prices: Prices
) -> Iterator[MeasuredTask]:
    """In the order they began."""
    reader = _TaskReader(history, reasons, threshold, prices)
    yield from sorted(reader.tasks(), key=lambda task: (task.began_at, task.id))


class _TaskReader:
    def __init__(
        self, history: Store, reasons: Reasons, threshold: ComplexityThreshold, prices: Prices
    ) -> None:
        self._history = history
        self._reasons = reasons
        self._threshold = threshold
        self._prices = prices
        self._runs = {run.run_id: run for run in history.runs.all()}
        self._session_ids = history.sessions.ids()
        self._actions = cache(history.processes.actions)
        self._processes: dict[str, list[Process]] = defaultdict(list)
        for process in history.processes.of():
            self._processes[process.run_id].append(process)

    def tasks(self) -> Iterator[MeasuredTask]:
        seen: set[str] = set()
        for run in self._runs.values():
            if run.replaced_by not in self._runs:
                task, sessions = self._of_runs([*self._chain(run)])
                seen.update(sessions)
                yield task
        for session_id in self._session_ids:
            if session_id not in seen:
                yield self._of_session(self._history.sessions.get(session_id))
        for process in self._processes.get("", ()):
            yield self._of_process(process)

    def _chain(self, run: Run) -> Iterator[Run]:
        """The newest first. One that names itself, or an earlier one again, ends it."""
        met: set[str] = set()
        found: Run | None = run
        while found and found.run_id not in met:
            met.add(found.run_id)
            yield found
            found = self._runs.get(found.replaces)

    def _level(self, task: str) -> DecompositionLevel:
        return level_of(tokens(task), self._threshold)

    def _of_runs(self, chain: Sequence[Run]) -> tuple[MeasuredTask, set[str]]:
        newest, first = chain[0], chain[-1]
        ids = {run.planning_session_id for run in chain}.intersection(self._session_ids)
        sessions = sorted(
            (self._history.sessions.get(one) for one in ids), key=lambda one: one.session.created_at
        )
        outcome = _OF_RUN.get(newest.phase, Outcome.OPEN)
        processes = [one for run in chain for one in self._processes.get(run.run_id, ())]
        parts = [self._session_used(one) for one in sessions]
        parts += [part for run in chain for part in self._run_used(run)]
        parts += [part for one in processes for part in self._process_used(one)]
        revisions = len(chain) - 1 + sum(map(_rejects, sessions)) + sum(one.revised for one in processes)
        serial, wall = self._clock(processes)
        plans = [self._history.runs.plan(run.run_id) for run in chain]
        task = MeasuredTask(
            id=newest.run_id,
            began_at=min([first.created_at, *(one.session.created_at for one in sessions)]),
            level=self._level(sessions[0].session.instruction if sessions else first.instruction),
            outcome=outcome,
            revisions=revisions,
            as_planned=not revisions and not any(run.allowed or run.tests for run in chain),
            phases=_by_phase(parts),
            subtasks=tuple(len(plan.steps) for plan in plans if plan),
            steps=tuple(tuple(self._steps(run, outcome)) for run in chain),
            reflections=(*self._judge_tokens(chain), *_reflection_tokens(processes)),
            purposes=_purposes(sessions),
            serial_sec=serial,
            wall_sec=wall,
        )
        return task, ids

    def _of_session(self, stored: StoredSession) -> MeasuredTask:
        session = stored.session
        return MeasuredTask(
            id=session.session_id,
            began_at=session.created_at,
            level=self._level(session.instruction),
            outcome=_OF_SESSION.get(session.status, Outcome.OPEN),
            revisions=_rejects(stored),
            as_planned=False,
            phases=_by_phase([self._session_used(stored)]),
            subtasks=(),
            steps=(),
            reflections=(),
            purposes=_purposes([stored]),
        )

    def _of_process(self, process: Process) -> MeasuredTask:
        ended = process.completion
        waits = ended is None or ended.status == NEEDS_PERSON
        # Its tasks are done; that says nothing about its goal.
        done = ended is not None and ended.done is True
        outcome = Outcome.COMPLETED if done else Outcome.OPEN if waits else Outcome.FAILED
        subtasks = process.plan.subtasks
        parents = {one.parent for one in subtasks}
        leaves = [one for one in subtasks if one.id not in parents]
        serial, wall = self._clock([process])
        errors = self._count_failed([process])
        step = TaskStep(
            done, 0, granted=False, committed=False, misplaced=False, errors=errors,
            settled=outcome is not Outcome.OPEN, findings={},
        )  # fmt: skip
        return MeasuredTask(
            id=process.process_id,
            began_at=process.created_at,
            level=self._level(process.task),
            outcome=outcome,
            revisions=process.revised,
            as_planned=not process.revised,
            phases=_by_phase(self._process_used(process)),
            subtasks=(len(leaves),) if leaves else (),
            steps=((step,),) if errors else (),
            reflections=tuple(_reflection_tokens([process])),
            purposes={},
            decomposed=len(leaves) if len(leaves) > 1 else 0,
            found=_count_found(leaves, subtasks) if len(leaves) > 1 else 0,
            serial_sec=serial,
            wall_sec=wall,
        )

    # ---------------------------------------------------------------- what it took

    def _session_used(self, stored: StoredSession) -> tuple[TaskPhase, Used]:
        usage, facts = stored.facts.usage, stored.facts
        cost = usage.cost_usd if usage.cost_usd is not None else self._prices.of(facts.model, usage)
        asked = bool(usage.requests)
        return TaskPhase.PLANNING, Used(
            seconds=usage.duration_sec,
            calls=usage.requests,
            input_tokens=usage.input_tokens,
            output_tokens=usage.output_tokens,
            material_tokens=usage.material_tokens,
            cached_tokens=usage.cached_tokens,
            unknown_material=usage.requests if asked and not facts.usage_by else 0,
            reused=usage.reused,
            saved_tokens=usage.saved_tokens,
            dollars=cost or 0.0,
            priced=int(asked and cost is not None),
            unpriced=int(asked and cost is None),
        )

    def _run_used(self, run: Run) -> Iterator[tuple[TaskPhase, Used]]:
        by_process = {one.step_id for one in self._processes.get(run.run_id, ())}
        for step in run.steps:
            yield TaskPhase.EXECUTION, Used(seconds=sum(one.duration_sec for one in step.evidence))
            for attempt in step.attempts:
                if attempt.how is RoleHow.PERSON or (step.step_id in by_process and _in_process(attempt)):
                    continue
                yield _OF_ROLE[attempt.role], self._attempt_used(attempt)

    def _attempt_used(self, attempt: Attempt) -> Used:
        spent, by_model = attempt.spent, attempt.how is RoleHow.MODEL
        taken = spent.input_tokens + spent.output_tokens
        cost: float | None = spent.dollars or None
        if cost is None:
            cost = self._prices.of(attempt.who, spent) if by_model else None
        uncounted = by_model and bool(taken) and not spent.calls
        asked = not by_model or bool(taken)
        return Used(
            seconds=seconds_between(attempt.started_at, attempt.ended_at) or spent.seconds,
            calls=spent.calls,
            unknown_calls=int(not by_model or uncounted),
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            material_tokens=spent.material_tokens,
            unknown_material=int(uncounted),
            reused=spent.reused,
            saved_tokens=spent.saved_tokens,
            dollars=cost or 0.0,
            priced=int(asked and cost is not None),
            unpriced=int(asked and cost is None),
        )

    def _process_used(self, process: Process) -> list[tuple[TaskPhase, Used]]:
        acted = self._clock([process])[1]
        found = []
        for phase, spent in (
            (TaskPhase.PLANNING, process.planning),
            (TaskPhase.EXECUTION, process.execution),
            (TaskPhase.REFLECTION, process.reflection),
        ):
            calls = spent.calls
            found.append(
                (
                    phase,
                    Used(
                        seconds=spent.seconds + (acted if phase is TaskPhase.EXECUTION else 0.0),
                        calls=calls,
                        input_tokens=spent.input_tokens,
                        output_tokens=spent.output_tokens,
                        material_tokens=spent.material_tokens,
                        reused=spent.reused,
                        saved_tokens=spent.saved_tokens,
                        dollars=spent.dollars,
                        priced=int(bool(calls) and bool(spent.dollars)),
                        unpriced=int(bool(calls) and not spent.dollars),
                    ),
                )
            )
        return found

    def _clock(self, processes: Iterable[Process]) -> tuple[float, float]:
        """What the actions took one after the other, and as they ran."""
        serial = wall = 0.0
        for process in processes:
            groups: dict[tuple[int, int], float] = {}
            for record in self._actions(process.process_id):
                serial += record.duration_sec
                key = (record.group, 0 if record.group else record.number)
                groups[key] = max(groups.get(key, 0.0), record.duration_sec)
            wall += sum(groups.values())
        return serial, wall

    # ---------------------------------------------------------------- how it went

    def _steps(self, run: Run, outcome: Outcome) -> Iterator[TaskStep]:
        reasons = self._reasons.get(run.run_id, ())
        in_process = defaultdict(list)
        for process in self._processes.get(run.run_id, ()):
            in_process[process.step_id].append(process)
        for state in run.steps:
            said = [one.partition(": ")[2] for one in reasons if one.startswith(f"{state.step_id}: ")]
            done = state.status is StepStatus.DONE
            # What a run could not do, the one that replaced it may have done.
            recovered = done or (bool(run.replaced_by) and outcome is Outcome.COMPLETED)
            yield TaskStep(
                done=recovered,
                lines=state.lines if done else 0,
                granted=bool(state.grant),
                committed=bool(state.commit),
                misplaced=any(_code(one) in {StopCode.OUT_OF_SCOPE, CONFLICT} for one in said),
                errors=sum(map(_is_error, said)) + self._count_failed(in_process[state.step_id]),
                settled=recovered or outcome is not Outcome.OPEN,
                findings=_findings(state),
            )

    def _count_failed(self, processes: Iterable[Process]) -> int:
        return sum(_went_wrong(record) for one in processes for record in self._actions(one.process_id))

    def _judge_tokens(self, chain: Sequence[Run]) -> Iterator[int]:
        """Turns of a model that judges a step, if it is known what of it is material."""
        for attempt in (one for run in chain for step in run.steps for one in step.attempts):
            if _OF_ROLE[attempt.role] is TaskPhase.REFLECTION and attempt.spent.calls:
                yield self._attempt_used(attempt).beside


def _in_process(attempt: Attempt) -> bool:
    return attempt.how is RoleHow.MODEL and attempt.role is RunRole.IMPLEMENTER


def _went_wrong(record: ActionRecord) -> bool:
    return record.error is not None and record.state in {ActionState.FAILURE, ActionState.PARTIAL}


def _by_phase(parts: Iterable[tuple[TaskPhase, Used]]) -> dict[TaskPhase, Used]:
    found = dict.fromkeys(TaskPhase, Used())
    for phase, used in parts:
        found[phase] = found[phase].plus(used)
    return found


def _rejects(stored: StoredSession) -> int:
    return max(stored.session.reject_count, len(stored.facts.feedback))


def _purposes(sessions: Iterable[StoredSession]) -> dict[str, TokenUsage]:
    found: dict[str, TokenUsage] = {}
    for stored in sessions:
        for purpose, usage in stored.facts.usage_by.items():
            found[purpose] = found.get(purpose, TokenUsage()).plus(usage)
    return found


def _reflection_tokens(processes: Iterable[Process]) -> Iterator[int]:
    """As many as there were, each with the average: the ledger has their sum."""
    for process in processes:
        spent, calls = process.reflection, process.reflection.calls
        if calls:
            beside = spent.input_tokens + spent.output_tokens - min(spent.material_tokens, spent.input_tokens)
            yield from [round(beside / calls)] * calls


def _count_found(leaves: Sequence[Subtask], subtasks: Sequence[Subtask]) -> int:
    order = order_subtasks(subtasks)
    if not isinstance(order, Order):
        return len(order.tasks & {one.id for one in leaves})
    return len({one.task for one in order.found})


def _code(said: str) -> str:
    """Of `again, UNIT_TEST_FAILED`, `falling back, ROLE_FAILED` or `UNIT_TEST_FAILED`."""
    return said.rpartition(", ")[2]


def _is_error(said: str) -> bool:
    code = _code(said)
    return code.isupper() and code not in NO_ERRORS


def _findings(state: StepState) -> dict[str, int]:
    """By role. The attempts tell of every turn, the step of the newest alone."""
    found: dict[str, int] = defaultdict(int)
    for attempt in state.attempts:
        found[attempt.role] += attempt.findings
    for role in {one.role for one in state.findings}:
        found[role] = max(found[role], sum(one.role is role for one in state.findings))
    return {role: count for role, count in found.items() if count}


def seconds_between(began: str, ended: str) -> float:
    """Seconds; 0 if one is unknown."""
    try:
        return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(began)).total_seconds())
    except (ValueError, TypeError):
        return 0.0
