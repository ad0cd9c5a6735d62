"""A model on loopback for real agents: OpenAI responses and chat, Anthropic messages, Gemini.

    with ScriptedModel({"say good day": [Call("Bash", command="ls"), Say("Done.")]}) as model:
        ...                              # an agent is asked to "say good day"
        assert "hello.py" in model.asked[-1].results[-1]

The last thing a person said chooses the script by a phrase in it, and the number of tool results since then
its step; so the model keeps no state, and an agent may ask twice. A step can also be a function of the
request. After its last step a script says DONE, and so does a model without a script.
"""

import itertools
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from tests.fakes.loopback import Handler, Loopback

DONE = "That is all, says the scripted model."
# What agents tell a model in a person's name: the folder, the date, reminders, rules of the project.
_ASIDES = ("<", "# AGENTS.md", "This is the Gemini CLI")


class Asked(NamedTuple):
    """A request, whatever its protocol."""

    api: str
    model: str
    tools: tuple[str, ...]
    said: tuple[str, ...]
    """What a person said, oldest first."""
    results: tuple[str, ...]
    """What the tools gave since a person last spoke."""
    whole: str


class Call(NamedTuple):
    """The tool whose name ends like this is called."""

    tool: str
    arguments: Mapping[str, Any] | str
    """A text for a tool that takes no JSON."""


class Say(NamedTuple):
    words: str


Step = Call | Say
Script = Sequence[Step | Callable[[Asked], Step]]


class ScriptedModel(Loopback):
    def __init__(self, scripts: Mapping[str, Script]) -> None:
        super().__init__()
        self._scripts = scripts
        self.asked: list[Asked] = []
        self.unknown: list[str] = []
        """Paths that no protocol of ours has."""

    def handler(self, *given: Any) -> Handler:
        return _Handler(self, *given)

    @property
    def turns(self) -> list[Asked]:
        """Without what agents ask on the side, such as a title: that comes without tools."""
        return [asked for asked in self.asked if asked.tools or asked.api == "chat"]

    def step(self, asked: Asked) -> Step:
        self.asked.append(asked)
        last = asked.said[-1] if asked.said else ""
        script = next((steps for phrase, steps in self._scripts.items() if phrase in last), ())
        done = len(asked.results)
        step = script[done] if done < len(script) else Say(DONE)
        if callable(step):
            step = step(asked)
        if isinstance(step, Call) and not asked.tools:
            return Say("A title")
        return step


