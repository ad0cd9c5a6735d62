"""Which tools a plan may name and which need an approval: globs, the strictest wins (PP-15, PP-16).

A disguise does not help.
"""

import re
import unicodedata
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Final, NamedTuple

from ringi.policy.scripts import latin
from ringi.tools.effects import FindingKind, ToolEffect

_SEPARATORS: Final = re.compile(r"[\s._/:-]+")
_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
# Deletions and changes of permissions. A tool that only reads may have such a name too; then it asks in vain.
_ANYWHERE: Final = (
    "admin", "chgrp", "chmod", "chown", "delete", "destroy", "erase", "grant", "permission", "privilege",
    "purge", "remove", "revoke", "truncate", "uninstall", "unlink", "wipe",
)  # fmt: skip
_WHOLE: Final = frozenset(
    ["acl", "del", "drop", "drops", "kill", "prune", "rm", "rmdir", "role", "roles", "sudo"]
)


class ToolRules(NamedTuple):
    known: tuple[str, ...]
    """Those that there are."""
    allowed: tuple[str, ...] = ()
    """Globs; empty stands for all that there are."""
    forbidden: tuple[str, ...] = ()
    """Globs; they count more than `allowed`."""
    approval: tuple[str, ...] = ()
    """Globs of those that wait for a person; they count more than `allowed`, less than `forbidden`."""


def tool_named(name: str, rules: ToolRules) -> str | None:
    """The tool that is meant: case and spaces do not matter. None if there is none, or it is disguised."""
    wanted = "".join(name.split()).lower()
    return next((tool for tool in rules.known if tool.lower() == wanted), None)


def refusal(name: str, rules: ToolRules) -> FindingKind | None:
    """Why this tool must not be planned; None if it may."""
    spellings = list_spellings(name)
    if _any(spellings, rules.forbidden):
        return FindingKind.FORBIDDEN_TOOL
    tool = tool_named(name, rules)
    if tool is None:
        known = {one for tool in rules.known for one in _spellings(tool)}
        return FindingKind.DISGUISED_TOOL if spellings & known else FindingKind.UNKNOWN_TOOL
    if rules.allowed and not _any(list_spellings(tool), rules.allowed):
        return FindingKind.FORBIDDEN_TOOL
    return None


def needs_approval(name: str, rules: ToolRules) -> bool:
    """Whether a person has to approve every call, whatever the tool says about itself."""
    if _any(list_spellings(name), rules.approval):
        return True
    apart = _HUMP.sub("_", name)
    # A capital in the middle of a word does not tear it apart.
    spellings = list_spellings(name) | list_spellings(apart)
    words = {word for one in spellings for word in one.split("_")}
    joined = {one.replace("_", "") for one in spellings}
    return bool(words & _WHOLE) or any(word in one for one in joined for word in _ANYWHERE)


def list_spellings(name: str) -> frozenset[str]:
    """All that the name could be taken for: two tools that share one cannot be told apart."""
    return frozenset(_spellings(name))


def effect_of(name: str, rules: ToolRules, *, read_only: bool) -> ToolEffect | None:
    """What a server's tool may change; None if it must not be called. `read_only` is what it says itself."""
    if refusal(name, rules._replace(known=(name,))):
        return None
    return ToolEffect.READS if read_only and not needs_approval(name, rules) else ToolEffect.OUTSIDE


def _any(spellings: frozenset[str], globs: tuple[str, ...]) -> bool:
    wanted = {one for glob in globs for one in (glob.lower(), _SEPARATORS.sub("_", glob.lower()))}
    return any(fnmatchcase(name, glob) for name in spellings for glob in wanted)


def _spellings(name: str) -> Iterator[str]:
    """As whoever wants to slip past a glob could mean it."""
    seen = unicodedata.normalize("NFKD", latin(name)).lower()
    visible = "".join(one for one in seen if unicodedata.category(one)[0] not in "CM" or one.isspace())
    bare = "".join(visible.split())
    yield from (bare, _SEPARATORS.sub("_", visible.strip()), _SEPARATORS.sub("_", bare))
