"""What a model answers with. Every length is bounded: a small model would never stop otherwise."""

from typing import Annotated

from msgspec import Meta

from ringi.domain.base import Document
from ringi.domain.session import QuestionType

MOST_QUESTIONS = 5
MOST_DECISIONS = 3

_Line = Annotated[str, Meta(min_length=1, max_length=300)]
_Phrase = Annotated[str, Meta(min_length=1, max_length=120)]
_Reasons = Annotated[tuple[_Phrase, ...], Meta(min_length=1, max_length=4)]


class NewQuestion(Document, frozen=True):
    type: QuestionType
    question: _Line
    context: Annotated[str, Meta(max_length=300)] = ""
    options: Annotated[tuple[_Phrase, ...], Meta(max_length=6)] = ()


class NewQuestions(Document, frozen=True):
    questions: Annotated[tuple[NewQuestion, ...], Meta(max_length=MOST_QUESTIONS)]


class NewOption(Document, frozen=True):
    name: _Phrase
    description: _Line
    pros: _Reasons
    cons: _Reasons
    recommendation: bool = False


class NewDecision(Document, frozen=True):
    topic: _Phrase
    options: Annotated[tuple[NewOption, ...], Meta(min_length=2, max_length=4)]


class NewDecisions(Document, frozen=True):
    decisions: Annotated[tuple[NewDecision, ...], Meta(max_length=MOST_DECISIONS)]


class NewSummary(Document, frozen=True):
    summary: Annotated[str, Meta(min_length=1, max_length=4000)]
    """Markdown."""
