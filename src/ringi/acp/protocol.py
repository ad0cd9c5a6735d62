"""The messages of the Agent Client Protocol, as far as we look into them: lines of JSON-RPC 2.0.

An envelope is decoded, its content stays as the bytes that came. Only version 1 of the protocol.
"""

import re
import secrets
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from ringi.kernel.text import Text, show_value

LONGEST_LINE: Final = 32 * 1024 * 1024
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
NO_SUCH_METHOD: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603
NOT_POSSIBLE: Final = -32001
"""For words that a person must read: CodeCompanion hides those of an internal error."""
NOT_FOUND: Final = -32002
"""What the protocol calls a resource that is not there."""

VERSION: Final = 1
INITIALIZE: Final = "initialize"
NEW: Final = "session/new"
LOAD: Final = "session/load"
RESUME: Final = "session/resume"
FORK: Final = "session/fork"
CLOSE: Final = "session/close"
PROMPT: Final = "session/prompt"
CANCEL: Final = "session/cancel"
UPDATE: Final = "session/update"
CANCEL_REQUEST: Final = "$/cancel_request"
TOLD: Final = frozenset([UPDATE, "elicitation/complete", "mcp/message"])
"""What agents tell an editor without asking; names with a sign in front are extensions."""
BEGINNING: Final = frozenset([NEW, LOAD, RESUME, FORK])
"""Each gets an agent and a copy of its own."""
ELSEWHERE: Final = ("session/delete", "nes/", "_")
"""How requests begin that may name a session which was not begun here."""
LOGIN: Final = "authenticate"

Id = int | str
# Finds the id of a request that is too long to read, so that it gets an answer too.
_ID: Final = re.compile(
    rb'\s*\{\s*(?:"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,\s*)*"id"\s*:\s*(-?\d{1,18}|"[^"\\]{0,100}")'
)


class Message(Struct, omit_defaults=True):
    jsonrpc: str = msgspec.field(default="")
    id: Id | UnsetType | None = UNSET
    method: str | UnsetType = UNSET
    params: Raw | UnsetType = UNSET
    result: Raw | UnsetType = UNSET
    error: Raw | UnsetType = UNSET

    @property
    def is_request(self) -> bool:
        return self.method is not UNSET and self.id is not UNSET

    @property
    def is_response(self) -> bool:
        return self.method is UNSET

    @property
    def may_be_told(self) -> bool:
        """Whether an agent may say it without an id. Some editors do what it says even then."""
        return self.method in TOLD or str(self.method).startswith(("_", "$/"))


class Addressed(Struct, rename="camel"):
    """Whom a message concerns."""

    session_id: str | UnsetType | None = UNSET
    request_id: Id | UnsetType | None = UNSET


class Updated(Struct, rename="camel"):
    session_update: str = ""


class Update(Struct):
    update: Updated


class RpcError(Exception):
    """The answer to a request that cannot be served."""

    def __init__(self, code: int, words: Text | str) -> None:
        self.code = code
        self.words = show_value(words)
        super().__init__(self.words)


class MessageRefusal(NamedTuple):
    """The answer to a line that is not a message."""

    code: int
    words: Text
    id: Id | None = None


TOO_DEEP: Final = Text("The message is nested too deeply.")
_NO_MESSAGE: Final = Text("This is not a message of JSON-RPC 2.0.")
_ENVELOPE: Final = msgspec.json.Decoder(Message)
_ADDRESSED: Final = msgspec.json.Decoder(Addressed)
_UPDATE: Final = msgspec.json.Decoder(Update)
_ENCODER: Final = msgspec.json.Encoder()


