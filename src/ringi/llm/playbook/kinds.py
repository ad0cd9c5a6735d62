"""What the playbook knows of, without any words: kinds of work, things said, what speaks for an option."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

from ringi.domain.session import QuestionType


class Trait(StrEnum):
    """A kind of work. Where two fit equally well, the earlier one is meant."""

    MIGRATION = "migration"
    PERFORMANCE = "performance"
    DOCS = "docs"
    TESTS = "tests"
    RELEASE = "release"
    DEPENDENCY = "dependency"
    BUILD = "build"
    ENCRYPTION = "encryption"
    SECURITY = "security"
    PURGE = "purge"
    """Of data; removal is of code."""
    REMOVAL = "removal"
    RENAME = "rename"
    REFACTOR = "refactor"
    BUG = "bug"
    UI = "ui"
    FEATURE = "feature"
    GENERAL = "general"


class Said(StrEnum):
    """What an instruction can already say, so that nobody is asked for it."""

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
    """Data that only gets something more."""
    KEPT = "kept"
    """What must not change."""
    TARGET = "target"
    """A figure to be reached; any other is today's."""
    EXTENSION = "extension"
    """Of something that is there."""
    FRESH = "fresh"
    """Nothing of the kind is there yet."""
    CHECKS = "checks"
    OUTPUT = "output"
    """The form of an output; nothing is stored."""


class Lean(StrEnum):
    """What somebody said that speaks for one option and against another."""

    SOON = "soon"
    SOUND = "sound"
    SPEED = "speed"
    CAREFUL = "careful"
    NO_DEPENDENCY = "no_dependency"
    KEEP = "keep"
    """What others use stays as it is."""
    FREE = "free"
    """All who use it are at hand."""
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
    """Of what it is stored on."""


class Reply(NamedTuple):
    """What an offered answer means."""

    leans: frozenset[Lean] = frozenset()
    settles: str = ""
    """A topic that needs no decision after it, with the option: feature.home=own. Or the question itself, for
    the steps that follow from the answer: bug.extent=case."""


class Ask(NamedTuple):
    key: str
    type: QuestionType
    unless: frozenset[Said]
    """Any of these answers it."""
    until: int
    """Not worth a question where this many things are said."""
    replies: tuple[Reply, ...]
    """One for each option that is offered."""
    only: Said | None = None
    """Without it, there is nothing to ask."""


class Choice(NamedTuple):
    key: str
    base: int
    """How good it is where nothing else is known."""
    suits: frozenset[Lean]
    breaks: frozenset[Lean]
    hints: tuple[str, ...]
    """Words that speak of it, in both languages, written as in the vocabulary."""


class Topic(NamedTuple):
    key: str
    unless: frozenset[Said]
    until: int
    choices: tuple[Choice, ...]
    only: Said | None = None


class QuestionWords(NamedTuple):
    question: str
    context: str
    options: tuple[str, ...] = ()


class OptionWords(NamedTuple):
    name: str
    description: str
    pros: tuple[str, ...]
    cons: tuple[str, ...]


class TopicWords(NamedTuple):
    topic: str
    options: tuple[OptionWords, ...]


class Work(NamedTuple):
    """How a kind of work goes on, for the summary."""

    steps: tuple[str, ...]
    check: str
    beyond: str
    """What is left alone."""


class Words(NamedTuple):
    """All that the playbook says in one language."""

    questions: Mapping[str, QuestionWords]
    topics: Mapping[str, TopicWords]
    work: Mapping[Trait, Work]
    ways: Mapping[str, Mapping[int, str]]
    """Steps that a decision puts in place of the usual ones, by their place from 0; an empty one drops it."""
    sentences: Mapping[str, str]
