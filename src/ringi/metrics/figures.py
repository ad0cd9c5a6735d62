"""The figures of chapter 16, each with how many of something it is computed from.

What is not known is no figure: it is counted apart, and a figure without data has no value.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from ringi.approvals.document import Strength
from ringi.config.keys import DEFAULTS, Config, DecompositionLevel
from ringi.config.rules import Section
from ringi.engine.levels import EXPECTED
from ringi.kernel.text import Text
from ringi.metrics.code import Syntax
from ringi.metrics.coverage import Coverage, NoCoverage
from ringi.metrics.document import Basis, Figure, FigureName, Group, GroupName, TaskFigures, Unit, meets
from ringi.metrics.people import PeopleFacts, PlanCounts
from ringi.metrics.tasks import (
    ACTIONS,
    DECOMPOSITION,
    GOAL,
    SIZES,
    MeasuredTask,
    Outcome,
    TaskPhase,
    TaskStep,
    Used,
)

_F = FigureName
MOST_TASKS: Final = 100
_LOW, _HIGH = 0.5, 2.0
"""Of the median of a run: a step in between is as large as the others."""
_DIGITS: Final = 6
_FEWEST: Final = 2
_NEWEST: Final = Text("only the newest")
_SUBTASKS: Final = {
    DecompositionLevel.MINIMAL: _F.SUBTASKS_SIMPLE,
    DecompositionLevel.MODERATE: _F.SUBTASKS_MEDIUM,
    DecompositionLevel.DETAILED: _F.SUBTASKS_COMPLEX,
}
_TIMES: Final = {
    DecompositionLevel.MINIMAL: _F.SIMPLE_TIME,
    DecompositionLevel.MODERATE: _F.MEDIUM_TIME,
    DecompositionLevel.DETAILED: _F.COMPLEX_TIME,
}
# Of chapters 13.4, 14.4 and 16.1.2; the configuration names the others.
_TARGETS: Final[Mapping[str, str]] = {
    _F.GOAL_TIME: "<5",
    _F.DECOMPOSITION_TIME: "<10",
    _F.ACTIONS_TIME: "<5",
    _F.SIMPLE_TIME: "<60",
    _F.MEDIUM_TIME: "<300",
    _F.COMPLEX_TIME: "<900",
    _F.PARALLEL_TIME: "20%",
    _F.PLANNING_TOKENS: "<2000",
    _F.REFLECTION_TOKENS: "<500",
    _F.TASK_TOKENS: "<10000",
    _F.SAVED_CALLS: "30%",
    _F.SAVED_TOKENS: "40%",
    **{_SUBTASKS[level]: f"{least}-{most}" for level, (least, most) in EXPECTED.items()},
}


class Figures:
    """Makes figures, with targets and words as configured."""

    def __init__(self, config: Config) -> None:
        self._configured = dict(_entries(config))
        self._own = dict(_entries(DEFAULTS))

    def make(
        self, name: FigureName, unit: Unit, value: float | None, of: int, basis: Basis, **more: Any
    ) -> Figure:
        target = getattr(self._configured.get(name), "target", _TARGETS.get(name, ""))
        value = None if value is None else round(value, _DIGITS)
        return Figure(
            name=name,
            unit=unit,
            value=value,
            of=of,
            basis=basis,
            target=target,
            met=meets(value, target),
            measure=self._words(name, "measure"),
            calculation=self._words(name, "calculation"),
            shown_in=self._words(name, "unit"),
            **more,
        )

    def share(self, name: FigureName, hits: float, of: int, basis: Basis, **more: Any) -> Figure:
        return self.make(name, Unit.SHARE, min(1.0, hits / of) if of else None, of, basis, **more)

    def mean(
        self, name: FigureName, unit: Unit, values: Sequence[float], basis: Basis, **more: Any
    ) -> Figure:
        value = statistics.fmean(values) if values else None
        return self.make(name, unit, value, len(values), basis, **spread(values), **more)

    def parts(self, name: FigureName, found: Mapping[str, float]) -> dict[str, float]:
        """Those that the configuration names; what else is known follows."""
        wanted = getattr(self._configured.get(name), "breakdown", ())
        first = {part: found[part] for part in wanted if part in found}
        return {part: round(value, _DIGITS) for part, value in {**first, **found}.items() if wanted or value}

    def _words(self, name: FigureName, field: str) -> str:
        """The person's own; empty if they are ours, which are translated."""
        words: str = getattr(self._configured.get(name), field, "")
        return "" if words == getattr(self._own.get(name), field, "") else words


