"""What the agents' own configuration files get: which file, where in it, and what. Text in, text out."""

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ringi.api import jsonc, jsonc_edit, toml_edit
from ringi.errors import BadDocument
from ringi.text import Text

NAME: Final = "ringi"
_MATCHER: Final = "Edit|Write|MultiEdit|NotebookEdit"
# Longer than the hook ever takes; when it is over, the agent itself has to block (from Claude Code 2.1.295).
_HOOK_SEC: Final = 10
_HOOK: Final = ("hooks", "PreToolUse")
_OUR_HOOK: Final = re.compile(r"""(?:^|[\s/'"])ringi['"]? hook claude\b""")
# Codex hands a server nothing of its environment but what is named. These say where the ledger is, and
# whether it runs below `ringi with`.
_VARIABLES: Final = (
    "RINGI_WITH", "RINGI_MCP_SOCKET", "RINGI_STATE_DIR", "RINGI_CACHE_DIR", "RINGI_CONFIG",
    "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME",
)  # fmt: skip
_SCHEMA: Final = {"$schema": "https://opencode.ai/config.json"}


class Agent(NamedTuple):
    name: str
    title: str
    programs: tuple[str, ...]
    folders: tuple[str, ...]
    """Its own, below the home folder."""
    traces: tuple[str, ...]
    """What lies in a project that it is used in."""
    files: tuple[tuple[str, ...], ...]
    """What is written; of several names for one file, that which is there, else the first."""


AGENTS: Final[Mapping[str, Agent]] = {
    agent.name: agent
    for agent in (
        Agent(
            "claude", "Claude Code", ("claude",), (".claude",), (".claude", ".mcp.json"),
            # The hook is one person's rule on one machine. In settings.json it would come to everybody
            # with the next pull, and block every edit of those who do not have this program.
            ((".mcp.json",), (".claude/settings.local.json",)),
        ),
        Agent("codex", "Codex", ("codex",), (".codex",), (".codex",), ((".codex/config.toml",),)),
        Agent(
            "vscode", "VS Code", ("code", "code-insiders", "codium"), (".vscode",), (".vscode",),
            ((".vscode/mcp.json",),),
        ),
        Agent(
            "opencode", "opencode", ("opencode",), (".config/opencode", ".opencode"),
            (".opencode", "opencode.json", "opencode.jsonc"),
            (("opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc"),),
        ),
    )
}  # fmt: skip


def hook_command(program: Sequence[str]) -> str:
    """Claude Code goes on after every exit code but 2, so also where the program is gone or was killed."""
    return f"{shlex.join([*program, 'hook', 'claude'])} || exit 2"


def merged(agent: str, file: str, text: str, program: Sequence[str]) -> str:
    """The text with our entry as it should be; the same text where it is. Raises BadDocument."""
    if file.endswith(".toml"):
        return _merged_toml(file, text, program)
    if not text.strip():
        return jsonc_edit.fresh(_whole(agent, file, program), "\r\n" if "\r\n" in text else "\n")
    root = _root(file, text)
    if _is_hook(file):
        return _merged_hook(file, text, program)
    steps, value = (*_holder(agent, root), NAME), _server(agent, program)
    found = jsonc.at(root, steps)
    if found is None or not isinstance(found.value, dict) or "url" in found.value:
        return text if found and found.value == value else jsonc_edit.put(text, steps, value, file)
    return _merged_keys(file, text, steps, found.value, value)


def taken(agent: str, file: str, text: str, kept: int) -> str:
    """The text without our entry, and without what held nothing else, down to the first `kept` holders."""
    if file.endswith(".toml"):
        table = ("mcp_servers", NAME)
        here = toml_edit.read(text, file).get(table[0])
        return toml_edit.take(text, table, file) if isinstance(here, dict) and NAME in here else text
    root = _root(file, text)
    holder = _HOOK if _is_hook(file) else _holder(agent, root)
    without = text
    for steps in _ours(file, root, holder):
        without = jsonc_edit.take(without, steps, file)
    for depth in range(len(holder), kept, -1) if without != text else ():
        found = jsonc.at(_root(file, without), holder[:depth])
        if found is not None and not found.value:
            without = jsonc_edit.take(without, holder[:depth], file)
    return without


def holders(agent: str, file: str, text: str) -> int:
    """How many of the objects around our entry are there already."""
    if file.endswith(".toml") or not text.strip():
        return 0
    root = _root(file, text)
    holder = _HOOK if _is_hook(file) else _holder(agent, root)
    return sum(jsonc.at(root, holder[:depth]) is not None for depth in range(1, len(holder) + 1))


def says_nothing(file: str, text: str) -> bool:
    """Nothing is left in it but what we would have begun it with."""
    if not text.strip():
        return True
    return not file.endswith(".toml") and _root(file, text).value in ({}, _SCHEMA)


