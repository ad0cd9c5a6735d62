"""Whether an envelope proves an approval in a clone, where no ledger is at hand, and how well."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from msgspec.structs import replace

from ringi.approvals.document import ProofKind, SignedAct
from ringi.approvals.forge import ReviewWitness
from ringi.approvals.grant_document import GrantScope, GrantSubject
from ringi.approvals.kinds import as_written
from ringi.approvals.signing import Signer, SignerList
from ringi.approvals.statement import (
    NOT_THERE,
    Approved,
    InToto,
    Opened,
    PathChange,
    fingerprint,
    read_predicate_or_none,
    steps_of,
)
from ringi.errors import ReviewRefused, SignatureRefused, SignatureUnchecked
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.policy.globs import within
from ringi.policy.spec_kind import SpecKind
from ringi.provenance.ports import PastSignatures
from ringi.provenance.verdict import Evidence, Level

_ACTS: Final = frozenset([SignedAct.APPROVE, SignedAct.UNDO])
# Clocks of two machines differ a little.
_AHEAD: Final = timedelta(minutes=5)
_MAKING: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH, SpecKind.MOVE, SpecKind.RUN])
_CHANGING: Final = frozenset([SpecKind.WRITE, SpecKind.PATCH, SpecKind.MOVE, SpecKind.RUN])
_REMOVING: Final = frozenset([SpecKind.DELETE, SpecKind.PATCH, SpecKind.MOVE, SpecKind.RUN])


class Grounds(NamedTuple):
    """What envelopes are judged by."""

    signatures: PastSignatures
    lists: tuple[SignerList, ...]
    """From the base side, and the person's own."""
    roots: frozenset[str]
    """Of the base; of the head if there is no base."""
    begins: bool
    """There is no base: everything is new."""
    now: datetime
    reviews: ReviewWitness | None = None
    """None if no forge is asked: then a review in a note proves nothing."""


class Judged(NamedTuple):
    statement: InToto
    evidence: Evidence
    why: Text | None
    """Why it does not count; its level is NONE then."""
    scope: GrantScope | None = None
    """Of the standing approval that it was given through."""
    net: Mapping[str, PathChange] | None = None
    """Of a review that a forge confirms: what the person saw, by path. Nothing else counts."""


class _Refused(Exception):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


def judge(found: Opened, grounds: Grounds) -> Judged:
    """Whatever is in a note, this only ever refuses it."""
    try:
        return _judge(found, grounds)
    except _Refused as refused:
        evidence = _evidence(found.statement.predicate, Level.NONE)
        return Judged(found.statement, evidence, refused.why)


def _judge(found: Opened, grounds: Grounds) -> Judged:
    said = found.statement.predicate
    at = _read_time(said.at, grounds)
    _require_place(said, grounds)
    if said.act not in _ACTS:
        raise _Refused(Text("it is no approval of files"))
    if said.proof is ProofKind.SIGNED:
        signer = _find_signer(found.signed, found.signature, at, grounds)
        return Judged(found.statement, _evidence(said, Level.SIGNED, signer), None)
    if found.signature:
        raise _Refused(Text("it is signed, and says that it is not"))
    if said.proof is ProofKind.GRANT:
        return _judge_grant(found.statement, grounds)
    if said.proof is ProofKind.REVIEW:
        return _judge_review(found.statement, grounds)
    if said.proof is not ProofKind.TYPED:
        raise _Refused(Text("nobody was asked"))
    return Judged(found.statement, _evidence(said, Level.TYPED), None)


def why_refused(given: Judged, step: PathChange) -> Text | None:
    """Why it does not count for this change, although it counts for others."""
    if given.why is None and given.net is not None and given.net.get(step.path) != step:
        return Text("the change as a whole, which was reviewed, changes {path} otherwise", path=step.path)
    if given.why or given.scope is None:
        return given.why
    if not within(step.path, given.scope.globs):
        return Text("{path} is not among its paths", path=step.path)
    kinds = _CHANGING
    if NOT_THERE in (step.before, step.after):
        kinds = _MAKING if step.before == NOT_THERE else _REMOVING
    if kinds.isdisjoint(given.scope.kinds):
        return Text("its standing approval does not cover such a change")
    return None


