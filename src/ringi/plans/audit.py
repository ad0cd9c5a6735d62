"""Whether an approval is what a person gave: its content, its place in the log, its proof."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from ringi.approvals.document import (
    Act,
    Approval,
    ApprovalSubject,
    ProofKind,
    ProofRecord,
    RequiredProof,
    RevisionSubject,
    RunSubject,
    SessionSubject,
    SignedAct,
    SignersSubject,
    Strength,
)
from ringi.approvals.forge import ForgeTerms, ItemKind, ReviewHow
from ringi.approvals.grant import use_of
from ringi.approvals.grant_document import Grant, GrantScope, GrantSubject, count_uses
from ringi.approvals.kinds import KINDS, Bound, as_written
from ringi.approvals.proof import TYPED_LENGTH, YES
from ringi.approvals.signers import as_lists, signature_needed
from ringi.approvals.signing import Signatures, SignerList
from ringi.approvals.statement import read_predicate_or_none, read_signed
from ringi.errors import NotFound, SignatureRefused, SignatureUnchecked, UnlistedKey
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject as subjects
from ringi.ledger.event import Event, EventKind
from ringi.ledger.subject import Subject, SubjectKind
from ringi.policy.globs import within
from ringi.policy.risk_level import Risk, highest
from ringi.policy.spec_kind import SpecKind

if TYPE_CHECKING:
    from ringi.app.store import Store

SHOWN: Final = 8
"""How many characters of an id are shown."""


class SubjectFacts(NamedTuple):
    """What the ledger says about one subject."""

    store: Store
    signatures: Signatures
    about: Subject
    events: Mapping[str, Event]
    """Events of the subject, by the hash of their evidence."""
    requester: str = ""
    """Who proposed the plan."""


def doubts(facts: SubjectFacts, approval: Approval) -> Iterator[Text]:
    """Everything wrong with it, apart from what was carried out under it."""
    for why in _reasons(facts, approval):
        yield Text("approval {id}: {why}", id=approval.id[:SHOWN], why=why)


def _reasons(facts: SubjectFacts, approval: Approval) -> Iterator[Text]:
    kind = KINDS[facts.about.kind]
    if codec.digest(approval.subject.encode()) != approval.digest:
        yield Text("what it says was approved was changed")
    bound = kind.read(approval.subject)
    if bound is None:
        yield Text("what it says was approved cannot be read")
        return
    given_for = next((one for one in (bound.about, approval.about) if one != facts.about), None)
    if given_for is not None:
        yield _other(facts, given_for)
    if bound.workspace != facts.store.workspace_id():
        yield Text("it was given for another workspace")
    if bound.expires_at not in {None, approval.expires_at}:
        yield Text("it says otherwise how long it lasts")
    event = facts.events.get(approval.evidence)
    if event is None or event.event is not bound.given:
        yield Text("the log does not have it: it was put in or changed")
    if kind.asked:
        asked = {one.id: one.digest for one in facts.store.approvals.requests(facts.about.id)}
        if asked.get(approval.request_id or "") != approval.digest:
            yield Text("nobody asked for it")
    yield from _proof(facts, approval, bound, event)


def _other(facts: SubjectFacts, about: Subject) -> Text:
    if about.kind is SubjectKind.PLAN:
        return Text("it was given for plan {plan}", plan=_name(facts, about.id))
    if about.kind is SubjectKind.RUN:
        return Text("it was given for run {run}", run=about.id)
    return Text("it was given for planning session {session}", session=about.id)


def _name(facts: SubjectFacts, plan_id: str) -> str:
    try:
        return facts.store.plans.ref(plan_id).name
    except NotFound:
        return plan_id


def _proof(facts: SubjectFacts, approval: Approval, bound: Bound, event: Event | None) -> Iterator[Text]:
    record = approval.proof
    if record.kind is ProofKind.SIGNED:
        wanted = (bound.act, approval.digest, approval.approver, approval.note)
        yield from _signature(facts, record, wanted)
        if isinstance(bound.document, ApprovalSubject):
            yield from _other_files(record.statement or "", bound.document)
    elif record.kind is ProofKind.GRANT and isinstance(bound.document, ApprovalSubject):
        yield from _through_grant(facts, approval, bound.document, event)
    else:
        on_forge = record.kind is ProofKind.REVIEW
        yield from _check_review(facts, approval, bound) if on_forge else _check_typed(approval)
        if event and _rule_at(facts.store, event.seq) is RequiredProof.SIGNED:
            yield Text("it was given without a signature when only signatures counted")


def _check_typed(approval: Approval) -> Iterator[Text]:
    if approval.proof.answer.lower() not in {*YES, approval.digest[:TYPED_LENGTH]}:
        yield Text("the answer that it keeps is no yes")


def _check_review(facts: SubjectFacts, approval: Approval, bound: Bound) -> Iterator[Text]:
    """What the ledger says of a yes on a forge; whether that is still there, only the forge knows."""
    record, document = approval.proof, bound.document
    review = record.review
    if not review:
        yield Text("it does not say where on a forge it was given")
        return
    if {approval.approver, record.principal} != {review.account} or record.strength is Strength.STRONG:
        yield Text("it says otherwise who gave it, or how well that is proven")
    terms, commit = None, ""
    if isinstance(document, SessionSubject | RunSubject | RevisionSubject):
        if isinstance(document, RevisionSubject):
            terms = _run_terms(facts, document.run_id)
        else:
            terms = document.forge or None
        if review.how is not ReviewHow.COMMENT or review.item != (terms.item if terms else UNSET):
            yield Text("it was given elsewhere on the forge than where it was asked for")
    elif isinstance(document, ApprovalSubject) and document.step and document.kind is Act.EXECUTE:
        terms = _run_terms(facts, document.step.run_id)
        commit = (document.commit.offered if document.commit else "") or "?"
        if review.item.kind is not ItemKind.CHANGE or not review.commit:
            yield Text("it was given elsewhere on the forge than where it was asked for")
    if terms is None or terms.project != review.project:
        yield Text("it was given for another project, or for what nobody approves on a forge")
    if review.step_commit != commit:
        yield Text("it was given for another commit")


def _run_terms(facts: SubjectFacts, run_id: str) -> ForgeTerms | None:
    try:
        return facts.store.runs.get(run_id).forge
    except NotFound:
        return None


def _rule_at(store: Store, seq: int) -> RequiredProof:
    """What the ledger demanded then; what a configuration demanded is not known later."""
    before = [one.event.evidence for one in store.events(subjects.SIGNERS.id) if one.event.seq < seq]
    found = [one for one in store.approvals.of(subjects.SIGNERS.id) if one.evidence in before]
    said = as_written(found[-1].subject, SignersSubject) if found else None
    return said.proof if said else RequiredProof.ANY


def _signature(
    facts: SubjectFacts,
    record: ProofRecord,
    wanted: tuple[SignedAct, str, str, str],
    lists: Sequence[SignerList] | None = None,
) -> Iterator[Text]:
    """Checked against these lists, or the current ones: a key that was removed no longer counts."""
    statement, signature = record.statement or "", record.signature or ""
    said = read_predicate_or_none(statement)
    if said is None:
        yield Text("what was signed cannot be read")
    elif (said.act, said.digest, said.approver, said.note) != wanted:
        yield Text("something else was signed")
    try:
        signer = facts.signatures.signer(statement.encode(), signature, lists)
    except UnlistedKey as error:
        yield Text("the key that signed is not listed any more: {key}", key=error.details["key"])
    except (SignatureRefused, SignatureUnchecked) as error:
        yield Text(error.message, **error.details)
    else:
        if signer.key != record.key:
            yield Text("it names another key than the one that signed")


def _other_files(statement: str, subject: ApprovalSubject) -> Iterator[Text]:
    """Whether it names files that were not approved."""
    if read_predicate_or_none(statement) is None:
        return
    approved = {
        (change.path, state.sha256)
        for change in subject.changes
        for state in (change.before, change.after)
        if state
    }
    for one in read_signed(statement).subject:
        before = one.annotations.before if one.annotations else None
        named = {(one.name, side.sha256) for side in (one.digest, before.digest if before else one.digest)}
        if one.annotations and not named <= approved:
            yield Text("{path} was signed, but not approved like that", path=one.name)


# Whose signatures counted.


def signer_doubts(store: Store, signatures: Signatures) -> Iterator[Text]:
    """Whether each list was accepted as the rule before it demanded."""
    events = {one.event.evidence: one.event for one in store.events(subjects.SIGNERS.id)}
    facts = SubjectFacts(store, signatures, subjects.SIGNERS, events)
    before: SignersSubject | None = None
    for approval in store.approvals.of(subjects.SIGNERS.id):
        said = as_written(approval.subject, SignersSubject)
        for why in _unlike_before(facts, approval, said, before):
            yield Text("list of signers {id}: {why}", id=approval.id[:SHOWN], why=why)
        before = said


def _unlike_before(
    facts: SubjectFacts, approval: Approval, said: SignersSubject | None, before: SignersSubject | None
) -> Iterator[Text]:
    record = approval.proof
    if said is None or codec.digest(approval.subject.encode()) != approval.digest:
        yield Text("what it says was approved was changed")
        return
    if said.workspace != facts.store.workspace_id():
        yield Text("it was given for another workspace")
    if said.replaces != (codec.digest(codec.canonical(before)) if before else ""):
        yield Text("it does not follow the one before it")
    if record.kind is ProofKind.SIGNED:
        wanted = (SignedAct.SIGNERS, approval.digest, approval.approver, "")
        yield from _signature(facts, record, wanted, as_lists(before) if before else ())
        return
    if record.kind is ProofKind.TYPED:
        yield from _check_typed(approval)
    elif not (before and said.lists == before.lists and said.proof is RequiredProof.SIGNED):
        yield Text("nobody was asked")
    if signature_needed(before, RequiredProof.ANY):
        yield Text("it was given without a signature when only signatures counted")


# Standing approvals.


def _through_grant(
    facts: SubjectFacts, approval: Approval, subject: ApprovalSubject, event: Event | None
) -> Iterator[Text]:
    record = approval.proof
    stored = next((one for one in facts.store.grants.all() if one.grant.id == record.grant), None)
    if stored is None:
        yield Text("the standing approval that it was given through is not in the ledger")
        return
    grant, whole = stored.grant, as_written(stored.grant.subject, GrantSubject)
    for why in _grant(facts, grant, whole, event):
        yield Text("standing approval {id}: {why}", id=grant.id[:SHOWN], why=why)
    quoted = (record.grant_subject, record.statement, record.signature, approval.approver)
    if quoted != (grant.subject, grant.proof.statement, grant.proof.signature, grant.approver):
        yield Text("it does not say what the standing approval says")
    if whole is None:
        return
    if not whole.created_at <= approval.timestamp <= whole.expires_at:
        yield Text("it was given when the standing approval did not hold")
    yield from _outside(facts, subject, whole.scope)
    yield from _beyond(facts, approval, subject, whole.scope)


def _grant(
    facts: SubjectFacts, grant: Grant, whole: GrantSubject | None, event: Event | None
) -> Iterator[Text]:
    if whole is None:
        yield Text("it cannot be read")
    elif (whole.id, whole.workspace) != (grant.id, facts.store.workspace_id()):
        yield Text("it was given for another workspace")
    if codec.digest(grant.subject.encode()) != grant.digest:
        yield Text("it is not what was signed")
    yield from _signature(facts, grant.proof, (SignedAct.GRANT, grant.digest, grant.approver, ""))
    hash_, used_at = codec.digest(codec.canonical(grant)), event.seq if event else 0
    about = [logged.event for logged in facts.store.events(grant.id)]
    given = [one for one in about if one.event is EventKind.GRANTED and one.evidence == hash_]
    if not given or (event and given[0].seq > used_at):
        yield Text("the log does not have it")
    revoked = [one for one in about if one.event is EventKind.GRANT_REVOKED and one.document == hash_]
    if revoked and revoked[0].seq < used_at:
        yield Text("it had been revoked")


def _outside(facts: SubjectFacts, subject: ApprovalSubject, scope: GrantScope) -> Iterator[Text]:
    """What it was used for but does not cover; checked independently of the code that allowed it."""
    requester = subject.requester or facts.requester
    if requester != scope.requester:
        yield Text("{name} asked, and the standing approval is for {scope}", name=requester or "?",
                   scope=scope.requester)  # fmt: skip
    for one in subject.specs:
        if one.spec.kind not in scope.kinds:
            yield Text("{id} is of kind {kind}", id=one.id, kind=str(one.spec.kind))
    for change in subject.changes:
        if not within(change.path, scope.globs):
            yield Text("{path} is not among its paths", path=change.path)
    runs = any(one.spec.kind is SpecKind.RUN for one in subject.specs)
    if runs and subject.sandboxed is not True:
        yield Text("commands outside a sandbox are never covered")
    terms, step = scope.run, subject.step
    if (terms.run_id if terms else "") != (step.run_id if step else ""):
        yield Text("it was not signed for this run")
    if subject.commit and (not terms or subject.commit.branch != terms.branch):
        yield Text("a commit is never covered")
    specs = facts.store.plans.specs(facts.about.id, subject.plan_version)
    risk = highest(tuple(spec.risk for spec in specs))
    if risk is Risk.HIGH or highest((risk, scope.max_risk)) is not scope.max_risk:
        yield Text("the risk is {risk}, {limit} is covered", risk=str(risk), limit=str(scope.max_risk))


def _beyond(
    facts: SubjectFacts, approval: Approval, subject: ApprovalSubject, scope: GrantScope
) -> Iterator[Text]:
    """Budgets exceeded by this use, or by all uses up to it."""
    files, lines = approval.proof.used_files or 0, approval.proof.used_lines or 0
    changed = len({change.path for change in subject.changes})
    if files < changed:
        yield Text("it took {count} files of the budget and changes {changed}", count=files, changed=changed)
    if files > scope.files_per_use or lines > scope.lines_per_use:
        yield Text("{files} files and {lines} lines are more than one use may take", files=files, lines=lines)
    uses = facts.store.approvals.of_grant(approval.proof.grant or "")
    until = count_uses(use_of(one) for one in uses if one.timestamp <= approval.timestamp)
    all_files, all_lines = sum(one.files for one in until), sum(one.lines for one in until)
    if scope.run and len(until) > scope.run.steps:
        yield Text("steps used up: {count} of {most}", count=len(until), most=scope.run.steps)
    most = scope.run.dollars if scope.run else UNSET
    if most is not UNSET and (approval.proof.run_dollars or 0.0) > most:
        yield Text("the run had spent more than it covers")
    if all_files > scope.files_total or all_lines > scope.lines_total:
        yield Text("the budget was used up: {files} files and {lines} lines in all",
                   files=all_files, lines=all_lines)  # fmt: skip
