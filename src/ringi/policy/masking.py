"""Masks secrets in what is written to a log (PP-17).

The shapes are those of `leaks`, the unsure ones too. A complete placeholder stays readable: masking it would
hide a mistake and suggest a secret.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from ringi.kernel.text import Text, lazy_pattern
from ringi.policy.leaks import KINDS, leaks

_A_KEY: Final = Text("a key")
_CONFIGURED: Final = Text("a configured secret")
_ALL_OF_IT: Final = Text("all of it, because a pattern of logs.mask took too long")
_OWN: Final = (_A_KEY, _CONFIGURED, _ALL_OF_IT)
_SHORTEST_KEY: Final = 8
"""Shorter values are dummies for services without a key; masking them would tear words apart."""
_ROUNDS: Final = 4
"""Masking one secret may uncover another one next to it, so it is repeated."""

_SECRET_VARIABLE: Final = lazy_pattern(
    r"(?:^|_)(?:API|AUTH)?(?:KEY|TOKEN|SECRET|PAT|CREDENTIALS?)(?:_?\d+)?$|PASSWORD|PASSWD", re.IGNORECASE
)
_PROXY_PASSWORD: Final = lazy_pattern(r"(?:[a-z][a-z0-9+.-]*://)?[^:@/]*:(.+)@", re.IGNORECASE)

Find = Callable[[str], Sequence[tuple[int, int]] | None]
"""Where the configured patterns match; None if they took too long."""


class _SecretSpan(NamedTuple):
    start: int
    end: int
    kind: Text


def mask_secrets(text: str, find: Find = lambda _: (), *, keep_lines: bool = False) -> str:
    """The text with a mark in place of each secret, otherwise unchanged.

    The built-in shapes take linear time. If the configured patterns give no answer, the whole text is
    masked. With `keep_lines`, what follows a secret of several lines stays on its line.
    """
    for _ in range(_ROUNDS):
        before = text
        configured = find(text)
        if configured is None:
            return _mark(_ALL_OF_IT)
        spans = [
            *_find_known_kinds(text),
            *(_SecretSpan(start, end, _CONFIGURED) for start, end in configured),
        ]
        text = _replace(text, spans, keep_lines=keep_lines) if spans else text
        if text == before:
            break
    return text


def hiding(values: Iterable[str]) -> Callable[[str], str]:
    """Masks exactly these values in a text, however they are escaped."""
    forms = {
        form
        for value in values
        if len(value) >= _SHORTEST_KEY
        for form in (value, json.dumps(value)[1:-1], quote(value, safe="", errors="replace"))
    }
    pattern = re.compile("|".join(map(re.escape, sorted(forms, key=len, reverse=True))))

    def hide(text: str) -> str:
        if not any(form in text for form in forms):
            return text
        return _replace(text, [_SecretSpan(*match.span(), _A_KEY) for match in pattern.finditer(text)])

    return hide


def _mark(kind: Text) -> str:
    # No secret's name ends like this, so a mark is never taken for one.
    return f"(masked: {kind})"


_MARKS: Final = lazy_pattern("|".join(re.escape(_mark(kind)) for kind in sorted({*KINDS, *_OWN}, key=str)))


def _replace(text: str, spans: Iterable[_SecretSpan], *, keep_lines: bool = False) -> str:
    """Existing marks stay as they are, whatever would match in them."""
    marks = [match.span() for match in _MARKS.finditer(text)]
    parts, at = [], 0
    for start, end, kind in _without(_unite(spans), marks):
        if text[start:end].strip():
            parts += [text[at:start], _mark(kind), "\n" * text.count("\n", start, end) * keep_lines]
            at = end
    return "".join([*parts, text[at:]])


def secret_values(environment: Mapping[str, str]) -> frozenset[str]:
    """Values of variables whose names suggest a secret, and proxy passwords."""
    found: set[str] = set()
    for name, value in environment.items():
        if _SECRET_VARIABLE.search(name):
            found.add(value.strip())
        elif name.casefold().endswith("_proxy") and (password := _PROXY_PASSWORD.match(value.strip())):
            found |= {password[1], unquote(password[1])}
    return frozenset(found - {""})


def without_secrets(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables whose names and values suggest no secret."""
    return {name: value for name, value in environment.items() if not secret_values({name: value})}


def masks_in(text: str) -> int:
    """How many secrets were masked in it."""
    return sum(1 for _ in _MARKS.finditer(text))


def _unite(spans: Iterable[_SecretSpan]) -> Iterator[_SecretSpan]:
    """In order; overlapping ones become one, with the name of the first."""
    current: _SecretSpan | None = None
    for span in sorted(spans, key=itemgetter(0)):
        if current is None or span.start >= current.end:
            if current:
                yield current
            current = span
        else:
            current = current._replace(end=max(current.end, span.end))
    if current:
        yield current


def _without(spans: Iterable[_SecretSpan], marks: Sequence[tuple[int, int]]) -> Iterator[_SecretSpan]:
    index = 0
    for start, end, kind in spans:
        at = start
        while index < len(marks) and marks[index][0] < end:
            first, last = marks[index]
            if first > at:
                yield _SecretSpan(at, first, kind)
            at = max(at, last)
            if last > end:  # the next span may begin in it
                break
            index += 1
        if at < end:
            yield _SecretSpan(at, end, kind)


# The built-in shapes, in bytes like those of `leaks`; each begins with a plain word, which is quick to find.

# Characters right after a token may still be part of it.
_GLUED: Final = lazy_pattern(rb"[A-Za-z0-9_+/=~-]*")
_COLOUR: Final = lazy_pattern(rb"\x1b\[[0-?]*[ -/]*[@-~]")


def _find_known_kinds(text: str) -> list[_SecretSpan]:
    data = text.encode("utf-8", "surrogatepass")
    if b"\x1b" in data:  # the last letter of a colour before a token is no part of a word
        data = _COLOUR.sub(lambda match: b" " * len(match[0]), data)
    found = [
        _SecretSpan(leak.start, _skip_glued(data, leak.end), leak.kind) for leak in leaks(data, unsure=True)
    ]
    if not found or len(data) == len(text):
        return found
    return _in_characters(data, found)


def _skip_glued(data: bytes, end: int) -> int:
    if data[end - 1 : end].isspace() or data.startswith(b"-----", end):  # a multi-line secret
        return end
    more = _GLUED.match(data, end)
    return more.end() if more else end


def _in_characters(data: bytes, spans: Iterable[_SecretSpan]) -> list[_SecretSpan]:
    places: dict[int, int] = {}
    characters = last = 0
    for at in sorted({at for span in spans for at in span[:2]}):
        characters += len(data[last:at].decode("utf-8", "surrogatepass"))
        places[at], last = characters, at
    return [_SecretSpan(places[span.start], places[span.end], span.kind) for span in spans]
