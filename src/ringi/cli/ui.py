"""Everything people see goes through here: translated, filtered, coloured if the terminal supports it."""

import errno
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, Final, TextIO

import click

from ringi.errors import RingiError
from ringi.kernel.lines import Line, Style, TextSpan, prose
from ringi.kernel.text import Text, escape_json, is_mark, show_value, translate, visible

_LONGEST_LINE: Final = 1000
_ODD: Final = "surrogatepass"
_WIDEST: Final = 100
"""Columns that read comfortably; prose is no wider even on a wider terminal."""
_USUAL_WIDTH: Final = 80
_NARROWEST: Final = 16
_STYLES: Final = {
    "bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36", "magenta": "35",
    "add": "32", "remove": "31", "green word": "32;1;4", "red word": "31;1;4",
}  # fmt: skip


_PLAIN: Final = {
    "→": "->", "·": "-", "…": "...", "✓": "ok", "✗": "x", "▸": ">", "—": "--", "“": '"', "”": '"',
}  # fmt: skip
"""Signs of ours in the letters that every terminal has."""
_OLD_START: Final = re.compile(r"@@ -([0-9]+)")
_ROOM: Final = 8
"""Minimum columns for text, however deep the indent."""
# No line of Japanese begins with one of these.
_CLINGING: Final = frozenset("、。，．・：；？！）」』】〕〉》ーぁぃぅぇぉっゃゅょァィゥェォッャュョ々…")  # noqa: RUF001
# And none ends with one of these.
_OPENING: Final = frozenset("（「『【〔〈《")  # noqa: RUF001
# A blank, one wide character, or a run of narrow ones.
_WIDE: Final = r"\u1100-\u115f\u2e80-\uffef\U0001f000-\U0003ffff"
_PIECE: Final = rf"\s+|[{_WIDE}]|[^\s{_WIDE}]+"


def _raw(text: Text | str) -> str:
    return translate(text) if isinstance(text, Text) else text


