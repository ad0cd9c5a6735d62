"""How finely a task is planned (PP-5): strategy, level, and how many subtasks are expected."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ringi.config.keys import ComplexityThreshold, Config, DecompositionLevel, PlanningStrategy

EXPECTED: Final[Mapping[DecompositionLevel, tuple[int, int]]] = {
    DecompositionLevel.MINIMAL: (2, 5),
    DecompositionLevel.MODERATE: (5, 10),
    DecompositionLevel.DETAILED: (10, 15),
}
"""How many subtasks."""
_MOST: Final = 10
_MOST_IF_COMPLEX: Final = 15


class Measure(NamedTuple):
    level: DecompositionLevel
    least: int
    most: int
    hierarchical: bool
    reasoned: bool
    at_once: bool
    """One call for goal, subtasks and action plan."""


def measure_of(tokens: int, config: Config) -> Measure:
    planning = config.planning
    level = planning.decomposition_level
    if planning.auto_adjust_level:
        level = level_of(tokens, planning.complexity_threshold)
    least, most = EXPECTED[level]
    limit = subtask_limit(config)
    if limit is None:
        limit = _MOST_IF_COMPLEX if level is DecompositionLevel.DETAILED else _MOST
    most = max(1, min(most, limit))
    simple = planning.strategy is PlanningStrategy.SIMPLE
    return Measure(
        level=level,
        least=min(least, most),
        most=most,
        hierarchical=planning.strategy is PlanningStrategy.HIERARCHICAL
        or (level is DecompositionLevel.DETAILED and not simple),
        reasoned=not simple,
        at_once=simple or level is DecompositionLevel.MINIMAL,
    )


def subtask_limit(config: Config) -> int | None:
    """None if it is not set: then it depends on the level."""
    return config.planning.max_subtasks if config.is_set("planning.max_subtasks") else None


def level_of(tokens: int, threshold: ComplexityThreshold) -> DecompositionLevel:
    """By the size of the task."""
    if tokens <= threshold.simple:
        return DecompositionLevel.MINIMAL
    return DecompositionLevel.MODERATE if tokens <= threshold.moderate else DecompositionLevel.DETAILED
