"""A history in memory, and envelopes with made-up keys."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import UTC, datetime

from msgspec import UNSET

from ringi.approvals.document import NAMESPACE, ProofKind, SignedAct, Strength
from ringi.approvals.signing import Signer, SignerList
from ringi.approvals.statement import (
    ABSENT,
    NOT_THERE,
    Approved,
    ApprovedPlan,
    Digests,
    FileAt,
    GrantProof,
    InToto,
    OneSide,
    PathChange,
    Resource,
    Transition,
    anchor,
    build_envelope,
    steps_of,
    to_sign,
)
from ringi.errors import NoSuchCommit
from ringi.kernel import codec
from ringi.ledger.subject import StepOf
from ringi.provenance.ports import PastCommit
from tests.fakes.signing import MadeUpKeys

ROOTS = ("1" * 40,)
AT = "2026-01-02T03:04:05.000000Z"
NOW = datetime(2026, 2, 1, tzinfo=UTC)
ALICE, MALLORY = "AAAA", "BBBB"


class PastKeys(MadeUpKeys):
    """Counts how often it was asked, and remembers when the keys had to be valid."""

    def signer_at(
        self,
        message: bytes,
        signature: str,
        lists: Sequence[SignerList],
        at: datetime,
        namespace: str = NAMESPACE,
    ) -> Signer:
        del lists, at, namespace
        return self.signer(message, signature)


def stored(data: bytes | None, mode: str = "100644") -> FileAt:
    return NOT_THERE if data is None else FileAt(mode, codec.blob_id(data, like="0" * 40))


def change(path: str, before: bytes | None, after: bytes | None, mode: str = "100644") -> PathChange:
    return PathChange(path, stored(before, mode), stored(after, mode))


def resource(step: PathChange) -> Resource:
    before = OneSide(step.before.mode, Digests("", step.before.blob)) if step.before.blob else None
    mode = step.after.mode if step.after.blob else ABSENT
    return Resource(step.path, Digests("", step.after.blob or step.before.blob), Transition(mode, before))


def statement(
    *steps: PathChange,
    at: str = AT,
    repository: tuple[str, ...] = ROOTS,
    proof: ProofKind = ProofKind.SIGNED,
    approver: str = "alice",
    act: SignedAct = SignedAct.APPROVE,
    diff: str = "",
    grant: GrantProof | None = None,
    title: str = "a plan",
    step: StepOf | None = None,
) -> InToto:
    return InToto(
        subject=tuple(map(resource, steps)),
        predicate=Approved(
            act=act,
            digest="0" * 64,
            approver=approver,
            at=at,
            note="",
            after_event="0" * 64,
            proof=proof,
            strength=Strength.STRONG if proof is ProofKind.SIGNED else Strength.WEAK,
            repository=repository,
            plan=ApprovedPlan("p", 1, title),
            step=step or UNSET,
            grant=grant or UNSET,
            diff=diff or UNSET,
        ),
    )


def envelope(said: InToto, key: str = ALICE) -> bytes:
    """Signed by the made-up key; not at all without one."""
    signed = to_sign(said)
    return build_envelope(signed, PastKeys().sign(key, signed).signature if key else "")


class MemoryHistory:
    """Two trees, `base` and `head`, and notes."""

    def __init__(
        self, base: Mapping[str, FileAt], head: Mapping[str, FileAt], roots: Collection[str] | None = ROOTS
    ) -> None:
        self.trees = {"base": dict(base), "head": dict(head), "": {}}
        self.unread: set[str] = set()
        self.noted: dict[str, list[bytes]] = {}
        self.past: list[PastCommit] = []
        self.before: list[PathChange] = []
        """What commits of the base did, newest first."""
        self.data: dict[str, bytes] = {}
        self.files: dict[str, bytes] = {".agent/allowed_signers": b"alice ssh-ed25519 AAAA\n"}
        self.read: list[str] = []
        """Which notes were asked for."""
        self._roots = roots

    def approve(self, said: InToto, key: str = ALICE) -> None:
        for step in steps_of(said):
            self.attach(anchor(step), envelope(said, key))

    def attach(self, blob: str, line: bytes) -> None:
        self.noted.setdefault(blob, []).append(line)

    def commit(self, name: str) -> str:
        if name not in self.trees:
            raise NoSuchCommit(name=name, command="git log --all --oneline")
        return name

    def base_of(self, old: str, new: str) -> str:
        del new
        return old

    def net(self, base: str, head: str) -> list[PathChange]:
        before, after = self.trees[base], self.trees[head]
        return [
            PathChange(path, before.get(path, NOT_THERE), after.get(path, NOT_THERE))
            for path in sorted({*before, *after})
            if before.get(path) != after.get(path)
        ]

    def roots(self, commit: str) -> frozenset[str] | None:
        del commit
        return None if self._roots is None else frozenset(self._roots)

    def notes(self, blobs: Collection[str]) -> dict[str, bytes]:
        self.read += blobs
        return {blob: b"\n".join(self.noted[blob]) for blob in blobs if blob in self.noted}

    def all_notes(self) -> Iterator[tuple[str, bytes]]:
        self.read.append("all")
        yield from ((blob, b"\n".join(lines)) for blob, lines in self.noted.items())

    def commits(self, base: str, head: str) -> Iterator[PastCommit]:
        del base, head
        yield from self.past

    def steps_to(self, commit: str, paths: Collection[str]) -> list[PathChange]:
        del commit
        return [step for step in self.before if step.path in paths]

    def contents(self, blobs: Collection[str]) -> dict[str, bytes]:
        return {blob: self.data[blob] for blob in blobs if blob in self.data}

    def file(self, commit: str, path: str) -> bytes | None:
        return self.files.get(path) if commit == "base" else None
