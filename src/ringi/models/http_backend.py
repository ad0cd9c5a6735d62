"""Models over HTTP: each call is a stream on its own event loop and leaves nothing behind."""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from ringi.errors import (
    BadModelAnswer,
    ModelDeclined,
    ModelFailed,
    ModelRejected,
    ModelTimeout,
    ModelUnreachable,
    NoExtra,
)
from ringi.kernel.process.installation import extending_command
from ringi.kernel.process.network import proxy_for, shorten_scrubbed, trust
from ringi.kernel.text import Text
from ringi.models.backend import Call, ChatMessage, ConnectionCut, Reply, RetryLater
from ringi.models.providers import ModelFactory, Provider
from ringi.models.reply import MAX_ANSWER_BYTES
from ringi.models.turns import with_schema

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.exceptions import ModelConnectionError, ModelHTTPError
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

_LETTERS_PER_TOKEN: Final = 4
_BEAT_SEC: Final = 0.4
# Errors that the SDKs and pydantic-ai raise when a service sends chunks of an unexpected shape.
_STUMBLES: Final = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    RuntimeError,
    TypeError,
    ValueError,
)
_SERVER_ERROR: Final = 500
_LATER: Final = frozenset([408, 409, 425, 429])
_CONNECT_SEC: Final = 10.0
# The SDKs take headers from variables of the process, which may be meant for another service. We set the
# key ourselves.
_SENT: Final = re.compile(
    r"accept|accept-encoding|connection|content-length|content-type|host|transfer-encoding|user-agent"
    r"|anthropic-(?:version|beta)|openai-(?:organization|project)|x-stainless-.*"
    r"|mcp-.*|last-event-id|cache-control",
    re.IGNORECASE,
)
# A stream wraps every few letters in about a hundred bytes; this bounds what a broken service can send.
MAX_RECEIVED_BYTES: Final = 64 * 1024 * 1024


