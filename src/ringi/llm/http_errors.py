"""What a call over HTTP can end with, in our words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from ringi.errors import BadModelAnswer, ModelFailed, ModelRejected, ModelUnreachable
from ringi.llm.backend import ConnectionCut, RetryLater
from ringi.text import Text, visible

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError

_SAID_LENGTH: Final = 300
_SERVER_ERROR: Final = 500
_LATER: Final = frozenset([408, 409, 425, 429])


def failure(error: Exception, model: str, scrub: Callable[[str], str]) -> Exception:
    """Nothing of the error itself goes along: its words, headers and causes may hold a key."""
    import httpx2  # noqa: PLC0415  # loaded by whoever raised the error
    from pydantic_ai import exceptions as of  # noqa: PLC0415  # as above

    if isinstance(error, of.ModelHTTPError):
        return _of_status(error, model, scrub)
    said = shortened(str(error) or type(error).__name__, scrub)
    for below in _chain(error):
        # Ours, of the client: the SDKs take it for a lost connection.
        if isinstance(below, httpx2.DecodingError):
            return _unexpected(model, shortened(str(below), scrub))
    if isinstance(error, of.ModelConnectionError):
        return _of_connection(error, model, shortened(_deepest(error), scrub))
    if isinstance(error, of.ModelQuotaExceededError):
        return ModelRejected(model=model, why=said)
    if isinstance(error, of.ModelAPIError) and error.in_stream:
        return RetryLater(said, error.retry_after)
    if isinstance(error, OSError | httpx2.TransportError):
        return ModelUnreachable(model=model, why=said)
    return _unexpected(model, said)


def shortened(text: str, scrub: Callable[[str], str]) -> str:
    """Scrubbed before it is cut, or half a key would stay."""
    words = visible(" ".join(scrub(text).split()))
    return words if len(words) <= _SAID_LENGTH else f"{words[:_SAID_LENGTH]}…"


def is_about_schema(error: Exception) -> bool:
    """A service that cannot be held to a schema says so in many ways."""
    from pydantic_ai import exceptions as of  # noqa: PLC0415  # as above

    if not isinstance(error, of.ModelHTTPError) or error.status_code not in (400, 415, 422, 500, 501):
        return False
    words = str(error.body).casefold()
    return any(word in words for word in ("response_format", "json_schema", "grammar", "structured output"))


def _unexpected(model: str, said: str) -> BadModelAnswer:
    return BadModelAnswer(model=model, why=Text("the service does not speak as expected: {said}", said=said))


def _of_status(error: ModelHTTPError, model: str, scrub: Callable[[str], str]) -> Exception:
    from pydantic_ai.exceptions import ModelQuotaExceededError  # noqa: PLC0415  # as above

    said = shortened(_message(error.body), scrub)
    words = f"HTTP {error.status_code}: {said}" if said else f"HTTP {error.status_code}"
    passing = error.status_code in _LATER or error.status_code >= _SERVER_ERROR
    if passing and not isinstance(error, ModelQuotaExceededError):
        return RetryLater(words, error.retry_after)
    return ModelRejected(model=model, why=words)


def _of_connection(error: ModelConnectionError, model: str, said: str) -> ModelFailed | ConnectionCut:
    if error.phase in ("pool", "connect"):
        return ModelUnreachable(model=model, why=said)
    return ConnectionCut(said)


def _message(body: object) -> str:
    """Services put it at different places."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            inner = inner.get("message", inner)
        return str(inner)
    return str(body or "")


def _deepest(error: BaseException) -> str:
    """The SDKs say only "Connection error."; the reason is below."""
    words = [str(each) for each in _chain(error)]
    return next((said for said in reversed(words) if said.strip()), type(error).__name__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__
