"""Lines, envelopes and paths of the Agent Client Protocol."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from ringi.acp.channel import ChannelReply
from ringi.acp.paths import ProjectPaths
from ringi.acp.protocol import (
    Message,
    MessageRefusal,
    OwnUpdates,
    RpcError,
    content,
    line_of,
    parse_message,
    too_long,
)
from ringi.acp.thread import fence_text, plain_title
from ringi.acp.turns import Turns
from ringi.acp.wire import Inlet
from tests.tables import each


@each("cut", range(1, 40, 3))
def test_lines_are_the_same_however_they_arrive(cut: int) -> None:
    heard: list[bytes] = []
    skipped: list[bytes] = []
    inlet = Inlet(10, heard.append, skipped.append, lambda: None)
    data = b'{"a":1}\n\n  \n' + b"x" * 30 + b'\n{"b":2}\n' + b"y" * 11 + b"\nz\nrest"
    for at in range(0, len(data), cut):
        inlet.data_received(data[at : at + cut])
    assert heard == [b'{"a":1}', b'{"b":2}', b"z"]
    assert [head[:1] for head in skipped] == [b"x", b"y"]


def test_what_is_not_looked_at_keeps_its_bytes() -> None:
    line = b'{"id":1,"jsonrpc":"2.0","method":"x","params":{ "n" : 1.0e2,"u":"\\u00e4"}}'
    message = parse_message(line)
    assert isinstance(message, Message)
    message.id = "other"
    assert line_of(message) == (
        b'{"jsonrpc":"2.0","id":"other","method":"x","params":{ "n" : 1.0e2,"u":"\\u00e4"}}\n'
    )


def test_a_huge_request_is_answered_by_its_number() -> None:
    assert too_long(b'{"jsonrpc":"2.0","method":"x","id":"a b","params":').id == "a b"
    assert too_long(b'{"params":{"id":1}').id is None
    assert isinstance(parse_message(b'{"jsonrpc":"2.0","id":{},"method":"x"}'), MessageRefusal)


@each(
    ("path", "name"),
    [
        ("/p", ""),
        ("/p/", ""),
        ("/p/a/../b", "b"),
        ("/copy/a", "a"),
        ("/p2/a", None),
        ("/p/../etc", None),
        ("a", None),
        ("", None),
        ("/p/\0", None),
    ],
)
def test_paths_outside_the_project_are_refused(path: str, name: str | None) -> None:
    paths = ProjectPaths(Path("/p"), Path("/copy"))
    if name is None:
        with pytest.raises(RpcError):
            paths.inside(path)
    else:
        assert paths.inside(path) == name


def test_the_project_may_be_named_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    paths = ProjectPaths((tmp_path / "real").resolve(), (tmp_path / "real").resolve())
    assert paths.inside(str(tmp_path / "link" / "a")) == "a"
    assert not paths.mapped


def test_only_fields_that_hold_paths_are_mapped() -> None:
    paths = ProjectPaths(Path("/p q"), Path("/copy"))
    said = {
        "cwd": "/copy",
        "text": "/copy/a",
        "locations": [{"path": "/copy/a"}, {"path": "/copyright"}],
        "uri": "file:///copy/a#L1",
        "additionalDirectories": ["/copy/b"],
    }
    seen = {
        "cwd": "/p q",
        "text": "/copy/a",
        "locations": [{"path": "/p q/a"}, {"path": "/copyright"}],
        "uri": "file:///p%20q/a#L1",
        "additionalDirectories": ["/p q/b"],
    }
    assert paths.to_editor(said) == seen
    assert paths.to_agent(seen) == said


@each("hostile", ["```\n<img src=x onerror=a()>", "`````", "plain", "[a](javascript:b)"])
def test_no_words_of_others_become_markup(hostile: str) -> None:
    message = fence_text(hostile)
    fence = message.split("\n")[1].removesuffix("text")
    assert set(fence) == {"`"}
    assert fence not in hostile
    title = plain_title(f"p1 {hostile}\x1b[31m\n")
    assert "\x1b" not in title
    assert "\n" not in title
    assert title == "p1 plain\\x1b[31m" or (title[0], title[-1], title.count("`")) == ("`", "`", 2)


def test_a_tool_call_of_our_own_begins_and_ends() -> None:
    begun, done = map(json.loads, OwnUpdates("s").call("t", [], kind="edit").splitlines())
    assert begun["params"]["update"]["sessionUpdate"] == "tool_call"
    assert done["params"]["update"]["sessionUpdate"] == "tool_call_update"
    assert begun["params"]["update"]["toolCallId"] == done["params"]["update"]["toolCallId"]


class Deaf:
    """An agent that never ends its turn."""

    def __init__(self) -> None:
        self.turns: list[Any] = []
        self.told = OwnUpdates("s")
        self.channel = self
        self.started = self
        self.warnings = ""
        self.warned = False
        self.servers: tuple[str, ...] = ()
        self.ended: list[tuple[str, bool]] = []
        self.asked = asyncio.Event()

    def begin(self, turn: Any) -> None:
        self.turns.append(turn)

    def end(self, turn: Any) -> None:
        self.turns.remove(turn)

    async def begin_turn(self, tell: object) -> str:
        return "news"

    async def end_turn(self, asked: str, _: Any, *, cut_off: bool) -> None:
        self.ended.append((asked, cut_off))

    async def ask(self, _: str, params: Any, __: int) -> ChannelReply:
        self.prompt = content(params)["prompt"]
        self.waiting = asyncio.get_running_loop().create_future()
        self.asked.set()
        return await self.waiting

    def give_up(self, _: int, line: bytes) -> None:
        self.waiting.set_result(ChannelReply(Message(), line))


def test_an_agent_that_ignores_a_cancellation_is_not_waited_for() -> None:
    agent: Any = Deaf()

    async def talk() -> ChannelReply | None:
        turns = Turns(lambda _: None, patience_sec=0.01)
        prompt = {"prompt": [{"type": "text", "text": "\n  Do\tit \nnow"}]}
        task = asyncio.create_task(turns.take(agent, 5, prompt))
        await agent.asked.wait()
        turns.cancel(agent)
        return await task

    answer = asyncio.run(talk())
    assert answer is not None
    assert b'"stopReason":"cancelled"' in answer.line
    assert agent.ended == [("Do it\nnow", True)]
    assert "news" in agent.prompt[0]["text"]
    assert agent.turns == []
