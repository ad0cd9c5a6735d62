"""What checkers say, as diagnostics (CP-10): SARIF 2.1, ruff's JSON, or `file:line:column: message`.

Bytes in, values out. The output is untrusted. If it cannot be read, the answer says why; nothing is raised.
Nothing in it is obeyed, and nothing is escaped here: whoever shows it does that.
"""

from ringi.workspace.diagnostics.formats import MAX_DIAGNOSTICS, MAX_OUTPUT_BYTES
from ringi.workspace.diagnostics.tool_output import Format, Parsed, Place, Unparsed, merged, parse

__all__ = [
    "MAX_DIAGNOSTICS",
    "MAX_OUTPUT_BYTES",
    "Format",
    "Parsed",
    "Place",
    "Unparsed",
    "merged",
    "parse",
]
