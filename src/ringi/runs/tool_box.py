"""The tools of a process: those that work in a copy and those of servers, under the rules (PP-15).

The rules are applied to what is offered and again to each call, for every provider and
spelling. If require_approval matches a built-in tool: what list, read, search, write and patch do in the copy
is approved with the step's diff, so they stay. A command has effects that no diff shows, and no person can be
asked in the middle of a turn, so run is not offered then.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Final, NamedTuple

from ringi.agents.sandbox import agent_sandbox
from ringi.agents.state import SandboxContext
from ringi.engine.process import RUN
from ringi.kernel.text import visible
from ringi.runs.copy_files import failure
from ringi.runs.copy_tools import CopyCommands, CopyTools
from ringi.tools.effects import ErrorKind, FindingKind, ToolEffect
from ringi.tools.ports_process import ToolInfo, ToolResult, Tools
from ringi.tools.rules import ToolRules, list_spellings, needs_approval, refusal, tool_named
from ringi.tools.schema import mismatch
from ringi.tree.copy import WorkCopy

_E = ErrorKind
_MOST_BYTES: Final = 49_152
_MOST_LINES: Final = 1_500
_LONGEST_MESSAGE: Final = 4_000
_LONGEST_DESCRIPTION: Final = 400
_DEEPEST: Final = 32
_MOST_GIVEN: Final = 2_000_000
"""Characters of all arguments."""
_LONGEST_NAME: Final = 100
_NAMED: Final = 3
_MOST_NAMED: Final = 12


class _OwnedTool(NamedTuple):
    info: ToolInfo
    owner: Tools


class ToolBox:
    """Implements `Tools`. If two providers have a tool of the same name, the second one's is not offered."""

    def __init__(
        self,
        in_copy: Sequence[Tools],
        servers: Sequence[Tools],
        rules: ToolRules,
        mask: Callable[[str], str],
    ) -> None:
        """The rules name no known tools: those follow from what is provided."""
        self._in_copy = tuple(in_copy)
        self._servers = tuple(servers)
        self._rules = rules
        self._mask = mask

    def list_tools(self) -> Sequence[ToolInfo]:
        return [held.info for held in self._collect().values()]

    def rules(self) -> ToolRules:
        """For plans: a tool that is not offered is unknown to them."""
        return self._rules._replace(known=tuple(self._collect()))

    def check(self, name: str, arguments: Mapping[str, Any]) -> ToolResult | None:
        """What is wrong with a call, before a person is asked about it; None if nothing is."""
        found = self._resolve(name, arguments)
        return found if isinstance(found, ToolResult) else None

    def call(self, name: str, arguments: Mapping[str, Any], timeout_sec: float) -> ToolResult:
        found = self._resolve(name, arguments)
        if isinstance(found, ToolResult):
            return found
        info, owner = found
        if info.effect is ToolEffect.OUTSIDE:
            return failure(_E.NOT_ALLOWED, f"{info.name} waits for a person; it is not called by itself.")
        return self._limit(owner.call(info.name, arguments, timeout_sec))

    def _resolve(self, name: str, arguments: Mapping[str, Any]) -> _OwnedTool | ToolResult:
        held = self._collect()
        rules = self._rules._replace(known=tuple(held))
        kind, tool = refusal(name, rules), tool_named(name, rules)
        if kind is FindingKind.FORBIDDEN_TOOL:
            return failure(_E.NOT_ALLOWED, f"{_display_name(name)} is forbidden here. Do without it.")
        if kind is not None or tool is None:
            near = (
                get_close_matches(_display_name(name).lower(), list(held), _NAMED) or list(held)[:_MOST_NAMED]
            )
            return failure(
                _E.UNKNOWN_TOOL, f"There is no tool {_display_name(name)}. There are: {', '.join(near)}."
            )
        found = held[tool]
        if tool != name and found.info.effect is not ToolEffect.READS:
            # What it may change was recorded under its exact name.
            return failure(_E.UNKNOWN_TOOL, f"There is no tool {_display_name(name)}. Do you mean {tool}?")
        if why := _why_unfit(arguments, found.info.schema):
            return failure(_E.INVALID_ARGUMENTS, f"The arguments of {tool} do not fit: {why}.")
        return found

    def _collect(self) -> dict[str, _OwnedTool]:
        found: dict[str, _OwnedTool] = {}
        taken: set[str] = set()
        for info, owner in self._all():
            spellings = list_spellings(info.name)
            # A name that is not what it looks like, or that another provider has in some spelling.
            if not info.name or info.name.casefold() not in spellings or spellings & taken:
                continue
            taken |= spellings
            rules = self._rules._replace(known=(info.name,))
            if refusal(info.name, rules) is not None:
                continue
            if judged := self._judge(info, owner):
                found[info.name] = _OwnedTool(judged, owner)
        return found

    def _all(self) -> Iterator[tuple[ToolInfo, Tools]]:
        for owner in (*self._in_copy, *self._servers):
            for info in owner.list_tools():
                yield info, owner

    def _judge(self, info: ToolInfo, owner: Tools) -> ToolInfo | None:
        """As it is offered; None if it is not."""
        asks = needs_approval(info.name, self._rules)
        if owner in self._in_copy:
            return None if asks and info.name == RUN else info
        words = visible(" ".join(info.description.split()))[:_LONGEST_DESCRIPTION]
        info = info._replace(description=words)
        if asks or info.effect is not ToolEffect.READS:  # only we know a copy
            return info._replace(effect=ToolEffect.OUTSIDE, parallel=False)
        return info

    def _limit(self, result: ToolResult) -> ToolResult:
        text, cut = _cut(self._mask(_as_utf8(result.text)))
        message = self._mask(_as_utf8(result.message))
        return result._replace(text=text, cut=result.cut or cut, message=message[:_LONGEST_MESSAGE])


