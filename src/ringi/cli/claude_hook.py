"""Answers Claude Code before every edit: only a work copy may be edited. Watches its shell commands.

Its rules (hooks reference): exit code 2 blocks, and the model reads standard error; a JSON decision on
standard output blocks as well; any other exit code lets the edit through. So a refusal is reported both
ways. The text is for a model, so it is English. Nothing slow is imported: this runs at every edit.
"""

import json
import os
import select
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ringi.agents.claude_hook import Unfit, call_of, is_in_copy, refusal
from ringi.kernel.system import process_environment
from ringi.kernel.text import Text, visible

BLOCK: Final = 2
LARGEST: Final = 64 * 1024 * 1024
_WAIT_SEC: Final = 3.0
_PIECE: Final = 1 << 20
_FOR_AGENT: Final = (
    "While this command ran, files of the project changed without an approved plan: {files}. The person has "
    "been told, and nothing was taken back. If your command did it, say so. From now on propose such "
    "changes: call the MCP tool plan_propose."
)
_FOR_PERSON: Final = "ringi: files changed without a plan while a command ran: {files}"
_UNKNOWN: Final = Text("ringi cannot judge this edit, so it is refused.")


def answer() -> int:
    """The exit code; 0 leaves the edit to Claude Code's own permissions."""
    why: Text | None = _UNKNOWN
    try:
        why = refusal(lambda: _read(0), process_environment())
    finally:
        # Even if our own code fails: Claude Code takes any other exit code as permission.
        if why is not None:
            _tell(visible(str(why)))
            raise SystemExit(BLOCK)
    return 0


def watch_shell() -> int:
    """Before and after every shell command; never stops one, whatever happens here."""
    from ringi.errors import RingiError  # noqa: PLC0415  # not before an edit

    try:
        call = call_of(_read(0))
        if not is_in_copy(process_environment()):
            _watch(call)
    except (RingiError, Unfit, OSError):
        return 0
    return 0


def _watch(call: Mapping[str, Any]) -> None:
    from ringi.agents.shell_watch import named, note, watch_of  # noqa: PLC0415  # as above

    event, environment = str(call.get("hook_event_name")), process_environment()
    watch = watch_of(call, environment, Path.cwd())
    if watch is None:
        return
    if event == "PreToolUse":
        watch.begin()
        return
    found = watch.end()
    if found is None:
        return
    from ringi.app.api import open_workspace  # noqa: PLC0415  # only if something changed

    with open_workspace(watch.root, environment=environment) as workspace:
        files = note(workspace, "claude", found)
    if files:
        names = visible(named(files))
        answer = {
            "hookSpecificOutput": {
                "hookEventName": event,
                "additionalContext": _FOR_AGENT.format(files=names),
            },
            "systemMessage": _FOR_PERSON.format(files=names),
        }
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _tell(words: str) -> None:
    decision = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": words,
    }
    for stream, line in ((sys.stdout, json.dumps({"hookSpecificOutput": decision})), (sys.stderr, words)):
        try:
            stream.write(line + "\n")
            stream.flush()
        except (OSError, ValueError, AttributeError):  # closed, or never opened: the exit code is enough
            continue


def _read(descriptor: int) -> bytes:
    """Reads to the end, within limits of time and size."""
    if os.isatty(descriptor):
        raise Unfit(Text("nothing was sent"))
    pieces: list[bytes] = []
    size, until = 0, time.monotonic() + _WAIT_SEC
    while True:
        if not select.select([descriptor], [], [], max(until - time.monotonic(), 0))[0]:
            raise Unfit(Text("it did not end in time"))
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > LARGEST:
            raise Unfit(Text("it is too large"))
        pieces.append(piece)
