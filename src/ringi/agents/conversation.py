"""Which of an agent's conversations belongs to a copy.

In the sandbox every copy is at the project's own path, so the last conversation of the project may be
another copy's.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Final

from ringi.agents.table import agent_of

_HEAD: Final = 65_536
_NAME: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_BEGAN: Final = re.compile(r'"timestamp":"([^"]+)"')


def conversation_of(
    argv: Sequence[str], env: Mapping[str, str], folder: Path, since: str, *, alone: bool
) -> str:
    """The one that began in the folder since then; empty if the agent does not say, or continued one.

    If other agents work there too, the first one: theirs began with a start of their own.
    """
    found = sorted(_began_since(argv, env, folder, since))
    return found[-1 if alone else 0][1] if found else ""


def _began_since(
    argv: Sequence[str], env: Mapping[str, str], folder: Path, since: str
) -> Iterator[tuple[datetime, str]]:
    agent = agent_of(argv)
    places = agent.places(env) if agent.conversations else ()
    here = f'"cwd":{json.dumps(str(folder), ensure_ascii=False)}'
    for path in places[0].path.glob(agent.conversations) if places else ():
        with suppress(OSError, ValueError):
            with path.open(encoding="utf-8", errors="replace") as file:
                head = file.read(_HEAD)
            name, began = _NAME.search(path.stem), _BEGAN.search(head)
            if name and began and here in head:
                moment = datetime.fromisoformat(began[1])
                if moment >= datetime.fromisoformat(since):
                    yield moment, name[0]
