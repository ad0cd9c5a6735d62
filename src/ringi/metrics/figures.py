"""The figures of chapter 16: one table, each row with its name in words and what it is computed from.

What is not known is no figure: it is counted apart, and a figure without data has no value.
"""

import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Final, NamedTuple

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
    Used,
)

_F = FigureName
_B = Basis
_U = Unit
MOST_TASKS: Final = 100
_LOW, _HIGH = 0.5, 2.0
"""Of the median of a run: a step in between is as large as the others."""
_DIGITS: Final = 6
_FEWEST: Final = 2
_SIMPLE, _MEDIUM, _COMPLEX = (
    DecompositionLevel.MINIMAL,
    DecompositionLevel.MODERATE,
    DecompositionLevel.DETAILED,
)


class Facts:
    """What the ledger says, as far as figures need it."""

    def __init__(
        self,
        tasks: Sequence[MeasuredTask],
        people: PeopleFacts,
        plans: PlanCounts,
        remarks: Mapping[str, int],
        syntax: Syntax,
        coverage: Coverage | NoCoverage,
    ) -> None:
        self.tasks = tasks
        self.people = people
        self.plans = plans
        self.remarks = remarks
        self.syntax = syntax
        self.coverage = coverage
        self.ended = [task for task in tasks if task.outcome is not Outcome.OPEN]
        self.completed = [task for task in self.ended if task.outcome is Outcome.COMPLETED]
        self.timed = [task for task in self.completed if task.used.seconds]
        self.steps = [step for task in tasks for run in task.steps for step in run]
        self.settled = [step for step in self.steps if step.errors and step.settled]
        self.committed = [step for step in self.steps if step.committed]
        self.waits = [one.seconds for one in people.decisions if one.seconds is not None]
        self.by_phase = {phase: add_up(task.phases[phase] for task in tasks) for phase in TaskPhase}
        self.used = add_up(self.by_phase.values())

    @cached_property
    def subtasks(self) -> list[tuple[DecompositionLevel, int]]:
        return [(task.level, count) for task in self.tasks for count in task.subtasks]

    @property
    def asked_models(self) -> bool:
        """Whether it is known how often models were asked."""
        return bool(self.used.calls) or (bool(self.tasks) and not self.used.unknown_calls)


def add_up(used: Iterable[Used]) -> Used:
    whole = Used()
    for one in used:
        whole = whole.plus(one)
    return whole


class Computed(NamedTuple):
    value: float | None
    of: int
    without: int = 0
    parts: Mapping[str, float] = {}
    spread: Sequence[float] = ()
    note: str = ""


class FigureRule(NamedTuple):
    name: FigureName
    label: Text
    unit: Unit
    basis: Basis
    compute: Callable[[Facts], Computed]
    target: str = ""
    """Of chapters 13.4, 14.4 and 16.1.2; the configuration names the others."""


def share(
    hits: float, of: int, without: int = 0, parts: Mapping[str, float] | None = None, note: str = ""
) -> Computed:
    return Computed(min(1.0, hits / of) if of else None, of, without, parts or {}, note=note)


def _mean(values: Sequence[float], without: int = 0) -> Computed:
    return Computed(statistics.fmean(values) if values else None, len(values), without, spread=values)


# ---------------------------------------------------------------- plans


def _fit(facts: Facts) -> Computed:
    fitting = [EXPECTED[level][0] <= count <= EXPECTED[level][1] for level, count in facts.subtasks]
    return share(sum(fitting), len(fitting))


def _count_subtasks(level: DecompositionLevel) -> Callable[[Facts], Computed]:
    return lambda facts: _mean([count for one, count in facts.subtasks if one is level])


def _expect(level: DecompositionLevel) -> str:
    least, most = EXPECTED[level]
    return f"{least}-{most}"


def _compare_sizes(facts: Facts) -> Computed:
    """Steps that are between half and twice as large as the median of their run."""
    alike = compared = 0
    for run in (run for task in facts.tasks for run in task.steps):
        lines = [step.lines for step in run if step.lines]
        if len(lines) >= _FEWEST:
            middle = statistics.median(lines)
            alike += sum(_LOW * middle <= one <= _HIGH * middle for one in lines)
            compared += len(lines)
    return share(alike, compared)


def _count_placed(facts: Facts) -> Computed:
    """Steps for which no dependency was missing, of those that are done, and of planned subtasks."""
    steps = [step for step in facts.steps if step.lines or step.misplaced]
    planned = sum(task.decomposed for task in facts.tasks)
    right = sum(not step.misplaced for step in steps) + planned - sum(task.found for task in facts.tasks)
    return share(right, len(steps) + planned)


