"""Models over HTTP: a call is a stream on an event loop of its own, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from ringi.errors import (
    BadModelAnswer,
    ModelDeclined,
    ModelFailed,
    ModelTimeout,
    ModelUnreachable,
    NoExtra,
)
from ringi.llm.backend import Call, ConnectionCut, Reply, RetryLater, Turn
from ringi.llm.http_client import Loop, client
from ringi.llm.http_errors import failure, is_about_schema, shortened
from ringi.llm.http_services import Service, Speaker
from ringi.llm.reading import MAX_ANSWER_BYTES
from ringi.llm.rendering import with_schema
from ringi.text import Text

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import Model, ModelRequestParameters, StreamedResponse

_LETTERS_PER_TOKEN: Final = 4
_BEAT_SEC: Final = 0.4
# What the SDKs and pydantic-ai stumble over when a service sends chunks of a shape they never thought of.
_STUMBLES: Final = (
    AssertionError,
    AttributeError,
    IndexError,
    KeyError,
    RuntimeError,
    TypeError,
    ValueError,
)


class HttpBackend:
    """OpenAI-compatible services are held to the schema by response_format: OpenAI, llama.cpp, vLLM and
    Ollama know it, and small models are lost without it. Not by a tool: few small servers stream those well.
    A service that refuses it gets the schema as text, as Anthropic does from the start.
    """

    def __init__(self, service: Service, environment: Mapping[str, str], scrub: Callable[[str], str]) -> None:
        self._service = service
        self._environment = environment
        self._scrub = scrub
        self._held = service.held

    @property
    def name(self) -> str:
        return self._service.name

    def prepare(self) -> None:
        """Not in the loop: there Ctrl-C would wait until all is imported."""
        try:
            self._service.speaker()
        except ImportError as error:  # it was found, and is not whole
            raise NoExtra(what=self.name, extra="models") from error

    def send(self, call: Call) -> Reply:
        with asyncio.Runner(loop_factory=Loop) as runner:
            return runner.run(self._within(call, self._service.speaker()))

    async def _within(self, call: Call, speaker: Speaker) -> Reply:
        from httpx2 import HTTPError  # noqa: PLC0415  # heavy, and only for a call
        from pydantic_ai.exceptions import AgentRunError, UserError  # noqa: PLC0415  # as above

        deadline = asyncio.timeout(call.seconds)
        try:
            async with deadline, self._client() as http:
                return await self._watched(speaker(http), call)
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
            return client(self._service.url, self._environment, self._service.credentials)
        # Certificates that cannot be read, a proxy that is none or that nobody can speak to.
        except (OSError, ValueError, ImportError, InvalidURL) as error:
            why = shortened(str(error), self._scrub)
        raise ModelUnreachable(model=self.name, why=why)

    async def _watched(self, model: Model[Any], call: Call) -> Reply:
        """Is heard of also while nothing arrives: whoever is told may want to stop it."""
        latest = 0

        def count(tokens: int) -> None:
            nonlocal latest
            latest = tokens
            call.on_tokens(tokens)

        task = asyncio.ensure_future(self._tried(model, call._replace(on_tokens=count)))
        try:
            while not (await asyncio.wait([task], timeout=_BEAT_SEC))[0]:
                call.on_tokens(latest)
            return task.result()
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def _tried(self, model: Model[Any], call: Call) -> Reply:
        from pydantic_ai.exceptions import ModelHTTPError  # noqa: PLC0415  # as above

        if self._held:
            try:
                return await self._streamed(model, call, call.turns)
            except ModelHTTPError as error:
                if not is_about_schema(error):
                    raise
            self._held = False
        in_text = with_schema(call.turns, call.schema) if self._service.held else call.turns
        return await self._streamed(model, call, in_text)

    async def _streamed(self, model: Model[Any], call: Call, turns: Sequence[Turn]) -> Reply:
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
                why=shortened(str(said), self._scrub) if said else Text("it refused to"),
            )
        usage = response.usage
        return Reply(
            text, usage.input_tokens, usage.output_tokens, _cost(response), response.finish_reason == "length"
        )

    def _parameters(self, call: Call) -> ModelRequestParameters:
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415  # as above
        from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415  # as above

        if not self._held:
            return ModelRequestParameters()
        wanted = OutputObjectDefinition(json_schema=dict(call.schema), name="answer")
        return ModelRequestParameters(output_mode="native", output_object=wanted)


def _messages(turns: Sequence[Turn]) -> list[ModelMessage]:
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
    """What belongs to the answer, and what was only thought aloud."""
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
    """From the list of prices that comes with pydantic-ai; None where it does not know the model."""
    try:
        return float(response.cost().total_price)
    except (LookupError, ValueError, AssertionError):
        return None
