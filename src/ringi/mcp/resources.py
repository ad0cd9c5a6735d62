"""What the server offers besides tools: a prompt, and plans with their diffs as resources."""

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import mcp_types as types
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from ringi.errors import RingiError
from ringi.kernel import codec
from ringi.kernel.text import visible
from ringi.mcp.answers import PLANS, structured
from ringi.mcp.render import Mistakes, failed
from ringi.mcp.worker import Worker
from ringi.plans.document import PlanRef
from ringi.plans.redact import document_for_clients, preview_for_clients

if TYPE_CHECKING:
    from ringi.app.api import Workspace

FLOW_NAME: Final = "ringi_flow"
FLOW_TITLE: Final = "Change files through ringi"
FLOW_DESCRIPTION: Final = "How to get a change approved by a person and executed."
TASK_DESCRIPTION: Final = "What should be changed, in a sentence or two."

FLOW: Final = """\
Change files of this repository only through ringi's tools:

1. plan_propose: describe what should change and why. The first line is the title the person sees.
2. plan_set_action_specs: the exact changes, in order. Kinds: create, write (whole content), patch (a \
unified diff), delete, move, mkdir, run (a command as a list of words, no shell), read, analyze. If the \
report is not ok, fix the reported problems and set the specs again.
3. plan_preview: check your own diffs. Keep plans small; a person reads every line.
4. plan_request_approval: returns the command that the person should type, such as `ringi review p7`. \
Tell them.
5. plan_wait: returns when the person decides or comments. If outcome is null, call it again.
   - approved: continue with 6.
   - declined: read the feedback and the line comments, set corrected specs, and ask again. Do not ask \
again with the same specs.
   - cancelled or expired: check plan_get_state, then ask again.
   - The person may drop or edit parts. The answer lists what they changed; their version is the one \
that counts.
6. plan_execute: executes exactly what was approved. If a file has changed since, it refuses: set the \
specs again and ask again.

You cannot approve, and no tool can. Do not run `ringi approve` or `ringi review`, do not answer for the \
person, and do not look for a workaround: an approval covers exact bytes, which are checked again before \
anything is written.

If the task is large or unclear, plan it with your user first: planning_start, then pass on their \
answers (planning_answer) and choices (planning_decide), one at a time, never your own. \
With bring: true you read the code and bring the questions, decisions and design (planning_bring). \
planning_get shows the state of a session, planning_outline the likely steps without one; \
issue begins one about an issue, a pull or merge request. \
The person approves the summary in their terminal."""


def flow(task: str) -> str:
    """The task is untrusted, so it is delimited as data."""
    if not task.strip():
        return FLOW
    return f"{FLOW}\n\nThe task as given:\n<task>\n{task.replace('</', '< /')}\n</task>"


JSON: Final = "application/json"
DIFF: Final = "text/x-diff"
_LISTED: Final = 20
_MOST: Final = 1000
_ONE: Final = re.compile(r"ringi://plans/([0-9A-Za-z-]{1,100})(/diff)?")


class Kind(NamedTuple):
    uri: str
    name: str
    description: str
    mime: str


LIST: Final = Kind(PLANS, "plans", "The plans of this workspace, the newest first.", JSON)
TEMPLATES: Final = (
    Kind(
        "ringi://plans/{plan}", "plan", "The whole document of a plan, with the contents of its specs.", JSON
    ),
    Kind("ringi://plans/{plan}/diff", "diff", "What a plan changes, as one unified diff.", DIFF),
)


class Found(NamedTuple):
    text: str
    mime: str


def listed(workspace: "Workspace") -> list[Kind]:
    refs = workspace.plan.list(limit=_LISTED)
    return [LIST, *(kind for ref in refs for kind in _of(ref))]


def _of(ref: PlanRef) -> tuple[Kind, Kind]:
    uri = f"{PLANS}/{ref.name}"
    return (
        Kind(uri, ref.name, f"{ref.title} ({ref.status})", JSON),
        Kind(f"{uri}/diff", f"{ref.name}.diff", f"What {ref.name} changes.", DIFF),
    )


def read(workspace: "Workspace", uri: str) -> Found | None:
    """None if it is no URI of ours. Raises NotFound if there is no such plan."""
    if uri == PLANS:
        return Found(codec.pretty(workspace.plan.list(limit=_MOST)).decode(), JSON)
    found = _ONE.fullmatch(uri)
    if found is None:
        return None
    if found[2] is None:
        return Found(codec.pretty(document_for_clients(workspace, found[1])).decode(), JSON)
    return Found("".join(part.diff for part in preview_for_clients(workspace, found[1]).diffs), DIFF)


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
        try:
            with Mistakes():
                found = await self._reading.call(listed)
        except RingiError:  # without a workspace there is nothing to list; a tool call says why
            found = [LIST]
        return types.ListResourcesResult(resources=[_resource(kind) for kind in found])

    async def _list_templates(
        self, _: Context, __: types.PaginatedRequestParams
    ) -> types.ListResourceTemplatesResult:
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
        uri = str(params.uri)
        try:
            with Mistakes():
                found = await self._reading.call(lambda workspace: read(workspace, uri))
        except RingiError as error:
            told = failed(error, self._hidden())
            data = {"uri": uri, **structured(told.error), "next_step": told.next_step}
            raise MCPError(RESOURCE_NOT_FOUND, told.error.message, data) from None
        if found is None:
            raise MCPError(RESOURCE_NOT_FOUND, "There is no such resource.", {"uri": uri})
        return types.ReadResourceResult(
            contents=[types.TextResourceContents(uri=uri, mime_type=found.mime, text=found.text)]
        )

    async def _list_prompts(self, _: Context, __: types.PaginatedRequestParams) -> types.ListPromptsResult:
        task = types.PromptArgument(name="task", description=TASK_DESCRIPTION, required=False)
        prompt = types.Prompt(
            name=FLOW_NAME,
            title=FLOW_TITLE,
            description=FLOW_DESCRIPTION,
            arguments=[task],
        )
        return types.ListPromptsResult(prompts=[prompt])

    async def _get_prompt(self, _: Context, params: types.GetPromptRequestParams) -> types.GetPromptResult:
        if params.name != FLOW_NAME:
            raise MCPError(types.INVALID_PARAMS, f"There is one prompt: {FLOW_NAME}")
        words = flow((params.arguments or {}).get("task", ""))
        message = types.PromptMessage(
            role="user", content=types.TextContent(type="text", text=visible(words, keep="\t\n"))
        )
        return types.GetPromptResult(description=FLOW_DESCRIPTION, messages=[message])


def _resource(kind: Kind) -> types.Resource:
    return types.Resource(
        uri=kind.uri, name=kind.name, description=visible(kind.description), mime_type=kind.mime
    )