class Ui:
    def __init__(self, *, as_json: bool, environment: Mapping[str, str]) -> None:
        self.as_json = as_json
        # With --json, only the document goes to standard output.
        self.out: TextIO = sys.stderr if as_json else sys.stdout
        self._colour = _wants_colour(self.out, environment)

    def line(self, text: Text | str = "", *, style: str = "", indent: int = 0) -> None:
        """A `str` must be our own; put anything untrusted into a Text's details."""
        words = translate(text) if isinstance(text, Text) else text
        try:
            print(" " * indent + self.style_text(words, style), file=self.out)
        except OSError as error:
            # The terminal was closed; saving matters more than reporting.
            if error.errno != errno.EIO:
                raise

    @property
    def columns(self) -> int:
        """For prose: the terminal's width, up to a comfortable maximum."""
        return max(_NARROWEST, min(terminal_columns(self.out) or _USUAL_WIDTH, _WIDEST))

    def show(self, lines: Iterable[Line]) -> None:
        for row in self.rows(lines):
            self.line(row)

    def rows(self, lines: Iterable[Line]) -> Iterator[str]:
        """As they are printed."""
        for line in lines:
            if line.folds:
                yield from self._fold_line(line)
            else:
                words = "".join(
                    self.style_text(show_value(span.text), span.style) for span in self._spans(line)
                )
                yield " " * line.indent + visible(line.mark, keep="") + words

    def prose(self, text: Text | str, style: Style = Style.PLAIN, *, indent: int = 0, mark: str = "") -> None:
        """Wrapped; unlike in `line`, a `str` may be untrusted."""
        self.show([prose(text, style, indent=indent, mark=mark)])

    def _spans(self, line: Line) -> Iterable[TextSpan]:
        """Leaves out Markdown signs if styles are shown."""
        return (span for span in line.spans if span.style is not Style.SIGN or not self._colour)

    def _fold_line(self, line: Line) -> Iterable[str]:
        # A mark may be untrusted too: an imported session chooses its own question ids.
        mark = visible(line.mark, keep="")
        before, hanging = " " * line.indent + mark, line.indent + width(mark)
        pieces = [
            ("".join("\n".join(safe_lines(_raw(span.text))) for span in alike), style)
            for style, alike in groupby(self._spans(line), lambda span: span.style)
        ]
        text, at = "".join(words for words, _ in pieces), 0
        for paragraph in text.split("\n"):
            for row in fold(paragraph, self.columns - hanging):
                at = text.index(row, at)
                yield (before + self._style_slice(pieces, at, at + len(row))).rstrip()
                at += len(row)
                before = " " * hanging

    def _style_slice(self, pieces: Sequence[tuple[str, Style]], begin: int, end: int) -> str:
        """The slice from `begin` to `end` of the joined pieces."""
        row, start = "", 0
        for words, style in pieces:
            part = words[max(begin - start, 0) : max(end - start, 0)]
            row += self.style_text(part, style) if part else ""
            start += len(words)
        return row

    def style_text(self, words: str, style: str) -> str:
        if not (style and self._colour):
            return words
        return f"\x1b[{_STYLES[style]}m{words}\x1b[0m"

    def next_step(self, command: str) -> None:
        self.line(f"→ {visible(command)}", style="bold", indent=2)

    def document(self, document: object) -> None:
        """The answer for programs."""
        from ringi.kernel import codec  # noqa: PLC0415  # not needed to show help

        sys.stdout.write(
            escape_json(codec.pretty(document).decode(), only_ascii=not speaks_unicode(sys.stdout))
        )

    def patch(self, patch: bytes) -> None:
        """The exact bytes if a program reads them; filtered text on a terminal."""
        if sys.stdout.isatty():
            self.diff(patch.decode("utf-8", "backslashreplace"))
        else:
            sys.stdout.flush()
            sys.stdout.buffer.write(patch)

    def table(
        self,
        rows: Sequence[Sequence[str]],
        styles: Sequence[str],
        above: Mapping[int, Text] = {},
        *,
        columns: int | None = None,
    ) -> None:
        """Columns as wide as their widest cell; a style for each row. `above`: lines before rows.

        The last column is cut where a terminal with so many columns ends.
        """
        cells = [[visible(cell) for cell in row] for row in rows]
        widths = [max((width(row[column]) for row in cells), default=0) for column in range(len(rows[0]))]
        for at, (row, style) in enumerate(zip(cells, styles, strict=True)):
            if at in above:
                self.line(above[at])
            padded = [cell + " " * (size - width(cell)) for cell, size in zip(row, widths, strict=True)]
            words = "  ".join(padded).rstrip()
            room = max(columns or 0, sum(widths[:-1]) + 2 * len(row) + _NARROWEST)
            self.line(cut(words, room) if columns else words, style=style)

    def diff(self, diff: str, *, most: int | None = None, yours: Collection[int] = ()) -> None:
        """Line by line: at most `most` lines, each cut to a readable length.

        `yours` are removed lines, by number, that the person wrote meanwhile; they are marked.
        """
        lines = diff.removesuffix("\n").split("\n")
        changed = _find_changed_words(lines[:most]) if self._colour else {}
        marked = _find_marked(lines, yours) if yours else ()
        for number, line in enumerate(lines[:most]):
            style = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "")
            if line.startswith(("+++", "---", "diff ", "new file", "deleted file", "old mode", "new mode")):
                style = "bold"
            cut = len(line) - _LONGEST_LINE
            mark = "! " if number in marked else "  "
            if number in changed and cut <= 0:
                self.line(mark + _with_words(self.style_text, line, changed[number], style))
                continue
            words = visible(line[:_LONGEST_LINE]) + (f" … +{cut}" if cut > 0 else "")
            self.line(mark + self.style_text(words, style))
        if most is not None and len(lines) > most:
            rest = Text(
                "… 1 line more: ringi show --diff",
                "… {count} lines more: ringi show --diff",
                count=len(lines) - most,
            )
            self.line(rest, style="yellow", indent=2)

    def error(self, error: RingiError) -> None:
        words = translate(Text(error.message, **error.details))
        print(self.style_text("✗ ", "red") + words, file=sys.stderr)
        if error.hint:
            print("  " + translate(Text(error.hint, **error.details)), file=sys.stderr)


def speaks_unicode(out: TextIO) -> bool:
    return (out.encoding or "utf-8").lower().replace("-", "") == "utf8"


def in_its_letters(error: UnicodeError) -> tuple[str, int]:
    """What a terminal that cannot show a character gets instead of it."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    unknown = error.object[error.start : error.end]
    plain = "".join(_PLAIN.get(c) or c.encode("ascii", "backslashreplace").decode() for c in unknown)
    return plain, error.end


def terminal_columns(out: TextIO) -> int | None:
    """The terminal's width; None for a file or a pipe, which gets everything."""
    try:
        return os.get_terminal_size(out.fileno()).columns or None
    except (OSError, ValueError):
        return None


def _find_marked(lines: Sequence[str], yours: Collection[int]) -> set[int]:
    """Which lines of a diff remove one of these, and the headers of their hunks."""
    found: set[int] = set()
    at = header = 0
    for number, line in enumerate(lines):
        if start := _OLD_START.match(line):
            at, header = int(start[1]), number
        elif at and line.startswith("-"):
            if at in yours:
                found |= {header, number}
            at += 1
        elif at and line.startswith(" "):
            at += 1
    return found


