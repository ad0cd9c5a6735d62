"""From terminal input to key names. Unknown sequences are swallowed, never taken for letters."""

import re
from collections.abc import Iterator
from typing import Final

_ESC: Final = 0x1B
_PASTE_BEGINS: Final = b"\x1b[200~"
_PASTE_ENDS: Final = b"\x1b[201~"
_MOST_PASTED: Final = 1_000_000

_INTRODUCER: Final = 2
# Seconds of silence after which an incomplete key, and an incomplete report or paste, is over.
_SHORT: Final = 0.1
_LONG: Final = 2.0

# Parameters, intermediates, a final byte. Linux' console sends ESC [ [ A for F1.
_CONTROL: Final = re.compile(rb"\x1b\[(?:(\[[A-E])|([0-?]*)[ -/]*([@-~]))")
_CONTROL_BEGUN: Final = re.compile(rb"\x1b\[(?:\[|[0-?]*[ -/]*)\Z")
_SHIFTED: Final = re.compile(rb"\x1bO[0-9;]*([@-~])")
_SHIFTED_BEGUN: Final = re.compile(rb"\x1bO[0-9;]*\Z")
# Replies from the terminal itself, such as DCS and OSC, up to their terminator.
# Anything else after the second byte is a key with Alt held.
_REPORT_BEGUN: Final = re.compile(rb"\x1b(?:P(?:[0-?!$+]|\Z)|\](?:\d|\Z)|_(?:G|\Z))")
_REPORT_END: Final = re.compile(rb"\x1b\\|\x07")
_MOUSE: Final = b"\x1b[M"
_MOUSE_LENGTH: Final = 6

_BY_LETTER: Final = {
    b"A": "up", b"B": "down", b"C": "right", b"D": "left", b"H": "home", b"F": "end", b"Z": "backtab",
    b"P": "f1", b"Q": "f2", b"S": "f4", b"M": "enter",
}  # fmt: skip
_BY_NUMBER: Final = {
    1: "home", 2: "insert", 3: "delete", 4: "end", 5: "pgup", 6: "pgdn", 7: "home", 8: "end",
    11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10",
    23: "f11", 24: "f12",
}  # fmt: skip
_CONTROLS: Final = {
    **{number: f"ctrl-{chr(number + 0x60)}" for number in range(1, 27)},
    0x08: "backspace", 0x09: "tab", 0x0A: "enter", 0x0D: "enter", 0x7F: "backspace",
}  # fmt: skip
_FIRST_PRINTABLE: Final = 0x20
_FIRST_OF_MANY_BYTES: Final = 0x80
_LAST_CONTROL: Final = "\x9f"


