"""Requests, approvals and grants of every kind of subject, in the ledger."""

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Final

import msgspec

from ringi.approvals.document import Approval, ApprovalRequest
from ringi.approvals.grant_document import Grant, StoredGrant
from ringi.errors import SessionRace
from ringi.kernel import codec
from ringi.ledger import subject
from ringi.ledger.connection import as_bytes
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.events import EventFacts, text_of
from ringi.ledger.ledger import Ledger
from ringi.ledger.subject import short

_ADD_REQUEST: Final = (
    "INSERT INTO requests (id, plan_id, at, document)"
    " VALUES (?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM requests), ?)"
)
_REQUESTS: Final = "SELECT document FROM requests WHERE plan_id = ? ORDER BY at"
_ADD_APPROVAL: Final = (
    "INSERT INTO approvals (id, subject_id, kind, granted_by, at, document)"
    " VALUES (?, ?, ?, ?, (SELECT COALESCE(MAX(at), 0) + 1 FROM approvals), ?)"
)
_GRANTED: Final = "SELECT document FROM approvals WHERE granted_by = ? ORDER BY at"
_EVERY: Final = "SELECT document FROM approvals ORDER BY at"
_APPROVALS: Final = "SELECT document, spent_by FROM approvals WHERE subject_id = ? ORDER BY at"
_MENTIONED: Final = (
    "SELECT EXISTS (SELECT 1 FROM events WHERE subject_id = ?1)"
    " OR EXISTS (SELECT 1 FROM approvals WHERE subject_id = ?1)"
)
_INTENTS: Final = "SELECT intent FROM executions WHERE plan_id = ? ORDER BY at"
_SPEND: Final = "UPDATE approvals SET spent_by = ? WHERE id = ?"


class _Intent(msgspec.Struct):
    """Of an execution, which approval it used."""

    id: str
    approval_id: str


class Approvals:
    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def requests(self, subject_id: str) -> tuple[ApprovalRequest, ...]:
        return tuple(as_request(document) for (document,) in self._ledger.select(_REQUESTS, subject_id))

    def of(self, subject_id: str) -> tuple[Approval, ...]:
        intents = [
            codec.decode_own(as_bytes(row[0]), _Intent, "intent")
            for row in self._ledger.select(_INTENTS, subject_id)
        ]
        used = {intent.approval_id: intent.id for intent in intents}
        found = self._ledger.select(_APPROVALS, subject_id)
        return tuple(as_approval(document, run_id, used) for document, run_id in found)

    def every(self) -> Iterator[Approval]:
        """In the order they were given."""
        return (_read(document) for (document,) in self._ledger.select(_EVERY))

    def mentions(self, subject_id: str) -> bool:
        """Whether an event or an approval is about it."""
        return bool(self._ledger.select(_MENTIONED, subject_id)[0][0])

    def of_grant(self, grant_id: str) -> tuple[Approval, ...]:
        """Those that this standing approval was used for."""
        return tuple(
            as_approval(document, None, {}) for (document,) in self._ledger.select(_GRANTED, grant_id)
        )

    def add_request(self, request: ApprovalRequest) -> None:
        self._ledger.execute(_ADD_REQUEST, request.id, request.subject_id, text_of(request))

    def add(self, approval: Approval) -> None:
        """Its event is the one that its subject is saved with, and has it as evidence."""
        kind, subject_id = approval.about
        values = (approval.id, subject_id, kind, approval.proof.grant or None, text_of(approval))
        try:
            self._ledger.execute(_ADD_APPROVAL, *values)
        except sqlite3.IntegrityError:
            # A session is approved once.
            raise SessionRace(session=short(subject_id)) from None

    def set_signers(self, approval: Approval, actor: Actor) -> None:
        """Whose signatures count from now on; writes its own event."""
        event = NewEvent(EventKind.SIGNERS_SET, actor, evidence=approval)
        self._ledger.append(EventFacts(approval.about, approval.subject), event)
        self.add(approval)

    def spend(self, approval_id: str, run_id: str) -> None:
        """The session became a run."""
        self._ledger.execute(_SPEND, run_id, approval_id)


def as_request(document: object) -> ApprovalRequest:
    return codec.decode_own(as_bytes(document), ApprovalRequest, "approval request")


def as_approval(document: object, run_id: object, used: Mapping[str, str]) -> Approval:
    """That of a session became a run; that of a plan is spent by the newest execution."""
    approval = _read(document)
    spent_by = used.get(approval.id, None if run_id is None else str(run_id))
    return msgspec.structs.replace(approval, spent_by=spent_by)


def _read(document: object) -> Approval:
    return codec.decode_own(as_bytes(document), Approval, "approval")


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
                codec.decode_own(as_bytes(document), Grant, "grant"),
                None if revoked_at is None else str(revoked_at),
            )
            for document, revoked_at in self._ledger.select(_GRANTS)
        )

    def add(self, grant: Grant) -> None:
        """Writes its own event: a grant belongs to no plan."""
        text = text_of(grant)
        event = NewEvent(EventKind.GRANTED, Actor.USER, grant.id, grant)
        hash_ = self._ledger.append(EventFacts(subject.grant(grant.id), text), event)
        self._ledger.execute(_ADD_GRANT, grant.id, text, hash_)

    def revoke(self, grant_id: str, reason: str, actor: Actor) -> None:
        """Only once; the log records when, and the row repeats it."""
        found = self._ledger.execute(
            _UNREVOKED,
            grant_id,
        ).fetchone()
        if found is None:
            return
        now, about = self._ledger.clock.now(), EventFacts(subject.grant(grant_id), found[0])
        event = NewEvent(EventKind.GRANT_REVOKED, actor, f"{grant_id} {reason}".rstrip())
        hash_ = self._ledger.append(about, event, now)
        self._ledger.execute(_REVOKE_GRANT, now, hash_, grant_id)
