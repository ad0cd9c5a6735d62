"""Proof of a person (rule 4): an answer typed at their terminal, a signature by a listed key, or a review."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.document import (
    Approval,
    ApprovalRequest,
    Proof,
    ProofKind,
    ProofRecord,
    ReviewAnswer,
    SignedAct,
    SignedAnswer,
    Strength,
    TypedAnswer,
)
from ringi.approvals.forge import ReviewProof
from ringi.approvals.forge_review import prove_by_review
from ringi.approvals.signing import Signatures, Signer, SignerList
from ringi.approvals.statement import (
    Approved,
    ApprovedPlan,
    Digests,
    GrantProof,
    InToto,
    Resource,
    read_predicate,
    to_sign,
)
from ringi.errors import (
    BadSignature,
    NoChannel,
    SignatureNeeded,
    SignatureUnchecked,
    UnlistedKey,
    WrongAnswer,
)
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger.event import FIRST_PREVIOUS
from ringi.ledger.subject import StepOf
from ringi.policy.risk_level import Risk

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

YES: Final = frozenset(["a", "y", "yes", "はい"])
"""What counts as a yes if the risk is not high."""
TYPED_LENGTH: Final = 6
"""How many characters of the digest must be typed for a high risk."""
ELSE: Final = Text("it was given for something else than what is there now")


class StatementContext(NamedTuple):
    """What a statement says beside who approves what: for a plan, the files and where they are."""

    subject: tuple[Resource, ...]
    repository: tuple[str, ...] = ()
    plan: ApprovedPlan | UnsetType = UNSET
    step: StepOf | UnsetType = UNSET
    diff: str | UnsetType = UNSET


class RequiredStatement(NamedTuple):
    """What a statement must say to count here."""

    act: SignedAct
    digest: str
    approver: str
    note: str
    since: str
    until: str
    about: StatementContext | None = None


def compose(
    workspace: Workspace,
    act: SignedAct,
    digest: str,
    approver: str,
    note: str = "",
    about: StatementContext | None = None,
) -> str:
    """The bytes that a key signs."""
    after, at = workspace.store.last_hash(), workspace.clock.now()
    return to_sign(build_statement(act, digest, approver, note, at=at, after_event=after, about=about))


def build_statement(
    act: SignedAct,
    digest: str,
    approver: str,
    note: str,
    *,
    at: str,
    after_event: str,
    about: StatementContext | None = None,
    proof: ProofKind = ProofKind.SIGNED,
    grant: GrantProof | UnsetType = UNSET,
    review: ReviewProof | UnsetType = UNSET,
) -> InToto:
    """Without `about`, its one subject is the document that is approved."""
    about = about or StatementContext((Resource(str(act), Digests(digest)),))
    return InToto(
        subject=about.subject,
        predicate=Approved(
            act=act,
            digest=digest,
            approver=approver,
            at=at,
            note=note,
            after_event=after_event,
            proof=proof,
            strength=Strength.STRONG if proof is ProofKind.SIGNED else Strength.WEAK,
            repository=about.repository,
            plan=about.plan,
            step=about.step,
            grant=grant,
            review=review,
            diff=about.diff,
        ),
    )


def read_claimed_digest(proof: Proof) -> str:
    """The digest that the proof claims to answer; not verified."""
    return read_predicate(proof.statement).digest if isinstance(proof, SignedAnswer) else proof.digest


def require_typing(signatures: Signatures, signing: str) -> None:
    """Raises SignatureNeeded, with the command that signs, if nothing less than a signature suffices."""
    if signatures.requires_signature():
        raise SignatureNeeded(command=signing)


def require_answer(workspace: Workspace, proof: Proof | None, command: str, signing: str) -> Proof:
    """A typed answer counts only if a person can type here; a signature and a review count anywhere.

    `command` asks a person, `signing` is what they run if only a signature counts.
    """
    if proof is None:
        raise NoChannel(why=Text("no answer of a person was given"), command=command)
    if not isinstance(proof, SignedAnswer):
        require_typing(workspace.signatures, signing)
    if isinstance(proof, TypedAnswer) and (refusal := workspace.person.refusal()):
        raise NoChannel(why=refusal, command=command)
    return proof


def prove(
    workspace: Workspace,
    asked: ApprovalRequest,
    data: bytes,
    proof: Proof,
    *,
    act: SignedAct,
    approver: str,
    made_at: str,
    risk: Risk = Risk.LOW,
    note: str = "",
    about: Callable[[], StatementContext | None] = lambda: None,
) -> ProofRecord:
    """Checks the person's answer against the request. `data` is what would be approved now, made then."""
    digest = codec.digest(data)
    if digest != asked.digest:
        raise WrongAnswer(why=ELSE)
    if isinstance(proof, TypedAnswer):
        return prove_by_typing(workspace, proof, digest, risk, made_at)
    if isinstance(proof, ReviewAnswer):
        return prove_by_review(workspace, proof, asked, data, made_at, risk)
    # A signature counts once: a copy of it cannot approve again.
    past = workspace.store.approvals.of(asked.subject_id)
    if any(proof.statement == one.proof.statement for one in past):
        raise WrongAnswer(why=Text("this signature was used already"))
    wanted = RequiredStatement(act, digest, approver, note, asked.requested_at, asked.expires_at, about())
    return prove_by_signature(workspace, proof, wanted)


