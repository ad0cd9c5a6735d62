"""Markdown that comes from a forge, and Markdown that goes to one.

What goes there is written so that it shows exactly these words: a model's text notifies no one, closes
nothing, and hides nothing from the person who approves it.
"""

from collections.abc import Iterable, Iterator, Sequence
from textwrap import wrap
from typing import Final, NamedTuple

from ringi.forges.document import fence_after
from ringi.kernel.text import lazy_pattern, visible

_COLUMNS: Final = 96
_TAB: Final = 4
_KEPT: Final = lazy_pattern(
    r"`[^`\n]+`|https?://[\w./%?=&~+,:-]+|[\w.+-]{0,64}@\w[\w.@-]*|[#!]\d+|\b[Gg][Hh]-\d+"
)
"""As it is: code and addresses. As code: what a forge would turn into a call or a link."""
_SIGNS: Final = lazy_pattern(r"([\\`*_{}\[\]<>#|~&!$])")
_BEGINS: Final = lazy_pattern(r"^(?:([-+=/:])|(\d+)([.)]))")
_TICKS: Final = lazy_pattern(r"`{3,}")
_HIDING: Final = lazy_pattern(r"`+|<!--")
_CALLS: Final = lazy_pattern(
    r"(?P<code>(`+)(?:(?!\2).)+?\2)"
    r"|(?P<call>(?<![\w`/])@\w[\w.-]*|(?<![\w`&/.-])(?:[\w.-]+/)*[\w.-]*[#!]\d+\b"
    r"|(?<![\w`-])[Gg][Hh]-\d+\b"
    r"|&(?:#0*(?:33|35|64)|#[xX]0*(?:21|23|40)|num|commat|excl);(?=\w)"
    r"|https?://\S+?/(?:issues|work_items|pull|merge_requests)/\d+[^\s<>()]*)"
)
_CLOSES: Final = "-->"
_HANGING: Final = lazy_pattern(r"\s*(?:[-→>] |[A-Za-z0-9-]+  )?\s*")


# To the forge.


def escape(words: str) -> str:
    """Markdown for exactly these words, in one paragraph; code in backticks stays code."""
    return "\n".join(map(_escape_line, _lines(words))).strip()


def _escape_line(line: str) -> str:
    shown, at, line = "", 0, line.strip()
    for found in _KEPT.finditer(line):
        shown += _SIGNS.sub(r"\\\1", line[at : found.start()]) + _keep(found[0])
        at = found.end()
    shown += _SIGNS.sub(r"\\\1", line[at:])
    # No list, no heading, and none of the commands that a forge obeys at the beginning of a line.
    return _BEGINS.sub(lambda begins: f"\\{begins[1]}" if begins[1] else f"{begins[2]}\\{begins[3]}", shown)


def _keep(words: str) -> str:
    return words if words[0] == "`" or words.startswith("http") else f"`{words}`"


def escape_line(words: str) -> str:
    """The same for a title or a name."""
    return escape(" ".join(words.split()))


def as_block(lines: Iterable[str]) -> str:
    """Text in which nothing is Markdown, with lines short enough to read without scrolling."""
    rows = [row for line in lines for one in _lines(line) for row in _fold(one)]
    ticks = max([3, *(len(found) + 1 for row in rows for found in _TICKS.findall(row))])
    return "\n".join(["`" * ticks + "text", *rows, "`" * ticks])


def defuse(text: str) -> str:
    """Markdown in which names, numbers and addresses of issues are code: a forge would call and link them."""
    lines = list[str]()
    for line, code in mark_code(text):
        shown = line if code else _CALLS.sub(lambda one: one["code"] or f"`{one['call']}`", line)
        lines.append(f"\\{shown}" if not code and shown.startswith("/") else shown)
    return "\n".join(lines)


def mark_code(text: str) -> Iterator[tuple[str, bool]]:
    """Each line, and whether it is in a block of code; its fences are, too."""
    fence = ""
    for line in text.split("\n"):
        before, fence = fence, fence_after(fence, line)
        yield line, bool(before or fence)


def _lines(words: str) -> Iterator[str]:
    for line in words.replace("\r\n", "\n").split("\n"):
        yield visible(line.expandtabs(_TAB), keep="").rstrip()


def _fold(line: str) -> list[str]:
    hanging = min(len(_HANGING.match(line)[0]), _COLUMNS // 2)  # type: ignore[index]  # it always matches
    return wrap(line, _COLUMNS, subsequent_indent=" " * hanging) or [""]


# From the forge.


class VisibleText(NamedTuple):
    text: str
    """With a note in place of what the page hides."""
    bare: str
    """Without those notes."""
    hidden: tuple[str, ...] = ()
    """What a reader of the page does not see: HTML comments."""


def read_visible(body: str) -> VisibleText:
    """What a page shows of it; characters that deceive are made visible."""
    kept, hidden = _without_comments(body.replace("\r\n", "\n").replace("\r", "\n"))
    notes = [f"[left out: an HTML comment of {len(one)} characters]" for one in hidden]
    return VisibleText(_join_pieces(kept, notes), _join_pieces(kept, [""] * len(notes)), tuple(hidden))


def _join_pieces(kept: Sequence[str], notes: Sequence[str]) -> str:
    """`kept` are the pieces between the comments."""
    text = "".join(f"{piece}{note}" for piece, note in zip(kept, [*notes, ""], strict=True))
    lines = (visible(line.expandtabs(_TAB), keep="").rstrip() for line in text.split("\n"))
    return "\n".join(lines).strip("\n")


def _without_comments(text: str) -> tuple[list[str], list[str]]:
    """The pieces between the comments, and these. As the page is made: in code there are none."""
    kept: list[str] = []
    hidden: list[str] = []
    begun, at, fence = 0, 0, ""
    while at < len(text):
        end = text.find("\n", at) + 1 or len(text)
        later = fence_after(fence, text[at:end])
        begin = -1 if fence or later else _comment_in(text, at, end)
        if begin >= 0:
            close = text.find(_CLOSES, begin)
            after = len(text) if close < 0 else close + len(_CLOSES)
            hidden.append(text[begin:after])
            kept.append(text[begun:begin])
            begun = at = after
            continue
        fence, at = later, end
    return [*kept, text[begun:]], hidden


def _comment_in(text: str, at: int, end: int) -> int:
    """Where one begins in this line, outside of code; -1 if none does."""
    while found := _HIDING.search(text, at, end):
        if found[0].startswith("<"):
            return found.start()
        closing = text.find(found[0], found.end(), end)
        at = found.end() if closing < 0 else closing + len(found[0])
    return -1
