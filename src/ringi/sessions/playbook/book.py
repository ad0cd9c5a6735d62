"""What the playbook knows, from the files in `content`.

`content/kinds` has one file for each kind of change: the words that tell it, its questions, decisions,
steps and acceptance criteria, in English. The Japanese is in `locale/ja/LC_MESSAGES/playbook.po`, with the
file name as the context of each sentence. `content/words.toml` has the words that the engine looks for.
"""

import gettext
from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cache, partial
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
from msgspec.structs import replace

from ringi.kernel.document import Document, prepare
from ringi.models.prompt import QuestionType

CONTENT: Final = Path(__file__).parent / "content"
DOMAIN: Final = "playbook"
_LOCALES: Final = Path(__file__).parents[2] / "locale"
_SHOWN: Final = frozenset(
    [
        *("meant", "place", "steps", "step", "criteria", "given", "when", "then"),
        *("questions", "question", "context", "answers", "text"),
        *("decisions", "topic", "options", "name", "description", "pros", "cons"),
    ]
)
"""The fields that people see, and those with such fields inside."""

T = TypeVar("T")
Words = tuple[str, ...]


class Kind(StrEnum):
    """A kind of change. If two fit equally well, the earlier one is meant."""

    RENAME = "rename"
    RELEASE = "release"
    DEPENDENCY = "dependency"
    BUILD = "build"
    DATA = "data"
    DOCS = "docs"
    TESTS = "tests"
    PERFORMANCE = "performance"
    REMOVAL = "removal"
    BUG = "bug"
    REFACTOR = "refactor"
    FEATURE = "feature"
    GENERAL = "general"


class Said(StrEnum):
    """What a request or an answer may say, so that it need not be asked."""

    CASE = "case"
    """How to see it: steps, code, an error."""
    EXPECTED = "expected"
    FIGURE = "figure"
    """How fast or small it has to be."""
    VERSION = "version"
    REASON = "reason"
    REPLACEMENT = "replacement"
    NEW_NAME = "new_name"
    PLACE = "place"
    NEW = "new"
    """A part that does not exist yet, and belongs to none that does."""
    CHECKS = "checks"
    """Something that runs by itself and can fail."""
    WORDING = "wording"
    """What a text is to say."""
    EVENT = "event"
    ACCOUNTS = "accounts"
    """It is about people who sign in."""
    PROVIDER = "provider"
    """It names the service that knows them."""
    OUTSIDERS = "outsiders"
    """People outside the project use it."""
    COMPATIBLE = "compatible"
    UNUSED = "unused"
    RUNNING = "running"
    """The data is in use meanwhile."""
    STOPPED = "stopped"
    DELETES = "deletes"


class ChangePlace(StrEnum):
    """What a step changes."""

    START = "start"
    TEST = "test"
    DOCS = "docs"
    CHANGELOG = "changelog"
    MANIFEST = "manifest"


class Answer(Document, frozen=True, kw_only=True):
    """One that a question offers."""

    text: str
    says: frozenset[Said] = frozenset()


class QuestionEntry(Document, frozen=True, kw_only=True):
    type: QuestionType
    question: str
    context: str
    answers: tuple[Answer, ...] = ()
    only: Said | None = None
    """Asked only if the request says this."""
    unless: frozenset[Said] = frozenset()
    """Any of these answers it."""
    criterion: bool = False
    """Its answer is what the result is checked against."""


class OptionEntry(Document, frozen=True, kw_only=True):
    key: str
    name: str
    description: str
    pros: Words
    cons: Words
    suits: frozenset[Said] = frozenset()
    hints: Words = ()
    """Words that refer to it, in both languages."""


class DecisionEntry(Document, frozen=True, kw_only=True):
    topic: str
    options: tuple[OptionEntry, ...]
    """The first does exactly what was asked; it is recommended unless something speaks for another."""
    only: Said | None = None
    unless: frozenset[Said] = frozenset()


class PlaybookStep(Document, frozen=True, kw_only=True):
    """Left out if it names something that the project does not have."""

    step: str
    changes: ChangePlace | None = None
    """None: it only looks, or runs something."""
    option: str = ""
    """Only if this option was chosen; with ! in front, only if it was not."""