class HttpBackend:
    """OpenAI-compatible services get the schema as response_format: OpenAI, llama.cpp, vLLM and Ollama know
    it, and small models need it. Not as a tool: few small servers stream those well. A service that refuses
    it gets the schema as text, as Anthropic does from the start.
    """

    sees_project: Final = False

    def __init__(
        self, provider: Provider, environment: Mapping[str, str], scrub: Callable[[str], str]
    ) -> None:
        self._provider = provider
        self._environment = environment
        self._scrub = scrub
        self._takes_schema = provider.takes_schema

    @property
    def name(self) -> str:
        return self._provider.name

    def prepare(self) -> None:
        """Outside the event loop, where Ctrl-C would wait until everything is imported."""
        try:
            self._provider.load()
        except ImportError as error:  # installed, but incomplete
            raise NoExtra(what=self.name, extra="models", command=extending_command("models")) from error

    def send(self, call: Call) -> Reply:
        with asyncio.Runner(loop_factory=Loop) as runner:
            return runner.run(self._within(call, self._provider.load()))

    async def _within(self, call: Call, model_over: ModelFactory) -> Reply:
        from httpx2 import HTTPError  # noqa: PLC0415  # heavy, and only for a call
        from pydantic_ai.exceptions import AgentRunError, UserError  # noqa: PLC0415  # as above

        deadline = asyncio.timeout(call.seconds)
        try:
            async with deadline, self._client() as http:
                return await self._watch(model_over(http), call)
        except (RetryLater, ConnectionCut, ModelFailed):
            raise
        except (AgentRunError, UserError, HTTPError, OSError, *_STUMBLES) as error:
            late = deadline.expired()
            problem = failure(error, self.name, self._scrub)
        if late:
            raise ModelTimeout(model=self.name, seconds=f"{call.seconds:g}")
        raise problem

    def _client(self) -> httpx2.AsyncClient:
        from httpx2 import InvalidURL  # noqa: PLC0415  # as above

        try:
            return client(self._provider.url, self._environment, self._provider.credentials)
        # Unreadable certificates, or a proxy that is invalid or unsupported.
        except (OSError, ValueError, ImportError, InvalidURL) as error:
            why = shorten_scrubbed(str(error), self._scrub)
        raise ModelUnreachable(model=self.name, why=why)

    async def _watch(self, model: Model[Any], call: Call) -> Reply:
        """Reports even while nothing arrives, so that the listener can stop it."""
        latest = 0

        def count(tokens: int) -> None:
            nonlocal latest
            latest = tokens
            call.on_tokens(tokens)

        task = asyncio.ensure_future(self._try(model, call._replace(on_tokens=count)))
        try:
            while not (await asyncio.wait([task], timeout=_BEAT_SEC))[0]:
                call.on_tokens(latest)
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _try(self, model: Model[Any], call: Call) -> Reply:
        from pydantic_ai.exceptions import ModelHTTPError  # noqa: PLC0415  # as above

        if self._takes_schema:
            try:
                return await self._stream(model, call, call.turns)
            except ModelHTTPError as error:
                if not is_about_schema(error):
                    raise
            self._takes_schema = False
        in_text = with_schema(call.turns, call.schema) if self._provider.takes_schema else call.turns
        return await self._stream(model, call, in_text)

    async def _stream(self, model: Model[Any], call: Call, turns: Sequence[ChatMessage]) -> Reply:
        settings: Any = {"max_tokens": call.output_tokens}
        pieces: list[str] = []
        size = 0
        async with model.request_stream(_messages(turns), settings, self._parameters(call)) as stream:
            async for event in stream:
                piece, thought = _words(event)
                size += len((piece + thought).encode("utf-8", "replace"))
                call.on_tokens(size // _LETTERS_PER_TOKEN)
                if size > MAX_ANSWER_BYTES:
                    raise BadModelAnswer(
                        model=self.name, why=Text("it is longer than {limit} bytes", limit=MAX_ANSWER_BYTES)
                    )
                if piece:
                    pieces.append(piece)
                    call.on_text(piece)
            return self._reply(stream, "".join(pieces))

    def _reply(self, stream: StreamedResponse, text: str) -> Reply:
        response = stream.get()
        if response.finish_reason == "content_filter":
            said = (response.provider_details or {}).get("refusal")
            raise ModelDeclined(
                model=self.name,
                why=shorten_scrubbed(str(said), self._scrub) if said else Text("it refused to"),
            )
        usage = response.usage
        return Reply(
            text,
            usage.input_tokens,
            usage.output_tokens,
            _cost(response),
            response.finish_reason == "length",
            usage.cache_read_tokens,
        )

    def _parameters(self, call: Call) -> ModelRequestParameters:
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415  # as above
        from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415  # as above

        if not self._takes_schema:
            return ModelRequestParameters()
        wanted = OutputObjectDefinition(json_schema=dict(call.schema), name="answer")
        return ModelRequestParameters(output_mode="native", output_object=wanted)


def _messages(turns: Sequence[ChatMessage]) -> list[ModelMessage]:
    from pydantic_ai import messages as of  # noqa: PLC0415  # as above

    found: list[ModelMessage] = []
    for turn in turns:
        if turn.role == "assistant":
            found.append(of.ModelResponse(parts=[of.TextPart(turn.text)]))
        elif turn.role == "system":
            found.append(of.ModelRequest(parts=[of.SystemPromptPart(turn.text)]))
        else:
            found.append(of.ModelRequest(parts=[of.UserPromptPart(turn.text)]))
    return found


def _words(event: object) -> tuple[str, str]:
    """The answer's text, and the thinking's text."""
    from pydantic_ai import messages as of  # noqa: PLC0415  # as above

    match event:
        case of.PartStartEvent(part=of.TextPart(content=text)):
            return text, ""
        case of.PartDeltaEvent(delta=of.TextPartDelta(content_delta=text)):
            return text, ""
        case of.PartStartEvent(part=of.ThinkingPart(content=text)):
            return "", text
        case of.PartDeltaEvent(delta=of.ThinkingPartDelta(content_delta=thought)):
            return "", thought or ""
    return "", ""


def _cost(response: Any) -> float | None:
    """From pydantic-ai's price list; None if it does not know the model."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None


# --- how a call can fail, as our own errors -----------------------------------------------------------------


def failure(error: Exception, model: str, scrub: Callable[[str], str]) -> Exception:
    """Does not chain the original error: its text, headers and causes may contain a key."""
    import httpx2  # noqa: PLC0415  # loaded when the error was raised
    from pydantic_ai import exceptions as of  # noqa: PLC0415  # as above

    if isinstance(error, of.ModelHTTPError):
        return _of_status(error, model, scrub)
    said = shorten_scrubbed(str(error) or type(error).__name__, scrub)
    for below in _chain(error):
        # Raised by our own client; the SDKs take it for a lost connection.
        if isinstance(below, httpx2.DecodingError):
            return _report_unexpected(model, shorten_scrubbed(str(below), scrub))
    if isinstance(error, of.ModelConnectionError):
        return _of_connection(error, model, shorten_scrubbed(_deepest(error), scrub))
    if isinstance(error, of.ModelQuotaExceededError):
        return ModelRejected(model=model, why=said)
    if isinstance(error, of.ModelAPIError) and error.in_stream:
        return RetryLater(said, error.retry_after)
    if isinstance(error, OSError | httpx2.TransportError):
        return ModelUnreachable(model=model, why=said)
    return _report_unexpected(model, said)


def is_about_schema(error: Exception) -> bool:
    """Services reject a schema in many different ways."""
    from pydantic_ai import exceptions as of  # noqa: PLC0415  # as above

    if not isinstance(error, of.ModelHTTPError) or error.status_code not in (400, 415, 422, 500, 501):
        return False
    words = str(error.body).casefold()
    return any(word in words for word in ("response_format", "json_schema", "grammar", "structured output"))


def _report_unexpected(model: str, said: str) -> BadModelAnswer:
    return BadModelAnswer(model=model, why=Text("the service does not speak as expected: {said}", said=said))


def _of_status(error: ModelHTTPError, model: str, scrub: Callable[[str], str]) -> Exception:
    from pydantic_ai.exceptions import ModelQuotaExceededError  # noqa: PLC0415  # as above

    said = shorten_scrubbed(_message(error.body), scrub)
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
    """Services put it in different places."""
    if isinstance(body, dict):
        inner = body.get("error", body)
        if isinstance(inner, dict):
            inner = inner.get("message", inner)
        return str(inner)
    return str(body or "")


def _deepest(error: BaseException) -> str:
    """The SDKs say only "Connection error."; the reason is in the cause."""
    words = [str(each) for each in _chain(error)]
    return next((said for said in reversed(words) if said.strip()), type(error).__name__)


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


# --- the connection: only to the given host, through the given proxy ---------------------------------------


def client(
    url: str,
    environment: Mapping[str, str],
    credentials: Mapping[str, str],
    most_bytes: int = MAX_RECEIVED_BYTES,
) -> httpx2.AsyncClient:
    """Uses only the given environment. Follows no redirects, which would send the key elsewhere."""
    import httpx2  # noqa: PLC0415  # heavy, and only for those who ask a model

    class Bounded(httpx2.AsyncByteStream):
        def __init__(self, inner: Any) -> None:
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            received = 0
            async for chunk in self._inner:
                received += len(chunk)
                if received > most_bytes:
                    raise httpx2.DecodingError("more bytes than any answer has")
                yield chunk

        async def aclose(self) -> None:
            await self._inner.aclose()

    class Transport(httpx2.AsyncHTTPTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            kept = [
                (name, value) for name, value in request.headers.items() if value and _SENT.fullmatch(name)
            ]
            request.headers = httpx2.Headers([*kept, *credentials.items()])
            response = await super().handle_async_request(request)
            packed = response.headers.get("content-encoding", "identity")
            if packed != "identity":
                # We did not ask for compression, and a few bytes could expand to fill the memory.
                await response.aclose()
                raise httpx2.DecodingError(f"the answer is packed ({packed[:20]})")
            response.stream = Bounded(response.stream)
            return response

    transport = Transport(verify=trust(url, environment), proxy=proxy_for(url, environment), trust_env=False)
    return httpx2.AsyncClient(
        transport=transport,
        trust_env=False,
        follow_redirects=False,
        timeout=httpx2.Timeout(None, connect=_CONNECT_SEC),
        headers={"Accept-Encoding": "identity"},
    )


class Loop(asyncio.SelectorEventLoop):
    """Resolves names in a thread that nobody joins; the default one delays Ctrl-C until it is done."""

    async def getaddrinfo(self, host: Any, port: Any, **wanted: int) -> Any:
        found: asyncio.Future[Any] = self.create_future()

        def settle(result: Any, error: OSError | UnicodeError | None) -> None:
            if found.done():
                return
            if error is None:
                found.set_result(result)
            else:
                found.set_exception(error)

        def look_up() -> None:
            result, error = None, None
            try:
                result = socket.getaddrinfo(host, port, **wanted)
            except (OSError, UnicodeError) as failure:
                error = failure
            with suppress(RuntimeError):  # the call was abandoned and the loop closed
                self.call_soon_threadsafe(settle, result, error)

        threading.Thread(target=look_up, name="ringi-name-lookup", daemon=True).start()
        return await found
