"""Which agent may speak in which session, and when."""

from types import SimpleNamespace
from typing import Any

import msgspec

from ringi.acp.protocol import Message, OwnUpdates, parse_message
from ringi.acp.updates import Updates
from tests.tables import each


class Room:
    """Two agents, of which the first has a session."""

    def __init__(self, most_held: int = 100_000) -> None:
        self.said: list[dict[str, Any]] = []
        self.strange: list[str] = []
        self.one, self.two = self.agent(), self.agent()
        self.sessions = {"s1": self.one}
        found: Any = SimpleNamespace(of=self.sessions.get)
        self.updates = Updates(self.tell, found, lambda text: self.strange.append(str(text)), most_held)

    def agent(self) -> Any:
        return SimpleNamespace(beginning=False, held=[], rested=False, turns=[], told=OwnUpdates("s1"))

    def tell(self, line: bytes) -> None:
        self.said.append(msgspec.json.decode(line)["params"])

    def says(self, agent: Any, session: str, kind: str = "agent_message_chunk") -> bool:
        params = {"sessionId": session, "update": {"sessionUpdate": kind}}
        line = msgspec.json.encode({"jsonrpc": "2.0", "method": "session/update", "params": params})
        message = parse_message(line)
        assert isinstance(message, Message)
        return self.updates.fits(agent, message, line)


def test_an_agent_speaks_in_its_own_session_only():
    room = Room()
    assert room.says(room.one, "s1")
    assert not room.says(room.two, "s1")
    assert not room.says(room.one, "s2")
    assert [text.split(",")[0] for text in room.strange] == [
        "what an agent says in s1",
        "what an agent says in s2",
    ]
    assert room.said == []
    # What names no session is between the two.
    assert room.updates.fits(room.two, Message(jsonrpc="2.0", method="_own"), b"{}")
    asks = msgspec.Raw(b'{"sessionId":"s1"}')
    assert room.updates.may_ask(room.one, Message(id=1, method="x", params=asks))
    assert not room.updates.may_ask(room.two, Message(id=1, method="x", params=asks))
    assert room.updates.may_ask(room.two, Message(id=1, method="x"))


def test_what_an_editor_would_do_is_not_said_without_an_id():
    """avante.nvim writes the file of `fs/write_text_file` also if nobody waits for an answer."""
    room = Room()
    room.two.beginning = True
    own = msgspec.Raw(b'{"sessionId":"s1"}')
    for agent, params in (
        (room.one, own),
        (room.one, msgspec.UNSET),
        (room.two, msgspec.Raw(b'{"sessionId":"s2"}')),
    ):
        for method in ("fs/write_text_file", "terminal/create", "session/request_permission", "x" * 9999):
            assert not room.updates.fits(agent, Message(jsonrpc="2.0", method=method, params=params), b"{}")
    assert room.two.held == []
    assert "fs/write_text_file without an id" in room.strange
    assert max(map(len, room.strange)) < 1000
    for method in ("session/update", "elicitation/complete", "mcp/message", "_x.y/fs", "$/progress"):
        assert room.updates.fits(room.one, Message(jsonrpc="2.0", method=method, params=own), b"{}")


def test_what_is_said_before_a_session_has_its_name_comes_right_after_it():
    """As opencode sends the commands that it has."""
    room = Room()
    room.two.beginning = True
    for session in ("s2", "other", "s2"):
        assert not room.says(room.two, session, "available_commands_update")
    room.updates.release([room.one, room.two])
    assert (room.said, room.strange) == ([], [])  # the answer has not come
    room.two.beginning, room.sessions["s2"] = False, room.two
    room.updates.release([room.one, room.two])
    assert [told["sessionId"] for told in room.said] == ["s2", "s2"]
    assert len(room.strange) == 1
    room.updates.release([room.one, room.two])
    assert len(room.said) == 2


def test_what_waits_for_a_name_is_limited():
    room = Room(most_held=1000)
    room.two.beginning = True
    for _ in range(100):
        room.says(room.two, "s2")
    assert 1 <= len(room.two.held) < 10
    assert len(room.two.held) + len(room.strange) == 100


@each(
    ("kind", "told"),
    [
        ("agent_message_chunk", True),
        ("tool_call", True),
        ("plan", True),
        ("available_commands_update", False),
        ("current_mode_update", False),
        ("usage_update", False),
        ("session_info_update", False),
    ],
)
def test_what_comes_after_the_end_of_a_turn_is_marked_and_not_lost(kind: str, told: bool):
    room = Room()
    assert room.says(room.one, "s1", kind)  # the history of a loaded session
    room.one.turns.append("turn")
    assert room.says(room.one, "s1", kind)
    assert room.said == []
    room.one.turns.clear()
    room.one.rested = True
    assert room.says(room.one, "s1", kind)
    assert room.says(room.one, "s1", kind)
    texts = [one["update"]["content"]["text"] for one in room.said]
    assert [("after the end of its turn" in text) for text in texts] == ([True] if told else [])
