"""What an action of a plan does."""

from enum import StrEnum
from typing import Final


class SpecKind(StrEnum):
    CREATE = "create"
    WRITE = "write"
    PATCH = "patch"
    DELETE = "delete"
    MOVE = "move"
    MKDIR = "mkdir"
    READ = "read"
    ANALYZE = "analyze"
    RUN = "run"
    CALL = "call"


CHANGING: Final = frozenset(
    [SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH, SpecKind.DELETE, SpecKind.MOVE, SpecKind.MKDIR]
)
"""Kinds whose effect on files is known in advance and approved through its hashes."""


ONLY_READING: Final = frozenset([SpecKind.READ, SpecKind.ANALYZE])