def parse_message(line: bytes) -> Message | MessageRefusal:
    try:
        message = _ENVELOPE.decode(line)
    except msgspec.ValidationError:
        return MessageRefusal(INVALID_REQUEST, _NO_MESSAGE, find_id(line))
    except RecursionError:
        return MessageRefusal(INVALID_REQUEST, TOO_DEEP, find_id(line))
    except (msgspec.DecodeError, UnicodeDecodeError):
        # For instance half a character in a whole line: its sender waits for an answer.
        number = find_id(line) if line.endswith(b"}") else None
        return MessageRefusal(PARSE_ERROR, Text("This line is not JSON."), number)
    if message.jsonrpc != "2.0" or not _is_whole(message):
        number = message.id if isinstance(message.id, int | str) and message.method is not UNSET else None
        return MessageRefusal(INVALID_REQUEST, _NO_MESSAGE, number)
    return message


def _is_whole(message: Message) -> bool:
    answers = (message.result is not UNSET) + (message.error is not UNSET)
    if message.method is UNSET:
        return answers == 1 and message.id is not UNSET
    # A request whose id is null could not be answered.
    return not answers and message.id is not None


def id_of_answer(head: bytes) -> Id | None:
    """What a line that cannot be read would have answered."""
    return None if b'"method"' in head else find_id(head)


def find_id(line: bytes) -> Id | None:
    found = _ID.match(line)
    number: Id | None = msgspec.json.decode(found[1]) if found else None
    return number


def too_long(head: bytes) -> MessageRefusal:
    words = Text("The message has more than {limit} bytes.", limit=LONGEST_LINE)
    return MessageRefusal(INVALID_REQUEST, words, find_id(head))


def read_address(params: Raw | UnsetType) -> Addressed:
    if params is UNSET:
        return Addressed()
    try:
        return _ADDRESSED.decode(params)
    except (msgspec.MsgspecError, RecursionError):
        return Addressed(session_id="")  # of no session


def read_update(params: Raw | UnsetType) -> Updated:
    if params is UNSET:
        return Updated()
    try:
        return _UPDATE.decode(params).update
    except (msgspec.MsgspecError, RecursionError):
        return Updated()


def content(raw: Raw | UnsetType) -> dict[str, Any]:
    """As plain values; empty if it is no object."""
    if raw is UNSET:
        return {}
    try:
        found = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def raw(value: object) -> Raw:
    return Raw(_ENCODER.encode(value))


def line_of(message: Message) -> bytes:
    message.jsonrpc = "2.0"
    return _ENCODER.encode(message) + b"\n"


def request(number: Id, method: str, params: Raw | UnsetType) -> bytes:
    return line_of(Message(id=number, method=method, params=params))


def answer_line(number: Id | None, result: object) -> bytes:
    return line_of(Message(id=number, result=raw(result)))


def refusal_line(number: Id | None, code: int, words: Text | str) -> bytes:
    return line_of(Message(id=number, error=raw({"code": code, "message": show_value(words)})))


class OwnUpdates:
    """Updates that we send ourselves."""

    def __init__(self, session: str) -> None:
        self._session = session

    def text(self, text: str) -> bytes:
        content = {"type": "text", "text": text}
        return self._update({"sessionUpdate": "agent_message_chunk", "content": content})

    def call(self, title: str, content: list[dict[str, Any]], *, kind: str) -> bytes:
        """A tool call that is done. Emacs and Neovim show only content that an update brings."""
        # Not to be guessed: with its name, the agent could rewrite the tool call.
        named = {"toolCallId": f"ringi-{secrets.token_hex(8)}", "title": title, "kind": kind}
        begun = {"sessionUpdate": "tool_call", **named, "status": "in_progress"}
        done = {"sessionUpdate": "tool_call_update", **named, "status": "completed", "content": content}
        return self._update(begun) + self._update(done)

    def content_of(self, call: str, text: str) -> bytes:
        """What a tool call shows from now on."""
        update = {"sessionUpdate": "tool_call_update", "toolCallId": call, "content": [text_of(text)]}
        return self._update(update)

    def _update(self, update: dict[str, Any]) -> bytes:
        params = raw({"sessionId": self._session, "update": update})
        return line_of(Message(method=UPDATE, params=params))


def text_of(text: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": text}}
