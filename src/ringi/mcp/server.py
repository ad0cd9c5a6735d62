"""The server: tools as the SDK serves them, and how a process assembles and runs it."""

import json
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from time import monotonic
from typing import Any, Final, NamedTuple

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ringi._version import __version__
from ringi.approvals.person import OverMcp
from ringi.errors import BadDocument, RingiError
from ringi.kernel.codec import canonical
from ringi.kernel.document import Document
from ringi.kernel.places import Places, find_root, places_of
from ringi.kernel.problems import decode_or_explain
from ringi.kernel.process.ancestors import Ancestor, ancestors
from ringi.kernel.text import Text, visible
from ringi.ledger.subject import short
from ringi.mcp import outline_tool, planning_tools, run_tools, tools
from ringi.mcp.answers import Requested, to_builtins
from ringi.mcp.arguments import input_schema, output_schema
from ringi.mcp.handshake import INSTRUCTIONS
from ringi.mcp.render import ErrorBoundary, describe_failure
from ringi.mcp.tools import Tool
from ringi.mcp.wait import SessionNow, WaitForModel, WaitForPerson
from ringi.mcp.worker import Opening, Talk, Worker, Workers, run
from ringi.plans.document import title_of
from ringi.sessions.document import ApprovalPending
from ringi.tree.supervisors import supervisors_in

_LONGEST_LABEL: Final = 100
_QUIET_SEC: Final = 60.0
_ERRORS: Final = 2
"""Standard error: the one stream that may be a terminal."""
TOOLS: Final[Mapping[str, Tool]] = {
    **tools.TOOLS,
    **planning_tools.TOOLS,
    **outline_tool.TOOLS,
    **run_tools.TOOLS,
}
Context = ServerRequestContext[Any, Any]


class ServerContext(NamedTuple):
    """What the process that started the server provides."""

    label: str
    find_hidden: Callable[[], Iterable[str]]
    """Folders whose paths must not appear in an answer."""
    notify_person: Callable[[str, str, str], None]
    """Notifies a person: how, the plan's name, its title. Returns at once."""


class PlanServer:
    def __init__(self, workers: Workers, surroundings: ServerContext) -> None:
        self._workers = workers
        self._around = surroundings
        self._listed: dict[str, dict[str, Any]] = {}
        self._person = WaitForPerson(workers.reading)
        self._model = WaitForModel(workers.reading, workers.planning)
        self._asked: dict[tuple[str, int], float] = {}
        self.server = self._make()

    def _make(self) -> Server[Any]:
        server: Server[Any] = Server("ringi", version=__version__, title="ringi", instructions=INSTRUCTIONS)
        listing, noted = types.PaginatedRequestParams, types.NotificationParams
        server.add_request_handler("tools/list", listing, self._list_tools)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        server.add_notification_handler("notifications/initialized", noted, self._on_initialized)
        server.get_tool_input_schema = lambda _: None  # none of our arguments is sent in a header
        server.middleware[:] = [self._remembering]  # replaces tracing, which is not configured
        return server

    async def _remembering(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """Keeps the list of tools, which is long and the same for every client of a protocol version."""
        if ctx.method != "tools/list":
            return await call_next(ctx)
        if ctx.protocol_version not in self._listed:
            result = await call_next(ctx)
            if not isinstance(result, dict):
                return result
            self._listed[ctx.protocol_version] = result
        return self._listed[ctx.protocol_version]

    async def _on_initialized(self, _: Context, __: types.NotificationParams) -> None:
        """The client is about to call something: open the workspace now."""
        with suppress(RingiError, OSError):  # without a workspace, the first call says so
            await self._workers.reading.call(lambda _: None)

    async def _list_tools(self, _: Context, __: types.PaginatedRequestParams) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_describe_tool(name, tool) for name, tool in TOOLS.items()])

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {visible(params.name[:100])}. There are: {known}"
            )
        try:
            with ErrorBoundary():
                answer = await self._answer(ctx, params.name, tool, params.arguments or {})
        except RingiError as error:
            return _result(describe_failure(error, self._find_hidden()), is_error=True)
        return _result(answer)

    async def _answer(self, ctx: Context, name: str, tool: Tool, raw: Mapping[str, Any]) -> Document:
        # The strict decoder for untrusted input: numbers, depth, characters, unknown fields.
        what = f"The arguments of {name}"
        given: Any = decode_or_explain(_encode_arguments(raw, what), tool.arguments, what)
        if name == "planning_get" or tool.step is not None:
            return await self._plan(ctx, tool, given)
        if tool.work is None:
            return await self._person.wait(given.plan_id, given.seconds, ctx.session.report_progress)
        work, label = tool.work, self._label(ctx)
        worker = self._workers.reading if tool.hints.read_only else self._workers.changing
        answer = await worker.call(lambda workspace: work(workspace, given, label))
        if isinstance(answer, Requested):
            await self._tell_person(answer)
        return answer

    def _label(self, ctx: Context) -> str:
        client = ctx.session.client_params
        label = self._around.label or (client.client_info.name if client else "")
        return visible(label)[:_LONGEST_LABEL]

    async def _tell_person(self, made: Requested) -> None:
        """Also remembers what the proposer has seen, for the plan_wait that follows."""
        answer, how = await self._workers.reading.call(
            lambda workspace: (
                workspace.plan.answer(made.plan_id),
                workspace.config.notify.how,
            )
        )
        self._person.note_seen(answer)
        if made.outcome is None and self._is_news(made.plan_id, made.version):
            self._around.notify_person(how, made.name, made.title)

    def _is_news(self, plan_id: str, version: int) -> bool:
        """So that repeated requests for the same version notify the person once."""
        now = monotonic()
        self._asked = {asked: at for asked, at in self._asked.items() if now - at < _QUIET_SEC}
        return self._asked.setdefault((plan_id, version), now) == now

    async def _plan(self, ctx: Context, tool: Tool, given: Any) -> Document:
        model, step = self._model, tool.step
        if step is not None:
            now = await model.take(
                lambda planning: step(planning, given), given.seconds, ctx.session.report_progress
            )
            await self._tell_of_session(now)
            return planning_tools.state(now.view, working=now.working)
        if given.session_id:
            now = await model.look(given.session_id, given.seconds, ctx.session.report_progress)
            return planning_tools.describe_session(now.view, working=now.working)
        return planning_tools.list_sessions(await model.open_sessions())

    async def _tell_of_session(self, now: SessionNow) -> None:
        """Notifies the person that a summary waits."""
        view = now.view
        if isinstance(view.pending, ApprovalPending) and self._is_news(view.session_id, 0):
            how = await self._workers.reading.call(lambda workspace: workspace.config.notify.how)
            self._around.notify_person(how, short(view.session_id), title_of(view.instruction))

    def _find_hidden(self) -> Iterable[str]:
        try:
            return self._around.find_hidden()
        except RingiError:  # no workspace, no ledger
            return ()


