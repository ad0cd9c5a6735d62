"""How finely a task is planned (PP-5): strategy, level, and how many subtasks are expected."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple


class Strategy(StrEnum):
    CHAIN_OF_THOUGHT = "chain_of_thought"
    HIERARCHICAL = "hierarchical"
    SIMPLE = "simple"


class Level(StrEnum):
    DETAILED = "detailed"
    MODERATE = "moderate"
    MINIMAL = "minimal"


EXPECTED: Final[Mapping[Level, tuple[int, int]]] = {
    Level.MINIMAL: (2, 5),
    Level.MODERATE: (5, 10),
    Level.DETAILED: (10, 15),
}
"""How many subtasks."""
_MOST: Final = 10
_MOST_IF_COMPLEX: Final = 15


class PlanningSettings(NamedTuple):
    enabled: bool = True
    strategy: Strategy = Strategy.CHAIN_OF_THOUGHT
    level: Level = Level.MODERATE
    auto_adjust_level: bool = True
    """Choose the level by the size of the task, whatever `level` says."""
    simple_tokens: int = 100
    """A task of at most so many tokens is a simple one."""
    moderate_tokens: int = 500
    max_subtasks: int | None = None
    """None: 10, and 15 for a complex task."""
    allowed_tools: tuple[str, ...] = ()
    forbidden_tools: tuple[str, ...] = ()
    require_approval: tuple[str, ...] = ()
    detailed_log: bool = True
    confidential: bool = False
    """No log has what people and models wrote."""
    """With what was sent to the model and what came back."""


class Measure(NamedTuple):
    level: Level
    least: int
    most: int
    hierarchical: bool
    reasoned: bool
    at_once: bool
    """One call for goal, subtasks and action plan."""


def measure_of(tokens: int, settings: PlanningSettings) -> Measure:
    level = _level(tokens, settings)
    least, most = EXPECTED[level]
    limit = settings.max_subtasks
    if limit is None:
        limit = _MOST_IF_COMPLEX if level is Level.DETAILED else _MOST
    most = max(1, min(most, limit))
    simple = settings.strategy is Strategy.SIMPLE
    return Measure(
        level=level,
        least=min(least, most),
        most=most,
        hierarchical=settings.strategy is Strategy.HIERARCHICAL or (level is Level.DETAILED and not simple),
        reasoned=not simple,
        at_once=simple or level is Level.MINIMAL,
    )


def _level(tokens: int, settings: PlanningSettings) -> Level:
    if not settings.auto_adjust_level:
        return settings.level
    if tokens <= settings.simple_tokens:
        return Level.MINIMAL
    return Level.MODERATE if tokens <= settings.moderate_tokens else Level.DETAILED
