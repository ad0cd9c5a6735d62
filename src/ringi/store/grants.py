"""Standing approvals, and when they were revoked."""

from typing import Final

from ringi.domain import codec, subject
from ringi.domain.events import Actor, EventKind
from ringi.domain.grant import Grant
from ringi.ports import NewEvent, StoredGrant
from ringi.store.connection import Reader, as_bytes
from ringi.store.events import About, EventLog, text_of

_ADD_GRANT: Final = (
    "INSERT INTO grants (id, at, document) VALUES (?, (SELECT COALESCE(MAX(at), 0) + 1 FROM grants), ?)"
)
_REVOKE_GRANT: Final = "UPDATE grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL"
_GRANT: Final = "SELECT document FROM grants WHERE id = ?"
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
        self._database.execute(_ADD_GRANT, (grant.id, text))
        event = NewEvent(EventKind.GRANTED, Actor.USER, grant.id, grant)
        self._add_event(About(subject.grant(grant.id), text), self._clock.now(), event)

    def revoke_grant(self, grant_id: str, reason: str) -> None:
        """Only once; the log records when, and the row repeats it."""
        now = self._clock.now()
        if self._database.execute(_REVOKE_GRANT, (now, grant_id)).rowcount == 1:
            (text,) = self._database.execute(_GRANT, (grant_id,)).fetchone()
            event = NewEvent(EventKind.GRANT_REVOKED, Actor.USER, f"{grant_id} {reason}".rstrip())
            self._add_event(About(subject.grant(grant_id), text), now, event)
