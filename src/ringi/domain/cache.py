"""What the cache keeps of models' answers and approved plans."""

from typing import Any

from ringi.domain.base import Document


class AnswerOrigin(Document, frozen=True, omit_defaults=True):
    """What an answer was for: it is used again only if that came to a good end."""

    subject: str = ""
    """A planning session or a run; empty if whoever asked has judged it already."""
    step_id: str = ""
    role: str = ""
    turn: int = 0
    """Among all turns at the step, from 1."""


class KeptAnswer(Document, frozen=True, omit_defaults=True, kw_only=True):
    made_at: str
    model: str
    origin: AnswerOrigin = AnswerOrigin()
    input_tokens: int = 0
    output_tokens: int = 0
    value: dict[str, Any]


class KeptCounts(Document, frozen=True, kw_only=True):
    """What `ringi cache` tells."""

    enabled: bool
    why_not: str = ""
    answers: int = 0
    plans: int = 0
    bytes: int = 0
    ttl: int = 0
    saved_calls: int = 0
    saved_tokens: int = 0
