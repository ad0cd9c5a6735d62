"""Masks secrets in what is written to a log (PP-17).

A finding in a plan must be worth a person's time; a log is read by many and kept for long. So this masks
more than `leaks` reports: headers, addresses, and values that only partly look like placeholders. A complete
placeholder stays readable: masking it would hide a mistake and suggest a secret.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Final, NamedTuple
from urllib.parse import quote, unquote

from ringi.policy.leaks import KINDS, leaks
from ringi.text import Text

_A_HEADER: Final = Text("a key in a header")
_AN_ADDRESS: Final = Text("a key in an address")
_A_VALUE: Final = Text("a password or another secret")
_A_KEY: Final = Text("a key")
_CONFIGURED: Final = Text("a configured secret")
_ALL_OF_IT: Final = Text("all of it, because a pattern of logs.mask took too long")
_OWN: Final = (_A_HEADER, _AN_ADDRESS, _A_VALUE, _A_KEY, _CONFIGURED, _ALL_OF_IT)
_SHORTEST_KEY: Final = 8
"""Shorter values are dummies for services without a key; masking them would tear words apart."""
_ROUNDS: Final = 4
"""Masking one secret may uncover another one next to it, so it is repeated."""

_SECRET_VARIABLE: Final = re.compile(
    r"(?:^|_)(?:API|AUTH)?(?:KEY|TOKEN|SECRET|PAT|CREDENTIALS?)(?:_?\d+)?$|PASSWORD|PASSWD", re.IGNORECASE
)
_PROXY_PASSWORD: Final = re.compile(r"(?:[a-z][a-z0-9+.-]*://)?[^:@/]*:(.+)@", re.IGNORECASE)

Find = Callable[[str], Sequence[tuple[int, int]] | None]
"""Where the configured patterns match; None if they took too long."""


class _Span(NamedTuple):
    start: int
    end: int
    kind: Text


def masked(text: str, find: Find = lambda _: ()) -> str:
    """The text with a mark in place of each secret, otherwise unchanged.

    The built-in shapes take linear time. If the configured patterns give no answer, the whole text is
    masked.
    """
    for _ in range(_ROUNDS):
        before = text
        configured = find(text)
        if configured is None:
            return _mark(_ALL_OF_IT)
        spans = [*_built_in(text), *(_Span(start, end, _CONFIGURED) for start, end in configured)]
        text = _replaced(text, spans) if spans else text
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
        return _replaced(text, [_Span(*match.span(), _A_KEY) for match in pattern.finditer(text)])

    return hide


def _mark(kind: Text) -> str:
    # No secret's name ends like this, so a mark is never taken for one.
    return f"(masked: {kind})"


_MARKS: Final = re.compile("|".join(re.escape(_mark(kind)) for kind in sorted({*KINDS, *_OWN}, key=str)))


def _replaced(text: str, spans: Iterable[_Span]) -> str:
    """Existing marks stay as they are, whatever would match in them."""
    marks = [match.span() for match in _MARKS.finditer(text)]
    parts, at = [], 0
    for start, end, kind in _without(_united(spans), marks):
        if text[start:end].strip():
            parts += [text[at:start], _mark(kind)]
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


def _united(spans: Iterable[_Span]) -> Iterator[_Span]:
    """In order; overlapping ones become one, with the name of the first."""
    current: _Span | None = None
    for span in sorted(spans, key=itemgetter(0)):
        if current is None or span.start >= current.end:
            if current:
                yield current
            current = span
        else:
            current = current._replace(end=max(current.end, span.end))
    if current:
        yield current


def _without(spans: Iterable[_Span], marks: Sequence[tuple[int, int]]) -> Iterator[_Span]:
    index = 0
    for start, end, kind in spans:
        at = start
        while index < len(marks) and marks[index][0] < end:
            first, last = marks[index]
            if first > at:
                yield _Span(at, first, kind)
            at = max(at, last)
            if last > end:  # the next span may begin in it
                break
            index += 1
        if at < end:
            yield _Span(at, end, kind)


# The built-in shapes, in bytes like those of `leaks`; each begins with a plain word, which is quick to find.

# Characters right after a token may still be part of it.
_GLUED: Final = re.compile(rb"[A-Za-z0-9_+/=~-]*")


def _built_in(text: str) -> list[_Span]:
    data = text.encode("utf-8", "surrogatepass")
    found = [_Span(leak.start, _glued(data, leak.end), leak.kind) for leak in leaks(data)]
    found += _in_logs(data)
    if not found or len(data) == len(text):
        return found
    return _in_characters(data, found)


def _glued(data: bytes, end: int) -> int:
    if data[end - 1 : end].isspace() or data.startswith(b"-----", end):  # a multi-line secret
        return end
    more = _GLUED.match(data, end)
    return more.end() if more else end


def _in_characters(data: bytes, spans: Iterable[_Span]) -> list[_Span]:
    places: dict[int, int] = {}
    characters = last = 0
    for at in sorted({at for span in spans for at in span[:2]}):
        characters += len(data[last:at].decode("utf-8", "surrogatepass"))
        places[at], last = characters, at
    return [_Span(places[span.start], places[span.end], span.kind) for span in spans]


_QUOTE: Final = rb"(?:\\{0,4}[\"'`])?"
_SEPARATOR: Final = rb"\\{0,4}[\"'`]?\]?[ \t]{0,8}(?::=|=>|[:=,])[ \t]{0,8}b?" + _QUOTE
_SCHEME: Final = rb"(?:bearer|basic|token|digest|apikey|negotiate)[ \t]{1,4}"
_PAIR: Final = rb"[\w.-]{1,64}=[!#-&(-:<-\[\]-_a-~]{6,4096}+"
# What follows is prose, unless it looks like the characters of a key.
_JAPANESE_SEPARATOR: Final = "(?:[:=]|\uff1a|\uff1d|は|が)(?:[ \t]|\u3000|「|『){0,4}".encode() + _QUOTE
_SHOWN: Final = rb"[a-z0-9._~+/=!*-]"
# Up to the next address: concatenated ones are judged one by one.
_IN_ADDRESS: Final = rb"(?:[^\s&#\"'`<>{}()\[\]\\:]|:(?!//))"


class _Shape(NamedTuple):
    kind: Text
    anchor: bytes
    expression: bytes
    """For lower-case text; group 1 is the value. Compiled when its anchor is found: few texts need many."""
    digits: bool
    """Without a digit it may just as well be a word."""


def _shape(kind: Text, anchor: bytes, rest: bytes, *, digits: bool = True) -> _Shape:
    return _Shape(kind, anchor, re.escape(anchor) + rest, digits)


_SHAPES: Final = (
    _shape(_A_HEADER, b"authorization", _SEPARATOR + _SCHEME + rb"(" + _SHOWN + rb"{6,}+)", digits=False),
    _shape(_A_HEADER, b"authorization", _SEPARATOR + rb"(" + _SHOWN + rb"{8,}+)"),
    _shape(_A_HEADER, b"bearer", rb"[ \t]{1,4}(" + _SHOWN + rb"{16,}+)"),
    *(
        _shape(_A_HEADER, name, _SEPARATOR + rb"(" + _SHOWN + rb"{6,}+)")
        for name in (
            b"api-key",
            b"auth-token",
            b"private-token",
            b"access-token",
            b"security-token",
            b"x-auth",
        )
    ),
    _shape(_A_HEADER, b"cookie", _SEPARATOR + rb"(" + _PAIR + rb"(?:;[ \t]?" + _PAIR + rb")*+)"),
    *(
        _shape(_A_VALUE, name.encode(), _JAPANESE_SEPARATOR + rb"([!#-&(-_a-~]{8,}+)")
        for name in ("パスワード", "トークン", "シークレット", "キー", "秘密鍵", "暗証番号")
    ),
    *(
        _shape(_AN_ADDRESS, name + b"=", rb"(?<=[?&;]" + name + rb"=)(" + _IN_ADDRESS + rb"{6,}+)")
        for name in (b"key", b"sig", b"signature", b"code", b"auth", b"credential")
    ),
    *(
        _shape(_AN_ADDRESS, name + b"=", rb"(?<![ \t]" + name + rb"=)(" + _IN_ADDRESS + rb"{8,}+)")
        for name in (
            b"api_key",
            b"apikey",
            b"access_token",
            b"auth_token",
            b"client_secret",
            b"x-amz-signature",
        )
    ),
    *(_shape(_AN_ADDRESS, sign + b"token=", rb"(" + _IN_ADDRESS + rb"{6,}+)") for sign in (b"?", b"&")),
    _shape(
        _AN_ADDRESS,
        b"://",
        rb"[a-z0-9._%+-]{0,64}:([^\s\"'`/@:<>{}$()\\\[\]]{3,256})@[a-z0-9\[]",
        digits=False,
    ),
    _shape(_AN_ADDRESS, b"://", rb"([a-z0-9._~-]{20,256})@[a-z0-9\[]"),
)
_NAMES: Final = (
    b"password",
    b"passwd",
    b"passphrase",
    b"pwd",
    b"secret",
    b"token",
    b"api_key",
    b"api-key",
    b"apikey",
    b"access_key",
    b"accesskey",
    b"secret_key",
    b"secretkey",
    b"private_key",
    b"signing_key",
    b"encryption_key",
    b"master_key",
    b"auth_key",
)


def _assignment(name: bytes) -> bytes:
    start = re.escape(name)
    # Take a value to its end, then judge it; the search continues after it either way.
    return (
        start
        + rb"[0-9]?\\{0,4}[\"'`]?\]?(?:[ \t]{0,8}(?::=|=>|[:=])[ \t]{0,8}|(?<=--"
        + start
        + rb")[ \t]{1,4})"
        + rb"(?:[rbuf](?=\\{0,4}[\"'`]))?"
        + rb"(?:(\\{0,4}[\"'`])([^\s\"'`\\]{6,}+)\1|((?:[^\s\"'`\\,;()\[\]{}<>:]|:(?!//)){8,}+))"
    )


def _in_logs(data: bytes) -> Iterator[_Span]:
    lowered = data.lower()
    for shape in _SHAPES:
        if shape.anchor not in lowered:
            continue
        for match in re.finditer(shape.expression, lowered):
            if _real(match[1], digits=shape.digits):
                yield _Span(*match.span(1), shape.kind)
    for name in _NAMES:
        if name not in lowered:
            continue
        for match in re.finditer(_assignment(name), lowered):
            group = 2 if match[2] else 3
            start, end = match.span(group)
            if match[3] and (_LOOKED_UP.fullmatch(match[3]) or lowered[end : end + 1] in _CALLS):
                continue
            if _real(match[group], digits=True):
                yield _Span(start, end, _A_VALUE)


# Code, not a value: config.db.token2, make_token2(), tokens[1].
_LOOKED_UP: Final = re.compile(rb"[a-z_]\w*(?:\.[a-z_]\w*)+")
_CALLS: Final = frozenset([b"(", b"[", b"{", b"<"])
_MADE_UP: Final = re.compile(
    rb"examples?|samples?|placeholder|change.?me|changeit|dummy|fake|mock|tests?|todo|fixme|redacted|masked|your|my"
    rb"|xx+|foo|bar|baz|12345\d*|abc(?:def)?\w{0,8}|passwords?|passwd|secrets?|tokens?|api|keys?|insert|replace|here"
    rb"|null|none|undefined|default|environ|getenv|hunter2|letmein|qwerty|lorem|value|string|user|admin|some|the"
    rb"|access|client|auth|env|config|settings|args|self|str|optional|required|basic|bearer|credentials?|authentication|headers?"
)
_FILLED_IN: Final = re.compile(
    rb"\$\{|\$\(|\{\{|<[^>]*>|%\(|%[sd]|\{[\w.]*\}|\A\$\w+\Z|\A%\w+%\Z|://|\A[./~@]"
)
_FEWEST_LEFT: Final = 4
_FEWEST_DIFFERENT: Final = 4


_DIGIT: Final = re.compile(rb"\d")
_LETTER: Final = re.compile(rb"[a-z\x80-\xff]")
_SIGNS: Final = re.compile(rb"[^a-z0-9\x80-\xff]")


def _real(value: bytes, *, digits: bool) -> bool:
    if digits and not (_DIGIT.search(value) and _LETTER.search(value)):
        return False
    if _FILLED_IN.search(value) or len(set(value)) < _FEWEST_DIFFERENT:
        return False
    return len(_SIGNS.sub(b"", _MADE_UP.sub(b"", value))) >= _FEWEST_LEFT
