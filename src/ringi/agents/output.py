"""Parse what an agent prints when it is used as a model."""

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

_NO_LOGIN: Final = 41  # gemini's exit code if it is not logged in
_UNAUTHORIZED: Final = 401
_MOST_FAILURES: Final = 200
"""Give up after this many places that look like JSON but are not."""


class AgentOutput(NamedTuple):
    """An agent's parsed output."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    problem: str = ""
    """The agent's own error message."""
    status: int = 0
    """The HTTP status of its service, if it reports one."""
    cached_tokens: int = 0
    """Of the input tokens, those that its service had read before."""


def parse_plain(output: str, _errors: str, _exit_code: int) -> AgentOutput:
    return AgentOutput(output.strip())


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects in the output, each starting at the beginning of a line."""
    decoder = json.JSONDecoder()
    at, failures = 0, 0
    while at < len(text) and failures < _MOST_FAILURES:
        if text[at] in "{[":
            try:
                found, at = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                failures += 1
            else:
                yield from (
                    one for one in (found if isinstance(found, list) else [found]) if isinstance(one, dict)
                )
        at = text.find("\n", at) + 1 or len(text)
        while at < len(text) and text[at] in " \t\r\n":
            at += 1


def dict_at(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def count_at(document: Mapping[str, Any], name: str) -> int:
    found = document.get(name)
    return found if type(found) is int and found > 0 else 0


def cost(found: object) -> float | None:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        return None
    return float(found)


def parse_claude(output: str, _errors: str, _exit_code: int) -> AgentOutput:
    found = [one for one in documents(output) if one.get("type") == "result"]
    if not found:
        return AgentOutput(output.strip())
    result = found[-1]
    usage = dict_at(result, "usage")
    text = result.get("result")
    text = text.strip() if isinstance(text, str) else ""
    failed = result.get("is_error") is True
    errors = result.get("errors")
    words = (
        text or " ".join(map(str, errors if isinstance(errors, list) else [])) or str(result.get("subtype"))
    )
    return AgentOutput(
        "" if failed else text,
        # Tokens read from and written to the cache are counted separately.
        sum(
            count_at(usage, name)
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ),
        count_at(usage, "output_tokens"),
        cost(result.get("total_cost_usd")),
        words if failed else "",
        count_at(result, "api_error_status"),
        count_at(usage, "cache_read_input_tokens"),
    )


def parse_codex(output: str, _errors: str, _exit_code: int) -> AgentOutput:
    text: str | None = None
    problem, known = "", False
    taken, given, cached = 0, 0, 0
    for event in documents(output):
        kind, item = event.get("type"), dict_at(event, "item")
        known = known or kind in {"thread.started", "turn.started", "turn.completed", "turn.failed"}
        if kind == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text", "")).strip()
        elif kind == "turn.completed":
            usage = dict_at(event, "usage")
            taken, given = count_at(usage, "input_tokens"), count_at(usage, "output_tokens")
            cached = count_at(usage, "cached_input_tokens")
        elif kind == "turn.failed":
            problem = str(dict_at(event, "error").get("message", "")) or "turn.failed"
    if text is None:
        text = "" if known else output.strip()
    return AgentOutput("" if problem else text, taken, given, problem=problem, cached_tokens=cached)


def parse_gemini(output: str, errors: str, exit_code: int) -> AgentOutput:
    found = [one for one in documents(output) if isinstance(one.get("response"), str)]
    failures = [
        dict_at(one, "error") for one in (*documents(output), *documents(errors)) if dict_at(one, "error")
    ]
    problem = str(failures[-1].get("message", "")) if failures else ""
    status = count_at(failures[-1], "code") if failures else 0
    if exit_code == _NO_LOGIN:
        status = _UNAUTHORIZED
    if not found:
        return AgentOutput("" if problem else output.strip(), problem=problem, status=status)
    models = dict_at(dict_at(found[-1], "stats"), "models")
    tokens = [dict_at(model, "tokens") for model in models.values() if isinstance(model, dict)]
    return AgentOutput(
        found[-1]["response"].strip(),
        sum(count_at(one, "prompt") for one in tokens),
        sum(count_at(one, "candidates") + count_at(one, "thoughts") for one in tokens),
        problem=problem,
        status=status,
        cached_tokens=sum(count_at(one, "cached") for one in tokens),
    )
