"""What the playbook knows, from the files in `content`.

`content/kinds` has one file for each kind of change: the words that identify it, its questions, decisions
and steps, in English. The Japanese is in `locale/ja/LC_MESSAGES/playbook.po`, with the file name as the
context of each sentence. `content/words.toml` has the words that the engine looks for.
"""

import gettext
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ringi.domain.base import Document, prepared
from ringi.domain.session import QuestionType

CONTENT: Final = Path(__file__).parent / "content"
DOMAIN: Final = "playbook"
_LOCALES: Final = Path(__file__).parents[2] / "locale"
_ALWAYS: Final = 99
_SHOWN: Final = frozenset(
    [
        *("work", "steps", "check", "beyond", "questions", "question", "context", "answers", "text"),
        *("decisions", "topic", "options", "name", "description", "pros", "cons", "told"),
    ]
)
"""The fields that people see, and those with such fields inside."""

T = TypeVar("T")


class Kind(StrEnum):
    """A kind of change."""

    TESTS = "tests"
    DOCS = "docs"
    DEPENDENCY = "dependency"
    BUILD = "build"
    SECURITY = "security"
    MIGRATION = "migration"
    RENAME = "rename"
    PURGE = "purge"
    RELEASE = "release"
    ENCRYPTION = "encryption"
    FEATURE = "feature"
    BUG = "bug"
    REFACTOR = "refactor"
    PERFORMANCE = "performance"
    REMOVAL = "removal"
    UI = "ui"
    GENERAL = "general"


class Said(StrEnum):
    """What an instruction may already say, so that nobody needs to ask."""

    PLACE = "place"
    LIMIT = "limit"
    COMPATIBILITY = "compatibility"
    TESTS = "tests"
    PRIORITY = "priority"
    ACCEPTANCE = "acceptance"
    MEASURE = "measure"
    ERROR = "error"
    TRIGGER = "trigger"
    DEPENDENCIES = "dependencies"
    VERSION = "version"
    SWITCH = "switch"
    LEVEL = "level"
    AUDIENCE = "audience"
    REASON = "reason"
    REPLACEMENT = "replacement"
    THREAT = "threat"
    EVENT = "event"
    UNUSED = "unused"
    SINCE = "since"
    ADDITIVE = "additive"
    """Data is only added to."""
    KEPT = "kept"
    """What must not change."""
    TARGET = "target"
    """A target figure; any other figure is the current one."""
    EXTENSION = "extension"
    """The change extends something that exists."""
    FRESH = "fresh"
    """Nothing of the kind exists yet."""
    CHECKS = "checks"
    OUTPUT = "output"
    """The form of an output; nothing is stored."""


class Lean(StrEnum):
    """A preference that speaks for one option and against another."""

    SOON = "soon"
    SOUND = "sound"
    SPEED = "speed"
    CAREFUL = "careful"
    NO_DEPENDENCY = "no_dependency"
    KEEP = "keep"
    """What others use stays unchanged."""
    FREE = "free"
    """All its users can be reached."""
    OUTSIDERS = "outsiders"
    NARROW = "narrow"
    WIDE = "wide"
    UNTESTED = "untested"
    TESTED = "tested"
    UNKNOWN = "unknown"
    MUCH = "much"
    """Data, or time."""
    NONE_STORED = "none_stored"
    FAR = "far"
    """Several major versions."""
    FRESH = "fresh"
    THEFT = "theft"
    """The loss of the device that stores it."""


Steps = dict[int, str]
"""Steps that replace the usual ones, by index from 0. An empty one drops the step."""


class AnswerEntry(Document, frozen=True, kw_only=True):
    """An answer that a question offers."""

    text: str
    leans: frozenset[Lean] = frozenset()
    settles: str = ""
    """The decision it makes unnecessary, with the option: home=own."""
    steps: Steps = msgspec.field(default_factory=dict)


class QuestionEntry(Document, frozen=True, kw_only=True):
    key: str
    type: QuestionType
    question: str
    context: str
    answers: tuple[AnswerEntry, ...] = ()
    only: Said | None = None
    """Asked only if the instruction says this."""
    unless: frozenset[Said] = frozenset()
    """Any of these answers it."""
    until: int = _ALWAYS
    """Not worth asking if the instruction says this many things."""


class OptionEntry(Document, frozen=True, kw_only=True):
    key: str
    name: str
    description: str
    pros: tuple[str, ...]
    cons: tuple[str, ...]
    base: int = 0
    """How good it is by default."""
    suits: frozenset[Lean] = frozenset()
    breaks: frozenset[Lean] = frozenset()
    hints: tuple[str, ...] = ()
    """Words that refer to it, in both languages."""
    steps: Steps = msgspec.field(default_factory=dict)


class DecisionEntry(Document, frozen=True, kw_only=True):
    key: str
    topic: str
    options: tuple[OptionEntry, ...]
    only: Said | None = None
    unless: frozenset[Said] = frozenset()
    until: int = _ALWAYS
    needless: Lean | None = None
    """After this answer there is nothing to decide."""
    told: dict[Said, Steps] = msgspec.field(default_factory=dict)
    """The instruction itself can settle it in a way that is not an option."""

    def option(self, key: str) -> OptionEntry | None:
        return next((option for option in self.options if option.key == key), None)


