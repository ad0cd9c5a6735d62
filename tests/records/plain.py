"""What differs between machines, users and runs is numbered, in the order in which a record shows it.

So a record says that two places show the same id, and not which one.
"""

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

_SOON_SEC = 100 * 86_400
_ROUND_SEC = 600
_TOKENS = re.compile(
    r"""
      (?P<id>(?<![0-9a-f])[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})
    | (?P<stamp>(?<!\d)20\d{6}-\d{6}(?:-[0-9a-f]{4,8})?(?![0-9a-f]))
    | (?P<time>(?<!\d)20\d\d-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|\+00:00)?)
    | (?P<sha256>(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f]))
    | (?P<object>(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f]))
    | (?P<fingerprint>SHA256:[A-Za-z0-9+/]{43})
    | (?P<key>AAAA[A-Za-z0-9+/]{40,}={0,2})
    | (?P<signature>-----BEGIN\ SSH\ SIGNATURE-----.*?-----END\ SSH\ SIGNATURE-----)
    | (?P<base64>(?<![A-Za-z0-9+/])[A-Za-z0-9+/]{60,}={0,2})
    | (?P<call>\bringi-[0-9a-f]{16}\b)
    | (?P<session>\bs-\d+-\d{9,})
    | (?P<terminal>/dev/(?:pts/|tty)\w+)
    | (?P<hex>(?<![\w<.])(?!ed25519)[0-9a-f]{4,39}(?![\w.]))
    """,
    re.VERBOSE | re.DOTALL,
)
_MIXED = re.compile(r"(?=.*[0-9])(?=.*[a-f]).{6,}")
_BASE64 = re.compile(r"(?=.*[0-9])(?=.*[a-z])(?=.*[A-Z]).*", re.DOTALL)
_MEASURED = (
    (re.compile(r'("pid": ?)\d+'), r"\1<pid>"),
    (re.compile(r"(\bprocess )\d+"), r"\1<pid>"),
    (
        re.compile(r'("(?:\w+_)?(?:seconds|duration|elapsed|duration_?[sS]ec|took_sec)": ?)[0-9.e-]+'),
        r"\1<duration>",
    ),
    (re.compile(r"\b\d+\.\d+ (?=s\b|秒)"), "<duration> "),
    # Written only if something takes long.
    (re.compile(r"^.* … \d+ (?:s|秒)(?: · .*)?\n", re.MULTILINE), ""),
    (re.compile(r"(127\.0\.0\.1|localhost):\d+"), r"\1:<port>"),
)


def without_measures(text: str) -> str:
    """What was measured says nothing; before two states are compared, it has to go."""
    for pattern, instead in _MEASURED:
        text = pattern.sub(instead, text)
    return text


class Plain:
    """`places` are the folders of this machine by the name that records give them; `known` are long values of
    which only the first characters may be shown.
    """

    def __init__(self, places: Mapping[str, str], now: int, known: Iterable[str] = ()) -> None:
        self._places = sorted(places.items(), key=lambda row: -len(row[0]))
        self._now = now
        self._known = sorted(known)
        self._numbers: dict[tuple[str, str], int] = {}

    def text(self, raw: str) -> str:
        for place, name in self._places:
            raw = raw.replace(place, name)
        raw = _TOKENS.sub(self._name, without_measures(raw))
        return "\n".join(line.rstrip() for line in raw.split("\n"))

    def _name(self, found: re.Match[str]) -> str:
        kind, value = str(found.lastgroup), found[0]
        match kind:
            case "time":
                return self._time(value)
            case "terminal":
                return "<terminal>"
            case "hex":
                return self._short(value)
            case "base64" if not _BASE64.fullmatch(value):
                return value
        return f"<{kind} {self._number(kind, value)}>"

    def _number(self, kind: str, value: str) -> int:
        numbers = sum(1 for one, _ in self._numbers if one == kind)
        return self._numbers.setdefault((kind, value), numbers + 1)

    def _time(self, value: str) -> str:
        moment = datetime.fromisoformat(value.removesuffix("Z").removesuffix("+00:00")).replace(tzinfo=UTC)
        to_the_minute = len(value) == len("2026-01-05 09:00")
        after = moment.timestamp() - (self._now // 60 * 60 if to_the_minute else self._now)
        if after == 0:
            return "<this minute>" if to_the_minute else "<now>"
        if 0 < after < _SOON_SEC:
            # Rounded, so that a command more or less before this one changes nothing.
            return (
                f"<now + {after:g} s>" if after < _ROUND_SEC else f"<in {round(after / _ROUND_SEC) / 6:g} h>"
            )
        # A terminal and a file have the real time of this machine.
        return "<real time>" if after > 0 else f"<time {self._number('time', value)}>"

    def _short(self, value: str) -> str:
        """The first characters of something that is known, or a number that the machine gave."""
        for kind in ("id", "object", "sha256"):
            full = next((one for (of, one) in self._numbers if of == kind and one.startswith(value)), None)
            if full:
                return f"<{kind} {self._number(kind, full)} short>"
        full = next((one for one in self._known if one.startswith(value)), None)
        if full:
            kind = "id" if "-" in full else "sha256" if len(full) == 64 else "object"  # hex digits
            return f"<{kind} {self._number(kind, full)} short>"
        return f"<hex {self._number('hex', value)}>" if _MIXED.fullmatch(value) else value
