"""A brief, parsed, together with the book in its language."""

from typing import Final, NamedTuple

from ringi.domain.prompt import NewQuestion
from ringi.domain.session import Brief, DecisionPoint
from ringi.llm.playbook.book import Book, DecisionEntry, OptionEntry, QuestionEntry, book
from ringi.llm.playbook.instruction import Instruction, read
from ringi.llm.playbook.quote import cut, one_line
from ringi.llm.playbook.stance import stance
from ringi.llm.playbook.template import Slots, filled, quoted, slots
from ringi.llm.playbook.vocabulary import Searched

LINE: Final = 300
_PHRASE: Final = 120
_LONGEST_FEEDBACK: Final = 60


class Case(NamedTuple):
    brief: Brief
    instruction: Instruction
    book: Book
    slots: Slots

    def line(self, template: str) -> str:
        return cut(filled(template, self.slots), LINE)

    def phrase(self, template: str) -> str:
        return cut(filled(template, self.slots), _PHRASE)

    def sentence(self, key: str, **values: str) -> str:
        return self.book.sentences[key].format(**values)

    def question(self, entry: QuestionEntry) -> NewQuestion:
        return NewQuestion(
            type=entry.type,
            question=self.line(entry.question),
            context=self.line(entry.context),
            options=tuple(self.phrase(answer.text) for answer in entry.answers),
        )

    def known(self) -> list[tuple[DecisionEntry, DecisionPoint]]:
        """The brief's decisions that are in the book, matched by their text."""
        if not self.brief.decisions:
            return []
        entries = {self.phrase(entry.topic): entry for entry in self.book.decisions()}
        return [
            (entries[decision.topic], decision)
            for decision in self.brief.decisions
            if decision.topic in entries
        ]

    def chosen(self) -> list[tuple[DecisionEntry, OptionEntry]]:
        return [
            (entry, option)
            for entry, decision in self.known()
            for option in entry.options
            if decision.selected and self.phrase(option.name) == decision.selected.name
        ]

    def stances(self, entry: DecisionEntry, texts: tuple[Searched, ...]) -> dict[str, int]:
        """How these texts feel about each option."""
        return {option.key: stance(texts, option.hints, self.phrase(option.name)) for option in entry.options}

    def feedback_topic(self, text: str) -> str:
        quotation = quoted(self.book, one_line(text, _LONGEST_FEEDBACK))
        return cut(self.book.feedback.topic.format(feedback=quotation), _PHRASE)

    def feedback_choice(self, text: str) -> str:
        """What was chosen when this feedback was the question."""
        topic = self.feedback_topic(text)
        chosen = [d.selected.name for d in self.brief.decisions if d.topic == topic and d.selected]
        return next((option.key for option in self.book.feedback.options if option.name in chosen), "")


def case_of(brief: Brief) -> Case:
    instruction, found = read(brief), book(brief.language)
    return Case(brief, instruction, found, slots(brief, instruction, found))
