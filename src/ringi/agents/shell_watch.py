"""Notices what an agent's shell command changed in the checkout. It prevents nothing, and takes nothing back.

A snapshot before the command is compared with one after it; both read only files whose stamps changed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from ringi.kernel.places import Places, find_root, places_of
from ringi.ledger.event import Actor, Counts, EventKind, NewEvent
from ringi.ledger.events import About
from ringi.ledger.subject import WORKSPACE
from ringi.plans.document import SpecKind
from ringi.tree.snapshot import Snapshot, Snapshots

if TYPE_CHECKING:  # loaded only if something changed
    from ringi.app.workspace import Workspace

_WRITING: Final = frozenset(
    [EventKind.COMPLETED, EventKind.ABORTED, EventKind.UNDONE, EventKind.UNDO_ABORTED]
)
_FOLDER: Final = "shell"
_MOST_KEPT: Final = 20
_MOST_NAMED: Final = 10


class Changed(NamedTuple):
    since: str
    """When the command began."""
    paths: tuple[str, ...]


class Watch:
    """One command of one agent, by the name that the agent gives it."""

    def __init__(self, places: Places, name: str) -> None:
        self.root = places.root
        self._snapshots = Snapshots(places.state, places.root)
        self._file = places.state / _FOLDER / f"{name}.json"

    def begin(self) -> None:
        taken = self._snapshots.take()
        self._file.parent.mkdir(mode=0o700, exist_ok=True)
        # Commands that were cut off leave theirs behind.
        for old in sorted(self._file.parent.iterdir(), key=_stamp)[:-_MOST_KEPT]:
            old.unlink(missing_ok=True)
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())
        self._file.write_text(json.dumps([since, *taken]), encoding="utf-8")

    def end(self) -> Changed | None:
        """None if nothing changed, or the beginning was missed."""
        try:
            since, before = _read(self._file.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        self._file.unlink(missing_ok=True)
        after = self._snapshots.take()
        return None if after.id == before.id else Changed(since, self._snapshots.differing(before, after))


def watch_of(call: Mapping[str, Any], environment: Mapping[str, str], here: Path) -> Watch | None:
    """None for a call that cannot be watched. Raises NoWorkspace."""
    name = call.get("tool_use_id")
    if not isinstance(name, str) or not name.replace("_", "").replace("-", "").isalnum():
        return None
    places = places_of(find_root(Path(environment.get("CLAUDE_PROJECT_DIR") or here)), environment)
    return Watch(places, name) if places.state.is_dir() else None


def _stamp(path: Path) -> int:
    with suppress(OSError):
        return path.stat().st_mtime_ns
    return 0


def _read(text: str) -> tuple[str, Snapshot]:
    """Raises ValueError."""
    since, id_, tree, nested, unreadable = json.loads(text)
    return since, Snapshot(id_, tree, tuple((path, one) for path, one in nested), tuple(unreadable))


def note(workspace: Workspace, agent: str, found: Changed) -> tuple[str, ...]:
    """Logs the files that no plan explains, and returns them."""
    unexplained = tuple(path for path in found.paths if path not in _explained(workspace, found))
    if unexplained:
        with workspace.store.transaction() as transaction:
            # The event is all that is kept of it.
            reason = f"{agent}: {named(unexplained)}"
            about = About(WORKSPACE, reason, Counts(files=len(unexplained), specs=0))
            transaction.append(about, NewEvent(EventKind.CHECKOUT_CHANGED, Actor.AI, reason))
    return unexplained


def named(paths: Sequence[str]) -> str:
    more = f" +{len(paths) - _MOST_NAMED}" if len(paths) > _MOST_NAMED else ""
    return ", ".join(paths[:_MOST_NAMED]) + more


def _explained(workspace: Workspace, found: Changed) -> Collection[str]:
    """What plans changed that were carried out or undone meanwhile; a command of one may change anything."""
    events = (logged.event for logged in workspace.log())
    about = {event.subject_id for event in events if event.at >= found.since and event.event in _WRITING}
    paths: set[str] = set()
    for plan_id in about:
        state = workspace.plan.get(plan_id).state
        if any(spec.base.kind is SpecKind.RUN for spec in state.action_specs):
            return found.paths
        paths |= set(state.previews.files) if state.previews else set()
    return paths
