"""The tools that an MCP server offers, and those of them that are left out."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import mcp_types as types

from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.tools.effects import ToolEffect
from ringi.tools.ports_process import ToolInfo
from ringi.tools.schema import fault

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
_LONGEST_DESCRIPTION: Final = 4_000
_LONGEST_NAME_SHOWN: Final = 100

Judge = Callable[[str, bool], ToolEffect | None]
"""What a tool of this name may change, given whether it says it only reads; None: it is forbidden."""


class ServerTool(NamedTuple):
    info: ToolInfo
    own_name: str
    digest: str
    output: Mapping[str, Any] | None
    """The schema of its results."""


class OfferedTools(NamedTuple):
    tools: Mapping[str, ServerTool]
    left_out: tuple[tuple[str, Text], ...]


def offer_of(server: str, listed: Sequence[types.Tool], judge: Judge) -> OfferedTools:
    tools: dict[str, ServerTool] = {}
    left: list[tuple[str, Text]] = []
    spelled = [_plain(tool.name) for tool in listed]
    for tool, plain in zip(listed, spelled, strict=True):
        found = _look_at(server, tool, judge, alone=spelled.count(plain) == 1)
        if isinstance(found, Text):
            left.append((tool.name[:_LONGEST_NAME_SHOWN], found))
        else:
            tools[found.info.name] = found
    return OfferedTools(tools, tuple(left))


def _look_at(server: str, tool: types.Tool, judge: Judge, *, alone: bool) -> ServerTool | Text:
    """A text says why it is left out."""
    if not _NAME.fullmatch(tool.name):
        return Text("its name has characters that are not allowed")
    if not alone:
        return Text("another tool has the same name, or one that looks like it")
    if wrong := fault(tool.input_schema) or (tool.output_schema and fault(tool.output_schema)):
        return wrong
    name = f"{server}_{tool.name}"
    effect = judge(name, bool(tool.annotations and tool.annotations.read_only_hint))
    if effect is None:
        return Text("it is forbidden here")
    description = (tool.description or "")[:_LONGEST_DESCRIPTION]
    info = ToolInfo(name, description, tool.input_schema, effect)
    return ServerTool(info, tool.name, _digest(tool), tool.output_schema)


def _plain(name: str) -> str:
    """One spelling for names that people take for the same."""
    return re.sub(r"[^a-z0-9]+", "", name.lower())


def _digest(tool: types.Tool) -> str:
    said = tool.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"meta", "icons"})
    return codec.digest(codec.canonical(said))
