"""Whose signatures count in a workspace, and whether a typed answer suffices.

The ledger says both, so that neither depends on the caller's environment. Changing them takes an approval.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.approvals.document import (
    Proof,
    ProofKind,
    ProofRecord,
    RequiredProof,
    ReviewAnswer,
    SignedAct,
    SignerFile,
    SignersSubject,
    Strength,
    TypedAnswer,
)
from ringi.approvals.kinds import as_written, request_of
from ringi.approvals.own_key import users_bytes, users_file
from ringi.approvals.proof import (
    ELSE,
    RequiredStatement,
    approval_of,
    compose,
    prove_by_signature,
    prove_by_typing,
    require_typing,
)
from ringi.approvals.signing import SignerList, SshSignatures
from ringi.config.file import project_bytes, read_guarded
from ringi.config.keys import Config, KeyOrigin
from ringi.config.load import executable
from ringi.config.pins import SIGNERS, Trust
from ringi.errors import (
    BadConfiguration,
    InTheWay,
    NoChannel,
    NoSigners,
    ReviewRefused,
    SignerNeeded,
    SignersForged,
    UnlistedKey,
    WrongAnswer,
)
from ringi.kernel import codec
from ringi.kernel.places import signers_file
from ringi.kernel.text import Text
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

COMMAND: Final = "ringi config signers"


class Configured(NamedTuple):
    """`approval.proof` of the configuration."""

    proof: RequiredProof
    lasting: bool
    """Whether the person's own file or environment says so; a project's file may come and go."""


def last_accepted(store: Store) -> SignersSubject | None:
    """What was accepted last; None if nothing ever was. Raises SignersForged."""
    if not store.approvals.mentions(subjects.SIGNERS.id):
        return None
    stored = [(one.evidence, one.subject) for one in store.approvals.of(subjects.SIGNERS.id)]
    logged = [one.event.evidence for one in store.events(subjects.SIGNERS.id)]
    said = as_written(stored[-1][1], SignersSubject) if stored else None
    if said is None or logged != [evidence for evidence, _ in stored]:
        raise SignersForged
    return said


def as_lists(said: SignersSubject) -> list[SignerList]:
    return [
        SignerList(file.path, "".join(f"{line}\n" for line in file.lines).encode()) for file in said.lists
    ]


def signature_needed(before: SignersSubject | None, configured: RequiredProof) -> bool:
    """Whether what comes after it must be signed by a key of it: nobody can sign without one."""
    if before is None or not before.lines:
        return False
    return RequiredProof.SIGNED in {before.proof, configured}


class Signers:
    """`offered` are the lists that could count: the user's own, and the project's if it is trusted.

    `counting` is what counts of the accepted ones.
    """

    def __init__(
        self,
        workspace: Workspace,
        configured: Configured,
        *,
        offered: Callable[[], tuple[SignerFile, ...]],
        counting: Callable[[], Sequence[SignerList]],
    ) -> None:
        self._workspace = workspace
        self._configured = configured
        self.offered = offered
        self.counting = counting

    def last_accepted(self) -> SignersSubject | None:
        return last_accepted(self._workspace.store)

    @property
    def proof(self) -> RequiredProof:
        """The strictest of the configuration and the ledger."""
        signed_only = self._workspace.signatures.requires_signature()
        return RequiredProof.SIGNED if signed_only else RequiredProof.ANY

    def require_typing(self, signing: str) -> None:
        """Raises SignatureNeeded, with the command that signs, if a typed answer does not suffice."""
        require_typing(self._workspace.signatures, signing)

    def needs_signature(self) -> bool:
        """Whether only a key of the accepted lists can change them."""
        return signature_needed(self.last_accepted(), self._configured.proof)

    @property
    def accepting(self) -> str:
        """The command that accepts the lists as they are now."""
        return f"{COMMAND} --accept" + (" --sign KEY" if self.needs_signature() else "")

    def require_typed_change(self, subject: SignersSubject) -> None:
        """Raises SignerNeeded if it takes a signature by a key of the accepted lists."""
        before = self.last_accepted()
        if signature_needed(before, self._configured.proof):
            loosens = before is not None and before.lists == subject.lists
            raise SignerNeeded(command=f"{COMMAND} --proof any --sign KEY" if loosens else self.accepting)

    def draft(self, *, lists: bool, proof: RequiredProof | None = None) -> SignersSubject:
        """What to accept: the lists as they are now or as before, and this rule or the one that holds."""
        before = self.last_accepted()
        holds = before.proof if before else RequiredProof.ANY
        if self._configured.lasting and self._configured.proof is RequiredProof.SIGNED:
            holds = RequiredProof.SIGNED
        kept = before.lists if before else ()
        made = SignersSubject(
            workspace=self._workspace.store.workspace_id(),
            lists=self.offered() if lists else kept,
            proof=proof or holds,
            replaces=digest_of(before),
        )
        if made.proof is RequiredProof.SIGNED and not made.lines:
            raise NoSigners
        return made

    def statement(self, subject: SignersSubject, approver: str) -> str:
        """The bytes that a key signs."""
        return compose(self._workspace, SignedAct.SIGNERS, digest_of(subject), approver)

    def accept(self, subject: SignersSubject, approver: str, proof: Proof) -> SignersSubject:
        """Raises SignatureNeeded if it takes a signature by a key of the list that it replaces."""
        before = self.last_accepted()
        if before and (subject.lists, subject.proof) == (before.lists, before.proof):
            return before
        if subject.proof is RequiredProof.SIGNED and not subject.lines:
            raise NoSigners
        record = self._proven(subject, before, approver, proof)
        self._save(subject, approver, record, Actor.USER)
        return subject

    def adopt(self) -> None:
        """Writes down what the person's own configuration demands, so that another one cannot loosen it."""
        wanted, before = self._configured, self.last_accepted()
        if before is None or not before.lines or before.proof is RequiredProof.SIGNED:
            return
        if wanted.lasting and wanted.proof is RequiredProof.SIGNED:
            user = self._workspace.person.user()
            record = ProofRecord(ProofKind.CONFIGURED, Strength.WEAK, user, "approval.proof", "")
            self._save(self.draft(lists=False), user, record, Actor.SYSTEM)

    def _proven(
        self, subject: SignersSubject, before: SignersSubject | None, approver: str, proof: Proof
    ) -> ProofRecord:
        workspace, digest = self._workspace, digest_of(subject)
        if isinstance(proof, TypedAnswer):
            self.require_typed_change(subject)
            if refusal := workspace.person.refusal():
                raise NoChannel(why=refusal, command=COMMAND)
            return prove_by_typing(workspace, proof, digest)
        if isinstance(proof, ReviewAnswer):
            raise ReviewRefused(why=Text("nobody changes on a forge whose signatures count here"))
        wanted = RequiredStatement(SignedAct.SIGNERS, digest, approver, "", "", workspace.clock.now())
        try:
            return prove_by_signature(workspace, proof, wanted, as_lists(before) if before else ())
        except UnlistedKey:
            self.require_typed_change(subject)
            raise

    def _save(self, subject: SignersSubject, approver: str, record: ProofRecord, actor: Actor) -> None:
        workspace, data = self._workspace, codec.canonical(subject)
        now = workspace.clock.now()
        asked = request_of(subjects.SIGNERS, 0, data, ids=workspace.ids, requested_at=now, expires_at=now)
        with workspace.store.transaction() as transaction:
            # Look again now that nobody else can write: two changes at once must not follow the same one.
            if subject.replaces != digest_of(self.last_accepted()):
                raise WrongAnswer(why=ELSE)
            last = transaction.last_hash()
            approval = approval_of(workspace, asked, data, record, approver=approver, after_event=last)
            transaction.approvals.set_signers(approval, actor)


