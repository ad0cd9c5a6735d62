"""What is taken over of the file in which Claude Code keeps its state and settings together."""

import json
from collections.abc import Mapping
from typing import Any, Final

from ringi.agents.output import dict_at

_OURS: Final = frozenset(
    ["mcpServers", "allowedTools", "enabledMcpjsonServers", "disabledMcpjsonServers", "mcpContextUris"]
)


def claude_state(now: bytes, inside: bytes, root: str) -> bytes:
    """All of the agent's but what starts servers, allows tools or trusts other folders: that stays."""
    kept, new = _object(now), _object(inside)
    if new == kept:
        return now
    for name in _OURS & (kept.keys() | new.keys()):
        _put_back(new, kept, name)
    known, projects = dict_at(kept, "projects"), dict_at(new, "projects")
    for path, project in projects.items():
        before = dict_at(known, path)
        if isinstance(project, dict):
            for name in [*project, *before]:
                if name in _OURS or (name.startswith("hasTrust") and path != root):
                    _put_back(project, before, name)
    return json.dumps(new, ensure_ascii=False, indent=2).encode()


def _object(data: bytes) -> dict[str, Any]:
    """Raises ValueError."""
    found = json.loads(data)
    if not isinstance(found, dict):
        raise ValueError  # noqa: TRY004  # as for text that is no JSON
    return found


def _put_back(new: dict[str, Any], kept: Mapping[str, Any], name: str) -> None:
    if name in kept:
        new[name] = kept[name]
    else:
        new.pop(name, None)