# ---------------------------------------------------------------- time


def _time_phase(phase: TaskPhase) -> Callable[[Facts], Computed]:
    return lambda facts: _mean(
        [task.phases[phase].seconds for task in facts.tasks if task.phases[phase].seconds]
    )


def _time_asked(purposes: Iterable[str]) -> Callable[[Facts], Computed]:
    wanted = set(map(str, purposes))

    def compute(facts: Facts) -> Computed:
        found = (
            [used.duration_sec for name, used in task.purposes.items() if name in wanted]
            for task in facts.tasks
        )
        return _mean([sum(one) for one in found if one])

    return compute


def _time_level(level: DecompositionLevel) -> Callable[[Facts], Computed]:
    return lambda facts: _mean([task.used.seconds for task in facts.timed if task.level is level])


def _save_time(facts: Facts) -> Computed:
    acting = [task for task in facts.tasks if task.serial_sec]
    serial = sum(task.serial_sec for task in acting)
    return Computed(1 - sum(task.wall_sec for task in acting) / serial if serial else None, len(acting))


# ---------------------------------------------------------------- resources


def _count_calls(facts: Facts) -> Computed:
    parts = {str(phase): used.calls for phase, used in facts.by_phase.items()}
    value = facts.used.calls if facts.asked_models else None
    return Computed(value, len(facts.tasks), facts.used.unknown_calls, parts)


def _count_tokens(facts: Facts) -> Computed:
    used = facts.used
    parts = {"input": used.input_tokens, "output": used.output_tokens,
             "material": used.material_tokens, "cached": used.cached_tokens}  # fmt: skip
    value = used.input_tokens + used.output_tokens if facts.asked_models else None
    return Computed(value, len(facts.tasks), used.unknown_calls, parts)


def _count_cost(facts: Facts) -> Computed:
    used, parts = facts.used, {str(phase): used.dollars for phase, used in facts.by_phase.items()}
    return Computed(used.dollars if used.priced else None, used.priced, used.unpriced, parts)


def _count_plan_tokens(facts: Facts) -> Computed:
    planned = [task.phases[TaskPhase.PLANNING] for task in facts.tasks]
    planned = [used for used in planned if used.calls]
    known = [used.beside for used in planned if not used.unknown_material]
    return _mean(known, len(planned) - len(known))


def _count_task_tokens(facts: Facts) -> Computed:
    whole = [task.used for task in facts.ended if task.used.calls]
    known = [used.beside for used in whole if not used.unknown_material and not used.unknown_calls]
    return _mean(known, len(whole) - len(known))


def _save_tokens(facts: Facts) -> Computed:
    used = facts.used
    return share(used.saved_tokens, used.input_tokens + used.output_tokens + used.saved_tokens)


# ---------------------------------------------------------------- results and people


def _count_recovered(facts: Facts) -> Computed:
    errors = sum(step.errors for step in facts.settled)
    return share(sum(step.errors for step in facts.settled if step.done), errors)


def _count_broken(facts: Facts) -> Computed:
    found = facts.syntax
    note = "" if found.whole else str(Text("only the newest"))
    return share(found.broken, found.files, found.unknown, note=note)


def _cover(facts: Facts) -> Computed:
    found = facts.coverage
    if isinstance(found, NoCoverage):
        return share(0, 0, note=str(found.why))
    when = datetime.fromtimestamp(found.seconds, UTC).strftime("%Y-%m-%d %H:%M")
    return share(found.covered, found.lines, note=when)


def _count_remarks(facts: Facts) -> Computed:
    plans = facts.plans.proposed
    return Computed(sum(facts.remarks.values()) / plans if plans else None, plans, parts=facts.remarks)


def _wait(facts: Facts) -> Computed:
    value = statistics.median(facts.waits) if facts.waits else None
    unknown = len(facts.people.decisions) - len(facts.waits)
    return Computed(value, len(facts.waits), unknown, spread=facts.waits)


def _count_hunks(facts: Facts) -> Computed:
    agents = facts.plans.agents
    dropped, edited = sum(one.dropped for one in agents), sum(one.edited for one in agents)
    parts = {"dropped": dropped, "edited": edited}
    return share(dropped + edited, sum(one.hunks for one in agents), facts.plans.uncounted, parts)


def _count_strong(facts: Facts) -> Computed:
    strengths = facts.people.strengths
    parts = dict(sorted(facts.people.proofs.items()))
    return share(strengths[Strength.STRONG], strengths.total(), parts=parts)


