"""What a person changes in a plan before deciding; each makes a new version."""

from ringi.domain.base import Document
from ringi.domain.plan import Encoding


class DropSpec(Document, frozen=True, tag="drop_spec"):
    spec_id: str


class DropHunks(Document, frozen=True, tag="drop_hunks"):
    spec_id: str
    hunks: tuple[int, ...]
    """From 1, as the preview shows them."""


class NewContent(Document, frozen=True, tag="new_content"):
    """What the spec's file is to hold instead."""

    spec_id: str
    content: str
    encoding: Encoding = Encoding.UTF8


Amendment = DropSpec | DropHunks | NewContent
