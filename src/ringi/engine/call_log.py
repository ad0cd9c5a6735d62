"""What was sent to a model and what came back, as text for a log: of sessions and of the planning engine."""

import traceback
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from ringi.errors import ModelFailed
from ringi.kernel.text import Text, visible, writable
from ringi.models.prompt import Exchange
from ringi.models.usage import Purpose, TokenUsage

_LONGEST: Final = 65_536
_LONGEST_SECRET: Final = 8_192
_LONGEST_SAID: Final = 200

Mask = Callable[[str], str]


class LoggedCall(NamedTuple):
    """One call of a model."""

    purpose: Purpose
    model: str
    usage: TokenUsage
    exchanges: Sequence[Exchange] = ()
    before: str = ""
    """The model of the call before it."""
    end: str = ""
    """If it gave no answer: why."""


def call_text(call: LoggedCall, now: str, mask: Mask, *, detailed: bool, confidential: bool = False) -> str:
    usage = call.usage
    cost = "" if usage.cost_usd is None else f", {usage.cost_usd:.6f} USD"
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    tokens = f"{usage.input_tokens} tokens in{cached}, {usage.output_tokens} out"
    lines = [
        f"== {now} {call.purpose} {call.model}",
        f"{usage.requests} requests, {tokens}{cost}, {usage.duration_sec:.2f} s",
    ]
    if usage.reused:
        lines.append(f"{usage.reused} from the cache, answered {usage.reused_from}")
    if call.before not in {"", call.model}:
        lines.append(f"goes on with {call.model}; before it was {call.before}")
    if detailed:
        for number, exchange in enumerate(call.exchanges, 1):
            lines += [f"-- request {number}", _cut(exchange.request, mask)]
            lines += [f"-- reply {number}", _cut(exchange.reply, mask)]
            lines += [f"-- problem {number}", exchange.problem] if exchange.problem else []
    lines += [call.end.partition("\n")[0] if confidential else call.end] if call.end else []
    return mask("\n".join(lines)) + "\n"


def failure_end(error: ModelFailed) -> str:
    """Its kind on a line of its own: the rest may say what the model did."""
    trace = "".join(traceback.format_exception(error))
    return f"failed: {error.code}\n{error}\n{trace}".rstrip("\n")


def why_it_failed(error: ModelFailed, mask: Mask) -> Text:
    """Translatable, with its details masked, and what the model said."""
    details = {
        name: value if isinstance(value, Text) else writable(mask(str(value)))
        for name, value in error.details.items()
    }
    why = Text(error.message, **details)
    said = next((one.reply for one in reversed(error.exchanges) if one.reply.strip()), "")
    if not said:
        return why
    words = writable(visible(" ".join(mask(said).split())))
    words = words if len(words) <= _LONGEST_SAID else f"{words[:_LONGEST_SAID]}…"
    return Text("{why} It said: {words}", why=why, words=words)


def _cut(text: str, mask: Mask) -> str:
    """Masks before cutting: half of a secret would not be recognised."""
    left = len(text) - _LONGEST
    if left <= 0:
        return text
    return f"{mask(text[: _LONGEST + _LONGEST_SECRET])[:_LONGEST]}\n… {left} characters more"