def _judge_review(statement: InToto, grounds: Grounds) -> Judged:
    """Without the forge it is only a claim. A diff in the note proves nothing: it is unsigned."""
    said, review = statement.predicate, statement.predicate.review
    if not review:
        raise _Refused(Text("it does not say where on a forge it was given"))
    if said.act is not SignedAct.APPROVE or said.approver != review.account or not review.step_commit:
        raise _Refused(Text("it does not say what its review says"))
    try:
        steps = list(steps_of(statement))
        confirmed = grounds.reviews.confirm(review, steps) if grounds.reviews else None
    except ReviewRefused as error:
        raise _Refused(Text("{host}: {why}", host=review.project.host, why=error.details["why"])) from None
    if confirmed is None:
        return Judged(statement, _evidence(said, Level.TYPED, review=review.url), None)
    found, net = confirmed
    evidence = _evidence(said, Level.CONFIRMED, review=found.url)
    return Judged(statement, replace(evidence, by=found.account, at=found.at), None, net=net)


def _read_time(written: str, grounds: Grounds) -> datetime:
    at = parse_moment(written)
    if at is None:
        raise _Refused(Text("it does not say when it was given"))
    if at > grounds.now + _AHEAD:
        raise _Refused(Text("it was given at {at}, which is in the future", at=written))
    return at


def parse_moment(written: str) -> datetime | None:
    """None if it is no date with a time zone, or one that no key can be valid at."""
    try:
        found = datetime.fromisoformat(written)
        return found.astimezone(UTC) if found.tzinfo else None
    except (ValueError, OverflowError):
        return None


def _require_place(said: Approved, grounds: Grounds) -> None:
    if said.repository and grounds.roots.isdisjoint(said.repository):
        raise _Refused(Text("it was given in another repository"))
    if not said.repository and not grounds.begins:
        raise _Refused(Text("it does not say in which repository it was given"))


def _find_signer(signed: str, signature: str, at: datetime, grounds: Grounds) -> Signer:
    if not signature:
        raise _Refused(Text("it says that it is signed, and it is not"))
    try:
        return grounds.signatures.signer_at(signed.encode(), signature, grounds.lists, at)
    except (SignatureRefused, SignatureUnchecked) as error:
        raise _Refused(Text(error.message, **error.details)) from None


def _judge_grant(statement: InToto, grounds: Grounds) -> Judged:
    """What a grant in a ledger needs besides, such as its budget, is known only there."""
    said = statement.predicate
    if not said.grant:
        raise _Refused(Text("it does not have the standing approval that it names"))
    subject = as_written(said.grant.subject, GrantSubject)
    signed = read_predicate_or_none(said.grant.statement)
    if subject is None or signed is None:
        raise _Refused(Text("its standing approval cannot be read"))
    digest = codec.digest(said.grant.subject.encode())
    if (signed.act, signed.digest, signed.approver) != (SignedAct.GRANT, digest, said.approver):
        raise _Refused(Text("its standing approval was signed for something else"))
    if not subject.created_at <= said.at <= subject.expires_at:
        raise _Refused(Text("it was given when the standing approval did not hold"))
    terms = subject.scope.run
    if terms and (not said.step or said.step.run_id != terms.run_id):
        raise _Refused(Text("its standing approval is for run {run}", run=terms.run_id))
    files, most = len({one.name for one in statement.subject}), subject.scope.files_per_use
    if files > most:
        raise _Refused(Text("{count} files, {most} at once are covered", count=files, most=most))
    signer = _find_signer(said.grant.statement, said.grant.signature, _read_time(signed.at, grounds), grounds)
    evidence = _evidence(said, Level.CONFIRMED, signer, grant=subject.id)
    return Judged(statement, evidence, None, subject.scope)


def _evidence(
    said: Approved, level: Level, signer: Signer | None = None, *, grant: str = "", review: str = ""
) -> Evidence:
    """The list says whose key it is; the name in the statement is only a claim."""
    return Evidence(
        level=level,
        by=signer.principal if signer else said.approver,
        at=said.at,
        key=fingerprint(signer.key) if signer else "",
        act=str(said.act),
        note=said.note,
        plan=said.plan,
        step=said.step,
        grant=grant,
        review=review,
    )
