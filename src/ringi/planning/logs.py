"""The three log files of a session: calls, failures with their trace, messages that grew too many."""

import traceback
from collections import Counter
from collections.abc import Sequence
from typing import Final

from ringi.domain.prompt import Exchange, Purpose
from ringi.domain.session import MOST_MESSAGES, ConversationMessage, LogEntry, SessionStatus
from ringi.domain.usage import TokenUsage
from ringi.planning.parts import PlanningParts
from ringi.planning.state import State

PHASES: Final = {
    Purpose.DISCOVERY: SessionStatus.DISCOVERY,
    Purpose.DESIGN: SessionStatus.DESIGN,
    Purpose.REVIEW: SessionStatus.REVIEW,
}
_PATHS: Final = {
    SessionStatus.DISCOVERY: "discovery_log_path",
    SessionStatus.DESIGN: "design_log_path",
    SessionStatus.REVIEW: "review_log_path",
}
_LONGEST: Final = 65_536
_LONGEST_SUMMARY: Final = 80
_LONGEST_SECRET: Final = 8_192


def call_entry(
    parts: PlanningParts, purpose: Purpose, model: str, usage: TokenUsage, exchanges: Sequence[Exchange]
) -> LogEntry:
    return LogEntry(PHASES[purpose], _call(parts, purpose, model, usage, exchanges))


def failure_entry(  # all of it is one entry
    parts: PlanningParts,
    purpose: Purpose,
    model: str,
    usage: TokenUsage,
    exchanges: Sequence[Exchange],
    error: Exception,
) -> LogEntry:
    trace = "".join(traceback.format_exception(error))
    text = _call(parts, purpose, model, usage, exchanges) + parts.mask(f"failed: {error}\n{trace}")
    return LogEntry(PHASES[purpose], text)


def _call(
    parts: PlanningParts, purpose: Purpose, model: str, usage: TokenUsage, exchanges: Sequence[Exchange]
) -> str:
    cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.6f} USD"
    tokens = f"{usage.input_tokens} tokens in, {usage.output_tokens} out"
    lines = [
        f"== {parts.clock.now()} {purpose} {model}",
        f"{usage.requests} requests, {tokens}{cost}, {usage.duration_sec:.2f} s",
    ]
    if parts.detailed:
        for number, exchange in enumerate(exchanges, 1):
            lines += [f"-- request {number}", _cut(parts, exchange.request)]
            lines += [f"-- reply {number}", _cut(parts, exchange.reply)]
            lines += [f"-- problem {number}", exchange.problem] if exchange.problem else []
    return parts.mask("\n".join(lines)) + "\n"


def _cut(parts: PlanningParts, text: str) -> str:
    """Masked first, with what follows: of a secret that is cut in two no half would be known."""
    left = len(text) - _LONGEST
    if left <= 0:
        return text
    return f"{parts.mask(text[: _LONGEST + _LONGEST_SECRET])[:_LONGEST]}\n… {left} characters more"


def shortened(parts: PlanningParts, state: State) -> tuple[State, list[LogEntry]]:
    """The newest messages stay; older ones are summarised and moved to the log (IP-15)."""
    messages = state.session.conversation_history
    older = messages[:-MOST_MESSAGES]
    if not older:
        return state, []
    entries = [
        LogEntry(phase, _moved(parts, [message for message in older if _phase_of(message) is phase]))
        for phase in dict.fromkeys(map(_phase_of, older))
    ]
    return state.with_(conversation_history=messages[-MOST_MESSAGES:]), entries


def _phase_of(message: ConversationMessage) -> SessionStatus:
    """The log it belongs to: there are three."""
    return message.phase if message.phase in _PATHS else SessionStatus.REVIEW


def _moved(parts: PlanningParts, older: Sequence[ConversationMessage]) -> str:
    counts = Counter(message.role for message in older)
    by = ", ".join(f"{count} by {role}" for role, count in sorted(counts.items()))
    gist = "; ".join(_first_line(parts.mask(message.content)) for message in older[:3])
    lines = [f"== {parts.clock.now()} {len(older)} older messages of the conversation ({by}): {gist}"]
    if parts.detailed:
        lines += [f"{message.created_at} {message.role}: {message.content}" for message in older]
    return parts.mask("\n".join(lines)) + "\n"


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if len(line) <= _LONGEST_SUMMARY else f"{line[:_LONGEST_SUMMARY]}…"


def with_paths(state: State, entries: Sequence[LogEntry]) -> State:
    """The session names each log from its first entry on, relative to `.agent/`."""
    session_id = state.session.session_id
    names = {_PATHS[entry.phase]: f"logs/{session_id}/{entry.phase}.log" for entry in entries}
    return state.with_(**names) if names else state
