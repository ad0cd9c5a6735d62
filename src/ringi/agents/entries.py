"""What `ringi init` adds to the agents' own configuration files. Text in, text out."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ringi.agents import jsonc, toml
from ringi.agents.record import Agent, Hook, Mcp, SettingsFile
from ringi.errors import BadDocument
from ringi.kernel.text import Text

NAME: Final = "ringi"


def hook_command(hook: Hook, program: Sequence[str]) -> str:
    """Claude Code allows the edit unless the exit code is 2, even if the program is missing or killed."""
    return f"{shlex.join([*program, 'hook', hook.command])} || exit 2"


def merge_entry(agent: Agent, file: str, text: str, program: Sequence[str]) -> str:
    """The text with our entries up to date; unchanged if they already are. Raises BadDocument."""
    if agent.settings and agent.settings.file == file:
        return _merge_settings(agent.settings, text, program)
    assert agent.mcp is not None  # noqa: S101  # the agent's record names the file
    server = agent.mcp.server([*program, "mcp", "--as", agent.name])
    if file.endswith(".toml"):
        return _merge_toml(file, text, (*agent.mcp.holder, NAME), server)
    if not text.strip():
        return jsonc.fresh(_whole(agent.mcp, server), _newline(text))
    root = _root(file, text)
    steps = (*_holder(agent.mcp, root), NAME)
    found = jsonc.at(root, steps)
    if found is None or not isinstance(found.value, dict) or "url" in found.value:
        return text if found and found.value == server else jsonc.put(text, steps, server, file)
    return _merge_keys(file, text, steps, found.value, server)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _root(file: str, text: str) -> jsonc.JsonNode:
    root = jsonc.read(text, file)
    if not isinstance(root.value, dict):
        raise BadDocument(what=file, why=Text("it holds no object"))
    return root


def _holder(entry: Mcp, root: jsonc.JsonNode) -> tuple[str, ...]:
    newer = jsonc.at(root, entry.newer_holder) if entry.newer_holder else None
    if newer is not None and isinstance(newer.value, dict) and "type" not in newer.value:
        return entry.newer_holder
    return entry.holder


def _whole(entry: Mcp, server: Mapping[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = {NAME: server}
    for step in reversed(entry.holder):
        made = {step: made}
    return {**entry.opening, **made}


def _merge_keys(
    file: str, text: str, steps: jsonc.Steps, found: Mapping[str, Any], wanted: Mapping[str, Any]
) -> str:
    """Changes only our keys; a person may have added others to the entry."""
    for key, value in wanted.items():
        if found.get(key) != value:
            text = jsonc.put(text, (*steps, key), value, file)
    return text


def _merge_settings(settings: SettingsFile, text: str, program: Sequence[str]) -> str:
    if not text.strip():
        text = jsonc.fresh({}, _newline(text))
    for steps, word in settings.listed.items():
        text = _merge_list(settings.file, text, steps, word)
    return _merge_hook(settings.file, settings.hook, text, program)


def _merge_list(file: str, text: str, steps: Sequence[str], word: str) -> str:
    found = jsonc.at(_root(file, text), steps)
    listed = found.value if found is not None else []
    if isinstance(listed, list) and word in listed:
        return text
    return jsonc.put(text, (*steps, len(listed) if isinstance(listed, list) else 0), word, file)


def _merge_hook(file: str, hook: Hook, text: str, program: Sequence[str]) -> str:
    root = _root(file, text)
    holder = ("hooks", hook.event)
    command = _command(hook, program)
    for steps in _ours(hook, jsonc.at(root, holder)):
        alone = len(steps) == 1
        if alone:
            group = (*holder, *steps)
            text = _merge_keys(file, text, group, _at(file, text, group), {"matcher": hook.matcher})
        inner = (*holder, *steps, "hooks", 0) if alone else (*holder, *steps)
        return _merge_keys(file, text, inner, _at(file, text, inner), command)
    listed = jsonc.at(root, holder)
    number = len(listed.items) if listed is not None and isinstance(listed.value, list) else 0
    return jsonc.put(text, (*holder, number), {"matcher": hook.matcher, "hooks": [command]}, file)


def _command(hook: Hook, program: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "command",
        "command": hook_command(hook, program),
        "timeout": hook.timeout_sec,
        "onFailure": "block",
    }


def _at(file: str, text: str, steps: jsonc.Steps) -> Mapping[str, Any]:
    found = jsonc.at(_root(file, text), steps)
    assert found is not None  # noqa: S101  # `_ours` found it there
    value: Mapping[str, Any] = found.value
    return value


def _ours(hook: Hook, listed: jsonc.JsonNode | None) -> Iterator[tuple[jsonc.Step, ...]]:
    """The places of our hook among those of its event; the group if it is alone in it."""
    for group in listed.items if listed is not None and isinstance(listed.value, list) else ():
        hooks = jsonc.at(group.node, ("hooks",))
        if hooks is None or not isinstance(hooks.value, list):
            continue
        ours = [number for number, one in enumerate(hooks.value) if _is_ours(hook, one)]
        if ours and len(hooks.value) == 1:
            yield (group.step,)
        else:
            yield from ((group.step, "hooks", number) for number in ours)


def _is_ours(hook: Hook, found: object) -> bool:
    command = found.get("command") if isinstance(found, dict) else None
    pattern = rf"""(?:^|[\s/'"]){NAME}['"]? hook {hook.command}(?=\s|$)"""
    return isinstance(command, str) and re.search(pattern, command) is not None


def _merge_toml(file: str, text: str, table: Sequence[str], server: toml.Values) -> str:
    found: Any = toml.read(text, file)
    for step in table:
        found = found.get(step) if isinstance(found, dict) else None
    if isinstance(found, dict) and all(found.get(key) == value for key, value in server.items()):
        return text
    if isinstance(found, dict) and "url" in found:
        text = toml.take(text, table, file)
    return toml.put(text, table, server, file)
