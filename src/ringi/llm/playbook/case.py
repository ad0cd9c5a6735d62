"""A brief, parsed: what its instruction, answers and decisions say, and the book in its language."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from ringi.domain.context import ProjectFacts
from ringi.domain.prompt import NewQuestion
from ringi.domain.session import Brief, DecisionPoint
from ringi.llm.playbook.book import (
    AnswerEntry,
    Book,
    DecisionEntry,
    Lean,
    OptionEntry,
    QuestionEntry,
    Said,
    book,
    vocabulary,
)
from ringi.llm.playbook.instruction import Instruction, read, things_said
from ringi.llm.playbook.quote import cut, one_line
from ringi.llm.playbook.words import Searched, searched, searched_whole, stance

Slots = Mapping[str, str]
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


# --- what the answers favour, and which decisions they make unnecessary ------------------------------------

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


def _words() -> Mapping[Lean, tuple[str, ...]]:
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


# --- templates, filled with words from the instruction and names from the project --------------------------

_LONGEST_NAME: Final = 40
# These work for any project with such a file; other test runners vary.
_RUNNERS: Final = {"Cargo.toml": "cargo test", "go.mod": "go test ./..."}
_COMMANDS: Final = frozenset(["pytest", "tox", "nox", "jest", "vitest", "rspec", "phpunit"])


def slots(brief: Brief, instruction: Instruction, found: Book, shown: Callable[[str], str] = str) -> Slots:
    """`shown` escapes untrusted text for where it is shown."""
    sentences, gist, project = found.sentences, instruction.gist, brief.project

    def own(words: str) -> str:
        return quoted(found, shown(words)) if words else sentences["task"]

    def named(names: tuple[str, ...], key: str) -> str:
        return code(names[0]) if names else sentences[key]

    folder = test_folder(project)
    return {
        "subject": own(gist.sentence),
        "matter": own(gist.matter) if gist.matter else sentences["fault"],
        "thing": own(gist.thing),
        "place": named(instruction.places, "place"),
        "manifest": named(project.manifests, "manifest"),
        "language": one_line(project.languages[0], _LONGEST_NAME)
        if project.languages
        else sentences["language"],
        "folder": code(folder) if folder else sentences["folder"],
        "tests": sentences["tests_in"].format(folder=code(folder)) if folder else sentences["tests"],
    }


def filled(template: str, values: Slots) -> str:
    """Capitalised, even if it starts with an inserted name."""
    text = template.format_map(values)
    return text[:1].upper() + text[1:] if template.startswith("{") else text


def quoted(found: Book, text: str) -> str:
    """Quotation marks inside become single ones."""
    inner = text.translate({0x201C: "\u2018", 0x201D: "\u2019", 0x300C: "\u300e", 0x300D: "\u300f"})
    return found.sentences["quote"].format(text=inner)


def code(name: str) -> str:
    return f"`{one_line(name.replace('`', ''), _LONGEST_NAME)}`"


def test_folder(project: ProjectFacts) -> str:
    return next((tests for tests in project.tests if not _is_command(tests)), "")


def test_command(project: ProjectFacts) -> str:
    given = (tests for tests in project.tests if _is_command(tests))
    known = (_RUNNERS[name] for name in project.manifests if name in _RUNNERS)
    return one_line(next(given, "") or next(known, ""), 2 * _LONGEST_NAME).replace("`", "")


def _is_command(tests: str) -> bool:
    return " " in tests.strip() or tests.strip() in _COMMANDS
