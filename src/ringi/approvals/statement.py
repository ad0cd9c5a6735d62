"""What proves an approval in a clone: an in-toto Statement in a DSSE envelope, signed by an SSH key.

Its subjects are file transitions: the bytes at a path before and after. Commits do not survive a rebase or a
squash; bytes do.
"""

import base64
import binascii
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.document import ProofKind, SignedAct, Strength
from ringi.approvals.forge import ReviewProof
from ringi.errors import BadDocument, NewerVersion, RingiError
from ringi.kernel import codec
from ringi.kernel.document import Document, Versioned
from ringi.kernel.text import Text
from ringi.ledger.subject import StepOf

T = TypeVar("T")
NOTES: Final = "refs/notes/ringi"
STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:ringi:approval:v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"
ABSENT: Final = "000000"
"""The mode of a file that is not there."""
MAX_ENVELOPE: Final = 16 * 1024 * 1024
_PAE: Final = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} "
_WHAT: Final = "approval envelope"
_SIGNED: Final = "signed statement"
_MISSPELLED: Final = Text("it is not spelled as it was given out to be signed")


class Digests(Document, frozen=True, omit_defaults=True):
    """By the names that in-toto gives to algorithms."""

    sha256: str = ""
    """Of the bytes in the work tree."""
    blob: str = msgspec.field(name="gitBlob", default="")
    """The id of the blob as git stores it, after line ends and LFS; empty if only a filter knows it."""


class OneSide(Document, frozen=True):
    mode: str
    """As git has it: 100644 or 100755."""
    digest: Digests


class Transition(Document, frozen=True):
    """How a file changed. The digests of the subject are those of the file after it, or before a deletion."""

    mode: str
    """`ABSENT` for a deleted file."""
    before: OneSide | None


class Resource(Document, frozen=True):
    """A subject of the statement: a file, or the one document that was approved."""

    name: str
    digest: Digests
    annotations: Transition | UnsetType = UNSET
    """Set for a file."""


class ApprovedPlan(Document, frozen=True):
    id: str
    version: int
    title: str


class GrantProof(Document, frozen=True):
    """The standing approval that it was given through: what was signed, and the signature."""

    subject: str
    statement: str
    signature: str


class Approved(Document, frozen=True, kw_only=True):
    """The predicate."""

    act: SignedAct
    digest: str
    """SHA-256 of the document that was approved, as the ledger has it."""
    approver: str
    at: str
    note: str
    after_event: str
    """Hash of the last event at the time, so that rewritten history contradicts the signature."""
    proof: ProofKind
    strength: Strength
    repository: tuple[str, ...] = ()
    """Its root commits; empty if there is no commit yet, or no repository."""
    plan: ApprovedPlan | UnsetType = UNSET
    step: StepOf | UnsetType = UNSET
    """The step of a run that it is, with the request that the run serves."""
    grant: GrantProof | UnsetType = UNSET
    review: ReviewProof | UnsetType = UNSET
    """Where on a forge it was given."""
    diff: str | UnsetType = UNSET
    """Of all subjects, as `git apply` reads it; absent if it is too large or not text."""


class InToto(Document, frozen=True, kw_only=True):
    type_: str = msgspec.field(name="_type", default=STATEMENT_TYPE)
    subject: tuple[Resource, ...]
    kind: str = msgspec.field(name="predicateType", default=PREDICATE_TYPE)
    predicate: Approved


class Signature(Document, frozen=True):
    keyid: str
    """The fingerprint of the key, as `ssh-keygen -l` shows it; a hint."""
    sig: str
    """Base64 of what `ssh-keygen -Y sign` wrote."""


class Envelope(Document, frozen=True):
    """One line of a note."""

    payload: str
    payload_type: str = msgspec.field(name="payloadType")
    signatures: tuple[Signature, ...]
    """None if the approval was typed, or given through a grant."""


class Opened(NamedTuple):
    """An envelope, taken apart; nothing of it is verified."""

    statement: InToto
    signed: str
    """The bytes that the signature is over."""
    signature: str
    """As `ssh-keygen` reads it; empty if there is none."""


class Synced(Versioned, frozen=True, kw_only=True):
    """What `ringi sync` did, in notes: one hangs on each file of an approval."""

    remote: str
    came: int
    went: int
    waiting: int
    """Here, and not there yet."""
    total: int


class FileAt(NamedTuple):
    """A file as a tree of git has it; a missing one has the mode `ABSENT` and no blob."""

    mode: str
    blob: str