def _encode_arguments(raw: Mapping[str, Any], what: str) -> bytes:
    try:
        return json.dumps(raw).encode()
    except RecursionError:
        raise BadDocument(what=what, why=Text("it is nested too deeply")) from None


def _describe_tool(name: str, tool: Tool) -> types.Tool:

    return types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.arguments),
        output_schema=output_schema(tool.answer),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.hints.read_only,
            destructive_hint=tool.hints.destructive,
            idempotent_hint=tool.hints.idempotent,
            open_world_hint=tool.hints.open_world,
        ),
    )


def _result(document: Document, *, is_error: bool = False) -> dict[str, Any]:
    return {
        # The same as text, for clients that know no structured content.
        "content": [{"type": "text", "text": canonical(document).decode()}],
        "isError": is_error,
        "resultType": "complete",
        "structuredContent": to_builtins(document),
    }


class ServerOptions(NamedTuple):
    environment: Mapping[str, str]
    start: Path
    label: str


def serve(options: ServerOptions, talk: Callable[[Server[Any]], Talk]) -> bool:
    """Runs until the client leaves or a signal comes. False if the protocol thread failed."""
    workers = _workers(options)
    server = PlanServer(workers, _surroundings(options)).server
    return run(workers, talk(server))


def _workers(options: ServerOptions) -> Workers:
    client = cache(partial(client_below, tuple(ancestors()), options))

    def worker() -> Worker:
        opening = Opening(options.start, options.environment, client)
        return Worker(opening.open, opening.is_current)

    return Workers(worker(), worker(), worker())


def _surroundings(options: ServerOptions) -> ServerContext:
    def places() -> Places:
        return places_of(find_root(options.start), options.environment)

    def find_hidden() -> Iterable[str]:
        found = places()
        return str(found.state), str(found.states)

    return ServerContext(
        label=options.label,
        find_hidden=find_hidden,
        notify_person=_notifier(options),
    )


def client_below(above: Sequence[Ancestor], options: ServerOptions) -> OverMcp:
    """Who calls: what is above the server when it starts counts, also after it ended."""
    copies = places_of(find_root(options.start), options.environment).copies
    return OverMcp(options.environment, lambda: supervisors_in(copies), lambda: above)


def _notifier(options: ServerOptions) -> Callable[[str, str, str], None]:
    def tell(how: str, words: Text) -> None:
        from ringi.app.notify import notify  # noqa: PLC0415  # only if a person is asked

        notify(how, words, environment=options.environment, output=_ERRORS)

    def notify_person(how: str, name: str, title: str) -> None:
        words = Text("{plan} waits for you: {title}", plan=name, title=title)
        # A desktop that does not answer must delay no call.
        threading.Thread(target=tell, args=(how, words), daemon=True).start()

    return notify_person
