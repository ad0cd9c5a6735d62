"""Who approved, when, and how that is known."""

from ringi.approvals.document import ProofKind, ProofRecord, Strength
from ringi.kernel.text import GRANT_SHOWN, Text, moment


def approved(who: str, when: str) -> Text:
    return Text("approved by {who}, {when}", who=who, when=moment(when))


def proof(record: ProofRecord) -> Text:
    """How it is known that a person said yes, and how much that is worth."""
    if record.kind is ProofKind.SIGNED:
        return Text("signed with a listed key of {name} (strong)", name=record.principal or record.user)
    if record.kind is ProofKind.GRANT:
        return Text("covered by the standing approval {grant}", grant=(record.grant or "")[:GRANT_SHOWN])
    if record.kind is ProofKind.CONFIGURED:
        return Text("your configuration demands it")
    if record.kind is ProofKind.REVIEW and record.review:
        where = {"name": record.principal or record.user, "url": record.review.url}
        if record.strength is Strength.WEAK:
            return Text("by {name} in {url} (weak: this machine holds credentials of that account)", **where)
        return Text("by {name} in {url} (medium)", **where)
    typed = Text("typed by {user} at {terminal} (weak)", user=record.user, terminal=record.channel)
    if record.fresh_since:
        when = moment(record.fresh_since)
        return Text("{typed}; fresh terminal: opened {when}, after this was proposed", typed=typed, when=when)
    return typed