class Protocol(ABC):
    """How one interface says what we know as `Asked`, and is told a `Step`."""

    name = ""

    def read(self, body: Mapping[str, Any], whole: str) -> Asked:
        said: list[str] = []
        results: list[str] = []
        for who, text in self.messages(body):
            if who == "tool":
                results.append(text)
            elif who == "user" and text.strip() and not text.lstrip().startswith(_ASIDES):
                said.append(text)
                results.clear()
        tools = tuple(name for name, _ in self.tools(body))
        return Asked(self.name, str(body.get("model", "")), tools, tuple(said), tuple(results), whole)

    @abstractmethod
    def messages(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]: ...

    def tools(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        """The name, and the namespace it is in."""
        for tool in body.get("tools") or ():
            if tool.get("type") == "namespace":
                yield from ((one.get("name", ""), tool["name"]) for one in tool.get("tools", ()))
            else:
                yield tool.get("name") or tool.get("function", {}).get("name") or tool.get("type", ""), ""

    def find(self, body: Mapping[str, Any], wanted: str) -> tuple[str, str]:
        known = list(self.tools(body))
        for name, space in known:
            if name == wanted:
                return name, space
        for name, space in known:
            if name.endswith(wanted):
                return name, space
        raise LookupError(f"no tool {wanted} among {[name for name, _ in known]}")

    @abstractmethod
    def whole(self, body: Mapping[str, Any], step: Step, number: int) -> Any: ...

    @abstractmethod
    def events(self, body: Mapping[str, Any], step: Step, number: int) -> Iterator[tuple[str, Any]]:
        """Each with its name; one without a name has none."""


class Messages(Protocol):
    name = "messages"

    def messages(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for message in body.get("messages", ()):
            for part in _parts(message.get("content")):
                if part.get("type") == "tool_result":
                    yield "tool", _text(part.get("content"))
                elif part.get("type") == "text":
                    yield message["role"], part["text"]

    def _block(self, body: Mapping[str, Any], step: Step, number: int) -> dict[str, Any]:
        if isinstance(step, Say):
            return {"type": "text", "text": step.words}
        name, _ = self.find(body, step.tool)
        return {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": step.arguments}

    def _message(self, body: Mapping[str, Any], number: int) -> dict[str, Any]:
        usage = {"input_tokens": 10, "output_tokens": 1}
        return {
            "id": f"msg_{number}", "type": "message", "role": "assistant", "model": body.get("model"),
            "content": [], "stop_reason": None, "stop_sequence": None, "usage": usage,
        }  # fmt: skip

    def whole(self, body: Mapping[str, Any], step: Step, number: int) -> Any:
        ended = "end_turn" if isinstance(step, Say) else "tool_use"
        block = self._block(body, step, number)
        return {**self._message(body, number), "content": [block], "stop_reason": ended}

    def events(self, body: Mapping[str, Any], step: Step, number: int) -> Iterator[tuple[str, Any]]:
        block = self._block(body, step, number)
        if isinstance(step, Say):
            empty, delta = {**block, "text": ""}, {"type": "text_delta", "text": step.words}
        else:
            piece = json.dumps(block["input"])
            empty, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": piece}
        ended = {"stop_reason": "end_turn" if isinstance(step, Say) else "tool_use", "stop_sequence": None}
        yield "message_start", {"message": self._message(body, number)}
        yield "content_block_start", {"index": 0, "content_block": empty}
        yield "content_block_delta", {"index": 0, "delta": delta}
        yield "content_block_stop", {"index": 0}
        yield "message_delta", {"delta": ended, "usage": {"output_tokens": 5}}
        yield "message_stop", {}


class Responses(Protocol):
    name = "responses"

    def messages(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for item in body.get("input", ()):
            if str(item.get("type", "")).endswith("_call_output"):
                yield "tool", _text(item.get("output"))
            elif item.get("role") in {"user", "assistant"}:
                for part in _parts(item.get("content")):
                    yield item["role"], part.get("text", "")

    def _item(self, body: Mapping[str, Any], step: Step, number: int) -> dict[str, Any]:
        if isinstance(step, Say):
            content = [{"type": "output_text", "text": step.words, "annotations": []}]
            return {
                "type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed",
                "content": content,
            }  # fmt: skip
        name, space = self.find(body, step.tool)
        called = {"call_id": f"call_{number}", "name": name, "status": "completed"}
        if isinstance(step.arguments, str):
            return {"type": "custom_tool_call", "id": f"ctc_{number}", **called, "input": step.arguments}
        found = {"namespace": space} if space else {}
        arguments = json.dumps(step.arguments)
        return {"type": "function_call", "id": f"fc_{number}", **called, **found, "arguments": arguments}

    def whole(self, body: Mapping[str, Any], step: Step, number: int) -> Any:
        usage = {
            "input_tokens": 10, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 15,
        }  # fmt: skip
        return {
            "id": f"resp_{number}", "object": "response", "created_at": 1_700_000_000,
            "model": body.get("model"), "status": "completed", "usage": usage,
            "output": [self._item(body, step, number)],
        }  # fmt: skip

    def events(self, body: Mapping[str, Any], step: Step, number: int) -> Iterator[tuple[str, Any]]:
        response = self.whole(body, step, number)
        opened = {**response, "status": "in_progress", "output": []}
        yield "response.created", {"response": opened}
        yield "response.output_item.done", {"output_index": 0, "item": response["output"][0]}
        yield "response.completed", {"response": response}


class Chat(Protocol):
    name = "chat"

    def messages(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for message in body.get("messages", ()):
            yield message.get("role", ""), _text(message.get("content"))

    def _message(self, body: Mapping[str, Any], step: Step, number: int) -> dict[str, Any]:
        if isinstance(step, Say):
            return {"role": "assistant", "content": step.words}
        name, _ = self.find(body, step.tool)
        function = {"name": name, "arguments": json.dumps(step.arguments)}
        call = {"index": 0, "id": f"call_{number}", "type": "function", "function": function}
        return {"role": "assistant", "content": None, "tool_calls": [call]}

    def _frame(self, body: Mapping[str, Any], kind: str, number: int) -> dict[str, Any]:
        return {"id": f"c_{number}", "object": kind, "created": 1_700_000_000, "model": body.get("model")}

    def whole(self, body: Mapping[str, Any], step: Step, number: int) -> Any:
        ended = "stop" if isinstance(step, Say) else "tool_calls"
        choice = {"index": 0, "message": self._message(body, step, number), "finish_reason": ended}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        return {**self._frame(body, "chat.completion", number), "choices": [choice], "usage": usage}

    def events(self, body: Mapping[str, Any], step: Step, number: int) -> Iterator[tuple[str, Any]]:
        frame = self._frame(body, "chat.completion.chunk", number)
        (choice,) = self.whole(body, step, number)["choices"]
        said = {"index": 0, "delta": choice["message"], "finish_reason": None}
        ended = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        yield "", {**frame, "choices": [said]}
        yield "", {**frame, "choices": [ended], "usage": usage}
        yield "", "[DONE]"


class Gemini(Protocol):
    name = "gemini"

    def messages(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for message in body.get("contents", ()):
            for part in message.get("parts", ()):
                if "functionResponse" in part:
                    yield "tool", json.dumps(part["functionResponse"].get("response"))
                elif "text" in part:
                    yield message.get("role", ""), part["text"]

    def tools(self, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
        for group in body.get("tools") or ():
            yield from ((one["name"], "") for one in group.get("functionDeclarations", ()))

    def whole(self, body: Mapping[str, Any], step: Step, number: int) -> Any:
        part: dict[str, Any]
        if isinstance(step, Say):
            part = {"text": step.words}
        else:
            name, _ = self.find(body, step.tool)
            part = {"functionCall": {"name": name, "args": step.arguments}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "scripted"}

    def events(self, body: Mapping[str, Any], step: Step, number: int) -> Iterator[tuple[str, Any]]:
        yield "", self.whole(body, step, number)


class _Handler(Handler):
    numbers = itertools.count(1)

    def __init__(self, model: ScriptedModel, *given: Any) -> None:
        self._model = model
        super().__init__(*given)

    def do_HEAD(self) -> None:  # noqa: N802  # the name that http.server calls
        self._json({})

    def do_GET(self) -> None:  # noqa: N802  # the name that http.server calls
        if self.path.partition("?")[0].endswith("/models"):
            self._json({"object": "list", "data": [{"id": "scripted", "object": "model"}], "models": []})
        else:
            self._json({"error": "there is no such page"}, 404)

    def do_POST(self) -> None:  # noqa: N802  # the name that http.server calls
        text = self.body().decode()
        path = self.path.partition("?")[0]
        if path.endswith(("/count_tokens", ":countTokens")):
            self._json({"input_tokens": 10, "totalTokens": 10})
            return
        protocol = _protocol(path)
        if protocol is None:
            self._model.unknown.append(path)
            self._json({})
            return
        body = json.loads(text)
        if protocol.name == "gemini":
            body["model"] = path.rpartition("/")[2].partition(":")[0]
        try:
            step = self._model.step(protocol.read(body, text))
            protocol.whole(body, step, 0)
        except LookupError as error:
            step = Say(str(error))
        number = next(self.numbers)
        if body.get("stream") or "stream" in path or protocol.name == "responses":
            self._stream(protocol.events(body, step, number))
        else:
            self._json(protocol.whole(body, step, number))

    def _json(self, document: Any, code: int = 200) -> None:
        self.whole(code, "application/json", json.dumps(document).encode())

    def _stream(self, events: Iterator[tuple[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for name, document in events:
            if name:
                lines = f"event: {name}\ndata: {json.dumps({'type': name, **document})}"
            else:
                lines = "data: " + (document if isinstance(document, str) else json.dumps(document))
            self.wfile.write(f"{lines}\n\n".encode())
        self.wfile.flush()
        self.close_connection = True


def _protocol(path: str) -> Protocol | None:
    if path.endswith("/messages"):
        return Messages()
    if path.endswith("/responses"):
        return Responses()
    if path.endswith("/chat/completions"):
        return Chat()
    return Gemini() if "enerateContent" in path else None


def _parts(content: Any) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or () if isinstance(part, dict))
