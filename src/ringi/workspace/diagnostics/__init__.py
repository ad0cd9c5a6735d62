"""What checkers say, as diagnostics (CP-10): SARIF 2.1, ruff's JSON, or `file:line:column: message`.

Bytes in, values out. The output is untrusted. If it cannot be read, the answer says why; nothing is raised.
Nothing in it is obeyed, and nothing is escaped here: whoever shows it does that.
"""

from ringi.workspace.diagnostics.tool_output import (
    LIMITS,
    Format,
    Limits,
    Parsed,
    Place,
    Unparsed,
    merged,
    parse,
)

__all__ = [
    "LIMITS",
    "Format",
    "Limits",
    "Parsed",
    "Place",
    "Unparsed",
    "merged",
    "parse",
]