def tool_box(
    workspace: SandboxContext,
    copy: WorkCopy,
    environment: Mapping[str, str],
    mask: Callable[[str], str],
    servers: Sequence[Tools] = (),
    log: Callable[[bytes], None] = lambda _: None,
) -> ToolBox:
    """The tools of a role that works in this copy. Raises NoSandbox if one is required and there is none."""
    tools = workspace.config.planning.security
    commands = CopyCommands(workspace, environment, mask, agent_sandbox(workspace), log)
    rules = ToolRules((), tools.allowed_tools, tools.forbidden_tools, tools.require_approval)
    return ToolBox([CopyTools(copy, commands)], servers, rules, mask)


def _why_unfit(arguments: object, schema: Mapping[str, Any]) -> str:
    """What is wrong with the arguments; empty if nothing is."""
    if not isinstance(arguments, dict) or "" in arguments:  # what could not be read as one
        return "they must be one JSON object"
    waiting: list[tuple[object, int]] = [(arguments, 0)]
    size = 0
    while waiting:  # a deep one must not end in our own recursion
        value, depth = waiting.pop()
        if depth > _DEEPEST:
            return f"they are nested deeper than {_DEEPEST}"
        if isinstance(value, dict):
            waiting += [(one, depth + 1) for pair in value.items() for one in pair]
        elif isinstance(value, list | tuple):
            waiting += [(one, depth + 1) for one in value]
        size += len(value) + 1 if isinstance(value, str) else 1
        if size > _MOST_GIVEN:
            return f"they are longer than {_MOST_GIVEN} characters"
    return str(mismatch(arguments, schema) or "")


def _cut(text: str) -> tuple[str, bool]:
    lines = text.split("\n", _MOST_LINES)
    short = "\n".join(lines[:_MOST_LINES])
    data = short.encode()
    if len(data) > _MOST_BYTES:
        short = data[:_MOST_BYTES].decode("utf-8", "ignore")
    return short, len(short) < len(text)


def _as_utf8(text: str) -> str:
    """Names of files need not be UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def _display_name(name: str) -> str:
    return visible(name)[:_LONGEST_NAME]
