"""What checkers say, as diagnostics (CP-10): SARIF 2.1, ruff's JSON, or `file:line:column: message`.

Bytes in, values out. The output is a stranger's: what cannot be read is an answer with the reason, not an
exception, and nothing in it is obeyed or made harmless here; whoever shows it filters it.
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
