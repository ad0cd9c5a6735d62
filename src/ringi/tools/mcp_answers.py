"""What a call gave, from what an MCP server answered or did not answer. Its words are data, and masked."""

from collections.abc import Callable
from typing import Final, NamedTuple

import mcp_types as types
from mcp import MCPError
from pydantic import ValidationError

from ringi.errors import NoSuchProgram
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.tools.effects import LIMIT_OF_SPEC, ErrorKind, ToolEffect
from ringi.tools.mcp_offer import ServerTool
from ringi.tools.ports_process import ToolInfo, ToolResult
from ringi.tools.schema import mismatch

_SHOWN: Final = 300
_DID_NOTHING: Final = frozenset([types.INVALID_PARAMS, types.METHOD_NOT_FOUND])
"""Errors of a server that did nothing. After any other one nobody knows."""


class ServerProblem(NamedTuple):
    """Why a server was cut off."""

    kind: ErrorKind
    words: Text


def report_failure(kind: ErrorKind, why: Text) -> ToolResult:
    return ToolResult("", kind, str(why))


class ToolAnswers:
    def __init__(self, server: str, mask: Callable[[str], str], most_bytes: int) -> None:
        self._server = server
        self._mask = mask
        self._most_bytes = most_bytes

    def result(self, tool: ServerTool, answer: types.CallToolResult) -> ToolResult:
        text = "\n".join(_block(one) for one in answer.content)
        if not text and answer.structured_content is not None:
            text = codec.canonical(answer.structured_content).decode()
        data = self._mask(text).encode("utf-8", "backslashreplace")
        cut = len(data) > self._most_bytes
        text = data[: self._most_bytes].decode("utf-8", "ignore")
        if answer.is_error:
            why = Text("server {server}: the tool says it failed", server=self._server)
            return ToolResult(text, ErrorKind.TOOL_ERROR, str(why), cut=cut)
        if tool.output is not None and (wrong := mismatch(answer.structured_content, tool.output)):
            return self.no_result(tool, wrong)
        return ToolResult(text, cut=cut)

    def report_gone(self, problem: ServerProblem | None) -> ToolResult:
        """Before it was sent."""
        kind, words = problem or ServerProblem(ErrorKind.DIED, Text("the connection ended"))
        return report_failure(kind, Text("{why}; the others go on: ringi doctor shows them all", why=words))

    def report_changed(self, tool: ServerTool) -> ToolResult:
        why = Text("server {server} changed {tool} since it was listed: start again", server=self._server,
                   tool=tool.own_name)  # fmt: skip
        return report_failure(ErrorKind.NOT_ALLOWED, why)

    def report_refusal(self, tool: ServerTool, error: MCPError, problem: ServerProblem | None) -> ToolResult:
        why = Text("server {server} refused the call: {why}", server=self._server, why=words_of(error))
        if error.code in _DID_NOTHING:
            return report_failure(ErrorKind.INVALID_ARGUMENTS, self.mask(why))
        if error.code != types.CONNECTION_CLOSED:
            return self._report_lost(tool.info, ErrorKind.TOOL_ERROR, why)
        return self.cut_short(tool, problem or ServerProblem(ErrorKind.DIED, why))

    def cut_short(self, tool: ServerTool, problem: ServerProblem | None) -> ToolResult:
        gone = self.report_gone(problem)
        return self._report_lost(tool.info, gone.error or ErrorKind.DIED, Text("{why}", why=gone.message))

    def too_slow(self, tool: ToolInfo, seconds: float) -> ToolResult:
        by_model = tool.effect is ToolEffect.READS  # anything else is a call of an approved plan
        limit = "planning.execution.action_timeout" if by_model else LIMIT_OF_SPEC
        why = Text("server {server} did not answer within {seconds} seconds ({limit})",
                   server=self._server, seconds=round(seconds, 1), limit=limit)  # fmt: skip
        return self._report_lost(tool, ErrorKind.TIMEOUT, why)

    def no_result(self, tool: ServerTool, why: Text) -> ToolResult:
        words = Text("server {server} answered with something that is not the result of its tool: {why}",
                     server=self._server, why=why)  # fmt: skip
        return self._report_lost(tool.info, ErrorKind.UNEXPECTED, words)

    def _report_lost(self, tool: ToolInfo, kind: ErrorKind, why: Text) -> ToolResult:
        """It was sent and there is no answer: if it may change something, nobody knows whether it did."""
        outside = tool.effect is not ToolEffect.READS
        return report_failure(ErrorKind.UNKNOWN_OUTCOME if outside else kind, self.mask(why))

    def mask(self, words: Text) -> Text:
        """With its details masked: they may hold a server's own words."""
        details = {
            name: self.mask(value) if isinstance(value, Text) else
            self._mask(value) if isinstance(value, str) else value
            for name, value in words.details.items()
        }  # fmt: skip
        return words.having(**details)


def _block(block: types.ContentBlock) -> str:
    if isinstance(block, types.TextContent):
        return block.text
    if isinstance(block, types.EmbeddedResource) and isinstance(block.resource, types.TextResourceContents):
        return block.resource.text
    if isinstance(block, types.ResourceLink):
        return f"[{block.uri}]"
    return f"[{block.type}]"


def words_of(error: BaseException) -> Text:
    """What a person can make use of: the first error of a group, without its inner parts."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, NoSuchProgram):
        return Text("there is no program {name}", name=error.details.get("name"))
    if isinstance(error, ValidationError):
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:_SHOWN]
        return Text("{what} does not follow the protocol ({where}: {why})", what=error.title, where=where,
                    why=first["msg"])  # fmt: skip
    said = str(error).strip().partition("\n")[0][:_SHOWN]
    return Text("{why}", why=said or type(error).__name__)
