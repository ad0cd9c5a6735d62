"""Plans to be read, and the prompt, as the SDK serves them."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ringi.errors import RingiError
from ringi.mcp import teaching
from ringi.mcp.mistakes import Mistakes
from ringi.mcp.worker import Worker
from ringi.text import visible

if TYPE_CHECKING:  # loaded by the first call, after a client was greeted
    from ringi.mcp.resources import Kind

Context = ServerRequestContext[Any, Any]
RESOURCE_NOT_FOUND: Final = -32002


class Library:
    def __init__(self, reading: Worker, hidden: Callable[[], Iterable[str]]) -> None:
        self._reading = reading
        self._hidden = hidden

    def serve_in(self, server: Server[Any]) -> None:
        listing = types.PaginatedRequestParams
        server.add_request_handler("resources/list", listing, self._list_resources)
        server.add_request_handler("resources/templates/list", listing, self._list_templates)
        server.add_request_handler("resources/read", types.ReadResourceRequestParams, self._read_resource)
        server.add_request_handler("prompts/list", listing, self._list_prompts)
        server.add_request_handler("prompts/get", types.GetPromptRequestParams, self._get_prompt)

    async def _list_resources(
        self, _: Context, __: types.PaginatedRequestParams
    ) -> types.ListResourcesResult:
        from ringi.mcp import resources  # noqa: PLC0415  # see above

        try:
            with Mistakes():
                found = await self._reading.call(resources.listed)
        except RingiError:  # without a workspace there is nothing to list; a call says why
            found = [resources.LIST]
        return types.ListResourcesResult(resources=[_resource(kind) for kind in found])

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
        from ringi.mcp.resources import TEMPLATES  # noqa: PLC0415  # see above

        made = [
            types.ResourceTemplate(
                uri_template=kind.uri, name=kind.name, description=kind.description, mime_type=kind.mime
            )
            for kind in TEMPLATES
        ]
        return types.ListResourceTemplatesResult(resource_templates=made)

    async def _read_resource(
        self, _: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        from ringi.mcp import resources  # noqa: PLC0415  # see above
        from ringi.mcp.wording import error_document  # noqa: PLC0415  # see above

        uri = str(params.uri)
        try:
            with Mistakes():
                found = await self._reading.call(lambda workspace: resources.read(workspace, uri))
        except RingiError as error:
            told = error_document(error, self._hidden())["error"]
            raise MCPError(RESOURCE_NOT_FOUND, told["message"], {"uri": uri, **told}) from None
        if found is None:
            raise MCPError(RESOURCE_NOT_FOUND, "There is no such resource.", {"uri": uri})
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=found.mime, text=found.text)]
        )

    async def _list_prompts(self, _: Context, __: types.PaginatedRequestParams) -> types.ListPromptsResult:
        task = types.PromptArgument(name="task", description=teaching.TASK_DESCRIPTION, required=False)
        prompt = types.Prompt(
            name=teaching.FLOW_NAME,
            title=teaching.FLOW_TITLE,
            description=teaching.FLOW_DESCRIPTION,
            arguments=[task],
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def _get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != teaching.FLOW_NAME:
            raise MCPError(types.INVALID_PARAMS, f"There is one prompt: {teaching.FLOW_NAME}")
        words = teaching.flow((params.arguments or {}).get("task", ""))
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=visible(words, keep="\t\n"))
        )
        return types.GetPromptResult(description=teaching.FLOW_DESCRIPTION, messages=[message])


def _resource(kind: "Kind") -> types.Resource:
    return types.Resource(
        uri=kind.uri, name=kind.name, description=visible(kind.description), mime_type=kind.mime
    )
