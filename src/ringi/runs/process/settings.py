"""How a process executes, reflects and revises: chapters 9 and 11 of the specification."""

from enum import StrEnum
from typing import NamedTuple


class Depth(StrEnum):
    SHALLOW = "shallow"
    """By rules alone; no model is asked."""
    MODERATE = "moderate"
    DEEP = "deep"
    """With everything that was done so far."""


class ReflectionSettings(NamedTuple):
    enabled: bool = True
    on_error: bool = True
    interval: int | None = None
    """Actions between two; 0: never; None: as recommended for the size of the task."""
    depth: Depth = Depth.MODERATE


class RevisionSettings(NamedTuple):
    most: int = 3
    needs_approval: bool = False
    approval_timeout: float = 3_600.0
    in_memory: int = 5
    on_disk: int = 50
    summarise: bool = True


class ExecutionSettings(NamedTuple):
    action_timeout: float = 60.0
    total_timeout: float = 3_600.0
    ends_early: bool = True
    most_failures: int = 3
    """In a row."""
    width: int = 10
    """How many actions run at once."""
    most_turns: int = 40
    """Of a model, in one process."""
    context_tokens: int = 16_000
    """Results that a model is shown; the oldest are shortened first."""


class ProcessSettings(NamedTuple):
    reflection: ReflectionSettings = ReflectionSettings()
    revision: RevisionSettings = RevisionSettings()
    execution: ExecutionSettings = ExecutionSettings()
