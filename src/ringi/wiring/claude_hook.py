"""What the hook of Claude Code is asked, and where: standard input and the environment of this process."""

import os
import select
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from ringi.integrations.claude_hook import Places, Unfit, copy_tree, judge
from ringi.text import Text
from ringi.workspace.places import places_of, user_folder

LARGEST: Final = 64 * 1024 * 1024
_WAIT_SEC: Final = 3.0
_PIECE: Final = 1 << 20
_SHOWN: Final = 200
_WITH: Final = "RINGI_WITH"


def refusal_here() -> Text | None:
    """Why the edit must not be made, and what to do instead; None where it may."""
    places = places_in(os.environ)
    try:
        path = judge(_read(0), places, str(Path.cwd()))
    except Unfit as unfit:
        return Text("ringi cannot judge this edit, so it is refused: {why}", why=unfit.why)
    except OSError as error:
        return Text("ringi cannot judge this edit, so it is refused: {why}", why=error.strerror)
    return None if path is None else _refusal(path, places.copy)


def _refusal(path: str, copy: str) -> Text:
    shown = path if len(path) <= _SHOWN else path[:_SHOWN] + "…"
    if copy:
        return Text(
            "{path} is outside your work copy, so this edit is refused. Edit the same file below {copy}",
            path=shown,
            copy=copy,
        )
    return Text(
        "{path} is not in a work copy of ringi, so this edit is refused. Propose the change instead: call the"
        " MCP tool plan_propose, and a person decides. Or ask the person to start you in a copy, with:"
        " ringi with claude",
        path=shown,
    )


def places_in(environment: Mapping[str, str]) -> Places:
    # Any root will do: only what all workspaces have in common is used.
    some = places_of(Path("/"), environment)
    home, temporary = environment.get("HOME", ""), environment.get("TMPDIR", "")
    own = [some.states, some.copies.parent.parent, user_folder(environment)]
    return Places(
        copy=copy_tree(some.copies.parent, environment.get(_WITH, "")),
        temporary=tuple(place for place in (temporary, "/tmp") if place.startswith("/")),  # noqa: S108  # only compared
        home=home if home.startswith("/") else "",
        own=tuple(str(folder) for folder in own if folder),
    )


def _read(descriptor: int) -> bytes:
    """All that comes, as long as that is soon and not too much."""
    if os.isatty(descriptor):
        raise Unfit(Text("nothing was sent to it"))
    pieces: list[bytes] = []
    size, until = 0, time.monotonic() + _WAIT_SEC
    while True:
        if not select.select([descriptor], [], [], max(until - time.monotonic(), 0))[0]:
            raise Unfit(Text("it does not come to an end"))
        piece = os.read(descriptor, _PIECE)
        if not piece:
            return b"".join(pieces)
        size += len(piece)
        if size > LARGEST:
            raise Unfit(Text("it is too large"))
        pieces.append(piece)