def _with_words(
    styled: Callable[[str, str], str], line: str, ranges: Sequence[tuple[int, int]], style: str
) -> str:
    """The changed words of a line stand out."""
    found, at = "", 0
    for begin, end in ranges:
        found += styled(visible(line[at:begin]), style) + styled(visible(line[begin:end]), f"{style} word")
        at = end
    return found + styled(visible(line[at:]), style)


def _find_changed_words(lines: Sequence[str]) -> dict[int, list[tuple[int, int]]]:
    """By the number of the line: the characters that differ from the line it replaces."""
    from ringi.patch.changed_words import ChangedWords  # noqa: PLC0415  # not needed to show help

    data = [b"" if line.startswith(("--- ", "+++ ")) else line.encode("utf-8", _ODD) for line in lines]
    words, found = ChangedWords(data), {}
    for number, line in enumerate(data):
        if line[:1] in {b"+", b"-"} and (ranges := words.at(number)):
            # The ranges count bytes after the sign.
            ends = [tuple(len(line[: at + 1].decode("utf-8", _ODD)) for at in pair) for pair in ranges]
            found[number] = [(begin, end) for begin, end in ends]
    return found


def help_lines(rows: Sequence[tuple[str, Text]]) -> Iterable[Line]:
    """Keys or commands and their explanations, in two columns; without a key it is a sentence of its own."""
    widest = max(len(key) for key, _ in rows)
    for key, words in rows:
        yield prose(words, indent=2, mark=f"{key:<{widest}}  " if key else "")


def json_line(document: object) -> None:
    """One of many documents for programs, at once."""
    from ringi.kernel import codec  # noqa: PLC0415  # as above

    text = codec.canonical(document).decode()
    sys.stdout.write(escape_json(text, only_ascii=not speaks_unicode(sys.stdout)) + "\n")
    sys.stdout.flush()


def _wants_colour(out: TextIO, environment: Mapping[str, str]) -> bool:
    return out.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def usage_document(error: click.ClickException) -> dict[str, Any]:
    return {"error": {"code": "usage", "message": error.format_message(), "exit_code": error.exit_code}}


def error_document(error: RingiError) -> dict[str, Any]:
    """The code is for programs; what they show to people is in the language of the people."""
    return {
        "error": {
            "code": error.code,
            "message": translate(Text(error.message, **error.details)),
            "hint": translate(Text(error.hint, **error.details)) if error.hint else "",
            "exit_code": error.exit_code,
        }
    }


# Text measured in columns and folded: words stay whole, Japanese breaks anywhere it may.


def width(words: str) -> int:
    """Columns on a terminal: Japanese characters take two, nonspacing and enclosing marks none."""
    if words.isascii():
        return len(words)
    return sum(0 if is_mark(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in words)


def cut(text: str, room: int) -> str:
    """Filtered, and cut to at most `room` columns; a mark shows the cut."""
    if room <= 0:
        return ""
    shown = visible(text, keep="")
    if width(shown) <= room:
        return shown
    end, left = 0, room - 1
    while (left := left - width(shown[end])) >= 0:
        end += 1
    return f"{shown[:end].rstrip()}…"


def safe_lines(text: str) -> list[str]:
    """The lines of an untrusted text, safe to print."""
    return [visible(line.expandtabs(4), keep="") for line in text.replace("\r\n", "\n").split("\n")]


def fold(line: str, room: int) -> list[str]:
    """Wraps a line to at most `room` columns; returns at least one line."""
    return list(_fold(line, max(room, _ROOM))) or [""]


def _fold(line: str, room: int) -> Iterator[str]:
    row = ""
    for piece in _pieces(line, room):
        if width(row) + width(piece.rstrip()) <= room:
            row += piece
        else:
            yield row.rstrip()
            row = piece.lstrip()
    if row.rstrip():
        yield row.rstrip()


def _pieces(line: str, room: int) -> Iterator[str]:
    """Units that must not be split: a word, or a wide character with its punctuation; at most `room` wide."""
    waiting = ""
    for piece in re.findall(_PIECE, line):
        if waiting and piece[0] not in _CLINGING and waiting[-1] not in _OPENING:
            yield waiting
            waiting = ""
        joined = waiting + piece
        if width(joined) > room:
            if waiting:
                yield waiting
            *whole, waiting = _cut(piece, room)
            yield from whole
        else:
            waiting = joined
    if waiting:
        yield waiting


def _cut(word: str, room: int) -> list[str]:
    rows, row = [], ""
    for character in word:
        if width(row) + width(character) > room:
            rows.append(row)
            row = ""
        row += character
    return [*rows, row]
