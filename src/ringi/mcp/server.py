"""The tools, resources and the prompt, as the SDK serves them."""

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import mcp_types as types
from mcp.server.context import CallNext, HandlerResult
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ringi._version import __version__
from ringi.errors import BadDocument, RingiError
from ringi.mcp import teaching
from ringi.mcp.library import Context, Library
from ringi.mcp.mistakes import Mistakes
from ringi.mcp.worker import Workers
from ringi.text import Text, visible

if TYPE_CHECKING:  # loaded by the first call, after a client was greeted
    from ringi.mcp.leading import Leading, Led
    from ringi.mcp.toolkit import Answered, Caller, Tool
    from ringi.mcp.waiting import Client, Waiting

_LONGEST_LABEL: Final = 100
_QUIET_SEC: Final = 60.0
# The same for every client and every time, and long.
_FIXED: Final = frozenset({"tools/list", "prompts/list", "resources/templates/list"})


class Surroundings(NamedTuple):
    """What the server is told by whoever started it."""

    label: str
    requester: Callable[[], str]
    hidden: Callable[[], Iterable[str]]
    """Folders that no answer names."""
    asked: Callable[[str, str, str], None]
    """A person is asked: how they want to be told, the plan's name and title. Comes back at once."""


class PlanServer:
    def __init__(self, workers: Workers, surroundings: Surroundings) -> None:
        self._workers = workers
        self._around = surroundings
        self._fixed: dict[tuple[str, str], dict[str, Any]] = {}
        self._waiting: Waiting | None = None
        self._leading: Leading | None = None
        self._asked: dict[tuple[str, int], float] = {}
        self.server = self._make()

    def _make(self) -> Server[Any]:
        server: Server[Any] = Server(
            "ringi", version=__version__, title="ringi", instructions=teaching.INSTRUCTIONS
        )
        listing, noted = types.PaginatedRequestParams, types.NotificationParams
        server.add_request_handler("tools/list", listing, self._list_tools)
        server.add_request_handler("tools/call", types.CallToolRequestParams, self._call_tool)
        Library(self._workers.reading, self._hidden).serve_in(server)
        server.add_notification_handler("notifications/initialized", noted, self._greeted)
        server.get_tool_input_schema = lambda _: None  # no argument of ours travels in a header
        server.middleware[:] = [self._remembering]  # instead of tracing, which nobody set up
        return server

    async def _remembering(self, ctx: Context, call_next: CallNext) -> HandlerResult:
        """What never differs is put into the protocol's shape once for each of its versions."""
        if ctx.method not in _FIXED:
            return await call_next(ctx)
        key = (ctx.method, ctx.protocol_version)
        if key not in self._fixed:
            result = await call_next(ctx)
            if not isinstance(result, dict):
                return result
            self._fixed[key] = result
        return self._fixed[key]

    async def _greeted(self, _: Context, __: types.NotificationParams) -> None:
        """The client is about to ask something: be ready for it."""
        with suppress(RingiError, OSError):  # without a workspace, the first call says so
            await self._workers.reading.call(lambda _: None)

    async def _list_tools(self, _: Context, __: types.PaginatedRequestParams) -> types.ListToolsResult:
        from ringi.mcp.tools import TOOLS  # noqa: PLC0415  # see above

        return types.ListToolsResult(tools=[_described(name, tool) for name, tool in TOOLS.items()])

    async def _call_tool(self, ctx: Context, params: types.CallToolRequestParams) -> dict[str, Any]:
        from ringi.mcp.tools import TOOLS, structured  # noqa: PLC0415  # see above
        from ringi.mcp.wording import clean, error_text  # noqa: PLC0415  # see above

        tool = TOOLS.get(params.name)
        if tool is None:
            known = ", ".join(TOOLS)
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {visible(params.name[:100])}. There are: {known}"
            )
        try:
            with Mistakes():
                answered = await self._answer(ctx, params.name, tool, params.arguments or {})
        except RingiError as error:
            return _result(error_text(error, self._hidden()), is_error=True)
        return _result(clean(answered.text), structured(answered.document))

    async def _answer(self, ctx: Context, name: str, tool: "Tool", raw: Mapping[str, Any]) -> "Answered":
        from ringi.domain.codec import foreign  # noqa: PLC0415  # see above

        # Through the one strict door for what comes from outside: numbers, depth, characters, unknown fields.
        what = f"The arguments of {name}"
        given: Any = foreign(_written(raw, what), tool.arguments, what)
        if name == "planning_get" or tool.step is not None:
            return await self._plan(ctx, tool, given)
        if tool.work is None:
            return await self._wait(ctx, given.plan_id, given.seconds)
        work, caller = tool.work, self._caller(ctx)
        worker = self._workers.reading if tool.hints.read_only else self._workers.changing
        answered = await worker.call(lambda workspace: work(workspace, given, caller))
        if name == "plan_request_approval":
            await self._tell_person(answered)
        return answered

    def _caller(self, ctx: Context) -> "Caller":
        from ringi.mcp.toolkit import Caller  # noqa: PLC0415  # see above

        client = ctx.session.client_params
        label = self._around.label or (client.client_info.name if client else "")
        return Caller(visible(label)[:_LONGEST_LABEL], self._around.requester)

    async def _tell_person(self, answered: "Answered") -> None:
        """And remember what the proposer knows now, for the wait that follows."""
        from ringi.mcp.answers import Requested  # noqa: PLC0415  # see above

        made = answered.document
        assert isinstance(made, Requested)  # noqa: S101  # for the type checker
        answer, how = await self._workers.reading.call(
            lambda workspace: (
                workspace.plan.answer(made.plan_id),
                workspace.configuration.config.notify.how,
            )
        )
        self._waiter().told(answer)
        if made.outcome is None and self._is_news(made.plan_id, made.version):
            self._around.asked(how, made.name, made.title)

    def _is_news(self, plan_id: str, version: int) -> bool:
        """Whoever asks about the same again and again rings once."""
        now = monotonic()
        self._asked = {asked: at for asked, at in self._asked.items() if now - at < _QUIET_SEC}
        return self._asked.setdefault((plan_id, version), now) == now

    def _waiter(self) -> "Waiting":
        from ringi.mcp.waiting import Waiting  # noqa: PLC0415  # see above

        if self._waiting is None:
            self._waiting = Waiting(self._workers.reading)
        return self._waiting

    async def _wait(self, ctx: Context, plan_id: str, seconds: float) -> "Answered":
        from ringi.mcp import wording  # noqa: PLC0415  # see above
        from ringi.mcp.toolkit import Answered  # noqa: PLC0415  # see above

        found = await self._waiter().wait(plan_id, seconds, _client(ctx))
        return Answered(found, wording.waited(found))

    def _leader(self) -> "Leading":
        from ringi.mcp.leading import Leading  # noqa: PLC0415  # see above

        if self._leading is None:
            self._leading = Leading(self._workers.reading, self._workers.planning)
        return self._leading

    async def _plan(self, ctx: Context, tool: "Tool", given: Any) -> "Answered":
        from ringi.mcp import planning_answers, planning_wording  # noqa: PLC0415  # see above
        from ringi.mcp.toolkit import Answered  # noqa: PLC0415  # see above

        leader, step = self._leader(), tool.step
        if step is not None:
            led = await leader.take(lambda planning: step(planning, given), given.seconds, _client(ctx))
            await self._tell_of_session(led)
            found = planning_wording.stated(led.view, working=led.working)
            return Answered(found, planning_wording.session(found))
        if given.session_id:
            led = await leader.look(given.session_id, given.seconds, _client(ctx))
            shown = planning_answers.Sessions(planning_wording.stated(led.view, working=led.working), ())
        else:
            shown = planning_answers.listed(await leader.open_sessions())
        return Answered(shown, planning_wording.sessions(shown))

    async def _tell_of_session(self, led: "Led") -> None:
        """A summary waits for the person, who may be looking elsewhere."""
        from ringi.domain.session import short  # noqa: PLC0415  # see above
        from ringi.domain.session_view import ApprovalPending  # noqa: PLC0415  # see above
        from ringi.mcp.planning_answers import title_of  # noqa: PLC0415  # see above

        view = led.view
        if isinstance(view.pending, ApprovalPending) and self._is_news(view.session_id, 0):
            how = await self._workers.reading.call(
                lambda workspace: workspace.configuration.config.notify.how
            )
            self._around.asked(how, short(view.session_id), title_of(view.instruction))

    def _hidden(self) -> Iterable[str]:
        try:
            return self._around.hidden()
        except RingiError:  # no workspace, no ledger
            return ()