ROWS: Final[Mapping[GroupName, Sequence[FigureRule]]] = {
    GroupName.PLANNING: (
        FigureRule(_F.PLANNING_ACCURACY, Text("completed as first planned"), _U.SHARE, _B.TASKS,
            lambda facts: share(sum(task.as_planned for task in facts.completed), len(facts.completed))),
        FigureRule(_F.REVISION_RATE, Text("plan had to be revised"), _U.SHARE, _B.TASKS,
            lambda facts: share(sum(task.revisions > 0 for task in facts.ended), len(facts.ended))),
        FigureRule(_F.AVG_REVISIONS, Text("revisions per task"), _U.NUMBER, _B.TASKS,
            lambda facts: _mean([task.revisions for task in facts.ended])),
        FigureRule(_F.SUBTASKS_FIT, Text("number of steps fits the task"), _U.SHARE, _B.PLANS, _fit),
        FigureRule(_F.SUBTASKS_SIMPLE, Text("steps of a simple task"), _U.NUMBER, _B.PLANS,
            _count_subtasks(_SIMPLE), _expect(_SIMPLE)),
        FigureRule(_F.SUBTASKS_MEDIUM, Text("steps of a medium task"), _U.NUMBER, _B.PLANS,
            _count_subtasks(_MEDIUM), _expect(_MEDIUM)),
        FigureRule(_F.SUBTASKS_COMPLEX, Text("steps of a complex task"), _U.NUMBER, _B.PLANS,
            _count_subtasks(_COMPLEX), _expect(_COMPLEX)),
        FigureRule(_F.GRANULARITY, Text("steps of similar size"), _U.SHARE, _B.STEPS, _compare_sizes),
        FigureRule(_F.DEPENDENCIES, Text("steps without a missing dependency"), _U.SHARE, _B.STEPS,
            _count_placed),
    ),
    GroupName.TIME: (
        FigureRule(_F.PLANNING_TIME, Text("planning"), _U.SECONDS, _B.TASKS, _time_phase(TaskPhase.PLANNING)),
        FigureRule(_F.EXECUTION_TIME, Text("execution"), _U.SECONDS, _B.TASKS,
            _time_phase(TaskPhase.EXECUTION)),
        FigureRule(_F.REFLECTION_TIME, Text("reflection"), _U.SECONDS, _B.TASKS,
            _time_phase(TaskPhase.REFLECTION)),
        FigureRule(_F.TOTAL_TIME, Text("the whole task"), _U.SECONDS, _B.TASKS,
            lambda facts: _mean([task.used.seconds for task in facts.timed])),
        FigureRule(_F.GOAL_TIME, Text("understanding the goal"), _U.SECONDS, _B.TASKS,
            _time_asked(GOAL), "<5"),
        FigureRule(_F.DECOMPOSITION_TIME, Text("decomposing the task"), _U.SECONDS, _B.TASKS,
            _time_asked(DECOMPOSITION), "<10"),
        FigureRule(_F.ACTIONS_TIME, Text("planning the actions"), _U.SECONDS, _B.TASKS,
            _time_asked(ACTIONS), "<5"),
        FigureRule(_F.SIMPLE_TIME, Text("a simple task"), _U.SECONDS, _B.TASKS, _time_level(_SIMPLE), "<60"),
        FigureRule(_F.MEDIUM_TIME, Text("a medium task"), _U.SECONDS, _B.TASKS, _time_level(_MEDIUM), "<300"),
        FigureRule(_F.COMPLEX_TIME, Text("a complex task"), _U.SECONDS, _B.TASKS,
            _time_level(_COMPLEX), "<900"),
        FigureRule(_F.PARALLEL_TIME, Text("time saved by parallel actions"), _U.SHARE, _B.TASKS,
            _save_time, "20%"),
    ),
    GroupName.RESOURCES: (
        FigureRule(_F.LLM_CALLS, Text("calls"), _U.NUMBER, _B.TASKS, _count_calls),
        FigureRule(_F.TOKENS_USED, Text("tokens"), _U.TOKENS, _B.TASKS, _count_tokens),
        FigureRule(_F.API_COST, Text("cost"), _U.DOLLARS, _B.TURNS, _count_cost),
        FigureRule(_F.PLANNING_TOKENS, Text("tokens to plan a task, without material"), _U.TOKENS, _B.TASKS,
            _count_plan_tokens, "<2000"),
        FigureRule(_F.REFLECTION_TOKENS, Text("tokens of a reflection, without material"),
            _U.TOKENS, _B.REFLECTIONS,
            lambda facts: _mean([count for task in facts.tasks for count in task.reflections]), "<500"),
        FigureRule(_F.TASK_TOKENS, Text("tokens of a whole task, without material"), _U.TOKENS, _B.TASKS,
            _count_task_tokens, "<10000"),
        FigureRule(_F.SAVED_CALLS, Text("calls saved by the cache"), _U.SHARE, _B.CALLS,
            lambda facts: share(facts.used.reused, facts.used.calls + facts.used.reused), "30%"),
        FigureRule(_F.SAVED_TOKENS, Text("tokens saved by the cache"), _U.SHARE, _B.TOKENS,
            _save_tokens, "40%"),
    ),
    GroupName.QUALITY: (
        FigureRule(_F.TASK_COMPLETION_RATE, Text("tasks completed (criteria not checked)"),
            _U.SHARE, _B.TASKS,
            lambda facts: share(len(facts.completed), len(facts.ended), len(facts.tasks) - len(facts.ended))),
        FigureRule(_F.FIRST_TRY_SUCCESS_RATE, Text("tasks completed at the first try (criteria not checked)"),
            _U.SHARE, _B.TASKS,
            lambda facts: share(sum(not task.revisions for task in facts.completed), len(facts.ended))),
        FigureRule(_F.ERROR_RECOVERY_RATE, Text("errors recovered from"), _U.SHARE, _B.ERRORS,
            _count_recovered),
        FigureRule(_F.SYNTAX_ERRORS, Text("files with syntax errors"), _U.SHARE, _B.FILES, _count_broken),
        FigureRule(_F.TEST_COVERAGE, Text("lines covered by tests"), _U.SHARE, _B.LINES, _cover),
        FigureRule(_F.REVIEW_REMARKS, Text("review remarks per plan"), _U.NUMBER, _B.PLANS, _count_remarks),
    ),
    GroupName.PEOPLE: (
        FigureRule(_F.DECISION_TIME, Text("from waiting to decided (median)"), _U.SECONDS, _B.DECISIONS,
            _wait),
        FigureRule(_F.REJECT_RATE, Text("rejected"), _U.SHARE, _B.DECISIONS,
            lambda facts: share(
                sum(not one.yes for one in facts.people.decisions), len(facts.people.decisions))),
        FigureRule(_F.UNDO_RATE, Text("undone after approval"), _U.SHARE, _B.PLANS,
            lambda facts: share(facts.plans.undone, facts.plans.carried_out)),
        FigureRule(_F.HUNKS_CHANGED, Text("hunks dropped or edited"), _U.SHARE, _B.HUNKS, _count_hunks),
        FigureRule(_F.STRONG_APPROVALS, Text("approvals with a strong proof"), _U.SHARE, _B.APPROVALS,
            _count_strong),
        FigureRule(_F.UNSEEN_STEPS, Text("steps under a standing approval that nobody looked at"),
            _U.SHARE, _B.STEPS,
            lambda facts: share(sum(step.granted for step in facts.committed), len(facts.committed))),
    ),
}  # fmt: skip
LABELS: Final = {row.name: row.label for rows in ROWS.values() for row in rows}


