"""The first answer to a client, given while the SDK is still loading: clients wait about a second for it.

Whatever is not a plain `initialize` is left to the SDK. It also reads the `initialize` that was answered
here, so that its session begins as usual; only its own answer to it is not sent.
"""

import json
import os
import select
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

from ringi._version import __version__
from ringi.kernel.process.wire import Wire

INSTRUCTIONS: Final = """\
ringi controls changes to this repository: you propose exact changes, a person approves exactly those \
bytes, and ringi writes them. Flow: plan_propose, plan_set_action_specs, plan_preview, \
plan_request_approval, plan_wait, plan_execute. Only a person can approve, in their own \
terminal; never try to do it for them. If it is unclear what your user wants, take them through a planning \
session: planning_start, planning_answer, planning_decide. Your user answers its questions, not you; \
with planning_bring the questions can be yours."""
VERSIONS: Final = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""The protocol versions that begin with `initialize`; a client that asks for another is offered the last."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_CAPABILITIES: Final = {"tools": {"listChanged": False}}
_SERVER: Final = {"name": "ringi", "title": "ringi", "version": __version__}
_CHUNK: Final = 65536
_LARGEST_ID: Final = 2**53
_MOST_BRACKETS: Final = 100
# The client has usually written by now; loading at the same time would only delay the answer.
_HEAD_START_SEC: Final = 0.05


class EarlyHandshake(NamedTuple):
    """What the SDK takes over."""

    read: bytes = b""
    """Everything that was read, with the request that was answered."""
    answered: int | str | None = None
    """The id of that request."""


class Handshake:
    """Reads the first line in a thread of its own, until the SDK is there."""

    def __init__(self, wire: Wire) -> None:
        self._wire = wire
        self._stop = os.pipe()
        self._begun = EarlyHandshake()
        for number in SIGNALS:  # the server installs its own later
            if signal.getsignal(number) != signal.SIG_IGN:  # nohup ignores it on purpose
                signal.signal(number, _end)
        self._thread = threading.Thread(target=self._greet, name="handshake", daemon=True)
        self._thread.start()
        self._thread.join(_HEAD_START_SEC)

    def hand_over(self) -> EarlyHandshake:
        os.close(self._stop[1])
        self._thread.join()
        os.close(self._stop[0])
        return self._begun

    def _greet(self) -> None:
        line = self._first_line()
        self._begun = EarlyHandshake(line)
        if request := plain_initialize(line.partition(b"\n")[0]):
            with suppress(OSError):  # the client is gone
                self._write(request.answer())
            self._begun = EarlyHandshake(line, request.id)

    def _first_line(self) -> bytes:
        """And what came with it. Incomplete if it is too long, the input ends or the SDK is there first."""
        found = bytearray()
        with suppress(OSError):
            while b"\n" not in found and len(found) < _CHUNK:
                ready, _, _ = select.select([self._wire.incoming, self._stop[0]], [], [])
                if self._wire.incoming not in ready:
                    break
                data = os.read(self._wire.incoming, _CHUNK)
                if not data:
                    break
                found += data
        return bytes(found)

    def _write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            select.select([], [self._wire.outgoing], [])
            view = view[os.write(self._wire.outgoing, view[: select.PIPE_BUF]) :]


def _end(*_: object) -> None:
    raise SystemExit(0)  # nothing has begun yet


class Initialize(NamedTuple):
    id: int | str
    version: str

    def answer(self) -> bytes:
        result = {
            "capabilities": _CAPABILITIES,
            "instructions": INSTRUCTIONS,
            "protocolVersion": self.version if self.version in VERSIONS else VERSIONS[-1],
            "serverInfo": _SERVER,
        }
        message = {"jsonrpc": "2.0", "id": self.id, "result": result}
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"


def plain_initialize(line: bytes) -> Initialize | None:
    """None also for requests that the SDK may accept: it answers them, only later."""
    if line.count(b"{") + line.count(b"[") > _MOST_BRACKETS or b"\\ud" in line.lower():
        return None
    try:
        message = json.loads(line.decode(), parse_constant=_refuse)
    except ValueError:
        return None
    needed = {"jsonrpc": _is("2.0"), "method": _is("initialize"), "id": _is_id, "params": _is_params}
    if not _has(message, needed, dict.fromkeys(("result", "error"), _never)):
        return None
    return Initialize(message["id"], message["params"]["protocolVersion"])


def _refuse(constant: str) -> None:
    raise ValueError(constant)  # NaN and infinities


Check = Callable[[Any], bool]


def _has(value: object, needed: Mapping[str, Check], known: Mapping[str, Check] | None = None) -> bool:
    """An object with these members. Known ones may be missing or null; unknown ones may be anything."""
    if not isinstance(value, dict):
        return False
    return all(name in value and check(value[name]) for name, check in needed.items()) and all(
        value.get(name) is None or check(value[name]) for name, check in (known or {}).items()
    )


def _is(expected: str) -> Check:
    return lambda value: value == expected


def _never(_: object) -> bool:
    return False


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_id(value: object) -> bool:
    return _is_text(value) or (type(value) is int and abs(value) < _LARGEST_ID)


def _holds_objects(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(below, dict) for below in value.values())


def _holds_only_objects(value: object) -> bool:
    return isinstance(value, dict) and all(map(_holds_only_objects, value.values()))


def _is_client(value: object) -> bool:
    optional = dict.fromkeys(("title", "description", "websiteUrl"), _is_text)
    return _has(value, {"name": _is_text, "version": _is_text}, {**optional, "icons": _are_icons})


def _are_icons(value: object) -> bool:
    known: Mapping[str, Check] = {
        "mimeType": _is_text,
        "sizes": lambda sizes: isinstance(sizes, list) and all(map(_is_text, sizes)),
        "theme": lambda theme: theme in {"light", "dark"},
    }
    return isinstance(value, list) and all(_has(icon, {"src": _is_text}, known) for icon in value)


def _is_params(value: object) -> bool:
    known: Mapping[str, Check] = {
        "roots": lambda roots: _has(roots, {}, {"listChanged": lambda told: isinstance(told, bool)}),
        "tasks": _holds_only_objects,
        **dict.fromkeys(("sampling", "elicitation", "experimental", "extensions"), _holds_objects),
    }
    needed: Mapping[str, Check] = {
        "protocolVersion": _is_text,
        "clientInfo": _is_client,
        "capabilities": lambda capabilities: _has(capabilities, {}, known),
    }
    return _has(value, needed, {"_meta": _never})
