"""What the answers favour, and which decisions they make unnecessary."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from ringi.llm.playbook.book import AnswerEntry, Lean, Said
from ringi.llm.playbook.case import Case
from ringi.llm.playbook.instruction import things_said
from ringi.llm.playbook.vocabulary import Searched, Words, searched, searched_whole, vocabulary

_MOST_OF_AN_ANSWER: Final = 1_000
_BY_INSTRUCTION: Final = {
    Said.COMPATIBILITY: Lean.KEEP,
    Said.PRIORITY: Lean.SOON,
    Said.LIMIT: Lean.NARROW,
    Said.UNUSED: Lean.FREE,
    Said.OUTPUT: Lean.NONE_STORED,
    Said.FRESH: Lean.FRESH,
}
# Taken from a free answer; the rest is too easily said in passing.
_SETTLING: Final = frozenset([Said.PLACE, Said.SWITCH, Said.LEVEL, Said.ACCEPTANCE])


class Leans(NamedTuple):
    leans: frozenset[Lean]
    settled: tuple[str, ...]
    """Settled decisions with their option: feature.home=own."""
    said: frozenset[Said]
    """By the instruction and in free answers."""
    free: tuple[Searched, ...]
    """Answers in people's own words."""
    unknown: frozenset[str]
    """Questions whose answer nobody knew."""


def leans_of(case: Case) -> Leans:
    offered = dict(_offered(case))
    leans = set(_from_instruction(case))
    settled: list[str] = []
    own: list[str] = []
    unknown: list[str] = []
    for question in case.brief.questions:
        answer = offered.get((question.question, question.answer or ""))
        if answer:
            leans |= answer.leans
            unknown += [question.question] if Lean.UNKNOWN in answer.leans else []
            settled += [answer.settles] if answer.settles else []
        elif question.answer:
            own.append(question.answer[:_MOST_OF_AN_ANSWER])
    settled += _told(case)
    free = tuple(map(searched, own))
    words = _words()
    for text, found in zip(own, free, strict=True):
        leans |= {lean for lean, listed in words.items() if found.has_any(listed)}
        leans |= {Lean.NO_DEPENDENCY} if _says_no_dependency(text) else set()
    said = [things_said(text) & _SETTLING for text in own]
    return Leans(
        frozenset(leans), tuple(settled), case.instruction.said.union(*said), free, frozenset(unknown)
    )


def _offered(case: Case) -> Iterator[tuple[tuple[str, str], AnswerEntry]]:
    """By question and answer text."""
    asked = {question.question for question in case.brief.questions}
    for entry in case.book.questions():
        made = case.question(entry)
        if made.question in asked:
            for option, answer in zip(made.options, entry.answers, strict=True):
                yield (made.question, option), answer


def _told(case: Case) -> list[str]:
    """From the instruction itself, whatever was answered."""
    return [
        f"{decision.key}={said}"
        for decision in case.book.decisions()
        for said in decision.told
        if said in case.instruction.said
    ]


def _words() -> Mapping[Lean, Words]:
    words = vocabulary()
    return {
        **words.leans,
        Lean.KEEP: words.said[Said.COMPATIBILITY],
        Lean.NARROW: words.said[Said.LIMIT],
    }


def _says_no_dependency(text: str) -> bool:
    return searched_whole(text[:_MOST_OF_AN_ANSWER]).has_any(vocabulary().leans[Lean.NO_DEPENDENCY])


def _from_instruction(case: Case) -> Iterator[Lean]:
    yield from (lean for said, lean in _BY_INSTRUCTION.items() if said in case.instruction.said)
    if case.instruction.far:
        yield Lean.FAR
    if _says_no_dependency(case.brief.instruction):
        yield Lean.NO_DEPENDENCY
