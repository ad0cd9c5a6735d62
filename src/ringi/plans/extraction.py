"""What a plan's text asks for (PT-14)."""

from ringi.kernel.document import Document
from ringi.tree.action_spec import ActionSpec


class Unplaced(Document, frozen=True):
    """Text that looks like an action but did not become a spec."""

    line: int
    """Line of the text, from 1."""
    text: str
    """That line, cut if it is long."""
    why: str


class Extraction(Document, frozen=True):
    specs: tuple[ActionSpec, ...]
    """In the order of the text."""
    unplaced: tuple[Unplaced, ...]
    from_model: tuple[int, ...] = ()
    """Which of the specs a language model made from what the parser could not place, counted from 0."""
