"""Answers Claude Code before every edit: only a work copy may be edited.

Its rules (hooks reference): exit code 2 blocks, and the model reads standard error; a JSON decision on
standard output blocks as well; any other exit code lets the edit through. So a refusal is reported both
ways. The text is for a model, so it is English. Nothing slow is imported: this runs at every edit.
"""

import json
import os
import select
import sys
import time
from typing import Final

from ringi.agents.claude_hook import Unfit, refusal
from ringi.kernel.system import process_environment
from ringi.kernel.text import Text, visible

BLOCK: Final = 2
LARGEST: Final = 64 * 1024 * 1024
_WAIT_SEC: Final = 3.0
_PIECE: Final = 1 << 20
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
