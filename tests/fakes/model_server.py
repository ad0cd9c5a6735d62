"""A model service on loopback that says what its script says, in the words of OpenAI or Anthropic.

    with ModelServer([Status(429, retry_after="1"), Say({"questions": []})]) as server:
        environment = server.environment()    # addresses and made-up keys for all three kinds
        ...
        assert len(server.requests) == 2

The last step of a script is repeated for ever. A step can also be a function that gets the request and
returns the answer (an object, a text) or another step: a whole session is such a function.
"""

import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.fakes.loopback import Handler, Loopback

OPENAI_KEY = "sk-openai-0123456789abcdef"
ANTHROPIC_KEY = "sk-ant-0123456789abcdef"
_PIECE = 24


def tokens(text: str) -> int:
    """Roughly: four ASCII characters are a token, and every other character, as of Japanese, is one."""
    plain = sum(character.isascii() for character in text)
    return -(-plain // 4) + len(text) - plain


class Request(NamedTuple):
    path: str
    headers: Mapping[str, str]
    """Names in small letters."""
    body: Mapping[str, Any]

    @property
    def is_openai(self) -> bool:
        return self.path.endswith("/chat/completions")

    @property
    def turns(self) -> list[tuple[str, str]]:
        system = self.body.get("system")
        first = [("system", _text(system))] if system else []
        return first + [(turn["role"], _text(turn["content"])) for turn in self.body["messages"]]

    @property
    def text(self) -> str:
        return "\n".join(text for _, text in self.turns)

    @property
    def schema(self) -> Mapping[str, Any] | None:
        """What the service is told to hold the model to."""
        return (self.body.get("response_format") or {}).get("json_schema", {}).get("schema")

    @property
    def prompt_tokens(self) -> int:
        """All that the model has to read: the messages, and the schema where it is sent beside them."""
        schema = json.dumps(self.schema, separators=(",", ":")) if self.schema else ""
        return tokens(self.text) + tokens(schema)


class Say(NamedTuple):
    """Answers; anything but a text is sent as JSON."""

    words: Any
    finish: str = "stop"
    """length: the limit of tokens ended it."""
    cached: int = 0
    """How many tokens of the prompt the service says it had read before."""


class Refuse(NamedTuple):
    words: str = "I cannot help with that."


class Status(NamedTuple):
    """An HTTP error with the words of the service; `{key}` in them is the key it got."""

    code: int
    words: str = "something is wrong"
    retry_after: str = ""
    kind: str = ""


class ErrorInStream(NamedTuple):
    """After a beginning that looked well."""

    words: str = "the server had an error"
    kind: str = "server_error"


class Cut(NamedTuple):
    """The connection is gone after the first pieces of the answer; before any byte with `pieces=0`."""

    words: Any = "a few words that never come to their end, whatever they may have wanted to say"
    pieces: int = 2


class Slowly(NamedTuple):
    """One byte of the stream at a time."""

    words: Any
    seconds: float = 1.0


class Never(NamedTuple):
    """Takes the request and says nothing."""


class Huge(NamedTuple):
    """A long answer without an end to its JSON."""

    size: int = 5 * 1024 * 1024


class Garbage(NamedTuple):
    """Bytes instead of a stream of events."""

    data: bytes = b"<html><body>It works!</body></html>\n" * 3
    content_type: str = "text/event-stream"
    packed: str = ""
    """The encoding that is claimed for it."""


class Events(NamedTuple):
    """These lines as they are, each as the data of an event."""

    lines: Sequence[str]


Step = Say | Refuse | Status | ErrorInStream | Cut | Slowly | Never | Huge | Garbage | Events
Script = Step | Callable[[Request], Any]


class ModelServer(Loopback):
    """OpenAI wants `url + "/v1"`, Anthropic and Ollama the `url` as it is."""

    def __init__(self, script: Sequence[Script] | Callable[[Request], Any]) -> None:
        super().__init__()
        self._script = list(script) if isinstance(script, Sequence) else [script]
        self._lock = threading.Lock()
        self.requests: list[Request] = []

    def handler(self, *given: Any) -> Handler:
        return _Handler(self, *given)

    def say(self, script: Callable[[Request], Any]) -> None:
        """From here on."""
        self._script = [script]

    def environment(self) -> dict[str, str]:
        return {
            "OPENAI_BASE_URL": f"{self.url}/v1",
            "OPENAI_API_KEY": OPENAI_KEY,
            "ANTHROPIC_BASE_URL": self.url,
            "ANTHROPIC_API_KEY": ANTHROPIC_KEY,
            "OLLAMA_HOST": self.url,
        }

    @property
    def prompt_tokens(self) -> int:
        return sum(request.prompt_tokens for request in self.requests)

    def step(self, request: Request) -> Step:
        with self._lock:
            number = len(self.requests)
            self.requests.append(request)
        step: Any = self._script[min(number, len(self._script) - 1)]
        if callable(step):
            step = step(request)
        return step if isinstance(step, Step) else Say(step)


class _Handler(Handler):
    def __init__(self, model: ModelServer, *given: Any) -> None:
        self._model = model
        super().__init__(*given)

    def do_POST(self) -> None:  # noqa: N802  # the name that http.server calls
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, json.loads(self.body()))
        step = self._model.step(request)
        voice = _OpenAI() if request.is_openai else _Anthropic()
        voice.prompt_tokens = request.prompt_tokens
        match step:
            case Status():
                self._status(step, request, voice)
            case Never():
                self._wait_for_the_end()
            case Garbage(data=data, content_type=kind, packed=packed):
                self.whole(200, kind, data, {"Content-Encoding": packed} if packed else None)
            case _ if request.body.get("stream"):
                self._stream(step, voice)
            case _:
                self.whole(200, "application/json", json.dumps(voice.whole(step)).encode())

    def _status(self, step: Status, request: Request, voice: Any) -> None:
        key = request.headers.get("x-api-key") or request.headers.get("authorization", "").removeprefix(
            "Bearer "
        )
        words = step.words.replace("{key}", key)
        more = {"Retry-After": step.retry_after} if step.retry_after else {}
        self.whole(step.code, "application/json", json.dumps(voice.error(words, step.kind)).encode(), more)

    def _stream(self, step: Step, voice: Any) -> None:
        if isinstance(step, Cut) and step.pieces == 0:
            self._drop()
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, event in enumerate(voice.events(step)):
            if isinstance(step, Cut) and number > step.pieces:
                self._drop()
                return
            if isinstance(step, Slowly):
                for byte in event:
                    self._chunk(bytes([byte]))
                    if self._model.closing.wait(step.seconds):
                        return
            else:
                self._chunk(event)
        self._chunk(b"")

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _drop(self) -> None:
        """With a reset, as when a cable is pulled."""
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.close_connection = True

    def _wait_for_the_end(self) -> None:
        """Of the server, or of the client's patience."""
        self.connection.settimeout(0.02)
        while not self._model.closing.is_set():
            try:
                if not self.connection.recv(1):
                    break
            except TimeoutError:
                continue
        self.close_connection = True


