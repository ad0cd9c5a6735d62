"""A line editor with the usual shell keys."""

from typing import Final, Literal

from ringi.cli.screen.cells import Pieces, StyledText, clip
from ringi.cli.ui import width
from ringi.kernel.text import visible

_PASTED: Final = "paste:"
_CANCELLING: Final = frozenset(["esc", "ctrl-c", "ctrl-g", "eof", "stop"])


class LineEditor:
    def __init__(self, text: str = "") -> None:
        self._before = text
        self._after = ""
        self._first_column = 0

    @property
    def text(self) -> str:
        return self._before + self._after

    def feed(self, key: str) -> Literal["done", "cancel"] | None:
        if key == "enter":
            return "done"
        if key in _CANCELLING or (key == "ctrl-d" and not self.text):
            return "cancel"
        if key.startswith(_PASTED):
            self._before += key.removeprefix(_PASTED).replace("\n", " ")
        elif len(key) == 1:
            self._before += key
        else:
            self._move_or_remove(key)
        return None

    def _move_or_remove(self, key: str) -> None:  # noqa: C901  # a table of keys
        match key:
            case "left" | "ctrl-b":
                self._part(_last_begins(self._before))
            case "right" | "ctrl-f":
                self._part(len(self._before) + _first_ends(self._after))
            case "home" | "ctrl-a":
                self._part(0)
            case "end" | "ctrl-e":
                self._part(len(self.text))
            case "backspace":
                self._before = self._before[: _last_begins(self._before)]
            case "delete" | "ctrl-d":
                self._after = self._after[_first_ends(self._after) :]
            case "ctrl-u":
                self._before = ""
            case "ctrl-k":
                self._after = ""
            case "ctrl-w":
                words = self._before.rstrip()
                while words and not words[-1].isspace():
                    words = words[:-1]
                self._before = words

    def _part(self, at: int) -> None:
        text = self.text
        self._before, self._after = text[:at], text[at:]

    def line(self, columns: int) -> tuple[Pieces, int]:
        """The visible part, scrolled so that the cursor is in it, and the cursor's column."""
        before, after = visible(self._before, keep=""), visible(self._after, keep="")
        cursor = width(before)
        if columns <= 0:
            return (), 0
        under = max(1, width(after[: _first_ends(after)]))
        self._first_column = max(min(self._first_column, cursor), cursor + min(under, columns) - columns)
        # Scroll no further than the cursor needs.
        self._first_column = max(0, min(self._first_column, cursor + width(after) + 1 - columns))
        shown = clip((StyledText(before + after),), columns, start=self._first_column)
        return shown, cursor - self._first_column


def _last_begins(text: str) -> int:
    """Where the last character begins, including its combining marks."""
    at = len(text) - 1
    while at > 0 and width(text[at]) == 0:
        at -= 1
    return max(at, 0)


def _first_ends(text: str) -> int:
    at = 1
    while at < len(text) and width(text[at]) == 0:
        at += 1
    return min(at, len(text))
