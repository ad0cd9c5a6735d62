"""`ringi sync`: the notes that prove approvals, from a remote and to it, so that no one's are lost."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from ringi.approvals.statement import Synced
from ringi.errors import PushRefused
from ringi.kernel.text import Text
from ringi.provenance.ports import NotesRemote

_TRIES: Final = 5


def sync(
    exchange: NotesRemote,
    name: str,
    *,
    push: bool,
    on_progress: Callable[[Text], None],
    pause: Callable[[int], None],
) -> Synced:
    """Raises NoRemote, NotesFailed, SyncFailed, or PushRefused once what the remote had is merged."""
    remote, first = exchange.remote(name), None
    for attempt in range(_TRIES):
        on_progress(Text("fetching the notes of {remote} …", remote=remote))
        theirs = exchange.fetch(remote)
        merged = exchange.merge(theirs)
        first = merged.before if first is None else first
        came = exchange.count(merged.after, first) if merged.after != first else 0
        waiting = exchange.count(merged.after, theirs) if merged.after != theirs else 0
        total = exchange.count(merged.after, "")
        done = Synced(remote=remote, came=came, went=0, waiting=waiting, total=total)
        if not push or merged.after == theirs:
            return done
        on_progress(Text("pushing notes to {remote} …", remote=remote))
        if exchange.push(remote, merged.after):
            return replace(done, went=waiting, waiting=0)
        pause(attempt)
    raise PushRefused(remote=remote, why=Text("others kept pushing at the same moment"))
