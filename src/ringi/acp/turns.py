"""Turns: each begins with what the person made of the last plan; its end is held until there is the next."""

import asyncio
import re
from collections.abc import Callable
from typing import Any, Final

from ringi.acp.agent import AgentProcess, PromptTurn
from ringi.acp.channel import ChannelReply
from ringi.acp.files import in_words
from ringi.acp.protocol import PROMPT, Id, Message, RpcError, answer_line, content, raw
from ringi.acp.thread import ThreadPrinter, fence_text
from ringi.errors import RingiError
from ringi.kernel.text import Text, shorten_path, visible

PATIENCE_SEC: Final = 10.0
_LONGEST: Final = 2000
_TAGGED: Final = re.compile(r"^<(\w+)>(.*?)(?:</\1>)?$")
"""avante.nvim wraps what a person writes."""
_FROM_RINGI: Final = (
    "=== From ringi, which keeps your changes in a copy until a person approves them ===\n\n{message}\n"
    "=== End of what ringi says; the person's own words follow ===\n\n"
)


class Turns:
    def __init__(self, tell: Callable[[bytes], None], patience_sec: float) -> None:
        self._tell = tell
        self._patience_sec = patience_sec

    async def take(self, agent: AgentProcess, number: Id, params: dict[str, Any]) -> ChannelReply:
        """The answer to a prompt. Raises RingiError and RpcError."""
        prompt = params.get("prompt")
        blocks = prompt if isinstance(prompt, list) else []
        turn = PromptTurn(number, _words_of(blocks))
        first = not agent.turns
        agent.begin(turn)
        try:
            self._warn(agent)
            if first and (news := await agent.begin_turn(self._tell)):
                block = {"type": "text", "text": _FROM_RINGI.format(message=news)}
                params = {**params, "prompt": [block, *blocks]}
            if turn.cancelled:
                return ChannelReply(Message(), answer_line(turn.id, {"stopReason": "cancelled"}))
            return await self._carry_out(agent, turn, params)
        finally:
            agent.end(turn)

    def _warn(self, agent: AgentProcess) -> None:
        if agent.warned:
            return
        agent.warned, printer = True, ThreadPrinter()
        if agent.servers:
            printer.line(
                Text(
                    "! Your editor gives the agent MCP servers outside of its sandbox: {names}. What they"
                    " change is in no plan, and nobody approves it.",
                    names=shorten_path(", ".join(agent.servers)),
                )
            )
        for words in filter(None, (agent.started.warnings, printer.message if printer.rows else "")):
            self._tell(agent.told.text(words))

    async def _carry_out(self, agent: AgentProcess, turn: PromptTurn, params: dict[str, Any]) -> ChannelReply:
        try:
            answer = await agent.channel.ask(PROMPT, raw(params), turn.id)
        except RpcError:
            await self._end(agent, turn)
            raise
        if stop := content(answer.message.result).get("stopReason"):
            turn.cancelled = stop == "cancelled"
        await self._end(agent, turn)
        return answer

    async def _end(self, agent: AgentProcess, turn: PromptTurn) -> None:
        try:
            await agent.end_turn(turn.asked, self._tell, cut_off=turn.cancelled)
        except RingiError as error:
            self._tell(agent.told.text(fence_text(f"✗ {in_words(error).words}")))

    def cancel(self, agent: AgentProcess) -> None:
        """An agent that does not end its turn even then is not waited for."""
        for turn in agent.turns:
            turn.cancelled = True
            asyncio.get_running_loop().call_later(self._patience_sec, self._give_up, agent, turn)

    def _give_up(self, agent: AgentProcess, turn: PromptTurn) -> None:
        agent.channel.give_up(turn.id, answer_line(turn.id, {"stopReason": "cancelled"}))


def _words_of(blocks: list[Any]) -> str:
    """The beginning of what the person wrote, without empty lines."""
    texts = [block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"]
    lines = [line for text in texts if isinstance(text, str) for line in text[:_LONGEST].splitlines()]
    words = filter(None, (visible(_TAGGED.sub(r"\2", " ".join(line.split()))) for line in lines))
    return "\n".join(words)
