"""The command-line agents that need no template: how each is asked without a terminal, and what it prints.

All of them run in an empty folder, answer from standard input and may use no tool. What stands here was read
in their own source or documentation, at these versions:

claude, 2.1.240 (CHANGELOG.md of anthropics/claude-code, claude_agent_sdk's subprocess_cli.py and types.py):
  --print                   one answer, no screen; the prompt comes from standard input
  --output-format json      one object: type, result, is_error, usage, total_cost_usd, api_error_status
  --tools ""                no built-in tool at all
  --disallowedTools         no reading: words such as @file in a prompt would lay that file into it
  --strict-mcp-config       no MCP server but those of --mcp-config, and there is none
  --setting-sources user    nothing from folders above; the user's own may be what logs it in
  --disable-slash-commands  no command or skill by a word in the prompt
  --no-session-persistence  nothing to resume is left behind
  CLAUDE_CODE_SAFE_MODE     no CLAUDE.md, hooks, plugins, skills; not --bare, which logs out as well

codex, August 2026 (codex-rs/exec/src/cli.rs, exec_events.rs, features/src/lib.rs of openai/codex):
  exec … -                  one answer; the prompt comes from standard input. It never asks for approval
  --json                    events as lines: item.completed with an agent_message, turn.completed with usage
  --sandbox read-only       commands could write nothing
  -c features.…=false       no commands; a version that does not know the feature ignores it
  --ignore-user-config      no MCP servers, hooks, profiles; the login is kept elsewhere
  --ignore-rules            no rules that allow commands
  -c project_doc_max_bytes  no AGENTS.md
  --ephemeral               no file of the session
  --skip-git-repo-check     the empty folder is no repository

gemini, August 2026 (docs/cli, docs/reference/policy-engine.md, packages/cli/src/config/config.ts):
  --output-format json      one object: response, stats.models.*.tokens; error on standard error
  --approval-mode default   without a terminal, what would have to be approved is denied. Not plan: it can
                            leave that mode by itself, and then does everything without asking
  --policy FILE             denies every tool, whatever the user's settings allow
  --extensions none         none of them
  --allowed-mcp-server-names  a name that no server has
  GEMINI_CLI_TRUST_WORKSPACE  the empty folder is trusted; otherwise it refuses to start
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

_MOST_FAILURES: Final = 200
"""Places in an output that look like JSON and are not; more are not tried."""
_NO_TOOLS: Final = '[[rule]]\ntoolName = "*"\ndecision = "deny"\npriority = 999\n'
FILES: Final = "\0files"
"""Stands for a folder's path; no word of a command line that people write has it."""
_NO_LOGIN: Final = 41  # how gemini ends where it is not logged in
_UNAUTHORIZED: Final = 401


class Said(NamedTuple):
    """What an agent's output comes to."""

    text: str
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = None
    problem: str = ""
    """What went wrong, in its own words."""
    status: int = 0
    """The HTTP status that its service answered with, where it says so."""


class Agent(NamedTuple):
    words: tuple[str, ...]
    read: Callable[[str, str, int], Said]
    """From its output, its errors and its exit code."""
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    streams: bool = False
    """Its output is the answer itself, as it comes."""


def plain(output: str, _errors: str, _exit_code: int) -> Said:
    return Said(output.strip())


def _claude(output: str, _errors: str, _exit_code: int) -> Said:
    found = [one for one in documents(output) if one.get("type") == "result"]
    if not found:
        return Said(output.strip())
    result = found[-1]
    usage = _dict(result, "usage")
    text = result.get("result")
    text = text.strip() if isinstance(text, str) else ""
    failed = result.get("is_error") is True
    errors = result.get("errors")
    words = (
        text or " ".join(map(str, errors if isinstance(errors, list) else [])) or str(result.get("subtype"))
    )
    return Said(
        "" if failed else text,
        # What came from a cache and what went into one is counted apart.
        sum(
            _count(usage, name)
            for name in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        ),
        _count(usage, "output_tokens"),
        _cost(result.get("total_cost_usd")),
        words if failed else "",
        _count(result, "api_error_status"),
    )


def _codex(output: str, _errors: str, _exit_code: int) -> Said:
    text: str | None = None
    problem, known = "", False
    taken, given = 0, 0
    for event in documents(output):
        kind, item = event.get("type"), _dict(event, "item")
        known = known or kind in {"thread.started", "turn.started", "turn.completed", "turn.failed"}
        if kind == "item.completed" and item.get("type") == "agent_message":
            text = str(item.get("text", "")).strip()
        elif kind == "turn.completed":
            usage = _dict(event, "usage")
            taken, given = _count(usage, "input_tokens"), _count(usage, "output_tokens")
        elif kind == "turn.failed":
            problem = str(_dict(event, "error").get("message", "")) or "turn.failed"
    if text is None:
        text = "" if known else output.strip()
    return Said("" if problem else text, taken, given, problem=problem)


def _gemini(output: str, errors: str, exit_code: int) -> Said:
    found = [one for one in documents(output) if isinstance(one.get("response"), str)]
    failures = [
        _dict(one, "error") for one in (*documents(output), *documents(errors)) if _dict(one, "error")
    ]
    problem = str(failures[-1].get("message", "")) if failures else ""
    status = _count(failures[-1], "code") if failures else 0
    if exit_code == _NO_LOGIN:
        status = _UNAUTHORIZED
    if not found:
        return Said("" if problem else output.strip(), problem=problem, status=status)
    models = _dict(_dict(found[-1], "stats"), "models")
    tokens = [_dict(model, "tokens") for model in models.values() if isinstance(model, dict)]
    return Said(
        found[-1]["response"].strip(),
        sum(_count(one, "prompt") for one in tokens),
        sum(_count(one, "candidates") + _count(one, "thoughts") for one in tokens),
        problem=problem,
        status=status,
    )


def documents(text: str) -> Iterator[dict[str, Any]]:
    """The JSON objects among whatever else was printed, each from the beginning of a line."""
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


def _dict(document: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}


def _count(document: Mapping[str, Any], name: str) -> int:
    found = document.get(name)
    return found if type(found) is int and found > 0 else 0


def _cost(found: object) -> float | None:
    if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found < math.inf:
        return None
    return float(found)


PLAIN: Final = Agent((), plain, streams=True)
AGENTS: Final[Mapping[str, Agent]] = {
    "claude": Agent(
        (
            "claude", "--print", "--output-format", "json", "--tools", "", "--disallowedTools", "Read(//**)",
            "--strict-mcp-config", "--setting-sources", "user", "--disable-slash-commands",
            "--no-session-persistence",
        ),
        _claude,
        environment={"CLAUDE_CODE_SAFE_MODE": "1"},
    ),
    "codex": Agent(
        (
            "codex", "exec", "--json", "--sandbox", "read-only", "-c", "features.shell_tool=false",
            "-c", "features.unified_exec=false", "--ignore-user-config", "--ignore-rules",
            "-c", "project_doc_max_bytes=0", "--ephemeral", "--skip-git-repo-check", "-",
        ),
        _codex,
    ),
    "gemini": Agent(
        (
            "gemini", "--output-format", "json", "--approval-mode", "default",
            "--policy", f"{FILES}/no-tools.toml", "--extensions", "none",
            "--allowed-mcp-server-names", "none",
        ),
        _gemini,
        environment={"GEMINI_CLI_TRUST_WORKSPACE": "true"},
        files={"no-tools.toml": _NO_TOOLS},
    ),
}  # fmt: skip
