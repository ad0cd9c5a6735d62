"""Which questions to ask: at most one of each type, none that is already answered."""

from collections.abc import Iterator
from typing import Final

from ringi.domain.prompt import MOST_QUESTIONS, NewQuestions
from ringi.domain.session import Brief, QuestionType
from ringi.llm.playbook.book import QuestionEntry
from ringi.llm.playbook.case import Case, case_of
from ringi.llm.playbook.instruction import Instruction

_ORDER: Final = (
    QuestionType.CLARIFICATION,
    QuestionType.SCOPE,
    QuestionType.TECHNICAL,
    QuestionType.CONSTRAINT,
    QuestionType.PRIORITY,
)
_BINDING: Final = frozenset([QuestionType.TECHNICAL, QuestionType.CONSTRAINT])


def questions(brief: Brief) -> NewQuestions:
    case = case_of(brief)
    asked = [case.question(entry) for entry in _asked(case)]
    return NewQuestions(tuple(asked[:MOST_QUESTIONS]))


def _asked(case: Case) -> Iterator[QuestionEntry]:
    main = case.book.chapters[case.instruction.main]
    lenders = [case.book.chapters[kind] for kind in case.instruction.lenders]
    for kind in _ORDER:
        own = [entry for entry in main.questions if entry.type is kind]
        lent = [entry for chapter in lenders for entry in chapter.questions if entry.type is kind]
        # If the main kind leaves nothing open, ask about another; something new depends on the others.
        both = [*lent, *own] if main.new and kind in _BINDING else [*own, *lent]
        yield from [entry for entry in both if _is_due(entry, case.instruction)][:1]


def _is_due(entry: QuestionEntry, instruction: Instruction) -> bool:
    meant = entry.only is None or entry.only in instruction.said
    return meant and not entry.unless & instruction.said and instruction.details < entry.until
