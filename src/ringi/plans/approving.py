"""What exactly is approved, and whether an approval still covers it (rules 2 to 4)."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import UNSET

from ringi.domain import codec
from ringi.domain.approval import (
    Approval,
    ApprovalRequest,
    ApprovalSubject,
    FileChange,
    ProofKind,
    ProofRecord,
    Strength,
    SubjectKind,
    SubjectSpec,
    TypedAnswer,
)
from ringi.domain.execution import ExecutionIntent
from ringi.domain.plan import ActionSpecExt, PlanDocument, SpecKind, SpecSelection, selected
from ringi.domain.risk import Risk
from ringi.errors import NoChannel, PathRefused, StorageFailed, WrongAnswer
from ringi.plans.effects import content_of
from ringi.plans.parts import Parts
from ringi.text import Text
from ringi.workspace.apply import reverse
from ringi.workspace.tree import Tree

YES: Final = frozenset(["a", "y", "yes", "はい"])
"""What counts as a yes where the risk is not high."""
TYPED_LENGTH: Final = 6
"""So many characters of the digest are typed for a high risk."""


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
        # What a patch makes of its file is compared when it is carried out.
        if spec.after is not None
        and spec.base.kind is not SpecKind.PATCH
        and (data := content_of(spec.base)) is not None
        and codec.digest(data) != spec.after.sha256
    ]


def subject_of(
    document: PlanDocument, selection: SpecSelection, workspace: str, expires_at: str
) -> ApprovalSubject:
    specs = selected(document.state.action_specs, selection)
    return ApprovalSubject(
        kind=SubjectKind.EXECUTE,
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
    )


def undo_subject(done: ExecutionIntent, workspace: str, expires_at: str) -> ApprovalSubject:
    return ApprovalSubject(
        kind=SubjectKind.UNDO,
        workspace=workspace,
        plan_id=done.plan_id,
        plan_version=done.plan_version,
        specs=(),
        changes=tuple(reverse(change) for change in done.changes),
        expires_at=expires_at,
        undoes=done.id,
    )


def differing(tree: Tree, changes: Sequence[FileChange]) -> list[str]:
    """Paths that are not as before."""
    wrong = []
    with tree.open_root() as root:
        for change in changes:
            try:
                found = tree.look_from(root, change.path)
            except (PathRefused, StorageFailed, OSError):
                wrong.append(change.path)
            else:
                if (found.state if found else None) != change.before:
                    wrong.append(change.path)
    return wrong


def require_person(parts: Parts, plan: str, answer: TypedAnswer | None) -> TypedAnswer:
    """An answer counts only where a person can have typed it."""
    if answer is None:
        raise NoChannel(why=Text("no answer of a person was given"), plan=plan)
    if refusal := parts.person.refusal():
        raise NoChannel(why=refusal, plan=plan)
    return answer


def grant(
    parts: Parts,
    request: ApprovalRequest,
    subject: ApprovalSubject,
    answer: TypedAnswer,
    *,
    approver: str,
    risk: Risk,
    after_event: str,
    note: str = "",
) -> Approval:
    data = codec.canonical(subject)
    digest = codec.digest(data)
    if not digest == request.digest == answer.digest:
        raise WrongAnswer(why=Text("the answer was given for something else than what stands there now"))
    if risk is Risk.HIGH and answer.answer != digest[:TYPED_LENGTH]:
        raise WrongAnswer(why=Text("a high risk needs the {count} characters shown", count=TYPED_LENGTH))
    if answer.answer.lower() not in {*YES, digest[:TYPED_LENGTH]}:
        raise WrongAnswer(why=Text("{answer} is no yes", answer=answer.answer))
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
        proof=ProofRecord(
            kind=ProofKind.TYPED,
            strength=Strength.WEAK,
            user=parts.person.user(),
            channel=parts.person.name(),
            answer=answer.answer,
        ),
        after_event=after_event,
        note=note,
    )
