"""An editor made of the official SDK, driven line by line; it runs in an environment of its own.

Words: a folder, then the command of the agent; SDK_SESSION names a session to load. Each line on standard
input is a prompt as JSON; each line on standard output is what came of it. It serves no files and no
terminals itself.
"""

import asyncio
import json
import os
import sys
from typing import Any

import acp
from acp.schema import AllowedOutcome, ClientCapabilities, FileSystemCapabilities, RequestPermissionResponse


class SdkEditor(acp.Client):
    def __init__(self) -> None:
        self.heard: list[dict[str, Any]] = []

    async def request_permission(self, options: Any, session_id: str, tool_call: Any, **_: Any) -> Any:
        self.heard.append({"permission": tool_call.title})
        allowed = next((one for one in options if one.kind == "allow_once"), options[0])
        outcome = AllowedOutcome(outcome="selected", option_id=allowed.option_id)
        return RequestPermissionResponse(outcome=outcome)

    async def session_update(self, session_id: str, update: Any, **_: Any) -> None:
        self.heard.append(update.model_dump(mode="json", by_alias=True, exclude_none=True))

    async def write_text_file(self, **_: Any) -> Any:
        raise acp.RequestError(-32601, "the editor was asked for a file")

    async def read_text_file(self, **_: Any) -> Any:
        raise acp.RequestError(-32601, "the editor was asked for a file")


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)  # noqa: T201  # its answers


async def main(folder: str, *command: str) -> None:
    editor = SdkEditor()
    capabilities = ClientCapabilities(
        fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
    )
    async with acp.spawn_agent_process(editor, *command, env=dict(os.environ), cwd=folder) as (agent, _):
        greeted = await agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION, client_capabilities=capabilities
        )
        session = os.environ.get("SDK_SESSION", "")
        if session:
            await agent.load_session(cwd=folder, session_id=session, mcp_servers=[])
        else:
            session = (await agent.new_session(cwd=folder, mcp_servers=[])).session_id
        say(agent=greeted.agent_info and greeted.agent_info.name, session=session)
        while line := await asyncio.to_thread(sys.stdin.readline):
            editor.heard.clear()
            answer = await agent.prompt(session_id=session, prompt=[acp.text_block(json.loads(line))])
            say(stop=answer.stop_reason, heard=editor.heard)


asyncio.run(main(*sys.argv[1:]))
