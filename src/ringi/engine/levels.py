"""How finely a task is planned (PP-5): strategy, level, and how many subtasks are expected."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from ringi.config.keys import ComplexityThreshold, Config, Level, Strategy

EXPECTED: Final[Mapping[Level, tuple[int, int]]] = {
    Level.MINIMAL: (2, 5),
    Level.MODERATE: (5, 10),
    Level.DETAILED: (10, 15),
}
"""How many subtasks."""
_MOST: Final = 10
_MOST_IF_COMPLEX: Final = 15


class Measure(NamedTuple):
    level: Level
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
        limit = _MOST_IF_COMPLEX if level is Level.DETAILED else _MOST
    most = max(1, min(most, limit))
    simple = planning.strategy is Strategy.SIMPLE
    return Measure(
        level=level,
        least=min(least, most),
        most=most,
        hierarchical=planning.strategy is Strategy.HIERARCHICAL or (level is Level.DETAILED and not simple),
        reasoned=not simple,
        at_once=simple or level is Level.MINIMAL,
    )


def subtask_limit(config: Config) -> int | None:
    """None if nobody set one: then it depends on the level."""
    return config.planning.max_subtasks if config.is_set("planning.max_subtasks") else None


def level_of(tokens: int, threshold: ComplexityThreshold) -> Level:
    """By the size of the task."""
    if tokens <= threshold.simple:
        return Level.MINIMAL
    return Level.MODERATE if tokens <= threshold.moderate else Level.DETAILED