NOT_THERE: Final = FileAt(ABSENT, "")


class PathChange(NamedTuple):
    """One change of one path."""

    path: str
    before: FileAt
    after: FileAt


def to_sign(statement: InToto) -> str:
    """What the key signs, and what the ledger keeps."""
    return _encode(codec.canonical(statement).decode())


def _encode(payload: str) -> str:
    """The pre-authentication encoding of DSSE."""
    return f"{_PAE}{len(payload.encode())} {payload}"


def payload_of(signed: str) -> str:
    """Raises BadDocument if it is not spelled as `to_sign` spells it."""
    payload = signed.removeprefix(_PAE).partition(" ")[2]
    if signed != _encode(payload):
        raise BadDocument(what=_WHAT, why=_MISSPELLED)
    return payload


def read_signed(signed: str) -> InToto:
    """Raises BadDocument."""
    try:
        data = payload_of(signed).encode()
    except UnicodeEncodeError:
        raise BadDocument(what=_SIGNED, why=codec.NOT_TEXT) from None
    found = _read(data, InToto, _SIGNED)
    if (found.type_, found.kind) != (STATEMENT_TYPE, PREDICATE_TYPE):
        raise BadDocument(what=_WHAT, why=Text("it is a statement of another kind"))
    if codec.canonical(found) != data:
        raise BadDocument(what=_WHAT, why=_MISSPELLED)
    return found


def read_predicate(signed: str) -> Approved:
    """Who approves what and when. Raises BadDocument."""
    return read_signed(signed).predicate


def read_predicate_or_none(signed: str) -> Approved | None:
    """None if it cannot be read."""
    try:
        return read_predicate(signed)
    except RingiError:
        return None


def fingerprint(key: str) -> str:
    """Of a public key, as `ssh-keygen -l` shows it; an unreadable key is returned unchanged."""
    try:
        data = base64.b64decode(key.rpartition(" ")[-1], validate=True)
    except (binascii.Error, ValueError):
        return key
    return "SHA256:" + base64.b64encode(bytes.fromhex(codec.digest(data))).decode().rstrip("=")


def build_envelope(signed: str, signature: str = "", keyid: str = "") -> bytes:
    """The envelope on one line, without the line's end."""
    made = Envelope(
        payload=base64.b64encode(payload_of(signed).encode()).decode(),
        payload_type=PAYLOAD_TYPE,
        signatures=(Signature(keyid, base64.b64encode(signature.encode()).decode()),) if signature else (),
    )
    return codec.canonical(made)


def parse_envelope(line: bytes) -> Opened:
    """Raises BadDocument: whatever is wrong with a note, nothing else happens."""
    if len(line) > MAX_ENVELOPE:
        raise BadDocument(what=_WHAT, why=Text("it is too large"))
    envelope = _read(line, Envelope, _WHAT)
    if envelope.payload_type != PAYLOAD_TYPE:
        raise BadDocument(what=_WHAT, why=Text("it is a statement of another kind"))
    try:
        payload = base64.b64decode(envelope.payload, validate=True).decode()
        signatures = [base64.b64decode(one.sig, validate=True).decode() for one in envelope.signatures]
    except (binascii.Error, ValueError):
        raise BadDocument(what=_WHAT, why=Text("it is damaged")) from None
    if len(signatures) > 1:
        raise BadDocument(what=_WHAT, why=Text("it has more than one signature"))
    signed = _encode(payload)
    return Opened(read_signed(signed), signed, "".join(signatures))


def _read(data: bytes, kind: type[T], what: str) -> T:
    """As we spell it, it hides nothing that the slow way would refuse."""
    try:
        found = codec.decode_own(data, kind, what)
        if codec.canonical(found) == data:
            return found
    except (BadDocument, NewerVersion):
        pass
    return codec.decode_foreign(data, kind, what)


def steps_of(statement: InToto) -> Iterator[PathChange]:
    """The changes that it approves, of files whose stored form is known."""
    for one in statement.subject:
        change = one.annotations
        if not change:
            continue
        before = FileAt(change.before.mode, change.before.digest.blob) if change.before else NOT_THERE
        after = NOT_THERE if change.mode == ABSENT else FileAt(change.mode, one.digest.blob)
        if (before.blob or before is NOT_THERE) and (after.blob or after is NOT_THERE):
            yield PathChange(one.name, before, after)


def anchor(step: PathChange) -> str:
    """The blob that its note hangs on."""
    return step.after.blob or step.before.blob
