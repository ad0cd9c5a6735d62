"""Finds secrets in a text by their shape, in linear time for any input.

One table for plans and for logs. A finding in a plan must be worth a person's time, so only what is surely a
secret counts there. A log is read by many and kept for long, so there everything counts that may be one.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Final, NamedTuple

from ringi.kernel.text import Text, lazy_pattern

# Placeholders: words for where a secret goes, and what people type instead of one.
_PLACEHOLDER: Final = lazy_pattern(
    rb"example|sample|placeholder|change.?me|changeit|dummy|fake|mock|test|todo|fixme|redacted|your|my[_-]|xxxx"
    rb"|\*\*\*|\.\.\.|foo|bar|12345|abcdef|password|passwd|secret|token|api.?key|insert|replace|here|null"
    rb"|undefined|default|environ|getenv|process\.env|hunter2|letmein|qwerty|lorem|eyjzdwiioiixmjm0nty3odkwi"
)
_FILLED_IN: Final = lazy_pattern(
    rb"\$\{|\$\(|\{\{|<[^>]*>|%\(|%[sd]|\{[\w.]*\}|\A\$\w+\Z|\A%\w+%\Z|\A@|://|\A[./~]|\[-?\d*\]"
)
_FEWEST_DIFFERENT: Final = 6
_EXAMPLE: Final = lazy_pattern(
    rb"example|xxxx|1234567890|0123456789|abcdefgh|eyjzdwiioiixmjm0nty3odkwi|\.\.\.|\*\*\*"
)
_UNQUOTED_DIGITS: Final = 3
# Names of indexes, requests, versions, and types. `\Z` is the end of the name.
_NO_SECRET: Final = lazy_pattern(
    rb"(?:next|page|pagination|continuation|forward|backward|client|request|idempotency|lock|change|update|input"
    rb"|output|action|resume|sync|product|publickey)[_-]?token\Z|::\w*\Z"
)
_LONGEST_NAME: Final = 32
_LONGEST_BODY: Final = 16_384
"""The largest private keys are shorter, in base64."""
_BODY: Final = lazy_pattern(
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
    pattern = lazy_pattern(start + rb"(?<!" + behind + start + rb")(" + body + rb")")
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
_PRIVATE_KEY: Final = Text("a private key")
# Atomic groups here and below: before 3.11.5 Python loses matches of `(?:a|b)++`.
_KEY_BLOCK: Final = re.compile(
    rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
    rb"((?>(?:[^-]|-(?!----)){1,%d}))(?=-----END )" % _LONGEST_BODY
)
_NO_BASE64: Final = re.compile(rb"[^A-Za-z0-9+/]|\\[nr]")
_SHORTEST_KEY: Final = 16
_SHAPES: Final = (
    _Shape(
        _PRIVATE_KEY,
        b"PRIVATE KEY",
        lazy_pattern(
            rb"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
            rb"(?:[^-]|-(?!----)){0,400}?([A-Za-z0-9+/]{40})"
        ),
        whole=True,
        closing=b"-----",
    ),
    _Shape(
        _PRIVATE_KEY,
        b"PuTTY-User-Key-File-",
        lazy_pattern(rb"PuTTY-User-Key-File-[23]: [^\n]{0,200}\n(?:[^\n]{0,200}\n){0,8}?([A-Za-z0-9+/]{40})"),
        whole=True,
        closing=b"Private-MAC",
    ),
    _token(_PRIVATE_KEY, b"AGE-SECRET-KEY-1", rb"[0-9A-Z]{58}"),
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
        lazy_pattern(rb"hooks\.slack\.com/services/(T[A-Z0-9]{6,20}/B[A-Z0-9]{6,20}/[A-Za-z0-9]{16,64})"),
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
        lazy_pattern(
            rb"://(?<=[A-Za-z0-9]://)[A-Za-z0-9._%+-]{1,64}:([^\s\"'`/@:<>{}$()\\]{6,128})@[A-Za-z0-9\[]"
        ),
        _PLACEHOLDER,
    ),
)

# In lower case. `token_url` is not a token, so the word must end the name.
_NAMED: Final = (
    (b"passw", rb"passw(?:or)?d"),
    (b"passphrase", rb"passphrase"),
    (b"pwd", rb"pwd"),
    (b"secret", rb"secret"),
    (b"token", rb"token"),
    (
        b"key",
        (
            rb"key(?:(?<=api[_ -]key)|(?<=apikey)|(?<=secret[_ -]key)|(?<=secretkey)|(?<=access[_ -]key)"
            rb"|(?<=accesskey)|(?<=private[_ -]key)|(?<=auth[_ -]key)|(?<=signing[_ -]key)"
            rb"|(?<=encryption[_ -]key)|(?<=master[_ -]key))"
        ),
    ),
)
# Possessive quantifiers: never retry a value at a shorter length.
_ANNOTATION: Final = rb":[ \t]{0,4}[a-z_&][a-z0-9_ \[\]|.&]{0,40}="
_SURE: Final = (
    rb"[0-9]?[\"'`]?\]?[ \t]{0,8}(?:" + _ANNOTATION + rb"|:=|=>|[:=])[ \t]{0,8}"
    rb"(?:[rbuf@]{0,2}([\"'`])([^\s\"'`\\]{8,256}+)\1(?![ \t]{0,4}[+%.])"
    rb"|([a-z0-9+/=_~-]{20,256}+)(?=[ \t\r]{0,8}(?:\n|\Z)))"
)
_QUOTED: Final = rb"(\\{0,4}[\"'`])((?>(?:(?!\1)(?:\\[^\n]|[^\n])){1,512}))\1"
_BARE: Final = rb"((?>(?:[^\s\"'`\\,;()\[\]{}<>:]|:(?!//)){3,}))"
_WHOSE: Final = rb"(?:[ \t]{1,4}(?:for|of|to|on|at)[ \t]{1,4}[\w.@-]{1,40}+)?"
_SIGN: Final = "(?::=|=>|[:=]|\uff1a|\uff1d)".encode()
_MAYBE: Final = (
    rb"[0-9]?\\{0,4}[\"'`]?\]?"
    + _WHOSE
    + rb"(?:[ \t]{0,8}"
    + _SIGN
    + rb"[ \t]{0,8}|(?<=--password)[ \t]{1,4}"
    rb"|(?<=--passwd)[ \t]{1,4}|(?<=--secret)[ \t]{1,4}|(?<=--token)[ \t]{1,4}|(?<=--api[_-]key)[ \t]{1,4})"
    rb"(?:[rbuf](?=\\{0,4}[\"'`]))?(?:" + _QUOTED + rb"|\\{0,4}[\"'`]?" + _BARE + rb")"
)
_ANNOTATED: Final = rb"[0-9]?[ \t]{0,8}" + _ANNOTATION + rb"[ \t]{0,8}[rbuf]?" + _QUOTED + rb"()"
_IN_PROSE: Final = (
    _WHOSE + rb"[ \t]{1,4}(?:is|was|equals)[ \t]{0,4}:?[ \t]{1,4}"
    rb"(?:" + _QUOTED + rb"|[\"'`]?" + _BARE + rb")"
)


class _Name(NamedTuple):
    anchor: bytes
    sure: re.Pattern[bytes]
    """Groups 2 and 3 are the value, with and without quotes; also below."""
    maybe: tuple[re.Pattern[bytes], ...]


@cache
def _names() -> tuple[_Name, ...]:
    """Compiled when first needed: together they take longer than most commands."""
    return tuple(
        _Name(
            anchor,
            lazy_pattern(start + _SURE),
            tuple(lazy_pattern(start + rest) for rest in (_MAYBE, _ANNOTATED, _IN_PROSE)),
        )
        for anchor, start in _NAMED
    )


A_SECRET: Final = Text("a password or another secret")
_A_HEADER: Final = Text("a key in a header")
_AN_ADDRESS: Final = Text("a key in an address")
_QUOTE: Final = rb"(?:\\{0,4}[\"'`])?"
_SEPARATOR: Final = rb"\\{0,4}[\"'`]?\]?[ \t]{0,8}(?::=|=>|[:=,])[ \t]{0,8}b?" + _QUOTE
_SCHEME: Final = rb"(?:bearer|basic|token|digest|apikey|negotiate)[ \t]{1,4}"
_PAIR: Final = rb"[\w.-]{1,64}=[!#-&(-:<-\[\]-_a-~]{6,4096}+"
# What follows is prose, unless it looks like the characters of a key.
_JAPANESE_SEPARATOR: Final = "(?:[:=]|\uff1a|\uff1d|は|が)(?:[ \t]|\u3000|「|『){0,4}".encode() + _QUOTE
_SHOWN: Final = rb"[a-z0-9._~+/=!*-]"
# Up to the next address: concatenated ones are judged one by one.
_IN_ADDRESS: Final = rb"(?:[^\s&#\"'`<>{}()\[\]\\:]|:(?!//))"


class _AnchoredSecret(NamedTuple):
    """A secret known by what is around it."""

    kind: Text
    anchor: bytes
    expression: bytes
    """For lower-case text; group 1 is the value. Compiled when its anchor is found: few texts need many."""
    digits: bool
    """Without a digit it may just as well be a word."""


def _around(kind: Text, anchor: bytes, rest: bytes, *, digits: bool = True) -> _AnchoredSecret:
    return _AnchoredSecret(kind, anchor, re.escape(anchor) + rest, digits)


_AROUND: Final = (
    _around(_A_HEADER, b"authorization", _SEPARATOR + _SCHEME + rb"(" + _SHOWN + rb"{3,}+)", digits=False),
    _around(_A_HEADER, b"authorization", _SEPARATOR + rb"(" + _SHOWN + rb"{8,}+)"),
    _around(_A_HEADER, b"bearer", rb"[ \t]{1,4}(" + _SHOWN + rb"{16,}+)"),
    *(
        _around(_A_HEADER, name, _SEPARATOR + rb"(" + _SHOWN + rb"{6,}+)")
        for name in (
            b"api-key",
            b"auth-token",
            b"private-token",
            b"access-token",
            b"security-token",
            b"x-auth",
        )
    ),
    _around(_A_HEADER, b"cookie", _SEPARATOR + rb"(" + _PAIR + rb"(?>(?:;[ \t]?" + _PAIR + rb")*))"),
    *(
        _around(A_SECRET, name.encode(), _JAPANESE_SEPARATOR + rb"([!#-&(-_a-~]{4,}+)")
        for name in ("パスワード", "トークン", "シークレット", "キー", "秘密鍵", "暗証番号")
    ),
    *(
        _around(_AN_ADDRESS, name + b"=", rb"(?<=[?&;]" + name + rb"=)((?>" + _IN_ADDRESS + rb"{6,}))")
        for name in (b"key", b"sig", b"signature", b"code", b"auth", b"credential")
    ),
    *(
        _around(_AN_ADDRESS, name + b"=", rb"(?<![ \t]" + name + rb"=)((?>" + _IN_ADDRESS + rb"{8,}))")
        for name in (
            b"api_key",
            b"apikey",
            b"access_token",
            b"auth_token",
            b"client_secret",
            b"x-amz-signature",
        )
    ),
    *(_around(_AN_ADDRESS, sign + b"token=", rb"((?>" + _IN_ADDRESS + rb"{6,}))") for sign in (b"?", b"&")),
    _around(
        _AN_ADDRESS,
        b"://",
        rb"[a-z0-9._%+-]{0,64}:([^\s\"'`/@:<>{}$()\\\[\]]{3,256})@[a-z0-9\[]",
        digits=False,
    ),
    _around(_AN_ADDRESS, b"://", rb"([a-z0-9._~-]{20,256})@[a-z0-9\[]"),
)
KINDS: Final = frozenset([*(shape.kind for shape in _SHAPES), *(around.kind for around in _AROUND)])


def secrets(text: bytes) -> Iterator[tuple[Text, int]]:
    """What each is, and where it begins: only what is surely one."""
    return ((leak.kind, leak.at) for leak in leaks(text))


def leaks(text: bytes, *, unsure: bool = False) -> Iterator[Leak]:
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
    if unsure and b"PRIVATE KEY" in text:
        yield from _key_blocks(text)
    lowered = text.lower()
    yield from _find_by_pattern(text, lowered, unsure=unsure)
    for name in _names():
        if name.anchor in lowered:
            yield from _find_assignments(text, lowered, name)
            if unsure:
                yield from _perhaps(lowered, name)


def _key_blocks(text: bytes) -> Iterator[Leak]:
    """Keys from beginning to end, also those of short or repeated lines."""
    for match in _KEY_BLOCK.finditer(text):
        if len(_NO_BASE64.sub(b"", match[1])) >= _SHORTEST_KEY:
            yield Leak(_PRIVATE_KEY, match.start(), *match.span())


def _find_by_pattern(text: bytes, lowered: bytes, *, unsure: bool) -> Iterator[Leak]:
    for around in _AROUND:
        if around.anchor not in lowered:
            continue
        for match in re.finditer(around.expression, lowered):
            start, end = match.span(1)
            value = text[start:end]
            sure = len(value) >= _LONG and _secret(value, quoted=True)
            if sure or (unsure and real(match[1], digits=around.digits)):
                yield Leak(around.kind, match.start(), start, end)


def _body_end(text: bytes, end: int, closing: int) -> int:
    """The end of a multi-line secret; a truncated one ends where it stops looking like one."""
    if 0 <= closing - end <= _LONGEST_BODY:
        return closing
    more = _BODY.match(text, end, end + _LONGEST_BODY)
    return more.end() if more else end


def _find_assignments(text: bytes, lowered: bytes, name: _Name) -> Iterator[Leak]:
    for match in name.sure.finditer(lowered):
        before = max(0, match.start() - _LONGEST_NAME), match.start() + len(name.anchor)
        if _NO_SECRET.search(lowered, *before):
            continue
        group = 2 if match[2] else 3
        start, end = match.span(group)
        if _secret(text[start:end], quoted=group == 2):  # noqa: PLR2004
            yield Leak(A_SECRET, match.start(), start, end)


def _perhaps(lowered: bytes, name: _Name) -> Iterator[Leak]:
    """Values after such a name, in code, settings or prose."""
    for pattern in name.maybe:
        for match in pattern.finditer(lowered):
            start, end = match.span(2 if match[2] else 3)
            if match[3]:
                end -= len(match[3]) - len(match[3].rstrip(b".?:"))
                if _is_code(lowered, start, end) or _STATE.fullmatch(lowered, start, end):
                    continue
            value = lowered[start:end]
            guessed = _GUESSED.fullmatch(value) and not match[0].startswith(value)
            if guessed or real(value, digits=False):
                yield Leak(A_SECRET, match.start(), start, end)


def _is_code(lowered: bytes, start: int, end: int) -> bool:
    """config.db.token2, make_token2(), tokens[1], user_password."""
    called = lowered[end : end + 1] in _CALLS and _IDENTIFIER.fullmatch(lowered, start, end)
    return bool(called or _LOOKED_UP.fullmatch(lowered, start, end))


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


_LONG: Final = 16
_NAME: Final = rb"(?:passw(?:or)?ds?|passphrases?|pwd|secrets?|tokens?|(?:api[_ -]?)?keys?|credentials?)"
_IDENTIFIER: Final = lazy_pattern(rb"[a-z_][\w.]*")
_CALLS: Final = frozenset([b"(", b"[", b"{", b"<"])
_LOOKED_UP: Final = lazy_pattern(
    rb"(?:self|this|cls|config|settings|env|environ|process|os|args|opts?|options|request|req|response|ctx|context"
    rb"|data|state|props|params|user|app|vault|creds?|form|body|json|row|obj)(?:\.\w+)+"
    rb"|[a-z_]\w*(?:\.\w+)*\.\w*" + _NAME + rb"\w*|(?:[a-z]+_)+" + _NAME + rb"\d?"
)
# What prose says about a secret, instead of the secret.
_STATE: Final = lazy_pattern(
    rb"[a-z]+(?:ed|ing|able)|wrong|(?:in)?valid|(?:in)?correct|missing|empty|not|never|always|too|very|kept|shown|sent"
    rb"|read|set|unset|given|taken|for|from|the|that|this|what|where|when|only|also|still|already|now|then|weak|strong"
    rb"|(?:un)?safe|(?:in)?secure|lost|forgotten|(?:un)?known|part|one|out|here|there|written|long|short|least|because"
    rb"|under|below|bound|made|its|you|your|they|must|should|can|may|will|header|field|see|and|with|without|into"
)
_MADE_UP: Final = lazy_pattern(
    rb"examples?|samples?|placeholder|change.?me|changeit|dummy|fake|mock|todo|fixme|redacted|masked|hidden|your|my"
    rb"|xxx+|foo|bar|baz|insert|replace|here|null|none|nil|undefined|true|false|default|optional|required|string|str"
    rb"|bytes|bool(?:ean)?|int(?:eger)?|number|any|object|value|some|the|access|client|auth|basic|bearer|user|admin|"
    + _NAME
)
_GUESSED: Final = lazy_pattern(rb"secret|passw(?:or)?d|admin")
"""Such a word alone is a bad password, not a placeholder."""
_FEWEST_LEFT: Final = 2
_SIGNS: Final = lazy_pattern(rb"[^a-z0-9\x80-\xff]")
_DIGIT: Final = lazy_pattern(rb"\d")
_LETTER: Final = lazy_pattern(rb"[a-z\x80-\xff]")


def real(value: bytes, *, digits: bool) -> bool:
    """Whether it may be a secret, in lower case. A complete placeholder says that there is none."""
    if digits and not (_DIGIT.search(value) and _LETTER.search(value)):
        return False
    if _FILLED_IN.search(value) or len(set(value)) == 1:
        return False
    left = _SIGNS.sub(b"", _MADE_UP.sub(b"", value))
    return len(left) >= _FEWEST_LEFT


_WHOLE_NAME: Final = lazy_pattern(_NAME, re.IGNORECASE)


def is_name(pattern: str) -> bool:
    """Whether a configured pattern is the name of a secret: its value is masked, not the word."""
    return _WHOLE_NAME.fullmatch(pattern.encode("utf-8", "surrogatepass")) is not None