# ---------------------------------------------------------------- as they are shown


def make_groups(config: Config, facts: Facts) -> tuple[Group, ...]:
    """All figures, with targets and words as configured."""
    configured, own = dict(_list_entries(config)), dict(_list_entries(DEFAULTS))
    return tuple(
        Group(group, tuple(_make_figure(row, row.compute(facts), configured.get(row.name), own.get(row.name))
                           for row in rows))
        for group, rows in ROWS.items()
    )  # fmt: skip


def _make_figure(row: FigureRule, found: Computed, entry: Section | None, own: Section | None) -> Figure:
    """`entry` is what the configuration says of the figure, `own` what it says by default."""

    def words(field: str) -> str:
        """The person's; empty if they are ours, which are translated."""
        given: str = getattr(entry, field, "")
        return "" if given == getattr(own, field, "") else given

    target = getattr(entry, "target", row.target)
    value = None if found.value is None else round(found.value, _DIGITS)
    return Figure(
        name=row.name,
        unit=row.unit,
        value=value,
        of=found.of,
        basis=row.basis,
        without=found.without,
        target=target,
        met=meets(value, target),
        **spread(found.spread),
        parts=_order_parts(found.parts, getattr(entry, "breakdown", ())),
        measure=words("measure"),
        calculation=words("calculation"),
        shown_in=words("unit"),
        note=found.note,
    )


def _order_parts(parts: Mapping[str, float], wanted: Sequence[str]) -> dict[str, float]:
    """Those that the configuration names; what else is known follows."""
    first = {part: parts[part] for part in wanted if part in parts}
    return {part: round(value, _DIGITS) for part, value in {**first, **parts}.items() if wanted or value}


def _list_entries(config: Config) -> Iterator[tuple[str, Section]]:
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