def _written(raw: Mapping[str, Any], what: str) -> bytes:
    try:
        return json.dumps(raw).encode()
    except RecursionError:
        raise BadDocument(what=what, why=Text("it is nested too deeply")) from None


def _described(name: str, tool: "Tool") -> types.Tool:
    from ringi.mcp.schemas import input_schema, object_schema  # noqa: PLC0415  # see above

    return types.Tool(
        name=name,
        title=tool.title,
        description=tool.description,
        input_schema=input_schema(tool.arguments),
        output_schema=object_schema(tool.answer),
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.hints.read_only,
            destructive_hint=tool.hints.destructive,
            idempotent_hint=tool.hints.idempotent,
            open_world_hint=tool.hints.open_world,
        ),
    )


def _result(
    text: str, document: Mapping[str, Any] | None = None, *, is_error: bool = False
) -> dict[str, Any]:
    content = [{"type": "text", "text": text}]
    result: dict[str, Any] = {"content": content, "isError": is_error, "resultType": "complete"}
    # Not for errors: some clients hold whatever stands there against the tool's output schema.
    return result if document is None else {**result, "structuredContent": document}


def _client(ctx: Context) -> "Client":
    from ringi.mcp.waiting import Client  # noqa: PLC0415  # see above

    async def progress(done: float, total: float | None, words: str) -> None:
        await ctx.session.report_progress(done, total, words)

    async def gone() -> bool:
        # Over HTTP a closed connection is not told to whoever answers; the others are cancelled.
        return ctx.request is not None and await ctx.request.is_disconnected()

    return Client(progress, gone)
