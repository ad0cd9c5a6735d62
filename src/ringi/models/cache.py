"""What the cache keeps of models' answers and approved plans."""

from enum import StrEnum
from typing import Any

from ringi.kernel.document import Document


class PlanKind(StrEnum):
    DESIGN = "design"
    OUTLINE = "outline"


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


class KeptPlan(Document, frozen=True, omit_defaults=True, kw_only=True):
    """A plan that a person approved, or that was outlined: it may be offered to a similar request."""

    made_at: str
    task: str
    kind: PlanKind
    value: str
    """As JSON: what a planner brings, or an outline's plan."""
    model: str
    snapshot: str
    """Of the workspace for which it was made."""
    reads: dict[str, str]
    """Files it is about, each with the digest of its bytes; empty if there was none."""
    origin: AnswerOrigin = AnswerOrigin()
    calls: int = 0
    tokens: int = 0


class SimilarPlan(Document, frozen=True, kw_only=True):
    """An offer: nobody uses it unless a person says so."""

    task: str
    alike: float
    """From 0 to 1, by their words."""
    made_at: str
    model: str
    used: bool = False


class KeptCounts(Document, frozen=True, kw_only=True):
    """What `ringi doctor --cache` tells."""

    enabled: bool
    why_not: str = ""
    answers: int = 0
    plans: int = 0
    bytes: int = 0
    ttl: int = 0
    saved_calls: int = 0
    saved_tokens: int = 0