def _is_hook(file: str) -> bool:
    return file.startswith(".claude/")


def _root(file: str, text: str) -> jsonc.Node:
    root = jsonc.read(text, file)
    if not isinstance(root.value, dict):
        raise BadDocument(what=file, why=Text("it holds no object"))
    return root


def _holder(agent: str, root: jsonc.Node) -> tuple[str, ...]:
    if agent == "opencode":
        # Its second version keeps them one level deeper, and reads both.
        deeper = jsonc.at(root, ("mcp", "servers"))
        newer = deeper is not None and isinstance(deeper.value, dict) and "type" not in deeper.value
        return ("mcp", "servers") if newer else ("mcp",)
    return ("servers",) if agent == "vscode" else ("mcpServers",)


def _server(agent: str, program: Sequence[str]) -> dict[str, Any]:
    command = [*program, "mcp", "--as", agent]
    if agent == "opencode":
        return {"type": "local", "command": command}
    kind = {"type": "stdio"} if agent == "vscode" else {}
    return {**kind, "command": command[0], "args": command[1:]}


def _hook(program: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "command",
        "command": hook_command(program),
        "timeout": _HOOK_SEC,
        "onFailure": "block",
    }


def _group(program: Sequence[str]) -> dict[str, Any]:
    return {"matcher": _MATCHER, "hooks": [_hook(program)]}


def _whole(agent: str, file: str, program: Sequence[str]) -> dict[str, Any]:
    if _is_hook(file):
        return {"hooks": {"PreToolUse": [_group(program)]}}
    # opencode itself adds the schema to a file without one.
    start = _SCHEMA if agent == "opencode" else {}
    holder = {"opencode": "mcp", "vscode": "servers"}.get(agent, "mcpServers")
    return {**start, holder: {NAME: _server(agent, program)}}


def _merged_keys(
    file: str, text: str, steps: jsonc.Steps, found: Mapping[str, Any], wanted: Mapping[str, Any]
) -> str:
    """Only what differs: what else a person wrote into the entry is theirs."""
    for key, value in wanted.items():
        if found.get(key) != value:
            text = jsonc_edit.put(text, (*steps, key), value, file)
    return text


def _merged_hook(file: str, text: str, program: Sequence[str]) -> str:
    root = _root(file, text)
    listed = jsonc.at(root, _HOOK)
    for steps in _ours(file, root, _HOOK):
        alone = len(steps) == len(_HOOK) + 1
        if alone:
            found = jsonc.at(root, steps)
            assert found is not None  # noqa: S101  # it was found there
            text = _merged_keys(file, text, steps, found.value, {"matcher": _MATCHER})
        inner = (*steps, "hooks", 0) if alone else steps
        now = jsonc.at(_root(file, text), inner)
        assert now is not None  # noqa: S101  # as above
        return _merged_keys(file, text, inner, now.value, _hook(program))
    number = len(listed.items) if listed is not None and isinstance(listed.value, list) else 0
    return jsonc_edit.put(text, (*_HOOK, number), _group(program), file)


def _ours(file: str, root: jsonc.Node, holder: tuple[str, ...]) -> Iterator[tuple[jsonc.Step, ...]]:
    """Where we stand in it, the last one first, so that taking one out moves no other."""
    if not _is_hook(file):
        if jsonc.at(root, (*holder, NAME)) is not None:
            yield (*holder, NAME)
        return
    listed = jsonc.at(root, holder)
    for group in reversed(listed.items if listed is not None and isinstance(listed.value, list) else ()):
        hooks = jsonc.at(group.node, ("hooks",))
        if hooks is None or not isinstance(hooks.value, list):
            continue
        ours = [number for number, hook in enumerate(hooks.value) if _is_ours(hook)]
        if ours and len(hooks.value) == 1:
            yield (*holder, group.step)
        else:
            yield from ((*holder, group.step, "hooks", number) for number in reversed(ours))


def _is_ours(hook: object) -> bool:
    command = hook.get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and _OUR_HOOK.search(command) is not None


def _merged_toml(file: str, text: str, program: Sequence[str]) -> str:
    command = [*program, "mcp", "--as", "codex"]
    wanted: toml_edit.Values = {"command": command[0], "args": command[1:], "env_vars": [*_VARIABLES]}
    servers = toml_edit.read(text, file).get("mcp_servers", {})
    found = servers.get(NAME) if isinstance(servers, dict) else None
    if isinstance(found, dict) and all(found.get(key) == value for key, value in wanted.items()):
        return text
    if isinstance(found, dict) and "url" in found:
        text = toml_edit.take(text, ("mcp_servers", NAME), file)
    return toml_edit.put(text, ("mcp_servers", NAME), wanted, file)
