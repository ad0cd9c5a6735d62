"""What exactly is approved, and whether an approval still covers it (rules 2 to 4)."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import UNSET, UnsetType

from ringi.domain import codec
from ringi.domain.approval import (
    Act,
    Approval,
    ApprovalRequest,
    ApprovalSubject,
    CommitSubject,
    FileChange,
    Proof,
    SignedAct,
    SignedAnswer,
    SubjectSpec,
    TypedAnswer,
)
from ringi.domain.plan import ActionSpecExt, PlanDocument, SpecKind, SpecSelection, selected
from ringi.domain.risk import Risk
from ringi.errors import NoChannel, WrongAnswer
from ringi.plans.commit import commit_subject
from ringi.plans.effects import content_of
from ringi.plans.proofs import ELSE, Wanted, require_answer, signed, typed
from ringi.plans.services import Services as Parts
from ringi.text import Text

_WITH_CONTENT: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE])
"""Kinds whose content is the file's; what a patch makes of its file is compared when it is carried out."""


def files_of(specs: Sequence[ActionSpecExt]) -> tuple[FileChange, ...]:
    """Every file that the specs read or change."""
    return tuple(
        FileChange(spec.id, file.path, file.before, file.after) for spec in specs for file in spec.touched
    )


def changes_of(specs: Sequence[ActionSpecExt]) -> tuple[FileChange, ...]:
    return tuple(change for change in files_of(specs) if change.before != change.after)


def unlike_their_hashes(specs: Sequence[ActionSpecExt]) -> list[ActionSpecExt]:
    """Specs whose content is not what a person approves through the hash of the file after."""
    return [
        spec
        for spec in specs
        if spec.base.kind in _WITH_CONTENT
        and spec.after is not None
        and (data := content_of(spec.base)) is not None
        and codec.digest(data) != spec.after.sha256
    ]


def subject_now(
    parts: Parts, document: PlanDocument, selection: SpecSelection, expires_at: str
) -> ApprovalSubject:
    """What would be approved of the plan as it is, here and now."""
    specs = selected(document.state.action_specs, selection)
    runs = any(spec.base.kind is SpecKind.RUN for spec in specs)
    sandboxed = parts.commands.sandboxed() if runs else UNSET
    commit = commit_subject(parts, document, specs)
    workspace = parts.store.workspace_id()
    return subject_of(document, selection, workspace, expires_at, sandboxed=sandboxed, commit=commit)


def subject_of(
    document: PlanDocument,
    selection: SpecSelection,
    workspace: str,
    expires_at: str,
    *,
    sandboxed: bool | UnsetType = UNSET,
    commit: CommitSubject | UnsetType = UNSET,
) -> ApprovalSubject:
    specs = selected(document.state.action_specs, selection)
    checks = document.state.planned_checks
    return ApprovalSubject(
        kind=Act.EXECUTE,
        workspace=workspace,
        plan_id=document.plan.id,
        plan_version=document.plan.version,
        specs=tuple(
            # The content is bound through the hash of the file after; explanations are outside.
            SubjectSpec(spec.id, order, msgspec.structs.replace(spec.base, content=None, description=""))
            for order, spec in enumerate(specs)
        ),
        changes=changes_of(specs),
        expires_at=expires_at,
        snapshot_id=document.change.snapshot_id if document.change else UNSET,
        checks=checks if checks and (checks.before or checks.after) else UNSET,
        sandboxed=sandboxed,
        commit=commit,
    )


def require_person(parts: Parts, plan: str, proof: Proof | None) -> Proof:
    if proof is None:
        raise NoChannel(why=Text("no answer of a person was given"), plan=plan)
    require_answer(parts, proof, f"ringi review {plan}")
    return proof


def decide(
    parts: Parts,
    request: ApprovalRequest,
    subject: ApprovalSubject,
    proof: Proof,
    *,
    act: SignedAct,
    approver: str,
    risk: Risk,
    after_event: str,
    note: str = "",
) -> Approval:
    """What the person said becomes an approval, or is refused by name."""
    data = codec.canonical(subject)
    digest = codec.digest(data)
    if digest != request.digest:
        raise WrongAnswer(why=ELSE)
    if isinstance(proof, TypedAnswer):
        record = typed(parts, proof, digest, risk)
    else:
        _require_unused(parts, request.plan_id, proof)
        wanted = Wanted(act, digest, approver, note, request.requested_at, request.expires_at)
        record = signed(parts, proof, wanted)
    return Approval(
        id=parts.ids(),
        plan_id=request.plan_id,
        request_id=request.id,
        approver=approver,
        timestamp=parts.clock.now(),
        expires_at=request.expires_at,
        selection=request.selection,
        digest=digest,
        subject=data.decode(),
        proof=record,
        after_event=after_event,
        note=note,
    )


def _require_unused(parts: Parts, plan_id: str, answer: SignedAnswer) -> None:
    """A signature is one yes: whoever kept a copy cannot say it again."""
    if any(answer.statement == past.proof.statement for past in parts.store.approvals(plan_id)):
        raise WrongAnswer(why=Text("this signature was used already"))