def _entries(config: Config) -> Iterator[tuple[str, Section]]:
    """By the name of the figure, what chapter 16 of the planning process says of it."""
    for section in (
        config.metrics,
        config.performance_metrics,
        config.resource_metrics,
        config.quality_metrics,
    ):
        for name in section.__struct_fields__:
            if isinstance(entry := getattr(section, name), Section):
                yield name, entry


def spread(values: Sequence[float]) -> dict[str, float | None]:
    """Median and the value that nine of ten do not exceed."""
    if not values:
        return {"median": None, "p90": None}
    ranked = sorted(values)
    at = min(len(ranked) - 1, -(-len(ranked) * 9 // 10) - 1)
    return {"median": round(statistics.median(ranked), _DIGITS), "p90": round(ranked[at], _DIGITS)}


def _select_ended(tasks: Iterable[MeasuredTask]) -> list[MeasuredTask]:
    return [task for task in tasks if task.outcome is not Outcome.OPEN]


def _steps(tasks: Iterable[MeasuredTask]) -> list[TaskStep]:
    return [step for task in tasks for run in task.steps for step in run]


def planning(make: Figures, tasks: Sequence[MeasuredTask]) -> Group:
    ended = _select_ended(tasks)
    completed = [task for task in ended if task.outcome is Outcome.COMPLETED]
    counted = [(task.level, count) for task in tasks for count in task.subtasks]
    fitting = [EXPECTED[level][0] <= count <= EXPECTED[level][1] for level, count in counted]
    alike, compared = _granularity(tasks)
    right, placed = _count_placed(tasks)
    return Group(
        GroupName.PLANNING,
        (
            make.share(
                _F.PLANNING_ACCURACY, sum(t.as_planned for t in completed), len(completed), Basis.TASKS
            ),
            make.share(_F.REVISION_RATE, sum(t.revisions > 0 for t in ended), len(ended), Basis.TASKS),
            make.mean(_F.AVG_REVISIONS, Unit.NUMBER, [t.revisions for t in ended], Basis.TASKS),
            make.share(_F.SUBTASKS_FIT, sum(fitting), len(fitting), Basis.PLANS),
            *(
                make.mean(name, Unit.NUMBER, [n for one, n in counted if one is level], Basis.PLANS)
                for level, name in _SUBTASKS.items()
            ),
            make.share(_F.GRANULARITY, alike, compared, Basis.STEPS),
            make.share(_F.DEPENDENCIES, right, placed, Basis.STEPS),
        ),
    )


def _granularity(tasks: Iterable[MeasuredTask]) -> tuple[int, int]:
    """Steps that are between half and twice as large as the median of their run."""
    alike = compared = 0
    for run in (run for task in tasks for run in task.steps):
        lines = [step.lines for step in run if step.lines]
        if len(lines) >= _FEWEST:
            middle = statistics.median(lines)
            alike += sum(_LOW * middle <= one <= _HIGH * middle for one in lines)
            compared += len(lines)
    return alike, compared


def _count_placed(tasks: Sequence[MeasuredTask]) -> tuple[int, int]:
    """Steps for which no dependency was missing, of those that are done, and of planned subtasks."""
    steps = [step for step in _steps(tasks) if step.lines or step.misplaced]
    planned = sum(task.decomposed for task in tasks)
    right = sum(not step.misplaced for step in steps) + planned - sum(task.found for task in tasks)
    return right, len(steps) + planned


def time(make: Figures, tasks: Sequence[MeasuredTask]) -> Group:
    completed = [task for task in tasks if task.outcome is Outcome.COMPLETED and task.used.seconds]
    serial = sum(task.serial_sec for task in tasks)
    acting = [task for task in tasks if task.serial_sec]

    def of_phase(phase: TaskPhase) -> list[float]:
        return [task.phases[phase].seconds for task in tasks if task.phases[phase].seconds]

    def seconds_for(purposes: Iterable[str]) -> list[float]:
        wanted = set(map(str, purposes))
        found = ([used.duration_sec for name, used in t.purposes.items() if name in wanted] for t in tasks)
        return [sum(one) for one in found if one]

    def mean(name: FigureName, values: Sequence[float], basis: Basis = Basis.TASKS) -> Figure:
        return make.mean(name, Unit.SECONDS, values, basis)

    return Group(
        GroupName.TIME,
        (
            mean(_F.PLANNING_TIME, of_phase(TaskPhase.PLANNING)),
            mean(_F.EXECUTION_TIME, of_phase(TaskPhase.EXECUTION)),
            mean(_F.REFLECTION_TIME, of_phase(TaskPhase.REFLECTION)),
            mean(_F.TOTAL_TIME, [task.used.seconds for task in completed]),
            mean(_F.GOAL_TIME, seconds_for(GOAL)),
            mean(_F.DECOMPOSITION_TIME, seconds_for(DECOMPOSITION)),
            mean(_F.ACTIONS_TIME, seconds_for(ACTIONS)),
            *(
                mean(name, [task.used.seconds for task in completed if task.level is level])
                for level, name in _TIMES.items()
            ),
            make.make(
                _F.PARALLEL_TIME,
                Unit.SHARE,
                1 - sum(task.wall_sec for task in acting) / serial if serial else None,
                len(acting),
                Basis.TASKS,
            ),
        ),
    )


def resources(make: Figures, tasks: Sequence[MeasuredTask]) -> Group:
    by_phase = {phase: _sum(task.phases[phase] for task in tasks) for phase in TaskPhase}
    whole = _sum(by_phase.values())
    asking = [task for task in tasks if task.used.calls]
    known = bool(whole.calls) or (bool(tasks) and not whole.unknown_calls)
    tokens = {"input": whole.input_tokens, "output": whole.output_tokens,
              "material": whole.material_tokens, "cached": whole.cached_tokens}  # fmt: skip
    planned = [task.phases[TaskPhase.PLANNING] for task in tasks if task.phases[TaskPhase.PLANNING].calls]
    counted = [one.beside for one in planned if not one.unknown_material]
    whole_tasks = [task.used for task in asking if task.outcome is not Outcome.OPEN]
    plain = [one.beside for one in whole_tasks if not one.unknown_material and not one.unknown_calls]
    reflections = [count for task in tasks for count in task.reflections]
    wanted = whole.calls + whole.reused
    tokens_wanted = whole.input_tokens + whole.output_tokens + whole.saved_tokens
    return Group(
        GroupName.RESOURCES,
        (
            make.make(
                _F.LLM_CALLS,
                Unit.NUMBER,
                whole.calls if known else None,
                len(tasks),
                Basis.TASKS,
                without=whole.unknown_calls,
                parts=make.parts(_F.LLM_CALLS, {phase: used.calls for phase, used in by_phase.items()}),
            ),
            make.make(
                _F.TOKENS_USED,
                Unit.TOKENS,
                whole.input_tokens + whole.output_tokens if known else None,
                len(tasks),
                Basis.TASKS,
                without=whole.unknown_calls,
                parts=make.parts(_F.TOKENS_USED, tokens),
            ),
            make.make(
                _F.API_COST,
                Unit.DOLLARS,
                whole.dollars if whole.priced else None,
                whole.priced,
                Basis.TURNS,
                without=whole.unpriced,
                parts=make.parts(_F.API_COST, {phase: used.dollars for phase, used in by_phase.items()}),
            ),
            make.mean(
                _F.PLANNING_TOKENS, Unit.TOKENS, counted, Basis.TASKS, without=len(planned) - len(counted)
            ),
            make.mean(_F.REFLECTION_TOKENS, Unit.TOKENS, reflections, Basis.REFLECTIONS),
            make.mean(_F.TASK_TOKENS, Unit.TOKENS, plain, Basis.TASKS, without=len(whole_tasks) - len(plain)),
            make.share(_F.SAVED_CALLS, whole.reused, wanted, Basis.CALLS),
            make.share(_F.SAVED_TOKENS, whole.saved_tokens, tokens_wanted, Basis.TOKENS),
        ),
    )


def _sum(used: Iterable[Used]) -> Used:
    whole = Used()
    for one in used:
        whole = whole.plus(one)
    return whole


def quality(
    make: Figures,
    tasks: Sequence[MeasuredTask],
    plans: PlanCounts,
    said: Mapping[str, int],
    syntax: Syntax,
    coverage: Coverage | NoCoverage,
) -> Group:
    ended = _select_ended(tasks)
    completed = [task for task in ended if task.outcome is Outcome.COMPLETED]
    settled = [step for step in _steps(tasks) if step.errors and step.settled]
    errors = sum(step.errors for step in settled)
    return Group(
        GroupName.QUALITY,
        (
            make.share(_F.TASK_COMPLETION_RATE, len(completed), len(ended), Basis.TASKS,
                       without=len(tasks) - len(ended)),
            make.share(_F.FIRST_TRY_SUCCESS_RATE, sum(not task.revisions for task in completed), len(ended),
                       Basis.TASKS),
            make.share(_F.ERROR_RECOVERY_RATE, sum(step.errors for step in settled if step.done), errors,
                       Basis.ERRORS),
            make.share(_F.SYNTAX_ERRORS, syntax.broken, syntax.files, Basis.FILES, without=syntax.unknown,
                       note="" if syntax.whole else str(_NEWEST)),
            _coverage(make, coverage),
            make.make(
                _F.REVIEW_REMARKS,
                Unit.NUMBER,
                sum(said.values()) / plans.proposed if plans.proposed else None,
                plans.proposed,
                Basis.PLANS,
                parts=make.parts(_F.REVIEW_REMARKS, said),
            ),
        ),
    )  # fmt: skip


def _coverage(make: Figures, found: Coverage | NoCoverage) -> Figure:
    if isinstance(found, NoCoverage):
        return make.share(_F.TEST_COVERAGE, 0, 0, Basis.LINES, note=str(found.why))
    when = datetime.fromtimestamp(found.seconds, UTC).strftime("%Y-%m-%d %H:%M")
    return make.share(_F.TEST_COVERAGE, found.covered, found.lines, Basis.LINES, note=when)


def people(make: Figures, tasks: Sequence[MeasuredTask], read: PeopleFacts, plans: PlanCounts) -> Group:
    decided = read.decisions
    waits = [one.seconds for one in decided if one.seconds is not None]
    committed = [step for step in _steps(tasks) if step.committed]
    hunks = sum(agent.hunks for agent in plans.agents)
    dropped, edited = (sum(getattr(one, name) for one in plans.agents) for name in ("dropped", "edited"))
    approvals = read.strengths.total()
    return Group(
        GroupName.PEOPLE,
        (
            make.make(
                _F.DECISION_TIME,
                Unit.SECONDS,
                statistics.median(waits) if waits else None,
                len(waits),
                Basis.DECISIONS,
                without=len(decided) - len(waits),
                **spread(waits),
            ),
            make.share(_F.REJECT_RATE, sum(not one.yes for one in decided), len(decided), Basis.DECISIONS),
            make.share(_F.UNDO_RATE, plans.undone, plans.carried_out, Basis.PLANS),
            make.share(
                _F.HUNKS_CHANGED,
                dropped + edited,
                hunks,
                Basis.HUNKS,
                without=plans.uncounted,
                parts=make.parts(_F.HUNKS_CHANGED, {"dropped": dropped, "edited": edited}),
            ),
            make.share(
                _F.STRONG_APPROVALS,
                read.strengths[Strength.STRONG],
                approvals,
                Basis.APPROVALS,
                parts=make.parts(_F.STRONG_APPROVALS, dict(sorted(read.proofs.items()))),
            ),
            make.share(_F.UNSEEN_STEPS, sum(step.granted for step in committed), len(committed), Basis.STEPS),
        ),
    )


def plot(task: MeasuredTask) -> TaskFigures:
    used = task.used
    return TaskFigures(
        task=task.id,
        began_at=task.began_at,
        size=SIZES[task.level],
        outcome=str(task.outcome),
        revisions=task.revisions,
        planning_sec=round(task.phases[TaskPhase.PLANNING].seconds, 3),
        execution_sec=round(task.phases[TaskPhase.EXECUTION].seconds, 3),
        reflection_sec=round(task.phases[TaskPhase.REFLECTION].seconds, 3),
        calls=used.calls,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        material_tokens=used.material_tokens,
        dollars=round(used.dollars, _DIGITS) if used.priced else None,
    )
