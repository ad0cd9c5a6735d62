"""Standing approvals, and when they were revoked."""

from typing import Final

from ringi.approvals.grant_document import Grant, StoredGrant
from ringi.kernel import codec
from ringi.ledger import subject
from ringi.ledger.connection import as_bytes
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.events import About, text_of
from ringi.ledger.ledger import Ledger

_ADD_GRANT: Final = (
    "INSERT INTO grants (id, at, document, last_event)"
    " VALUES (?, (SELECT COALESCE(MAX(at), 0) + 1 FROM grants), ?, ?)"
)
_REVOKE_GRANT: Final = "UPDATE grants SET revoked_at = ?, last_event = ? WHERE id = ?"
_UNREVOKED: Final = "SELECT document FROM grants WHERE id = ? AND revoked_at IS NULL"
_GRANTS: Final = "SELECT document, revoked_at FROM grants ORDER BY at"


class GrantRows:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def all(self) -> tuple[StoredGrant, ...]:
        return tuple(
            StoredGrant(
                codec.trusted(as_bytes(document), Grant, "grant"),
                None if revoked_at is None else str(revoked_at),
            )
            for document, revoked_at in self._ledger.select(_GRANTS)
        )

    def add(self, grant: Grant) -> None:
        """Writes its own event: a grant belongs to no plan."""
        text = text_of(grant)
        event = NewEvent(EventKind.GRANTED, Actor.USER, grant.id, grant)
        hash_ = self._ledger.append(About(subject.grant(grant.id), text), event)
        self._ledger.execute(_ADD_GRANT, grant.id, text, hash_)

    def revoke(self, grant_id: str, reason: str, actor: Actor) -> None:
        """Only once; the log records when, and the row repeats it."""
        found = self._ledger.execute(
            _UNREVOKED,
            grant_id,
        ).fetchone()
        if found is None:
            return
        now, about = self._ledger.clock.now(), About(subject.grant(grant_id), found[0])
        event = NewEvent(EventKind.GRANT_REVOKED, actor, f"{grant_id} {reason}".rstrip())
        hash_ = self._ledger.append(about, event, now)
        self._ledger.execute(_REVOKE_GRANT, now, hash_, grant_id)
