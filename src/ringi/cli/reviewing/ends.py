"""How a review ends."""

from enum import Enum, auto


class End(Enum):
    LEFT = auto()
    INTERRUPTED = auto()
    APPLY = auto()
    APPROVED = auto()
    """To be carried out later."""
    REJECTED = auto()
    ELSEWHERE = auto()
    """Somebody else decided meanwhile."""
    UNDO = auto()
