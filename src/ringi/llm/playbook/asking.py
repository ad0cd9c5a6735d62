"""Which questions are worth asking: at most one of each type, none that is answered already."""

from collections.abc import Iterator
from typing import Final

from ringi.domain.model_output import MOST_QUESTIONS, NewQuestion, NewQuestions
from ringi.domain.session import Brief, QuestionType
from ringi.llm.playbook.asks import ASKS
from ringi.llm.playbook.kinds import Ask, Trait
from ringi.llm.playbook.quoting import cut
from ringi.llm.playbook.reading import Reading, read
from ringi.llm.playbook.slots import WORDS, Slots, filled, slots

LENDING: Final = frozenset(
    [Trait.MIGRATION, Trait.SECURITY, Trait.REMOVAL, Trait.PERFORMANCE, Trait.PURGE, Trait.ENCRYPTION]
)
"""Worth a question and a decision even where they are not what the instruction is mainly about."""

_ORDER: Final = (
    QuestionType.CLARIFICATION,
    QuestionType.SCOPE,
    QuestionType.TECHNICAL,
    QuestionType.CONSTRAINT,
    QuestionType.PRIORITY,
)
_NEW: Final = frozenset([Trait.FEATURE, Trait.UI])
_BINDING: Final = frozenset([QuestionType.TECHNICAL, QuestionType.CONSTRAINT])
_LINE: Final = 300
_PHRASE: Final = 120


def questions(brief: Brief) -> NewQuestions:
    reading = read(brief)
    values = slots(brief, reading)
    asked = [worded_question(ask, brief.language, values) for ask in _asked(reading)]
    return NewQuestions(tuple(asked[:MOST_QUESTIONS]))


def _asked(reading: Reading) -> Iterator[Ask]:
    lenders = [trait for trait in reading.traits[1:] if trait in LENDING]
    for kind in _ORDER:
        own = [ask for ask in ASKS[reading.main] if ask.type is kind]
        lent = [ask for trait in lenders for ask in ASKS[trait] if ask.type is kind]
        # Where the main kind of work leaves nothing open, another may; something new is bound by the others.
        both = [*lent, *own] if reading.main in _NEW and kind in _BINDING else [*own, *lent]
        yield from [ask for ask in both if _is_due(ask, reading)][:1]


def _is_due(ask: Ask, reading: Reading) -> bool:
    meant = ask.only is None or ask.only in reading.said
    return meant and not ask.unless & reading.said and reading.details < ask.until


def worded_question(ask: Ask, language: str, values: Slots) -> NewQuestion:
    words = WORDS[language].questions[ask.key]
    return NewQuestion(
        type=ask.type,
        question=cut(filled(words.question, values), _LINE),
        context=cut(filled(words.context, values), _LINE),
        options=tuple(cut(filled(option, values), _PHRASE) for option in words.options),
    )
