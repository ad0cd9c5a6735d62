"""Finds secrets in a text by their shape, in linear time for any input."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ringi.text import Text

# Placeholders: words for where a secret goes, and what people type instead of one.
_PLACEHOLDER: Final = re.compile(
    rb"example|sample|placeholder|change.?me|changeit|dummy|fake|mock|test|todo|fixme|redacted|your|my[_-]|xxxx"
    rb"|\*\*\*|\.\.\.|foo|bar|12345|abcdef|password|passwd|secret|token|api.?key|insert|replace|here|null"
    rb"|undefined|default|environ|getenv|process\.env|hunter2|letmein|qwerty|lorem|eyjzdwiioiixmjm0nty3odkwi"
)
_FILLED_IN: Final = re.compile(
    rb"\$\{|\$\(|\{\{|<[^>]*>|%\(|%[sd]|\{[\w.]*\}|\A\$\w+\Z|\A%\w+%\Z|\A@|://|\A[./~]|\[-?\d*\]"
)
_FEWEST_DIFFERENT: Final = 6
_EXAMPLE: Final = re.compile(
    rb"example|xxxx|1234567890|0123456789|abcdefgh|eyjzdwiioiixmjm0nty3odkwi|\.\.\.|\*\*\*"
)
_UNQUOTED_DIGITS: Final = 3
# Names of indexes, requests, versions, and types. `\Z` is the end of the name.
_NO_SECRET: Final = re.compile(
    rb"(?:next|page|pagination|continuation|forward|backward|client|request|idempotency|lock|change|update|input"
    rb"|output|action|resume|sync|product|publickey)[_-]?token\Z|::\w*\Z"
)
_LONGEST_NAME: Final = 32
_LONGEST_BODY: Final = 16_384
"""The largest private keys are shorter, in base64."""
_BODY: Final = re.compile(
    rb"[A-Za-z0-9+/=]*(?:(?:\s|\\[nr])+(?:[A-Za-z0-9+/]{16,}={0,2}|[A-Za-z0-9+/]{1,15}={1,2}))*"
)


class _Shape(NamedTuple):
    kind: Text
    anchor: bytes
    """Searched for first: a plain search is much faster than a regular expression."""
    pattern: re.Pattern[bytes]
    """Group 1 is the part that is random in a real one."""
    placeholder: re.Pattern[bytes] = _EXAMPLE
    whole: bool = False
    """The whole match is the secret, not only the random part."""
    closing: bytes = b""
    """The end of a multi-line secret."""


def _token(kind: Text, anchor: bytes, body: bytes, behind: bytes = rb"[A-Za-z0-9_-]") -> _Shape:
    # The look-behind comes after the anchor, so that the search can start with the anchor.
    start = re.escape(anchor)
    pattern = re.compile(start + rb"(?<!" + behind + start + rb")(" + body + rb")")
    return _Shape(kind, anchor, pattern, whole=not anchor.endswith(b"="))


class Leak(NamedTuple):
    kind: Text
    at: int
    """Where a reader finds it: its name or its first line."""
    start: int
    end: int
    """Of the secret itself."""


_GITHUB: Final = Text("a GitHub token")
_GITLAB: Final = Text("a GitLab token")
_AWS: Final = Text("an AWS key")
_STRIPE: Final = Text("a Stripe key")
_OPENAI: Final = Text("an OpenAI key")
_SLACK: Final = Text("a Slack token")
_SHAPES: Final = (
    _Shape(
        Text("a private key"),
        b"PRIVATE KEY",
        re.compile(
            rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rb"(?:[^-]|-(?!----)){0,400}?([A-Za-z0-9+/]{40})"
        ),
        whole=True,
        closing=b"-----",
    ),
    _Shape(
        Text("a private key"),
        b"PuTTY-User-Key-File-",
        re.compile(rb"PuTTY-User-Key-File-[23]: [^\n]{0,200}\n(?:[^\n]{0,200}\n){0,8}?([A-Za-z0-9+/]{40})"),
        whole=True,
        closing=b"Private-MAC",
    ),
    _token(Text("a private key"), b"AGE-SECRET-KEY-1", rb"[0-9A-Z]{58}"),
    _token(_AWS, b"AKIA", rb"[0-9A-Z]{16}(?![0-9A-Za-z])", rb"[A-Za-z0-9]"),
    _token(_AWS, b"ASIA", rb"[0-9A-Z]{16}(?![0-9A-Za-z])", rb"[A-Za-z0-9]"),
    *(_token(_GITHUB, b"gh%c_" % letter, rb"[A-Za-z0-9]{36,255}") for letter in b"pousr"),
    _token(_GITHUB, b"github_pat_", rb"[A-Za-z0-9_]{22,255}"),
    *(_token(_GITLAB, b"gl%s-" % name, rb"[A-Za-z0-9_-]{20,255}") for name in (b"pat", b"rt", b"dt", b"ptt")),
    *(_token(_SLACK, b"xox%c-" % letter, rb"[A-Za-z0-9-]{10,255}") for letter in b"abeoprs"),
    _token(_SLACK, b"xapp-", rb"[A-Za-z0-9-]{20,255}"),
    _Shape(
        Text("a Slack webhook"),
        b"hooks.slack.com/services/",
        re.compile(rb"hooks\.slack\.com/services/(T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,64})"),
    ),
    _token(_STRIPE, b"sk_live_", rb"[A-Za-z0-9]{16,255}"),
    _token(_STRIPE, b"rk_live_", rb"[A-Za-z0-9]{16,255}"),
    _token(Text("an Anthropic key"), b"sk-ant-", rb"[A-Za-z0-9_-]{20,255}"),
    _token(_OPENAI, b"sk-proj-", rb"[A-Za-z0-9_-]{40,255}"),
    _token(_OPENAI, b"sk-svcacct-", rb"[A-Za-z0-9_-]{40,255}"),
    _token(_OPENAI, b"sk-", rb"(?=[a-z-]{0,60}[A-Z0-9])[A-Za-z0-9]{32,100}(?![A-Za-z0-9_-])"),
    _token(Text("a Google key"), b"AIza", rb"[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    _token(Text("a Google client secret"), b"GOCSPX-", rb"[A-Za-z0-9_-]{28}"),
    _token(Text("an npm token"), b"npm_", rb"[A-Za-z0-9]{36}(?![A-Za-z0-9])"),
    _token(Text("a PyPI token"), b"pypi-AgE", rb"[A-Za-z0-9_-]{50,255}"),
    _token(Text("a Hugging Face token"), b"hf_", rb"[A-Za-z]{34}(?![A-Za-z0-9_])"),
    _token(Text("a Docker token"), b"dckr_pat_", rb"[A-Za-z0-9_-]{27}"),
    _token(Text("a DigitalOcean token"), b"dop_v1_", rb"[a-f0-9]{64}"),
    _token(Text("a Shopify token"), b"shpat_", rb"[A-Fa-f0-9]{32}"),
    _token(Text("a Vault token"), b"hvs.", rb"[A-Za-z0-9_-]{24,255}"),
    _token(Text("a SendGrid key"), b"SG.", rb"[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
    _token(Text("an Azure key"), b"AccountKey=", rb"[A-Za-z0-9+/]{86}=="),
    _token(
        Text("a JSON web token"),
        b"eyJ",
        rb"[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{16,}",
        rb"[A-Za-z0-9_.+/-]",
    ),
    _Shape(
        Text("a password in an address"),
        b"://",
        re.compile(
            rb"://(?<=[A-Za-z0-9]://)[A-Za-z0-9._%+-]{1,64}:([^\s\"'`/@:<>{}$()\\]{6,128})@[A-Za-z0-9\[]"
        ),
        _PLACEHOLDER,
    ),
)

# In lower case. `token_url` is not a token, so the word must end the name.
# Possessive quantifiers: never retry a value at a shorter length.
_VALUE: Final = (
    rb"[0-9]?[\"'`]?\]?[ \t]{0,8}(?::[ \t]{0,4}[a-z_&][a-z0-9_ \[\]|.&]{0,40}=|:=|=>|[:=])[ \t]{0,8}"
    rb"(?:[rbuf@]{0,2}([\"'`])([^\s\"'`\\]{8,256}+)\1(?![ \t]{0,4}[+%.])"
    rb"|([a-z0-9+/=_~-]{20,256}+)(?=[ \t\r]{0,8}(?:\n|\Z)))"
)
_ASSIGNED: Final = tuple(
    (anchor, re.compile(start + _VALUE))
    for anchor, start in (
        (b"passw", rb"passw(?:or)?d"),
        (b"passphrase", rb"passphrase"),
        (b"pwd", rb"pwd"),
        (b"secret", rb"secret"),
        (b"token", rb"token"),
        (
            b"key",
            (
                rb"key(?:(?<=api[_-]key)|(?<=apikey)|(?<=secret[_-]key)|(?<=secretkey)|(?<=access[_-]key)"
                rb"|(?<=accesskey)|(?<=private[_-]key)|(?<=auth[_-]key)|(?<=signing[_-]key)"
                rb"|(?<=encryption[_-]key)|(?<=master[_-]key))"
            ),
        ),
    )
)
_A_SECRET: Final = Text("a password or another secret")
KINDS: Final = frozenset([_A_SECRET, *(shape.kind for shape in _SHAPES)])


def secrets(text: bytes) -> Iterator[tuple[Text, int]]:
    """What each is, and where it begins."""
    return ((leak.kind, leak.at) for leak in leaks(text))


def leaks(text: bytes) -> Iterator[Leak]:
    for shape in _SHAPES:
        if shape.anchor not in text:
            continue
        closing = 0
        for match in shape.pattern.finditer(text):
            value = match[1]
            if len(set(value)) < _FEWEST_DIFFERENT or shape.placeholder.search(value.lower()):
                continue
            start, end = match.start(0 if shape.whole else 1), match.end(1)
            if shape.closing:
                # Searched once, however many begin before it.
                closing = closing if closing >= end or closing < 0 else text.find(shape.closing, end)
                end = _body_end(text, end, closing)
            yield Leak(shape.kind, match.start(), start, end)
    yield from _assigned(text)


def _body_end(text: bytes, end: int, closing: int) -> int:
    """The end of a multi-line secret; a truncated one ends where it stops looking like one."""
    if 0 <= closing - end <= _LONGEST_BODY:
        return closing
    more = _BODY.match(text, end, end + _LONGEST_BODY)
    return more.end() if more else end


def _assigned(text: bytes) -> Iterator[Leak]:
    lowered = text.lower()
    for anchor, pattern in _ASSIGNED:
        if anchor not in lowered:
            continue
        for match in pattern.finditer(lowered):
            name = max(0, match.start() - _LONGEST_NAME), match.start() + len(anchor)
            if _NO_SECRET.search(lowered, *name):
                continue
            group = 2 if match[2] else 3
            start, end = match.span(group)
            if _secret(text[start:end], quoted=group == 2):  # noqa: PLR2004
                yield Leak(_A_SECRET, match.start(), start, end)


def _secret(value: bytes, *, quoted: bool) -> bool:
    lowered = value.lower()
    if len(set(value)) < _FEWEST_DIFFERENT or _PLACEHOLDER.search(lowered) or _FILLED_IN.search(value):
        return False
    digits = sum(byte in b"0123456789" for byte in value)
    letters = lowered != value.upper()
    if quoted:
        return bool(digits) and letters
    # Without quotes it may just as well be a name.
    return digits >= _UNQUOTED_DIGITS and value not in (lowered, value.upper())
