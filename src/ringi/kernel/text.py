"""Text for people: translatable templates, and the filter for text from outside."""

import gettext
import re
import unicodedata
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, AnyStr, Final, Generic, cast

_LOCALES: Final = Path(__file__).parents[1] / "locale"
COMMIT_SHOWN: Final = 12
GRANT_SHOWN: Final = 8
"""Characters of an id that people read."""


ENGLISH: Final = gettext.NullTranslations()


class Text:
    """A sentence that is translated only when it is shown; `str()` gives it in English.

    One that counts something has a second template, and the number as its detail `count`:
    `Text("{count} file", "{count} files", count=3)`.
    """

    __slots__ = ("details", "plural", "template")

    def __init__(self, template: str, plural: str = "", /, **details: object) -> None:
        self.template = template
        self.plural = plural
        self.details = details

    def __str__(self) -> str:
        return self.form(ENGLISH).format_map(self.details)

    def form(self, catalogue: "gettext.NullTranslations") -> str:
        """The template that fits the number, in the catalogue's language."""
        if not self.plural:
            return catalogue.gettext(self.template)
        return catalogue.ngettext(self.template, self.plural, self.number)

    @property
    def number(self) -> int:
        """How many it counts; of what is no number, several."""
        try:
            return int(str(self.details["count"]).replace(",", ""))
        except ValueError:
            return 2

    def having(self, **details: object) -> "Text":
        """The same sentence with these details."""
        return Text(self.template, self.plural, **details)

    def __repr__(self) -> str:
        return f"Text({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Text) and (self.template, self.plural, self.details) == (
            other.template,
            other.plural,
            other.details,
        )

    def __hash__(self) -> int:
        return hash(self.template)


class _LazyPattern(Generic[AnyStr]):
    def __init__(self, pattern: AnyStr, flags: int) -> None:
        self._source: tuple[AnyStr, int] = pattern, flags

    def __getattr__(self, name: str) -> Any:
        """Only for what it does not have yet: once it is compiled, a method is found like any other."""
        found = getattr(re.compile(*self._source), name)
        setattr(self, name, found)
        return found


def lazy_pattern(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Compiled when it is first used: most commands need few of hundreds, and wait for none of the others."""
    return cast("re.Pattern[AnyStr]", _LazyPattern(pattern, flags))


def translate(text: Text) -> str:
    """In the reader's language, with every detail filtered; a detail may be a Text itself."""
    details = {name: show_value(value) for name, value in text.details.items()}
    if text.plural:
        form = gettext.ngettext(text.template, text.plural, text.number)
    else:
        form = gettext.gettext(text.template)
    return form.format_map(details)


def show_value(value: object) -> str:
    return translate(value) if isinstance(value, Text) else visible(str(value))


def in_language(language: str) -> Callable[[Text], str]:
    """For documents whose language does not depend on the reader; details are not filtered."""
    catalogue = _catalogue(language)

    def say(text: Text) -> str:
        details = {
            name: say(value) if isinstance(value, Text) else value for name, value in text.details.items()
        }
        return text.form(catalogue).format_map(details)

    return say


@cache
def _catalogue(language: str) -> gettext.NullTranslations:
    return gettext.translation("ringi", _LOCALES, [language], fallback=True)


# Invisible, or able to change how the text around them looks, without being control characters:
# Hangul and Khmer fillers, braille blank, variation selectors, the tag block.
_DECEIVING: Final = frozenset(
    [
        *(0x00AD, 0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFFA0),
        *range(0x180B, 0x1810),
        *range(0xFE00, 0xFE10),
        *range(0xE0000, 0xE0200),
    ]
)
_LONGEST_SHOWN: Final = 300
_MOST_MARKS: Final = 4
"""Over one letter: no language needs more, and a long run draws over other lines."""
_FIRST_ESCAPED_BYTE: Final = 0xDC80
_LAST_ESCAPED_BYTE: Final = 0xDCFF
_LAST_OF_ONE_BYTE: Final = 0xFF
_LAST_OF_TWO_BYTES: Final = 0xFFFF
# Cc control, Cf format (bidirectional marks, zero width), Cs surrogate (bytes that were not UTF-8),
# Zl and Zp line and paragraph separators, Co private use, Cn not assigned.
_SHOWN_AS_CODE: Final = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn"])
_NOT_PLAIN: Final = lazy_pattern(r"[^\n\x20-\x7e]")
_TERMINAL_CODES: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\^_])")


def without_codes(text: str) -> str:
    """Without what a terminal obeys, such as colours; it is for what another program printed."""
    return _TERMINAL_CODES.sub("", text)


def visible(text: str, *, keep: str = "\t") -> str:
    """The text with every character that could fool a terminal or a reader replaced by its code.

    `keep` lists the control characters that may stay; to print whole lines, add a newline.
    """
    if text.isascii() and text.isprintable():
        return text
    shown, marks = [], _MOST_MARKS  # a mark without a letter would change what is printed before it
    for c in text:
        fine = c in keep or not deceiving(c)
        marks = marks + 1 if is_mark(c) else 0 if fine and c not in keep else _MOST_MARKS
        shown.append(c if fine and marks <= _MOST_MARKS else _code(c))
    return "".join(shown)


def shorten_path(path: str) -> str:
    """Beginning and end of a path that is longer than anybody reads."""
    half = _LONGEST_SHOWN // 2
    return path if len(path) <= _LONGEST_SHOWN else f"{path[:half]}…{path[-half:]}"


def storable(name: str) -> str:
    """A file's name as a document can hold it, which has no place for bytes that are not UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def is_mark(character: str) -> bool:
    """Whether a terminal draws it over the character before it."""
    return not character.isascii() and unicodedata.category(character) in {"Mn", "Me"}


def escape_json(document: str, *, only_ascii: bool = False) -> str:
    """A JSON document that says the same, without characters that could fool a terminal or a reader."""
    if document.isascii() and "\x7f" not in document:
        return document

    def escape(found: re.Match[str]) -> str:
        return _json_code(found[0]) if only_ascii or deceiving(found[0]) else found[0]

    return _NOT_PLAIN.sub(escape, document)


def _json_code(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at] << 8 | units[at + 1]:04x}" for at in range(0, len(units), 2))


def deceiving(character: str) -> bool:
    return unicodedata.category(character) in _SHOWN_AS_CODE or ord(character) in _DECEIVING


def _code(character: str) -> str:
    number = ord(character)
    if _FIRST_ESCAPED_BYTE <= number <= _LAST_ESCAPED_BYTE:  # a byte that `os.fsdecode` could not decode
        return f"\\x{number - 0xDC00:02x}"
    if number <= _LAST_OF_ONE_BYTE:
        return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character, f"\\x{number:02x}")
    return f"\\u{number:04x}" if number <= _LAST_OF_TWO_BYTES else f"\\U{number:08x}"


def restore_text(words: str) -> Text:
    """English text from a document: if it is one of our sentences, it is shown translated."""
    # Templates are shown unfiltered, so text that needs the filter is not ours.
    ours = not {"{", "}"} & set(words) and visible(words) == words
    return Text("{words}", words=Text(words) if ours else words)


def why_failed(error: OSError) -> str:
    return error.strerror or str(error)


def moment(at: str) -> str:
    return at[:16].replace("T", " ")


def writable(words: str) -> str:
    """Replaces lone surrogates, which text from outside may contain and no file can."""
    return words.encode("utf-8", "backslashreplace").decode()