class KeyReader:
    def __init__(self) -> None:
        self._kept = bytearray()
        self._pasting = False
        self._pasted = bytearray()
        self._unwanted = False

    def feed(self, data: bytes) -> Iterator[str]:
        """The keys that are complete now, however the bytes were split between reads."""
        self._kept += data
        keys: list[str] = []
        while self._kept:
            used, key = self._paste() if self._pasting else self._next()
            if not used:
                break
            del self._kept[:used]
            if key:
                keys.append(key)
        return iter(keys)

    @property
    def patience(self) -> float | None:
        """Seconds without another byte until `flush` is due; None if nothing is pending."""
        if self._pasting or (len(self._kept) > _INTRODUCER and _REPORT_BEGUN.match(self._kept)):
            return _LONG
        return _SHORT if self._kept and not self._inside_sequence() else None

    def flush(self) -> Iterator[str]:
        """No more bytes came: a lone escape is the Esc key; anything else unfinished is dropped.

        Except a short sequence: on a slow connection its rest would arrive as letters.
        """
        if self._pasting:
            self._pasted += self._kept
            self._kept.clear()
            self._pasting = False
            return iter(filter(None, [self._take_pasted()]))
        alone = self._kept == b"\x1b"
        if not self._inside_sequence():
            self._kept.clear()
        return iter(["esc"] if alone else [])

    def forget(self) -> None:
        """Drops what was typed, and the rest of an unfinished paste or sequence."""
        self._unwanted = self._pasting
        if not (self._pasting or self._inside_sequence()):
            self._kept.clear()

    def _inside_sequence(self) -> bool:
        kept = self._kept
        return bool(_CONTROL_BEGUN.match(kept) or _SHIFTED_BEGUN.match(kept) or kept.startswith(_MOUSE))

    def _next(self) -> tuple[int, str]:
        """The length and the name of the first key; zero and empty if it is incomplete."""
        first = self._kept[0]
        if first == _ESC:
            return self._read_escape()
        if first < _FIRST_PRINTABLE or first == 0x7F:  # noqa: PLR2004  # the delete character
            return 1, _CONTROLS.get(first, "")
        return (1, chr(first)) if first < _FIRST_OF_MANY_BYTES else _character(self._kept, 0)

    def _read_escape(self) -> tuple[int, str]:
        kept = self._kept
        if len(kept) == 1:
            return 0, ""
        second = kept[1:2]
        if second == b"\x1b":
            return 1, "esc"
        if second == b"[":
            return self._control_sequence()
        if second == b"O":
            found = _SHIFTED.match(kept)
            if found:
                return found.end(), "f3" if found[1] == b"R" else _BY_LETTER.get(bytes(found[1]), "")
            return (0, "") if _SHIFTED_BEGUN.match(kept) else (2, "")
        if _REPORT_BEGUN.match(kept):
            end = _REPORT_END.search(kept, 2)
            return (end.end() if end else 0), ""
        # A letter with Alt held.
        if second[0] < _FIRST_OF_MANY_BYTES:
            return 2, ""
        used, _ = _character(kept, 1)
        return (1 + used if used else 0), ""

    def _control_sequence(self) -> tuple[int, str]:
        kept = self._kept
        if kept.startswith(_MOUSE):
            return (_MOUSE_LENGTH if len(kept) >= _MOUSE_LENGTH else 0), ""
        if kept.startswith(_PASTE_BEGINS):
            self._pasting = True
            return len(_PASTE_BEGINS), ""
        if _CONTROL_BEGUN.match(kept):
            return 0, ""
        found = _CONTROL.match(kept)
        if not found:  # an invalid byte starts something new
            begun = re.match(rb"\x1b\[(?:\[|[0-?]*[ -/]*)", kept)
            return (begun.end() if begun else 2), ""
        console, parameters, final = found.groups()
        if console:
            return found.end(), f"f{console[1] - 0x40}"
        return found.end(), _name_key(bytes(parameters), bytes(final))

    def _paste(self) -> tuple[int, str]:
        end = self._kept.find(_PASTE_ENDS)
        if end >= 0:
            self._take(self._kept[:end])
            self._pasting = False
            return end + len(_PASTE_ENDS), self._take_pasted()
        # Part of the terminator may have arrived.
        sure = max(0, len(self._kept) - len(_PASTE_ENDS) + 1)
        self._take(self._kept[:sure])
        return sure, ""

    def _take(self, data: bytearray) -> None:
        self._pasted += data[: _MOST_PASTED - len(self._pasted)]

    def _take_pasted(self) -> str:
        text = self._pasted.decode("utf-8", "replace")
        self._pasted.clear()
        if self._unwanted:
            self._unwanted = False
            return ""
        return "paste:" + text.replace("\r\n", "\n").replace("\r", "\n")


def _name_key(parameters: bytes, final: bytes) -> str:
    if final == b"~":
        number = parameters.split(b";")[0]
        return _BY_NUMBER.get(int(number), "") if number.isdigit() and len(number) < 4 else ""  # noqa: PLR2004
    if final == b"R":  # with numbers it reports the cursor position
        return "f3" if not parameters else ""
    # Ctrl and Shift come as 1;5: an arrow stays an arrow.
    return _BY_LETTER.get(final, "") if re.fullmatch(rb"(?:1(?:;\d+)?)?", parameters) else ""


def _character(data: bytearray, start: int) -> tuple[int, str]:
    """A multi-byte character; skips a byte that cannot start one."""
    first = data[start]
    length = 2 if 0xC2 <= first < 0xE0 else 3 if 0xE0 <= first < 0xF0 else 4 if 0xF0 <= first < 0xF5 else 1  # noqa: PLR2004
    given = bytes(data[start : start + length])
    try:
        character = given.decode()
    except UnicodeDecodeError as error:
        # Tell an incomplete character from an invalid one.
        incomplete = error.reason == "unexpected end of data" and len(given) < length
        return (0 if incomplete else max(1, error.end - error.start)), ""
    return length, character if character > _LAST_CONTROL else ""
