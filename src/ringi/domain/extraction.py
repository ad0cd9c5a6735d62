"""What the text of a plan says to do (PT-14)."""

from ringi.domain.base import Document
from ringi.domain.plan import ActionSpec


class Unplaced(Document, frozen=True):
    """Something that looks like an action and was not made one."""

    line: int
    """Of the text, from 1."""
    text: str
    """That line, cut where it is long."""
    why: str


class Extraction(Document, frozen=True):
    specs: tuple[ActionSpec, ...]
    """In the order of the text."""
    unplaced: tuple[Unplaced, ...]
    from_model: tuple[int, ...] = ()
    """Which of the specs a language model made of what the parser could not place, counted from 0."""
