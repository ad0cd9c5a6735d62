"""What an approval says about files, in the form that proves it in any clone of the repository."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.document import Act, Approval, ApprovalSubject, ProofKind, SignedAct
from ringi.approvals.kinds import as_written
from ringi.approvals.proof import StatementContext, build_statement
from ringi.approvals.statement import (
    ABSENT,
    NOTES,
    ApprovedPlan,
    Digests,
    GrantProof,
    OneSide,
    Resource,
    Transition,
    anchor,
    build_envelope,
    fingerprint,
    parse_envelope,
    read_signed,
    steps_of,
    to_sign,
)
from ringi.errors import BadDocument, NewerVersion, NotesDamaged
from ringi.kernel import codec
from ringi.kernel.process.repository import Mended
from ringi.kernel.text import Text
from ringi.patch.render import FileDelta, FileSide, is_binary, render_patch
from ringi.plans.document import PlanDocument, PlanRef
from ringi.plans.place import run_of
from ringi.plans.preview import after_bytes
from ringi.policy.files import is_credential
from ringi.tree.file_state import FileState

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.provenance.repository import GitRepository

_LARGEST_DIFF: Final = 256 * 1024
_EXECUTABLE: Final = 0o100
_SIGNED_AS: Final = {Act.EXECUTE: SignedAct.APPROVE, Act.UNDO: SignedAct.UNDO}


_Proof = tuple[bytes, frozenset[str]]
"""An envelope, and the blobs that it hangs on."""


class _Side(NamedTuple):
    """A file before or after the plan, as git has it."""

    mode: str
    digest: Digests
    data: bytes | None
    """None if it is not at hand."""

    @property
    def text(self) -> FileSide | None:
        """What a diff of what git stores can show."""
        blob, data = self.digest.blob, self.data
        if data is None or is_binary(data) or blob != codec.blob_id(data, like=blob):
            return None
        return FileSide(data, self.mode)


class _AttestedFile(NamedTuple):
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
    def shown(self) -> FileDelta | None:
        """None if a diff cannot show it."""
        old, new = (side.text if side else None for side in (self.before, self.after))
        whole = bool(old) == bool(self.before) and bool(new) == bool(self.after)
        return FileDelta(self.path, old, new) if whole else None


def collect_bytes(workspace: Workspace, document: PlanDocument, subject: ApprovalSubject) -> dict[str, bytes]:
    """By hash, the files of a plan before and after it, as far as they can be had."""
    known: dict[str, bytes] = {}
    for change in subject.changes:
        if change.before and not change.folder:
            data = workspace.store.get_bytes(change.before.sha256)
            if data is None and (found := workspace.tree.look(change.path)):
                data = found.data
            if data is not None and codec.digest(data) == change.before.sha256:
                known[change.before.sha256] = data
    chosen = {one.id for one in subject.specs}
    for spec in document.state.action_specs:
        if spec.id in chosen and all(not one.before or one.before.sha256 in known for one in spec.touched):
            known |= after_bytes(workspace, spec, known)
    return known


def about(
    workspace: Workspace, document: PlanDocument, subject: ApprovalSubject, known: Mapping[str, bytes]
) -> StatementContext | None:
    """`known` are bytes by hash. None if no file of it can be in a commit."""
    repository = workspace.repository()
    files = _files(repository, subject, known) if repository else []
    if not repository or not files:
        return None
    return StatementContext(
        subject=tuple(file.resource for file in files),
        repository=repository.roots(),
        plan=ApprovedPlan(subject.plan_id, subject.plan_version, document.plan.title),
        step=subject.step,
        diff=_diff(files),
    )


def _files(
    repository: GitRepository, subject: ApprovalSubject, known: Mapping[str, bytes]
) -> list[_AttestedFile]:
    """The net change of each path that git may track; permissions that git does not keep do not count."""
    net: dict[str, tuple[FileState | None, FileState | None]] = {}
    for change in subject.changes:
        if not change.folder:
            net[change.path] = net.get(change.path, (change.before, None))[0], change.after
    published = repository.filter_tracked(sorted(net)) if net else frozenset()
    net = {path: sides for path, sides in sorted(net.items()) if path in published}
    held = {
        path: [known[side.sha256] for side in sides if side and side.sha256 in known]
        for path, sides in net.items()
    }
    ids = {
        (path, codec.digest(data)): blob
        for path, blobs in repository.blob_ids(held).items()
        for data, blob in zip(held[path], blobs, strict=True)
    }

    def side(path: str, state: FileState | None) -> _Side | None:
        if state is None:
            return None
        mode = "100755" if int(state.mode, 8) & _EXECUTABLE else "100644"
        digests = Digests(state.sha256, ids.get((path, state.sha256), ""))
        return _Side(mode, digests, known.get(state.sha256))

    found = [
        _AttestedFile(path, side(path, before), side(path, after)) for path, (before, after) in net.items()
    ]
    return [file for file in found if file.before != file.after]


def _diff(files: list[_AttestedFile]) -> str | UnsetType:
    # A file for credentials may never be committed, and notes leave the machine without it.
    shown = [file.shown for file in files if not is_credential(file.path)]
    try:
        diff = render_patch([one for one in shown if one]).decode()
    except UnicodeDecodeError:
        return UNSET
    return diff if 0 < len(diff) <= _LARGEST_DIFF else UNSET


def attach(
    workspace: Workspace, document: PlanDocument, approval: Approval, known: Mapping[str, bytes]
) -> None:
    """Hangs the proof of the approval on the files that it is about, before they are written.

    Whatever cuts off what follows, an approval that was used is never without it. If the notes are damaged,
    they are rebuilt first. Raises NotesFailed.
    """
    repository = workspace.repository() if workspace.config.provenance.notes else None
    proof = _proof(workspace, document, approval, known) if repository else None
    if repository is None or proof is None:
        return
    try:
        repository.attach(*proof)
    except NotesDamaged:
        if mended := mend(workspace):
            for line in mended.lines:
                workspace.tell(line)
        repository.attach(*proof)


def _proof(
    workspace: Workspace, document: PlanDocument, approval: Approval, known: Mapping[str, bytes]
) -> _Proof | None:
    """What hangs on which blobs; None if it is about no file that can be in a commit."""
    subject = as_written(approval.subject, ApprovalSubject)
    record, signed, signature, keyid = approval.proof, approval.proof.statement or "", "", ""
    if subject is None:
        return None
    if record.kind is ProofKind.SIGNED:
        signature, keyid = record.signature or "", fingerprint(record.key or "")
    elif said := about(workspace, document, subject, known):
        made = build_statement(
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
        return None
    blobs = frozenset(anchor(step) for step in steps_of(read_signed(signed)))
    return (build_envelope(signed, signature, keyid), blobs) if blobs else None


def _grant(approval: Approval) -> GrantProof | UnsetType:
    record = approval.proof
    if record.kind is not ProofKind.GRANT:
        return UNSET
    return GrantProof(record.grant_subject or "", record.statement or "", record.signature or "")


# ------------------------------------------------------------------ damaged notes


def mend(workspace: Workspace) -> Mended | None:
    """Rebuilds the notes if they are damaged: what can be read stays, whoever wrote it, and every approval
    that was used hangs there again. None if they are sound.

    Raises NotesFailed.
    """
    repository = workspace.repository()
    rebuilt = repository.rebuild() if repository else None
    if repository is None or rebuilt is None:
        return None
    used = list(_find_used_proofs(workspace)) if workspace.config.provenance.notes else []
    if lines := _by_blob(one.proof for one in used if one.proof):
        repository.attach_all(lines)
    proven = {digest for line in repository.lines() if (digest := _read_digest(line))}
    plans = [one.plan for one in used if one.lacks_bytes and one.digest not in proven]
    what = Text(
        "The notes that prove approvals were damaged ({why}); they were rebuilt from what can be read and "
        "from the ledger. The damaged files are in {folder}. If you share notes, run: ringi sync",
        why=rebuilt.why,
        folder=rebuilt.aside,
    )
    return rebuilt.describe(what, frozenset(lines), tuple(dict.fromkeys(plans)))


def is_lost(workspace: Workspace, plan_id: str) -> bool:
    """Whether a signed approval of the plan was used and is not in the notes. Raises NotesFailed."""
    repository = workspace.repository() if workspace.config.provenance.notes else None
    lines = _by_blob(_find_signed_proofs(workspace, plan_id)) if repository else {}
    return repository is not None and bool(lines) and repository.lacking(lines)


def find_lost_plans(workspace: Workspace) -> list[PlanRef]:
    """Those with a signed approval that was used and is not in the notes. Raises NotesFailed."""
    return [ref for ref in workspace.store.plans.refs(discarded=True) if is_lost(workspace, ref.id)]


def bring_back(workspace: Workspace) -> Mended | None:
    """Adds the signed approvals that were used and are not in the notes. Raises NotesFailed."""
    lost, repository = find_lost_plans(workspace), workspace.repository()
    if not lost or repository is None:
        return None
    repository.attach_all(_by_blob(proof for ref in lost for proof in _find_signed_proofs(workspace, ref.id)))
    names = ", ".join(ref.name for ref in lost)
    what = Text("The proofs of {plans} were missing in the notes; they are there again.", plans=names)
    return Mended(NOTES, (what,))


def _find_signed_proofs(workspace: Workspace, plan_id: str) -> Iterator[_Proof]:
    """What was signed is in the ledger as it was, whatever became of the files."""
    document = workspace.store.plans.get(plan_id).document
    for approval in workspace.store.approvals.of(plan_id):
        if approval.spent_by and approval.proof.kind is ProofKind.SIGNED:
            yield from filter(None, [_proof(workspace, document, approval, {})])


def _by_blob(proofs: Iterable[_Proof]) -> dict[str, list[bytes]]:
    lines: dict[str, list[bytes]] = {}
    for envelope, blobs in proofs:
        for blob in sorted(blobs):
            lines.setdefault(blob, []).append(envelope)
    return lines


class _Used(NamedTuple):
    """An approval that was used."""

    plan: str
    digest: str
    proof: _Proof | None
    lacks_bytes: bool
    """Whether the proof says less than the one that was lost."""


def _read_digest(line: bytes) -> str:
    """Empty if the line is no proof."""
    try:
        return parse_envelope(line).statement.predicate.digest
    except (BadDocument, NewerVersion):
        return ""


def _find_used_proofs(workspace: Workspace) -> Iterator[_Used]:
    store = workspace.store
    for ref in store.plans.refs(discarded=True):
        document, here = store.plans.get(ref.id).document, workspace
        if run_of(document):
            there = workspace.on_branch(run_of(document))
            # Its folder may be gone; the person's own has the same attributes.
            here = there if there.tree.root.is_dir() else workspace
        for approval in store.approvals.of(ref.id):
            subject = as_written(approval.subject, ApprovalSubject)
            if subject is None or not approval.spent_by:
                continue
            known = collect_bytes(here, document, subject)
            for change in subject.changes:  # an undo has no specs that would tell
                data = store.get_bytes(change.after.sha256) if change.after and not change.folder else None
                known |= {codec.digest(data): data} if data is not None else {}
            proof = _proof(here, document, approval, known)
            is_signed = proof is not None and approval.proof.kind is ProofKind.SIGNED
            lacks = not is_signed and _lacks_bytes(here.repository(), subject, known)
            yield _Used(ref.name, approval.digest, proof, lacks)


def _lacks_bytes(
    repository: GitRepository | None, subject: ApprovalSubject, known: Mapping[str, bytes]
) -> bool:
    files = _files(repository, subject, known) if repository else ()
    return any(side and side.data is None for file in files for side in (file.before, file.after))
