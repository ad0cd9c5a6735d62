"""The words of a source that are neither in a comment nor in a string, for languages whose neighbours need
no import.
"""

import re
from typing import Final

_WORD: Final = re.compile(
    r"""//[^\n]*|/\*.*?(?:\*/|\Z)|"(?:[^"\\\n]|\\.)*"?|`[^`]*`?|'(?:[^'\\\n]|\\.){1,8}'"""
    r"""|(?<![\w.])([^\W\d]\w*)""",
    re.DOTALL,
)


def words(source: str) -> set[str]:
    """Without those behind a dot: they belong to something else."""
    return {found[1] for found in _WORD.finditer(source) if found[1]}
