"""Is it approved? Whether an approval still covers what would be done now (rules 2 to 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ringi.approvals.document import Approval, ProofKind
from ringi.approvals.kinds import KINDS
from ringi.approvals.proof import require_typing, signer_now
from ringi.errors import Expired, GrantRefused, NotProven, SignatureRefused
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.event import Event, EventKind
from ringi.ledger.subject import Subject, SubjectKind

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

Now = Callable[[Approval], bytes | None]
"""What an approval would bind of the current subject; None if its content does not match its hashes."""
Standing = Callable[[Approval], None]
"""Raises GrantRefused if the standing approval that it came from does not count any more."""


class SubjectHistory(NamedTuple):
    """What the ledger says of one subject, oldest first."""

    about: Subject
    name: str
    approvals: Sequence[Approval]
    events: Sequence[Event]

    @property
    def signing(self) -> str:
        """The command that signs it."""
        if self.about.kind is SubjectKind.PLAN:
            return f"ringi approve {self.name} --sign KEY"
        if self.about.kind is SubjectKind.RUN:
            return f"ringi run {self.name} --sign KEY"
        return f"ringi plan --resume {self.name} --approve --sign KEY"


def covering_approval(
    workspace: Workspace, history: SubjectHistory, now: Now, standing: Standing | None = None
) -> Approval | None:
    """The newest approval, if its stored bytes are exactly those of the current subject.

    `standing` is given if a standing approval may cover a subject of this kind.

    A person's last word counts: no earlier approval counts again because a later one ended, nor one from
    before the subject was declined or sent back. Only the end of a standing approval does not affect theirs.
    Raises if one would cover it but has expired, or its proof is no longer valid.
    """
    name, expires = history.name, KINDS[history.about.kind].asked
    ended: GrantRefused | SignatureRefused | None = None
    for approval in _last_said(history):
        data = now(approval)
        if data is None or approval.subject.encode() != data or approval.digest != codec.digest(data):
            continue
        if expires and approval.expires_at < workspace.clock.now():
            raise Expired(plan=name, when=approval.expires_at)
        try:
            _require_proven(workspace, standing, approval, history)
        except (GrantRefused, SignatureRefused) as error:
            if approval.proof.kind is not ProofKind.GRANT:
                raise
            ended = ended or error
        else:
            return approval
    if ended:
        raise ended
    return None


def _last_said(history: SubjectHistory) -> Iterator[Approval]:
    """The newest first, back to the last one that a person gave."""
    events, kind = history.events, KINDS[history.about.kind]
    counting = kind.given - {EventKind.UNDO_APPROVED}
    given = {event.evidence: n for n, event in enumerate(events) if event.event in counting}
    known = {event.evidence for event in events}
    refused = max((n for n, event in enumerate(events) if event.event in kind.refused), default=-1)
    for approval in reversed(history.approvals):
        evidence = approval.evidence
        if evidence not in known:
            why = Text("an approval in the ledger was put in or changed: the log knows nothing of it")
            raise NotProven(plan=history.name, why=why)
        if (place := given.get(evidence)) is None:
            continue  # for an undo, or a revision of the plan of a step
        if place < refused:
            return
        yield approval
        if approval.proof.kind is not ProofKind.GRANT:
            return


def _require_proven(
    workspace: Workspace, standing: Standing | None, approval: Approval, history: SubjectHistory
) -> None:
    name = history.name
    if approval.proof.kind is ProofKind.GRANT:
        if standing is None:
            raise NotProven(plan=name, why=Text("a standing approval is for plans only"))
        standing(approval)
    elif approval.proof.kind is ProofKind.SIGNED:
        signer_now(workspace, approval.proof, approval.digest)
    else:  # typed or reviewed, perhaps before that no longer sufficed
        require_typing(workspace.signatures, history.signing)
        if approval.proof.kind is ProofKind.REVIEW and workspace.reviews is None:
            raise NotProven(plan=name, why=Text("reviews on a forge do not count here any more"))