def approval_of(
    workspace: Workspace,
    asked: ApprovalRequest,
    data: bytes,
    record: ProofRecord,
    *,
    approver: str,
    after_event: str,
    note: str = "",
) -> Approval:
    """`after_event` is the newest event in the transaction that saves the approval.

    Whose review it is, the forge says, whoever looked it up.
    """
    if record.kind is ProofKind.REVIEW:
        approver = record.principal or approver
    return Approval(
        id=workspace.ids(),
        subject_id=asked.subject_id,
        subject_kind=asked.subject_kind,
        request_id=asked.id or None,
        approver=approver,
        timestamp=workspace.clock.now(),
        expires_at=asked.expires_at,
        selection=asked.selection,
        digest=asked.digest,
        subject=data.decode(),
        proof=record,
        after_event=after_event,
        note=note,
    )


def prove_by_typing(
    workspace: Workspace, answer: TypedAnswer, digest: str, risk: Risk = Risk.LOW, made_at: str = ""
) -> ProofRecord:
    if answer.digest != digest:
        raise WrongAnswer(why=ELSE)
    if risk is Risk.HIGH and answer.answer != digest[:TYPED_LENGTH]:
        raise WrongAnswer(why=Text("a high risk needs the {count} characters shown", count=TYPED_LENGTH))
    if answer.answer.lower() not in {*YES, digest[:TYPED_LENGTH]}:
        raise WrongAnswer(why=Text("{answer} is no yes", answer=answer.answer))
    since = workspace.person.since()
    return ProofRecord(
        kind=ProofKind.TYPED,
        strength=Strength.WEAK,
        user=workspace.person.user(),
        channel=workspace.person.name(),
        answer=answer.answer,
        fresh_since=since if since > made_at > "" else UNSET,
    )


def prove_by_signature(
    workspace: Workspace,
    answer: SignedAnswer,
    wanted: RequiredStatement,
    lists: Sequence[SignerList] | None = None,
) -> ProofRecord:
    """By one of these lists, or of those that count here."""
    said = read_predicate(answer.statement)
    if why := _unlike(said, wanted) or _unlike_files(answer.statement, said, wanted):
        raise WrongAnswer(why=why)
    # A grant may be the first event of a log.
    begun = said.act is SignedAct.GRANT and said.after_event == FIRST_PREVIOUS
    if not begun and not workspace.store.has_event(said.after_event):
        raise WrongAnswer(why=Text("it was signed after an event that is not in the log"))
    signer = workspace.signatures.signer(answer.statement.encode(), answer.signature, lists)
    return ProofRecord(
        kind=ProofKind.SIGNED,
        strength=Strength.STRONG,
        user=workspace.person.user(),
        channel=signer.where,
        answer="",
        statement=answer.statement,
        signature=answer.signature,
        principal=signer.principal,
        key=signer.key,
    )


def signer_now(workspace: Workspace, record: ProofRecord, digest: str) -> Signer:
    """Who signed it, by the current lists: a key that was removed proves nothing any more."""
    if not record.statement or not record.signature:
        raise BadSignature(why=Text("there is none"))
    if read_predicate(record.statement).digest != digest:
        raise BadSignature(why=ELSE)
    try:
        return workspace.signatures.signer(record.statement.encode(), record.signature)
    except UnlistedKey as error:
        lists = error.details["lists"]
        if isinstance(lists, tuple) and record.channel in lists:
            raise
        why = Text("its key was listed in {list}, which is not read here", list=record.channel)
        raise SignatureUnchecked(why=why) from None


def _unlike(said: Approved, wanted: RequiredStatement) -> Text | None:
    if said.act is not wanted.act:
        return Text("it was signed to {act}, not to {wanted}", act=str(said.act), wanted=str(wanted.act))
    if said.digest != wanted.digest:
        return ELSE
    if said.approver != wanted.approver:
        return Text("it was signed in the name of {name}", name=said.approver)
    if said.note != wanted.note:
        return Text("it was signed with another note")
    if not wanted.since <= said.at <= wanted.until:
        return Text("it was signed at {at}, when nobody was asked", at=said.at)
    return None


def _unlike_files(statement: str, said: Approved, wanted: RequiredStatement) -> Text | None:
    """Whatever else it says must be what we would have given out to be signed."""
    act, digest, approver, note, _, _, about = wanted
    now = build_statement(act, digest, approver, note, at=said.at, after_event=said.after_event, about=about)
    return None if to_sign(now) == statement else ELSE
