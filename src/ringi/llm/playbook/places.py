"""Files and functions that a text names."""

import re
from typing import Final

_MOST: Final = 3
_LONGEST: Final = 60
_TOKEN: Final = re.compile(r"[A-Za-z0-9_./()-]+")
_CODE_NAME: Final = re.compile(r"[A-Za-z_][\w.:]*(?:\(\))?\Z", re.ASCII)
_EXTENSION: Final = re.compile(
    r"\.(?:c|cc|cfg|cpp|cs|css|dart|ex|go|h|hpp|html|ini|java|js|json|jsx|kt|lock|lua|md|php|po|proto|py|rb|rs|rst"
    r"|scala|scss|sh|sql|swift|tf|toml|ts|tsx|txt|vue|xml|ya?ml|zig)\Z"
)
_NO_FILES: Final = frozenset(
    ["node.js", "vue.js", "next.js", "react.js", "nuxt.js", "express.js", "three.js"]
)
_FILES: Final = frozenset(["readme", "changelog", "makefile", "dockerfile", "contributing.md"])
_FOLDERS: Final = frozenset(
    [
        "app",
        "apps",
        "cmd",
        "docs",
        "internal",
        "lib",
        "libs",
        "packages",
        "pkg",
        "scripts",
        "src",
        "test",
        "tests",
        "tools",
    ]
)


def places(text: str, entries: frozenset[str]) -> tuple[str, ...]:
    """`entries` are the names at the top of the project."""
    found: dict[str, None] = {}
    spans = {span for span in text.split("`")[1::2] if _CODE_NAME.match(span)}
    for token in dict.fromkeys(_TOKEN.findall(text)):
        name = token.strip("().-/") + ("()" if token.endswith("()") else "")
        if len(token) <= _LONGEST and (token in spans or _is_place(token.rstrip(".)-"), entries)):
            found.setdefault(name)
            if len(found) == _MOST:
                break
    return tuple(found)


def _is_place(token: str, entries: frozenset[str]) -> bool:
    if token.lower() in _NO_FILES:
        return False
    if token.lower() in _FILES:
        return True
    if _EXTENSION.search(token) and not token.startswith("."):
        return True
    if token.endswith("(") or (token.rstrip("/") in entries and not token.isalpha()):
        return True
    first, slash, rest = token.partition("/")
    return bool(slash and rest) and (
        first in _FOLDERS or first in entries or (rest.count("/") > 0 and "." in rest)
    )