class Work(Document, frozen=True, kw_only=True):
    """How a kind of change is made, for the summary."""

    steps: tuple[str, ...]
    check: str
    beyond: str
    """What is out of scope."""


class Chapter(Document, frozen=True, kw_only=True):
    """Everything about one kind of change."""

    work: Work
    questions: tuple[QuestionEntry, ...]
    decisions: tuple[DecisionEntry, ...]
    words: dict[int, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Words that identify this kind, by weight."""
    lends: bool = False
    """Worth a question and a decision even if the main kind is another."""
    new: bool = False
    """It creates something new."""


Words = tuple[str, ...]


class Vocabulary(Document, frozen=True, kw_only=True):
    """The file says what each list is for."""

    silent: Words
    data: Words
    which_data: Words
    in_transit: Words
    sign_in: Words
    stored_names: Words
    migrated: Words
    raising: Words
    taking: Words
    adding: Words
    setting_up: Words
    verbs: frozenset[str]
    polite: Words
    object_ends: Words
    polite_endings: Words
    fault_endings: Words
    vague: frozenset[str]
    denied_before: frozenset[str]
    denied_after: Words
    denied_in_japanese: Words
    said: dict[Said, Words]
    leans: dict[Lean, Words]


class Book(NamedTuple):
    chapters: Mapping[Kind, Chapter]
    feedback: DecisionEntry
    sentences: Mapping[str, str]

    def questions(self) -> Iterator[QuestionEntry]:
        return chain.from_iterable(chapter.questions for chapter in self.chapters.values())

    def decisions(self) -> Iterator[DecisionEntry]:
        return chain.from_iterable(chapter.decisions for chapter in self.chapters.values())

    def steps(self, kind: Kind) -> Iterator[tuple[str, Steps]]:
        """How answers and decisions change the usual steps, by what was settled: feature.home=own."""
        for question in self.chapters[kind].questions:
            yield from ((answer.settles, answer.steps) for answer in question.answers if answer.steps)
        for decision in self.chapters[kind].decisions:
            yield from ((f"{decision.key}={option.key}", option.steps) for option in decision.options)
            yield from ((f"{decision.key}={said}", steps) for said, steps in decision.told.items())


@cache
def book(language: str) -> Book:
    catalogue = gettext.translation(DOMAIN, _LOCALES, [language], fallback=True)
    # For an empty message gettext returns the catalogue's header.
    return _translated(_english(CONTENT), lambda file, text: text and catalogue.pgettext(file, text))


def shown(folder: Path = CONTENT) -> list[tuple[str, str]]:
    """Every sentence for people with its file's name, in file order."""
    found: dict[tuple[str, str], None] = {}

    def keep(file: str, text: str) -> str:
        if text:
            found[file, text] = None
        return text

    _translated(_english(folder), keep)
    return list(found)


def chapters() -> Mapping[Kind, Chapter]:
    """In English; the words that identify a kind are the same for all languages."""
    return _english(CONTENT).chapters


@cache
def vocabulary() -> Vocabulary:
    return _read(CONTENT / "words.toml", Vocabulary)


@cache
def _english(folder: Path) -> Book:
    return Book(
        {kind: _qualified(kind, _read(folder / f"kinds/{kind}.toml", Chapter)) for kind in Kind},
        _read(folder / "feedback.toml", DecisionEntry),
        _read(folder / "sentences.toml", dict[str, str]),
    )


def _read(path: Path, kind: type[T]) -> T:
    return msgspec.toml.decode(path.read_bytes(), type=prepared(kind))


def _qualified(kind: Kind, chapter: Chapter) -> Chapter:
    """Adds the kind to the keys; the files leave it out."""

    def answer(question: str, at: int, entry: AnswerEntry) -> AnswerEntry:
        # An answer with its own steps settles its question, but only for the steps.
        settled = entry.settles or (f"{question}={at}" if entry.steps else "")
        return replace(entry, settles=f"{kind}.{settled}" if settled else "")

    def question(entry: QuestionEntry) -> QuestionEntry:
        answers = tuple(answer(entry.key, at, offered) for at, offered in enumerate(entry.answers))
        return replace(entry, key=f"{kind}.{entry.key}", answers=answers)

    return replace(
        chapter,
        questions=tuple(map(question, chapter.questions)),
        decisions=tuple(replace(entry, key=f"{kind}.{entry.key}") for entry in chapter.decisions),
    )


def _translated(english: Book, say: Callable[[str, str], str]) -> Book:
    return Book(
        {kind: _said(chapter, partial(say, kind)) for kind, chapter in english.chapters.items()},
        _said(english.feedback, partial(say, "feedback")),
        {key: say("sentences", text) for key, text in english.sentences.items()},
    )


def _said(value: T, say: Callable[[str], str]) -> T:
    """A copy with its sentences for people translated by `say`."""
    made: Any = value
    if isinstance(value, str):
        made = say(value)
    elif isinstance(value, tuple):
        made = tuple(_said(each, say) for each in value)
    elif isinstance(value, dict):
        made = {key: _said(each, say) for key, each in value.items()}
    elif isinstance(value, msgspec.Struct):
        shown_fields = [name for name in value.__struct_fields__ if name in _SHOWN]
        made = replace(value, **{name: _said(getattr(value, name), say) for name in shown_fields})
    return made  # type: ignore[no-any-return]