def new_lines(subject: SignersSubject, before: SignersSubject | None) -> tuple[str, ...]:
    known = before.lines if before else ()
    return tuple(line for line in subject.lines if line not in known)


def digest_of(subject: SignersSubject | None) -> str:
    return codec.digest(codec.canonical(subject)) if subject else ""


_PROJECTS: Final = f".agent/{SIGNERS}"
_LASTING: Final = frozenset([KeyOrigin.USER, KeyOrigin.ENVIRONMENT])


def signatures_of(
    store: Store, root: Path, environment: Mapping[str, str], configured: Configured
) -> SshSignatures:
    def requires_signature() -> bool:
        if configured.proof is RequiredProof.SIGNED:
            return True
        said = last_accepted(store)
        return said is not None and said.proof is RequiredProof.SIGNED

    return SshSignatures(
        lambda: read_accepted_lists(store, root, environment),
        offered=lambda: [as_list(file, root) for file in read_offered_lists(root, environment)],
        requires_signature=requires_signature,
    )


def read_configured_proof(config: Config) -> Configured:
    proof = RequiredProof(config.approval.proof)
    return Configured(proof, lasting=config.source("approval.proof").origin in _LASTING)


def as_list(file: SignerFile, root: Path) -> SignerList:
    return SignerList(str(root / file.path), "".join(f"{line}\n" for line in file.lines).encode())


def read_accepted_lists(store: Store, root: Path, environment: Mapping[str, str]) -> list[SignerList]:
    """Read on every call, so that a removed key stops counting at once.

    A line that was added since does not count, and neither does one of a file that somebody else could write.
    The environment can only take away: the project's list counts as long as the project is trusted.
    """
    said = last_accepted(store)
    found = []
    for file in said.lists if said else ():
        data = _projects(root, environment) if file.path == _PROJECTS else _users(Path(file.path), root)
        if data is not None:
            there = frozenset(_lines(data))
            lines = tuple(line for line in file.lines if line in there)
            found.append(as_list(SignerFile(file.path, file.sha256, lines), root))
    return found


def read_offered_lists(root: Path, environment: Mapping[str, str]) -> tuple[SignerFile, ...]:
    """The user's own list, and the project's once it is trusted; leaves out an unsafe one."""
    users = users_file(environment)
    found = [
        (str(users), _users(users, root) if users else None),
        (_PROJECTS, _projects(root, environment)),
    ]
    return tuple(
        SignerFile(path, codec.digest(data), tuple(_lines(data))) for path, data in found if data is not None
    )


def _lines(data: bytes) -> Iterator[str]:
    for line in data.split(b"\n"):
        text = line.strip()
        if text and not text.startswith(b"#"):
            yield text.decode("utf-8", "backslashreplace")


def _users(file: Path, root: Path) -> bytes | None:
    place = Path(os.path.realpath(file))
    if place.is_relative_to(os.path.realpath(root)):
        return None  # it may have come with the project
    try:
        return users_bytes(place)
    except (OSError, InTheWay):
        return None


def _projects(root: Path, environment: Mapping[str, str]) -> bytes | None:
    file = signers_file(root)
    try:
        verdict = Trust(root, environment).state(executable(root))
        data = read_guarded(file, project_bytes)
    except BadConfiguration:
        return None
    # Compare with the pinned bytes: the file may have changed since the verdict.
    pinned = {part.name: part.sha256 for part in verdict.parts}.get(SIGNERS) if verdict.trusted else None
    return data if data is not None and codec.digest(data) == pinned else None
