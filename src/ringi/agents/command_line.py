"""An agent's command line: which words are its options, and how it continues a conversation with them."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

MESSAGE: Final = "\0message"
"""Placeholder for the message to the agent; people never type it."""
OPTIONS: Final = "\0options"
"""Placeholder for the options that the agent was started with."""
CONVERSATION: Final = "\0conversation"
"""Placeholder for the words that name the conversation."""


class CommandLine(NamedTuple):
    """An option that is not named here takes the next word, unless that is an option too."""

    flags: frozenset[str] = frozenset()
    """Options without a value."""
    several: frozenset[str] = frozenset()
    """Options that take all words up to the next option."""
    spent: frozenset[str] = frozenset()
    """Options that belong to one message or one conversation, so that the next start does without them."""
    commands: frozenset[str] = frozenset()
    """Words that name a mode of the agent instead of a message."""
    once: frozenset[str] = frozenset()
    """Options and commands with which it answers and ends, without a screen."""
    files: bool = False
    """Words without an option are files to work on, not a message."""


class Parsed(NamedTuple):
    options: tuple[str, ...]
    """Without those that are spent; with the files."""
    once: bool
    message: bool
    """There is a word that can only be a message: a single one may name one of the agent's own commands."""


def parse(line: CommandLine, words: Sequence[str]) -> Parsed:
    kept: list[str] = []
    others: list[str] = []
    once = False
    rest = [*words]
    while rest:
        word = rest.pop(0)
        if word == "--":
            others += rest
            break
        if word.startswith("-") and len(word) > 1:
            values = _values(line, word, rest)
            name = word.partition("=")[0]
            del rest[: len(values)]
            once = once or name in line.once
            if name not in line.spent:
                kept += [word, *values]
        elif word in line.commands and not others:
            once = once or word in line.once
        else:
            others.append(word)
    message = not line.files and any(" " in word for word in others)
    return Parsed((*kept, *others) if line.files else tuple(kept), once, message)


def _values(line: CommandLine, option: str, rest: Sequence[str]) -> Sequence[str]:
    joined = "=" in option or (not option.startswith("--") and len(option) > 2)  # noqa: PLR2004  # -mNAME
    if joined or option in line.flags:
        return ()
    end = next((number for number, word in enumerate(rest) if word.startswith("-")), len(rest))
    return rest[: end if option in line.several else min(end, 1)]


class Resume(NamedTuple):
    """How an agent continues a conversation in a folder, with a message."""

    line: CommandLine
    screen: tuple[str, ...]
    """Its words, with placeholders, if a person can type."""
    once: tuple[str, ...]
    """If it shall answer and end."""
    last: tuple[str, ...] = ()
    """Names the last conversation in the folder."""
    named: tuple[str, ...] = ()
    """Comes before the name of a conversation."""
    alone: tuple[str, ...] = ()
    """Comes before all other words so that it answers a first message and ends; empty if nothing does."""


def resumed(
    resume: Resume,
    argv: Sequence[str],
    message: str,
    more: Sequence[str] = (),
    *,
    conversation: str = "",
    terminal: bool = True,
) -> tuple[str, ...]:
    """Without a terminal, an agent with a screen would wait for keys that nobody types."""
    parsed = parse(resume.line, argv[1:])
    named = (*resume.named, conversation) if conversation else resume.last
    filled: Mapping[str, tuple[str, ...]] = {
        MESSAGE: (message,),
        OPTIONS: (*parsed.options, *more),
        CONVERSATION: named,
    }
    words = resume.once if parsed.once or not terminal else resume.screen
    return (argv[0], *(part for word in words for part in filled.get(word, (word,))))


def without_screen(resume: Resume, argv: Sequence[str]) -> tuple[str, ...]:
    """The same first message, but so that the agent ends by itself: nobody can type."""
    parsed = parse(resume.line, argv[1:])
    return tuple(argv) if parsed.once or not parsed.message else (argv[0], *resume.alone, *argv[1:])


class OwnSandbox(NamedTuple):
    """How to switch an agent's own sandbox off. In ours it cannot make one if it runs as root."""

    option: frozenset[str]
    """The options that choose it."""
    kept: frozenset[str]
    """Choices that stay, because the person wants less than ours allows."""
    off: tuple[str, ...]


def without_sandbox(own: OwnSandbox, line: CommandLine, argv: Sequence[str]) -> tuple[str, ...]:
    kept: list[str] = []
    rest = [*argv[1:]]
    while rest:
        word = rest.pop(0)
        if word == "--":
            return (argv[0], *own.off, *kept, word, *rest)
        values = _values(line, word, rest) if word.startswith("-") else ()
        del rest[: len(values)]
        name, _, value = word.partition("=")
        if name not in own.option:
            kept += [word, *values]
        elif (value or "".join(values)) in own.kept:
            return tuple(argv)
    return (argv[0], *own.off, *kept)