class CriterionEntry(Document, frozen=True, kw_only=True):
    given: str
    when: str
    then: str
    option: str = ""


class Signs(Document, frozen=True, kw_only=True):
    """Words that tell a kind."""

    tags: Words = ()
    """Before a title: bug in [Bug]: …"""
    verbs: dict[int, Words] = msgspec.field(default_factory=dict)
    """The first word of a title, by weight."""
    nouns: Words = ()
    """What is written, in “Add … to the README”. They count more than the verb."""
    title: dict[int, Words] = msgspec.field(default_factory=dict)
    """Anywhere in a title, by weight."""
    body: Words = ()
    """In the text after the title, which is about other things as well."""


class Chapter(Document, frozen=True, kw_only=True):
    """Everything about one kind of change."""

    meant: str
    """How the request was understood."""
    place: str = ""
    """What is to be changed, if no file was found."""
    signs: Signs = Signs()
    steps: tuple[PlaybookStep, ...]
    criteria: tuple[CriterionEntry, ...]
    questions: tuple[QuestionEntry, ...]
    decisions: tuple[DecisionEntry, ...] = ()


class Vocabulary(Document, frozen=True, kw_only=True):
    """The file says what each list is for."""

    polite: Words
    silent: Words
    authoring: frozenset[str]
    clause: Words
    behind_nouns: frozenset[str]
    predicates: frozenset[str]
    also_nouns: frozenset[str]
    negations: Words
    failures: Words
    outcomes: Words
    extending: Words
    objects: dict[str, Kind]
    kept: Words
    no_goals: Words
    expected: Words
    unsure: Words
    vague: Words
    denied_before: frozenset[str]
    denied_after: Words
    denied_in_japanese: Words
    said: dict[Said, Words]


class Book(NamedTuple):
    chapters: Mapping[Kind, Chapter]
    sentences: Mapping[str, str]


@cache
def book(language: str) -> Book:
    catalogue = gettext.translation(DOMAIN, _LOCALES, [language], fallback=True)
    return _translate_book(_english(CONTENT), catalogue.pgettext)


def list_sentences(folder: Path = CONTENT) -> list[tuple[str, str]]:
    """Every sentence for people with its file's name, in file order."""
    found: dict[tuple[str, str], None] = {}

    def keep(file: str, text: str) -> str:
        found[file, text] = None
        return text

    _translate_book(_english(folder), keep)
    return list(found)


def chapters() -> Mapping[Kind, Chapter]:
    """In English; the words that tell a kind are the same for all languages."""
    return _english(CONTENT).chapters


@cache
def vocabulary() -> Vocabulary:
    return _read(CONTENT / "words.toml", Vocabulary)


@cache
def _english(folder: Path) -> Book:
    return Book(
        {kind: _read(folder / f"kinds/{kind}.toml", Chapter) for kind in Kind},
        _read(folder / "sentences.toml", dict[str, str]),
    )


def _read(path: Path, kind: type[T]) -> T:
    return msgspec.toml.decode(path.read_bytes(), type=prepare(kind))


def _translate_book(english: Book, say: Callable[[str, str], str]) -> Book:
    return Book(
        {kind: _translate_value(chapter, partial(say, kind)) for kind, chapter in english.chapters.items()},
        {key: say("sentences", text) for key, text in english.sentences.items()},
    )


def _translate_value(value: T, say: Callable[[str], str]) -> T:
    """A copy with its sentences for people translated by `say`."""
    made: Any = value
    if isinstance(value, str):
        # For an empty message gettext returns the catalogue's header.
        made = value and say(value)
    elif isinstance(value, tuple):
        made = tuple(_translate_value(each, say) for each in value)
    elif isinstance(value, msgspec.Struct):
        shown_fields = [name for name in value.__struct_fields__ if name in _SHOWN]
        made = replace(value, **{name: _translate_value(getattr(value, name), say) for name in shown_fields})
    return made  # type: ignore[no-any-return]
