"""Where a person and a proposer changed the same, so that a person has to decide."""

from enum import StrEnum

from ringi.kernel.document import Document


class Clash(StrEnum):
    TEXT = "text"
    """The same lines."""
    LINE_ENDS = "line_ends"
    """One has other line ends; apart from them, everything can be merged."""
    BINARY = "binary"
    TOO_LARGE = "too_large"
    LINK = "link"
    """Two links to different places."""
    KIND = "kind"
    """One is a link, the other is not."""
    MODE = "mode"
    DELETED_BY_OURS = "deleted_by_ours"
    """And theirs changed it."""
    DELETED_BY_THEIRS = "deleted_by_theirs"


class ConflictChoice(StrEnum):
    """What a conflict of text becomes."""

    OURS = "ours"
    THEIRS = "theirs"
    BOTH = "both"
    """Ours, then theirs."""
    BASE = "base"


Decision = ConflictChoice | bytes
"""Bytes are a text of one's own."""


class Conflict(Document, frozen=True):
    spec_id: str
    path: str
    line: int
    """Of the person's file as it is now, from 1; 0 if it is about the whole file."""
    kind: Clash
