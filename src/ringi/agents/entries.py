"""Our MCP server and hook in the agents' own configuration files. Text in, text out."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ringi.agents import jsonc, toml
from ringi.agents.record import Agent, Hook, Mcp
from ringi.errors import BadDocument
from ringi.text import Text

NAME: Final = "ringi"


def hook_command(agent: str, program: Sequence[str]) -> str:
    """Claude Code allows the edit unless the exit code is 2, even if the program is missing or killed."""
    return f"{shlex.join([*program, 'hook', agent])} || exit 2"


def merged(agent: Agent, file: str, text: str, program: Sequence[str]) -> str:
    """The text with our entry up to date; unchanged if it already is. Raises BadDocument."""
    entry = _entry_in(agent, file)
    if not text.strip() and not file.endswith(".toml"):
        return jsonc.fresh(_whole(agent, entry, program), "\r\n" if "\r\n" in text else "\n")
    if isinstance(entry, Hook):
        return _merged_hook(agent, entry, text, program)
    server = entry.server([*program, "mcp", "--as", agent.name])
    if file.endswith(".toml"):
        return _merged_toml(file, text, (*entry.holder, NAME), server)
    root = _root(file, text)
    steps = (*_holder(entry, root), NAME)
    found = jsonc.at(root, steps)
    if found is None or not isinstance(found.value, dict) or "url" in found.value:
        return text if found and found.value == server else jsonc.put(text, steps, server, file)
    return _merged_keys(file, text, steps, found.value, server)


def taken(agent: Agent, file: str, text: str, kept: int) -> str:
    """The text without our entry, and without objects that held nothing else, except the outermost `kept`."""
    entry = _entry_in(agent, file)
    if file.endswith(".toml") and isinstance(entry, Mcp):
        return toml.take(text, (*entry.holder, NAME), file)
    root = _root(file, text)
    holder = _holder(entry, root)
    without = text
    for steps in _ours(agent, entry, root):
        without = jsonc.take(without, steps, file)
    for depth in range(len(holder), kept, -1) if without != text else ():
        found = jsonc.at(_root(file, without), holder[:depth])
        if found is not None and not found.value:
            without = jsonc.take(without, holder[:depth], file)
    return without


def holders(agent: Agent, file: str, text: str) -> int:
    """How many of the objects around our entry exist."""
    if file.endswith(".toml") or not text.strip():
        return 0
    root = _root(file, text)
    holder = _holder(_entry_in(agent, file), root)
    return sum(jsonc.at(root, holder[:depth]) is not None for depth in range(1, len(holder) + 1))


def says_nothing(agent: Agent, file: str, text: str) -> bool:
    """True if it holds no more than a new file of ours would without our entry."""
    if not text.strip():
        return True
    opening = agent.mcp.opening if agent.mcp else {}
    return not file.endswith(".toml") and _root(file, text).value in ({}, opening)


def _entry_in(agent: Agent, file: str) -> Mcp | Hook:
    entry = agent.hook if agent.hook and agent.hook.file == file else agent.mcp
    assert entry is not None  # noqa: S101  # the agent's record names the file
    return entry


def _root(file: str, text: str) -> jsonc.Node:
    root = jsonc.read(text, file)
    if not isinstance(root.value, dict):
        raise BadDocument(what=file, why=Text("it holds no object"))
    return root


def _holder(entry: Mcp | Hook, root: jsonc.Node) -> tuple[str, ...]:
    if isinstance(entry, Hook):
        return ("hooks", entry.event)
    newer = jsonc.at(root, entry.newer_holder) if entry.newer_holder else None
    if newer is not None and isinstance(newer.value, dict) and "type" not in newer.value:
        return entry.newer_holder
    return entry.holder


def _whole(agent: Agent, entry: Mcp | Hook, program: Sequence[str]) -> dict[str, Any]:
    if isinstance(entry, Hook):
        return {"hooks": {entry.event: [_group(agent, entry, program)]}}
    made: dict[str, Any] = {NAME: entry.server([*program, "mcp", "--as", agent.name])}
    for step in reversed(entry.holder):
        made = {step: made}
    return {**entry.opening, **made}


def _group(agent: Agent, hook: Hook, program: Sequence[str]) -> dict[str, Any]:
    return {"matcher": hook.matcher, "hooks": [_command(agent, hook, program)]}


def _command(agent: Agent, hook: Hook, program: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "command",
        "command": hook_command(agent.name, program),
        "timeout": hook.timeout_sec,
        "onFailure": "block",
    }


def _merged_keys(
    file: str, text: str, steps: jsonc.Steps, found: Mapping[str, Any], wanted: Mapping[str, Any]
) -> str:
    """Changes only our keys; a person may have added others to the entry."""
    for key, value in wanted.items():
        if found.get(key) != value:
            text = jsonc.put(text, (*steps, key), value, file)
    return text


def _merged_hook(agent: Agent, hook: Hook, text: str, program: Sequence[str]) -> str:
    file = hook.file
    root = _root(file, text)
    holder = _holder(hook, root)
    for steps in _ours(agent, hook, root):
        alone = len(steps) == len(holder) + 1
        if alone:
            text = _merged_keys(file, text, steps, _at(file, text, steps), {"matcher": hook.matcher})
        inner = (*steps, "hooks", 0) if alone else steps
        return _merged_keys(file, text, inner, _at(file, text, inner), _command(agent, hook, program))
    listed = jsonc.at(root, holder)
    number = len(listed.items) if listed is not None and isinstance(listed.value, list) else 0
    return jsonc.put(text, (*holder, number), _group(agent, hook, program), file)


def _at(file: str, text: str, steps: jsonc.Steps) -> Mapping[str, Any]:
    found = jsonc.at(_root(file, text), steps)
    assert found is not None  # noqa: S101  # `_ours` found it there
    value: Mapping[str, Any] = found.value
    return value


def _ours(agent: Agent, entry: Mcp | Hook, root: jsonc.Node) -> Iterator[tuple[jsonc.Step, ...]]:
    """The places of our entry, last one first, so that removing one does not move the others."""
    holder = _holder(entry, root)
    if isinstance(entry, Mcp):
        if jsonc.at(root, (*holder, NAME)) is not None:
            yield (*holder, NAME)
        return
    listed = jsonc.at(root, holder)
    for group in reversed(listed.items if listed is not None and isinstance(listed.value, list) else ()):
        hooks = jsonc.at(group.node, ("hooks",))
        if hooks is None or not isinstance(hooks.value, list):
            continue
        ours = [number for number, one in enumerate(hooks.value) if _is_ours(agent.name, one)]
        if ours and len(hooks.value) == 1:
            yield (*holder, group.step)
        else:
            yield from ((*holder, group.step, "hooks", number) for number in reversed(ours))


def _is_ours(agent: str, hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    pattern = rf"""(?:^|[\s/'"]){NAME}['"]? hook {agent}\b"""
    return isinstance(command, str) and re.search(pattern, command) is not None


def _merged_toml(file: str, text: str, table: Sequence[str], server: toml.Values) -> str:
    found: Any = toml.read(text, file)
    for step in table:
        found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, dict) and all(found.get(key) == value for key, value in server.items()):
        return text
    if isinstance(found, dict) and "url" in found:
        text = toml.take(text, table, file)
    return toml.put(text, table, server, file)
