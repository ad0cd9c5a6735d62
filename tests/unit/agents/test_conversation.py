import json
from pathlib import Path

from ringi.agents.conversation import conversation_of

ONE, TWO = "01a1e63f-1c7b-70a3-a0c9-5e8c2332bb06", "6dba6e28-9274-45a3-bd8e-858dba1f58d4"


def began(home: Path, name: str, moment: str, folder: str) -> None:
    path = home / f".codex/sessions/2026/11/16/rollout-2026-11-16T21-24-18-{name}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    line = {"timestamp": moment, "payload": {"cwd": folder}}
    path.write_text(json.dumps(line, separators=(",", ":")) + "\n")


def found(home: Path, since: str, *, alone: bool = True) -> str:
    return conversation_of(["codex"], {"HOME": str(home)}, Path("/p"), since, alone=alone)


def test_the_conversation_that_began_here_meanwhile(tmp_path: Path):
    began(tmp_path, ONE, "2026-11-16T21:00:00.000Z", "/p")
    began(tmp_path, TWO, "2026-11-16T22:00:00.000Z", "/p")
    assert found(tmp_path, "2026-11-16T20:00:00Z") == TWO
    assert found(tmp_path, "2026-11-16T20:00:00Z", alone=False) == ONE
    assert found(tmp_path, "2026-11-16T21:30:00Z", alone=False) == TWO
    assert not found(tmp_path, "2026-11-16T23:00:00Z")


def test_a_conversation_elsewhere_or_of_an_unknown_agent_is_none(tmp_path: Path):
    began(tmp_path, ONE, "2026-11-16T21:00:00.000Z", "/p/other")
    assert not found(tmp_path, "2026-11-16T20:00:00Z")
    assert not conversation_of(
        ["sh"], {"HOME": str(tmp_path)}, Path("/p"), "2026-11-16T20:00:00Z", alone=True
    )
