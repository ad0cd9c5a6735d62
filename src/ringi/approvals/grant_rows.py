"""Standing approvals, and when they were revoked."""

from typing import Final

from ringi.approvals.grant_document import Grant, StoredGrant
from ringi.kernel import codec
from ringi.ledger import subject
from ringi.ledger.connection import Reader, as_bytes
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.events import About, EventLog, text_of

_ADD_GRANT: Final = (
    "INSERT INTO grants (id, at, document, last_event)"
    " VALUES (?, (SELECT COALESCE(MAX(at), 0) + 1 FROM grants), ?, ?)"
)
_REVOKE_GRANT: Final = "UPDATE grants SET revoked_at = ?, last_event = ? WHERE id = ?"
_UNREVOKED: Final = "SELECT document FROM grants WHERE id = ? AND revoked_at IS NULL"
_GRANTS: Final = "SELECT document, revoked_at FROM grants ORDER BY at"


class GrantRows(Reader):
    def grants(self) -> tuple[StoredGrant, ...]:
        return tuple(
            StoredGrant(
                codec.trusted(as_bytes(document), Grant, "grant"),
                None if revoked_at is None else str(revoked_at),
            )
            for document, revoked_at in self._select(_GRANTS)
        )


class GrantWrites(EventLog):
    def add_grant(self, grant: Grant) -> None:
        text = text_of(grant)
        event = NewEvent(EventKind.GRANTED, Actor.USER, grant.id, grant)
        hash_ = self._add_event(About(subject.grant(grant.id), text), self._clock.now(), event)
        self._database.execute(_ADD_GRANT, (grant.id, text, hash_))

    def revoke_grant(self, grant_id: str, reason: str, actor: Actor) -> None:
        """Only once; the log records when, and the row repeats it."""
        found = self._database.execute(_UNREVOKED, (grant_id,)).fetchone()
        if found is None:
            return
        now, about = self._clock.now(), About(subject.grant(grant_id), found[0])
        event = NewEvent(EventKind.GRANT_REVOKED, actor, f"{grant_id} {reason}".rstrip())
        hash_ = self._add_event(about, now, event)
        self._database.execute(_REVOKE_GRANT, (now, hash_, grant_id))
