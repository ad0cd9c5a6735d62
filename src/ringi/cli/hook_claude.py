"""Answers Claude Code before every edit: only a work copy may be edited.

Its rules (hooks reference): exit code 2 blocks, and the model reads the error output; a decision as JSON on
standard output blocks as well; every other exit code but 0 lets the edit through. So a refusal is told both
ways. The words are for a model, so they are English. Nothing slow is imported: this runs at every edit.
"""

import json
import sys
from typing import Final

from ringi.text import Text, visible
from ringi.wiring.claude_hook import refusal_here

BLOCK: Final = 2
_UNKNOWN: Final = Text("ringi cannot judge this edit, so it is refused.")


def answer() -> int:
    """The exit code; 0 leaves the edit to Claude Code's own permissions."""
    refusal: Text | None = _UNKNOWN
    try:
        refusal = refusal_here()
    finally:
        # Also on the way out of a mistake of ours: to Claude Code, every other end would mean yes.
        if refusal is not None:
            _tell(visible(str(refusal)))
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
        except (OSError, ValueError, AttributeError):  # closed, or never opened: the exit code says it all
            continue
