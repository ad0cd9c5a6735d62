"""Is it approved? Whether an approval still covers what would be done now (rules 2 to 4)."""

from collections.abc import Callable, Iterator
from typing import Final

from ringi.approvals.grant import Granting, Grants
from ringi.approvals.kinds import KINDS
from ringi.approvals.proof import signer_now
from ringi.domain import codec
from ringi.domain.approval import Approval, ProofKind
from ringi.domain.events import EventKind
from ringi.domain.subject import SubjectKind
from ringi.errors import Expired, GrantRefused, NotProven, SignatureRefused
from ringi.ports import PlanRecord
from ringi.text import Text

_PLAN: Final = KINDS[SubjectKind.PLAN]
_GIVEN: Final = _PLAN.given - {EventKind.UNDO_APPROVED}
Now = Callable[[Approval], bytes | None]
"""What an approval would bind of the current subject; None if its content does not match its hashes."""


def covering_approval(services: Granting, record: PlanRecord, now: Now) -> Approval | None:
    """The newest approval, if its stored bytes are exactly those of the current subject.

    A person's last word counts: no earlier approval counts again because a later one ended, nor one from
    before the subject was declined or sent back. Only the end of a standing approval does not affect theirs.
    Raises if one would cover it but has expired, or its proof is no longer valid.
    """
    name = f"p{record.plan.number}"
    ended: GrantRefused | SignatureRefused | None = None
    for approval in _last_said(record, name):
        data = now(approval)
        if data is None or approval.subject.encode() != data or approval.digest != codec.digest(data):
            continue
        if approval.expires_at < services.clock.now():
            raise Expired(plan=name, when=approval.expires_at)
        try:
            _require_proven(services, approval, name)
        except (GrantRefused, SignatureRefused) as error:
            if approval.proof.kind is not ProofKind.GRANT:
                raise
            ended = ended or error
        else:
            return approval
    if ended:
        raise ended
    return None


def _last_said(record: PlanRecord, name: str) -> Iterator[Approval]:
    """The newest first, back to the last one that a person gave."""
    events = record.events
    given = {event.evidence: n for n, event in enumerate(events) if event.event in _GIVEN}
    known = {event.evidence for event in events}
    refused = max((n for n, event in enumerate(events) if event.event in _PLAN.refused), default=-1)
    for approval in reversed(record.approvals):
        evidence = approval.evidence
        if evidence not in known:
            why = Text("an approval in the ledger was put in or changed: the log knows nothing of it")
            raise NotProven(plan=name, why=why)
        if (place := given.get(evidence)) is None:
            continue  # for an undo
        if place < refused:
            return
        yield approval
        if approval.proof.kind is not ProofKind.GRANT:
            return


def _require_proven(services: Granting, approval: Approval, name: str) -> None:
    if approval.proof.kind is ProofKind.GRANT:
        Grants(services).require_standing(approval, name)
    elif approval.proof.kind is ProofKind.SIGNED:
        signer_now(services, approval.proof, approval.digest)