def _cached(step: Step) -> int:
    return step.cached if isinstance(step, Say) else 0


class _OpenAI:
    prompt_tokens = 0

    def error(self, words: str, kind: str) -> Any:
        return {"error": {"message": words, "type": kind or "error", "code": kind or None}}

    def whole(self, step: Step) -> Any:
        refusal = step.words if isinstance(step, Refuse) else None
        message = {"role": "assistant", "content": None if refusal else _words(step), "refusal": refusal}
        choice = {"index": 0, "message": message, "finish_reason": _finish(step)}
        return {**self._frame("chat.completion"), "choices": [choice], "usage": self._usage(step)}

    def events(self, step: Step) -> Iterator[bytes]:
        if isinstance(step, Events):
            yield from (_event(line) for line in step.lines)
            return
        yield self._delta({"role": "assistant", "content": ""})
        if isinstance(step, ErrorInStream):
            yield _event(json.dumps(self.error(step.words, step.kind)))
            return
        field = "refusal" if isinstance(step, Refuse) else "content"
        yield from (self._delta({field: piece}) for piece in _pieces(_words(step)))
        yield self._delta({}, _finish(step))
        yield _event(
            json.dumps({**self._frame("chat.completion.chunk"), "choices": [], "usage": self._usage(step)})
        )
        yield _event("[DONE]")

    def _delta(self, delta: Any, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return _event(json.dumps({**self._frame("chat.completion.chunk"), "choices": [choice]}))

    def _frame(self, kind: str) -> dict[str, Any]:
        return {"id": "c-1", "object": kind, "created": 1_700_000_000, "model": "gpt-4o-mini"}

    def _usage(self, step: Step) -> Any:
        said = tokens(_words(step))
        return {
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": said,
            "total_tokens": self.prompt_tokens + said,
            "prompt_tokens_details": {"cached_tokens": _cached(step)},
        }


class _Anthropic:
    prompt_tokens = 0

    def error(self, words: str, kind: str) -> Any:
        return {"type": "error", "error": {"type": kind or "api_error", "message": words}}

    def whole(self, step: Step) -> Any:
        words = _words(step)
        usage = {**self._read(step), "output_tokens": tokens(words)}
        return {
            **self._message(),
            "content": [{"type": "text", "text": words}] if words else [],
            "stop_reason": self._stop(step),
            "usage": usage,
        }

    def events(self, step: Step) -> Iterator[bytes]:
        if isinstance(step, Events):
            yield from (_event(line) for line in step.lines)
            return
        usage = {**self._read(step), "output_tokens": 1}
        yield self._event("message_start", message={**self._message(), "usage": usage})
        if isinstance(step, ErrorInStream):
            kind = "overloaded_error" if step.kind == "server_error" else step.kind
            yield self._event("error", error={"type": kind, "message": step.words})
            return
        words = "" if isinstance(step, Refuse) else _words(step)
        yield self._event("content_block_start", index=0, content_block={"type": "text", "text": ""})
        for piece in _pieces(words):
            yield self._event("content_block_delta", index=0, delta={"type": "text_delta", "text": piece})
        yield self._event("content_block_stop", index=0)
        stop = {"stop_reason": self._stop(step), "stop_sequence": None}
        yield self._event("message_delta", delta=stop, usage={"output_tokens": tokens(words)})
        yield self._event("message_stop")

    def _read(self, step: Step) -> Any:
        cached = _cached(step)
        return {"input_tokens": self.prompt_tokens - cached, "cache_read_input_tokens": cached}

    def _message(self) -> dict[str, Any]:
        return {
            "id": "m-1",
            "type": "message",
            "role": "assistant",
            "model": "claude-haiku-4-5",
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
        }

    def _stop(self, step: Step) -> str:
        if isinstance(step, Refuse):
            return "refusal"
        return "max_tokens" if _finish(step) == "length" else "end_turn"

    def _event(self, kind: str, **fields: Any) -> bytes:
        return f"event: {kind}\n".encode() + _event(json.dumps({"type": kind, **fields}))


def _event(data: str) -> bytes:
    return f"data: {data}\n\n".encode()


def _words(step: Step) -> str:
    if isinstance(step, Huge):
        return '{"questions": "' + "x" * step.size
    words = getattr(step, "words", "")
    return words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)


def _finish(step: Step) -> str:
    return step.finish if isinstance(step, Say) else "stop"


def _pieces(text: str) -> Iterator[str]:
    size = max(_PIECE, len(text) // 500)
    for start in range(0, len(text), size):
        yield text[start : start + size]


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [])
