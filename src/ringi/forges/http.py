"""JSON over HTTP with one forge.

What can be repeated is repeated while the forge is busy or the connection is cut, until the time is up. A
call that makes something is not: `once` first looks whether it is there.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from itertools import count
from typing import Any, Final, NamedTuple, TypeVar
from urllib.parse import parse_qsl, urlencode

import msgspec

from ringi.errors import (
    BadForgeAnswer,
    ForgeBusy,
    ForgeConflict,
    ForgeFailed,
    ForgeMissing,
    ForgeRejected,
    ForgeUnreachable,
)
from ringi.forges.connection import CALL_SEC, MOST_BYTES, ForgeAddress, ForgeConnection, ForgeToken, HttpReply
from ringi.kernel.document import decoder
from ringi.kernel.process.network import shorten_scrubbed
from ringi.kernel.text import Text, lazy_pattern

T = TypeVar("T")
Query = Mapping[str, str]

_MOST_PAGES: Final = 500
_PAGE: Final = 100
"""Items; the most that both forges give."""
_LIST_BYTES: Final = 5 * MOST_BYTES
_MOST_TRIES: Final = 8
_MOST_CONNECTIONS: Final = 3
"""Without a connection it gives up early: the machine may be offline."""
_LONGEST_PAUSE: Final = 16.0
_CONFLICTS: Final = frozenset([400, 405, 406, 409, 412, 415, 422, 423])
_GONE: Final = frozenset([404, 410])
_BUSY: Final = frozenset([408, 425, 429])
_SERVER_ERROR: Final = 500
_REPEATABLE: Final = frozenset(["GET", "PUT", "PATCH", "DELETE"])
_NEXT: Final = lazy_pattern(r'<([^<>]*)>\s*;[^,]*\brel="?next"?')
_LIMITED: Final = lazy_pattern(r"(?i)rate limit|abuse detection")


class CallTiming(NamedTuple):
    """Time, as far as a call has to do with it."""

    monotonic: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    sleep: Callable[[float], None] = time.sleep
    jitter: Callable[[], float] = random.random


class _Something(msgspec.Struct):
    """An object, whatever is in it."""


class _Later(NamedTuple):
    """It did not work, but may in a while."""

    error: ForgeFailed
    wait: float | None = None
    """What the forge asked for."""
    arrived: bool = True
    """The call may have been carried out."""


class Unsure(Exception):
    """Whether the call was carried out is not known."""

    def __init__(self, error: ForgeFailed) -> None:
        super().__init__(error.code)
        self.error = error


class ForgeClient:
    """`scrub` hides the token in words that come from outside."""

    def __init__(
        self,
        address: ForgeAddress,
        token: ForgeToken,
        scrub: Callable[[str], str],
        pace: CallTiming | None = None,
    ) -> None:
        self.address = address
        self._scrub = scrub
        self._pace = pace or CallTiming()
        self._line = ForgeConnection(address, token, scrub, self._pace.monotonic)

    # What adapters ask for.

    def get(self, path: str, kind: type[T], what: str, **query: str) -> T:
        return self.read(self._ask("GET", path, what, query), kind)

    def pages(self, path: str, kind: type[T], what: str, **query: str) -> Sequence[T]:
        """All items of a list.

        The tag of a page says nothing about pages after it, so a full last page is asked for again without
        a condition: otherwise what is said after it would never be heard.
        """
        found: list[T] = []
        size, full = 0, _PAGE
        wanted: Query | None = {**query, "per_page": str(_PAGE)}
        for _ in range(_MOST_PAGES):
            reply = self._ask("GET", path, what, wanted)
            page: list[T] = self.read(reply, list[kind])  # type: ignore[valid-type]
            found += page
            size += len(reply.body)
            if size > _LIST_BYTES:
                raise self._bad(Text("it is longer than {limit} bytes", limit=_LIST_BYTES))
            wanted = _next_page(reply, wanted or {})
            if wanted is None:
                if len(page) >= full or _is_full(reply):
                    self._line.forget(reply)
                return found
            full = min(full, len(page))  # a server may have smaller pages than it is asked for
        raise self._bad(Text("its list does not end"))

    def exists(self, path: str, what: str) -> bool:
        try:
            reply = self._ask("GET", path, what)
        except ForgeMissing:
            return False
        if reply.status != HTTPStatus.NO_CONTENT:  # a page that asks for a login is no yes
            self.read(reply, _Something)
        return True

    def change(self, method: str, path: str, body: Mapping[str, Any], kind: type[T], what: str) -> T:
        """Raises Unsure for a POST that may have been carried out."""
        return self.read(self._ask(method, path, what, body=body), kind)

    def repeat(self, method: str, path: str, body: Mapping[str, Any] | None, kind: type[T], what: str) -> T:
        """Also a POST, if it gives the same result when it is done twice."""
        return self.read(self._ask(method, path, what, body=body, repeatable=True), kind)

    def scrub(self, words: str) -> str:
        """Words from outside as an error may show them."""
        return shorten_scrubbed(words, self._scrub)

    def once(self, find: Callable[[], T | None], make: Callable[[], T]) -> T:
        """What is there already, or is made now; never made twice because an answer got lost."""
        until = self._pace.monotonic() + CALL_SEC
        for attempt in count():
            found = find()
            if found is not None:
                return found
            try:
                return make()
            except Unsure as unsure:
                problem = unsure.error
            if attempt == _MOST_TRIES or self._pace.monotonic() > until:
                raise problem
            self._pace.sleep(self._pause(attempt))
        raise AssertionError  # it does not end by itself

    def read(self, reply: HttpReply, kind: type[T]) -> T:
        told = reply.headers.get("content-type", "")
        if "json" not in told.lower():
            why = Text("it is {kind}, not JSON", kind=shorten_scrubbed(told, self._scrub) or "—")
            raise self._bad(why)
        try:
            return decoder(kind).decode(reply.body)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            why_not = shorten_scrubbed(str(error), self._scrub)
        raise self._bad(why_not)

    # One call, repeated as far as that is harmless.

    def _ask(
        self,
        method: str,
        path: str,
        what: str,
        query: Query | None = None,
        body: Mapping[str, Any] | None = None,
        *,
        repeatable: bool = False,
    ) -> HttpReply:
        place = path if path.startswith("http") else f"{self.address.api}{path}"
        url = f"{place}?{urlencode(query)}" if query else place
        data = None if body is None else msgspec.json.encode(body)
        until = self._pace.monotonic() + CALL_SEC
        for attempt in range(_MOST_TRIES):
            outcome = self._try(method, url, what, data)
            if isinstance(outcome, HttpReply):
                return outcome
            if outcome.arrived and not (repeatable or method in _REPEATABLE):
                raise Unsure(outcome.error)
            wait = self._pause(attempt) if outcome.wait is None else outcome.wait + self._pace.jitter()
            last = _MOST_TRIES if outcome.arrived or outcome.wait else _MOST_CONNECTIONS
            if attempt == last - 1 or self._pace.monotonic() + wait > until:
                raise outcome.error
            self._pace.sleep(wait)
        raise AssertionError  # the last attempt returns or raises

    def _pause(self, attempt: int) -> float:
        return min(2.0**attempt, _LONGEST_PAUSE) * (0.5 + self._pace.jitter() / 2)

    def _try(self, method: str, url: str, what: str, data: bytes | None) -> HttpReply | _Later:
        import httpx2  # noqa: PLC0415  # heavy, and only for those who work with a forge

        try:
            reply = self._line.send(method, url, data)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.ProxyError) as error:
            unreachable, arrived = _describe_failure(error), False
        except (httpx2.TransportError, httpx2.StreamError) as error:
            unreachable, arrived = _describe_failure(error), True
        else:
            return self._judge(method, what, reply)
        why = shorten_scrubbed(unreachable, self._scrub)
        return _Later(ForgeUnreachable(host=self.address.host, why=why), None, arrived)

    # What an answer means.

    def _judge(self, method: str, what: str, reply: HttpReply) -> HttpReply | _Later:
        status, host = reply.status, self.address.host
        if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES:
            return reply
        said = shorten_scrubbed(_read_words(reply), self._scrub)
        words = f"HTTP {status}: {said}" if said else f"HTTP {status}"
        if status in _BUSY or (status == HTTPStatus.FORBIDDEN and _is_limited(reply, said)):
            wait = self._read_pause(reply)
            why = (
                Text("{words}; again in {seconds} s", words=words, seconds=round(wait or 0))
                if wait
                else words
            )
            return _Later(ForgeBusy(host=host, why=why), wait, status not in {429, HTTPStatus.FORBIDDEN})
        if status >= _SERVER_ERROR:
            return _Later(ForgeBusy(host=host, why=words), self._read_pause(reply))
        if status in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            raise ForgeRejected(host=host, why=words)
        if status in _GONE:
            raise ForgeMissing(host=host, what=what)
        if status in _CONFLICTS:
            raise ForgeConflict(host=host, why=words)
        raise ForgeFailed(host=host, why=f"{method}: {words}")

    def _read_pause(self, reply: HttpReply) -> float | None:
        """In seconds. Its clock may differ from ours, so moments are compared with the date it tells."""
        now = _moment(reply.headers.get("date", "")) or self._pace.wall()
        told = reply.headers.get("retry-after", "").strip()
        if told.isdecimal():
            return float(told[:9])
        if (moment := _moment(told)) is not None:
            return max(moment - now, 0.0)
        reset = reply.headers.get("x-ratelimit-reset") or reply.headers.get("ratelimit-reset") or ""
        spent = reply.headers.get("x-ratelimit-remaining") or reply.headers.get("ratelimit-remaining") or "0"
        if reset.isdecimal() and spent == "0":
            return max(float(reset[:12]) - now, 0.0)
        return None

    def _bad(self, why: Text | str) -> BadForgeAnswer:
        return BadForgeAnswer(host=self.address.host, why=why)


def _next_page(reply: HttpReply, query: Query) -> Query | None:
    """Only what it says about the page is taken: the place stays ours."""
    if after := reply.headers.get("x-next-page"):
        return {**query, "page": after}
    if link := _NEXT.search(reply.headers.get("link", "")):
        return {**query, **dict(parse_qsl(link[1].partition("?")[2]))}
    return None


def _is_full(reply: HttpReply) -> bool:
    """As the forge counts: it leaves out what the account may not see, and counts it all the same."""
    total = reply.headers.get("x-total", "")
    size = reply.headers.get("x-per-page", "")
    per_page = int(size[:9]) if size.isdecimal() else _PAGE
    count = int(total[:12]) if total.isdecimal() else 0
    return count > 0 and per_page > 0 and count % per_page == 0


def _is_limited(reply: HttpReply, said: str) -> bool:
    headers = reply.headers
    return (
        "retry-after" in headers or headers.get("x-ratelimit-remaining") == "0" or bool(_LIMITED.search(said))
    )


def _moment(text: str) -> float | None:
    try:
        found = parsedate_to_datetime(text)
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None


def _read_words(reply: HttpReply) -> str:
    """The words of an error, wherever the forge puts them."""
    if "json" not in reply.headers.get("content-type", "").lower():
        return ""
    try:
        told = msgspec.json.decode(reply.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ""
    return "; ".join(_phrases(told))


def _phrases(told: object, depth: int = 0) -> Iterator[str]:
    match told:
        case str():
            yield told
        case list() if depth < 4:  # noqa: PLR2004  # deeper ones are no words for people
            for one in told[:4]:
                yield from _phrases(one, depth + 1)
        case dict() if depth < 4:  # noqa: PLR2004
            named = [
                told[key] for key in ("message", "error", "error_description", "errors") if told.get(key)
            ]
            for one in named or list(told.values())[:4]:
                yield from _phrases(one, depth + 1)


def _describe_failure(error: BaseException) -> str:
    """Without what it was caused by, which could name more than it should."""
    return str(error) or type(error).__name__


def to_utc(told: str) -> str:
    """A moment as a forge tells it, as others can compare it: in UTC, with Z."""
    try:
        found = datetime.fromisoformat(told)
    except ValueError:
        return told
    moment = found.astimezone(UTC) if found.tzinfo else found
    precise = "milliseconds" if "." in told else "seconds"
    return moment.replace(tzinfo=None).isoformat(timespec=precise) + "Z"
