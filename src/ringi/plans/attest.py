"""What an approval says about files, in the form that proves it in any clone of the repository."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.kinds import as_written
from ringi.approvals.proof import About, stated
from ringi.domain import codec
from ringi.domain.approval import Act, Approval, ApprovalSubject, ProofKind, SignedAct
from ringi.domain.plan import FileState, PlanDocument
from ringi.domain.provenance import (
    ABSENT,
    ApprovedPlan,
    Digests,
    GrantProof,
    OneSide,
    Resource,
    Transition,
    anchor,
    fingerprint,
    is_in_toto,
    read_signed,
    sealed,
    steps_of,
    to_sign,
)
from ringi.patching.render import Changed, Side, is_binary, render_patch
from ringi.plans.preview import after_bytes
from ringi.plans.services import Services
from ringi.policy.files import is_credential
from ringi.ports.provenance import Repository

_LARGEST_DIFF: Final = 256 * 1024
_EXECUTABLE: Final = 0o100
_SIGNED_AS: Final = {Act.EXECUTE: SignedAct.APPROVE, Act.UNDO: SignedAct.UNDO}


class _Side(NamedTuple):
    """A file before or after the plan, as git has it."""

    mode: str
    digest: Digests
    data: bytes | None
    """None if it is not at hand."""

    @property
    def text(self) -> Side | None:
        """What a diff of what git stores can show."""
        blob, data = self.digest.blob, self.data
        if data is None or is_binary(data) or blob != codec.blob_id(data, like=blob):
            return None
        return Side(data, self.mode)


class _File(NamedTuple):
    path: str
    before: _Side | None
    after: _Side | None

    @property
    def resource(self) -> Resource:
        before, after = self.before, self.after
        was = OneSide(before.mode, before.digest) if before else None
        there = after or before
        return Resource(
            self.path,
            there.digest if there else Digests(),
            Transition(after.mode if after else ABSENT, was),
        )

    @property
    def shown(self) -> Changed | None:
        """None if a diff cannot show it."""
        old, new = (side.text if side else None for side in (self.before, self.after))
        whole = bool(old) == bool(self.before) and bool(new) == bool(self.after)
        return Changed(self.path, old, new) if whole else None


def known_bytes(services: Services, document: PlanDocument, subject: ApprovalSubject) -> dict[str, bytes]:
    """By hash, the files of a plan before and after it, as far as they can be had."""
    known: dict[str, bytes] = {}
    for change in subject.changes:
        if change.before and not change.folder:
            data = services.store.get_bytes(change.before.sha256)
            if data is None and (found := services.tree.look(change.path)):
                data = found.data
            if data is not None and codec.digest(data) == change.before.sha256:
                known[change.before.sha256] = data
    chosen = {one.id for one in subject.specs}
    for spec in document.state.action_specs:
        if spec.id in chosen and all(not one.before or one.before.sha256 in known for one in spec.touched):
            known |= after_bytes(services, spec, known)
    return known


def about(
    services: Services, document: PlanDocument, subject: ApprovalSubject, known: Mapping[str, bytes]
) -> About | None:
    """`known` are bytes by hash. None if no file of it can be in a commit."""
    repository = services.repository()
    files = _files(repository, subject, known) if repository else []
    if not repository or not files:
        return None
    return About(
        subject=tuple(file.resource for file in files),
        repository=repository.roots(),
        plan=ApprovedPlan(subject.plan_id, subject.plan_version, document.plan.title),
        step=subject.step,
        diff=_diff(files),
    )


def _files(repository: Repository, subject: ApprovalSubject, known: Mapping[str, bytes]) -> list[_File]:
    """The net change of each path that git may track; permissions that git does not keep do not count."""
    net: dict[str, tuple[FileState | None, FileState | None]] = {}
    for change in subject.changes:
        if not change.folder:
            net[change.path] = net.get(change.path, (change.before, None))[0], change.after
    published = repository.published(sorted(net)) if net else frozenset()
    net = {path: sides for path, sides in sorted(net.items()) if path in published}
    held = {
        path: [known[side.sha256] for side in sides if side and side.sha256 in known]
        for path, sides in net.items()
    }
    ids = {
        (path, codec.digest(data)): blob
        for path, blobs in repository.stored(held).items()
        for data, blob in zip(held[path], blobs, strict=True)
    }

    def side(path: str, state: FileState | None) -> _Side | None:
        if state is None:
            return None
        mode = "100755" if int(state.mode, 8) & _EXECUTABLE else "100644"
        digests = Digests(state.sha256, ids.get((path, state.sha256), ""))
        return _Side(mode, digests, known.get(state.sha256))

    found = [_File(path, side(path, before), side(path, after)) for path, (before, after) in net.items()]
    return [file for file in found if file.before != file.after]


def _diff(files: list[_File]) -> str | UnsetType:
    # A file for credentials may never be committed, and notes leave the machine without it.
    shown = [file.shown for file in files if not is_credential(file.path)]
    try:
        diff = render_patch([one for one in shown if one]).decode()
    except UnicodeDecodeError:
        return UNSET
    return diff if 0 < len(diff) <= _LARGEST_DIFF else UNSET


def attach(
    services: Services, document: PlanDocument, approval: Approval, known: Mapping[str, bytes]
) -> None:
    """Hangs the proof of the approval on the files that it is about, before they are written.

    Whatever cuts off what follows, an approval that was used is never without it. Raises NotesFailed.
    """
    subject = as_written(approval.subject, ApprovalSubject)
    repository = services.repository() if services.rules.notes else None
    if repository is None or subject is None:
        return
    record, signed, signature, keyid = approval.proof, approval.proof.statement or "", "", ""
    if record.kind is ProofKind.SIGNED and is_in_toto(signed):
        signature, keyid = record.signature or "", fingerprint(record.key or "")
    elif said := about(services, document, subject, known):
        made = stated(
            _SIGNED_AS[subject.kind],
            approval.digest,
            approval.approver,
            approval.note,
            at=approval.timestamp,
            after_event=approval.after_event,
            about=said,
            proof=record.kind,
            grant=_grant(approval),
            review=record.review,
        )
        signed = to_sign(made)
    else:
        return
    blobs = {anchor(step) for step in steps_of(read_signed(signed))}
    if blobs:
        repository.attach(sealed(signed, signature, keyid), blobs)


def _grant(approval: Approval) -> GrantProof | UnsetType:
    record = approval.proof
    if record.kind is not ProofKind.GRANT:
        return UNSET
    return GrantProof(record.grant_subject or "", record.statement or "", record.signature or "")
