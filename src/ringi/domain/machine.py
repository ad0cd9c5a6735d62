from collections.abc import Mapping
from enum import StrEnum
from typing import Generic, TypeVar

from ringi.errors import BadTransition

S = TypeVar("S", bound=StrEnum)


class Machine(Generic[S]):
    """A state machine is its table; every change of state goes through `advance`."""

    def __init__(self, name: str, transitions: Mapping[S, frozenset[S]]) -> None:
        self.name = name
        self.transitions = transitions

    def allows(self, current: S, target: S) -> bool:
        return target in self.transitions[current]

    def advance(self, current: S, target: S) -> S:
        if not self.allows(current, target):
            allowed = ", ".join(sorted(self.transitions[current])) or "—"
            raise BadTransition(machine=self.name, current=str(current), target=str(target), allowed=allowed)
        return target
