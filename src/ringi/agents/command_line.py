"""An agent's command line: which words are its options, and how it continues a conversation with them."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final, NamedTuple

MESSAGE: Final = "\0message"
"""Placeholder for the message to the agent; people never type it. It may be part of a word."""
OPTIONS: Final = "\0options"
"""Placeholder for the options that the agent was started with."""
OUTER: Final = "\0outer"
"""Placeholder for those that only its screen knows; without it they are dropped."""
WORDS: Final = "\0words"
"""Placeholder for the words without an option: the message, as one word or as it was typed."""
CONVERSATION: Final = "\0conversation"
"""Placeholder for what names the conversation, or, if it begins, belongs to its first message only."""


class CommandLine(NamedTuple):
    """An option that is not named here takes the next word, unless that is an option too."""

    flags: frozenset[str] = frozenset()
    """Options without a value."""
    several: frozenset[str] = frozenset()
    """Options that take all words up to the next option."""
    spent: frozenset[str] = frozenset()
    """Options that belong to one message or one conversation, so that the next start does without them."""
    outer: frozenset[str] = frozenset()
    """Options that only its screen knows."""
    message: frozenset[str] = frozenset()
    """Options whose value is a message, or the file with it."""
    modes: frozenset[str] = frozenset()
    """Words that name a mode of the agent instead of a message."""
    once: frozenset[str] = frozenset()
    """Options and modes with which it answers and ends, without a screen."""
    own: frozenset[str] = frozenset()
    """Options and commands that need no message: they print something and end, or manage the agent."""
    files: str | None = None
    """None if words without an option are a message. Otherwise they are files, unless there is a mode;
    a mode needs this before each name."""


class ParsedCommand(NamedTuple):
    options: tuple[str, ...]
    """With the files; without those that are `spent` or `outer`, and without the message."""
    spent: tuple[str, ...]
    """With a mode that does not answer and end."""
    outer: tuple[str, ...]
    words: tuple[str, ...]
    """Without an option."""
    message: str
    once: bool
    own: bool


class _Item(NamedTuple):
    name: str
    """Of an option; otherwise empty."""
    words: tuple[str, ...]
    """An option with its values; one other word; or -- and all that follows it."""

    @property
    def value(self) -> str:
        return " ".join(self.words[1:]) or self.words[0].removeprefix(self.name).removeprefix("=")


def parse(line: CommandLine, words: Sequence[str]) -> ParsedCommand:
    items = [*_items(line, words)]
    plain = [word for item in items if not item.name for word in item.words]
    modes = [*takewhile(lambda word: word in line.modes | line.own, plain)]
    plain = plain[len(modes) :]
    if "--" in plain:
        plain.remove("--")
    names = {*modes, *(item.name for item in items)}
    files: list[str] = []
    if line.files is not None and not names & line.modes:
        files, plain = [line.files + word for word in plain], []
    # A single - is standard input, which the agent does not get.
    said = [item.value for item in items if item.name in line.message] + [
        word for word in plain if word != "-"
    ]
    elsewhere = line.outer | line.spent | line.message | {""}
    return ParsedCommand(
        options=(*_words(item for item in items if item.name not in elsewhere), *files),
        spent=(*(word for word in modes if word not in line.once), *_pick_options(items, line.spent)),
        outer=_pick_options(items, line.outer),
        words=tuple(plain),
        message=" ".join(said).strip(),
        once=bool(names & line.once),
        own=bool(names & line.own),
    )


def _pick_options(items: Iterable[_Item], names: frozenset[str]) -> tuple[str, ...]:
    return _words(item for item in items if item.name in names)


def _words(items: Iterable[_Item]) -> tuple[str, ...]:
    return tuple(word for item in items for word in item.words)


def _items(line: CommandLine, words: Sequence[str]) -> Iterator[_Item]:
    rest = tuple(words)
    while rest:
        word = rest[0]
        if word == "--":
            item = _Item("", rest)
        elif word.startswith("-") and word != "-":
            name = word.partition("=")[0] if word.startswith("--") else word[:2]
            item = _Item(name, (word, *_values(line, word, rest[1:])))
        else:
            item = _Item("", (word,))
        yield item
        rest = rest[len(item.words) :]


def _values(line: CommandLine, option: str, rest: Sequence[str]) -> Sequence[str]:
    joined = "=" in option or (not option.startswith("--") and len(option) > 2)  # noqa: PLR2004  # -mNAME
    if joined or option in line.flags:
        return ()
    end = next((number for number, word in enumerate(rest) if word.startswith("-")), len(rest))
    return rest[: end if option in line.several else min(end, 1)]


class Resume(NamedTuple):
    """How an agent is started with a message, as words with placeholders."""

    line: CommandLine
    screen: tuple[str, ...]
    """To continue a conversation if a person can type."""
    once: tuple[str, ...]
    """To continue or begin one without a screen: it answers and ends."""
    last: tuple[str, ...] = ()
    """Names the last conversation in the folder."""
    named: tuple[str, ...] = ()
    """Comes before the name of a conversation."""


def resume_command(
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
    parts = {OPTIONS: (*parsed.options, *more), OUTER: parsed.outer, CONVERSATION: named, WORDS: (message,)}
    template = resume.once if parsed.once or not terminal else resume.screen
    return (argv[0], *_fill_template(template, message, parts))


def batch_command(resume: Resume, argv: Sequence[str]) -> tuple[str, ...] | None:
    """The same start, but so that the agent answers and ends. None if it has nothing to do."""
    parsed = parse(resume.line, argv[1:])
    if parsed.own or (parsed.once and parsed.message):
        return tuple(argv)
    if not parsed.message:
        return None
    named, words = parsed.spent, parsed.words
    parts = {OPTIONS: parsed.options, OUTER: parsed.outer, CONVERSATION: named, WORDS: words}
    return (argv[0], *_fill_template(resume.once, parsed.message, parts))


def ask_command(
    resume: Resume,
    argv: Sequence[str],
    message: str,
    options: Sequence[str] = (),
    unless: Container[str] = (),
) -> tuple[str, ...]:
    """The same start, without a terminal, with this message after the one that it may have.

    It gets more options unless one of some others is there.
    """
    chosen = any(item.name in unless for item in _items(resume.line, argv[1:]))
    parsed = parse(resume.line, argv[1:] if chosen else (*options, *argv[1:]))
    message = "\n\n".join(filter(None, [parsed.message, message]))
    # A conversation that is named goes on; what makes it answer and end is in the template.
    named = tuple(word for word in parsed.spent if word not in resume.line.once)
    parts = {OPTIONS: parsed.options, OUTER: parsed.outer, CONVERSATION: named, WORDS: (message,)}
    return (argv[0], *_fill_template(resume.once, message, parts))


def with_message(resume: Resume, program: str, message: str) -> tuple[str, ...]:
    """As people write it."""
    words = _fill_template(resume.once, message, {WORDS: (message,)})
    return (program, *(word for word in words if word != "--"))


def _fill_template(
    template: Sequence[str], message: str, parts: Mapping[str, Sequence[str]]
) -> Iterator[str]:
    for word in template:
        if word in {OPTIONS, OUTER, WORDS, CONVERSATION}:
            yield from parts.get(word, ())
        else:
            yield word.replace(MESSAGE, message)


class OwnSandbox(NamedTuple):
    """How to switch an agent's own sandbox off. In ours it cannot make one if it runs as root."""

    option: frozenset[str]
    """The options that choose it."""
    kept: frozenset[str]
    """Choices that stay, because the person wants less than ours allows."""
    off: tuple[str, ...]


def without_sandbox(own: OwnSandbox, line: CommandLine, argv: Sequence[str]) -> tuple[str, ...]:
    items = [*_items(line, argv[1:])]
    if any(item.name in own.option and item.value in own.kept for item in items):
        return tuple(argv)
    return (argv[0], *own.off, *_words(item for item in items if item.name not in own.option))
