"""Which commands of a project a person has trusted, pinned by digest in the user's folder (rule 9)."""

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from ringi.errors import InTheWay, RingiError, StorageFailed
from ringi.kernel import codec
from ringi.kernel.document import Document, Versioned
from ringi.kernel.fs import OsFileSystem, open_for_block, replace_file
from ringi.kernel.lock import FileLock
from ringi.kernel.places import state_name, trust_file
from ringi.kernel.text import Text

SIGNERS: Final = "allowed_signers"
MODEL: Final = "model"
MODEL_ADDRESS: Final = "llm.base_url"
MASKING: Final = ("logs.mask", "planning.logging.sensitive_patterns")
NO_QUESTION: Final = "planning.permissions.auto_execution_allowed"
TRACING: Final = "tracing.enabled"
_ROLES: Final = ("implementer", "reviewer", "qa", "planner")
MODELS: Final = frozenset([MODEL, *(f"roles.{role}.model" for role in _ROLES)])
PRICES: Final = "llm.prices"
NO_COMMANDS: Final = frozenset(
    [SIGNERS, *MODELS, MODEL_ADDRESS, PRICES, *MASKING, NO_QUESTION, TRACING]
    + [f"roles.{role}.how" for role in _ROLES]
)
"""Keys that are not commands: who is notified, what is masked in logs, and the like."""
_MAX_HISTORY: Final = 1000
_WAIT_SEC: Final = 10.0
_OTHERS_WRITE: Final = 0o022


class TrustState(StrEnum):
    NOTHING = "nothing"
    """The project has nothing that needs trust."""
    TRUSTED = "trusted"
    UNTRUSTED = "untrusted"
    CHANGED = "changed"
    """It changed since it was trusted."""


class PinnedPart(Document, frozen=True):
    """Something in the project that is run or relied on."""

    name: str
    """The key of the configuration, or the file."""
    lines: tuple[str, ...]
    sha256: str


class Pin(Document, frozen=True):
    path: str
    digest: str
    parts: tuple[PinnedPart, ...]
    at: str
    by: str
    channel: str
    """The terminal it was typed at."""


class TrustAct(StrEnum):
    TRUSTED = "trusted"
    REVOKED = "revoked"


class TrustRecord(Document, frozen=True):
    act: TrustAct
    path: str
    digest: str
    at: str
    by: str


class Pins(Versioned, frozen=True, kw_only=True):
    """trusted.json"""

    workspaces: Mapping[str, Pin] = {}
    """By the hash of the real path, like the folder of the ledger."""
    history: tuple[TrustRecord, ...] = ()


class TrustVerdict(NamedTuple):
    state: TrustState
    parts: tuple[PinnedPart, ...]
    digest: str
    """Of the current parts and of the workspace."""
    pin: Pin | None = None
    problem: InTheWay | None = None
    """Why the pins cannot be used."""

    @property
    def note(self) -> Text | None:
        if self.problem is None:
            return None
        return Text("{what} cannot be used, so nothing is trusted: {why}", **self.problem.details)

    @property
    def trusted(self) -> bool:
        return self.state is TrustState.TRUSTED

    def lines(self, name: str) -> tuple[str, ...]:
        return next((part.lines for part in self.parts if part.name == name), ())

    @property
    def changed(self) -> tuple[str, ...]:
        """The names of the parts that were added, removed or changed since they were pinned."""
        before = {part.name: part.sha256 for part in self.pin.parts} if self.pin else {}
        now = {part.name: part.sha256 for part in self.parts}
        return tuple(sorted(name for name in before.keys() | now if before.get(name) != now.get(name)))


def commands_part(name: str, commands: tuple[str, ...]) -> PinnedPart:
    return PinnedPart(name, commands, codec.digest(codec.canonical(commands)))


class Trust:
    """What is pinned for one workspace."""

    def __init__(self, workspace: Path, environment: Mapping[str, str]) -> None:
        self._root = workspace.resolve()
        self._name = state_name(self._root)
        self._path = os.fsencode(self._root).decode("utf-8", "backslashreplace")
        self.file = trust_file(environment)

    def state(self, parts: tuple[PinnedPart, ...]) -> TrustVerdict:
        digest = self._digest(parts)
        try:
            pin = self._find_pin(self._read())
        except InTheWay as error:
            state = TrustState.UNTRUSTED if parts else TrustState.NOTHING
            return TrustVerdict(state, parts, digest, problem=error)
        if not parts:
            state = TrustState.NOTHING
        elif pin is None:
            state = TrustState.UNTRUSTED
        else:
            state = TrustState.TRUSTED if pin.digest == digest else TrustState.CHANGED
        return TrustVerdict(state, parts, digest, pin)

    def pin(self, parts: tuple[PinnedPart, ...], *, at: str, by: str, channel: str) -> Pin:
        made = Pin(self._path, self._digest(parts), parts, at, by, channel)
        self._write(made, TrustRecord(TrustAct.TRUSTED, self._path, made.digest, at, by))
        return made

    def revoke(self, *, at: str, by: str) -> Pin | None:
        """Returns the previous pin; None if there was none."""
        pin = self._find_pin(self._read())
        if pin is not None:
            self._write(None, TrustRecord(TrustAct.REVOKED, self._path, pin.digest, at, by))
        return pin

    def _digest(self, parts: tuple[PinnedPart, ...]) -> str:
        bound = {"workspace": self._path, "parts": [[part.name, part.sha256] for part in parts]}
        return codec.digest(codec.canonical(bound))

    def _find_pin(self, pins: Pins) -> Pin | None:
        pin = pins.workspaces.get(self._name)
        return pin if pin is not None and pin.path == self._path else None

    def _place(self) -> Path:
        if self.file is None:
            raise InTheWay(what="trusted.json", why=Text("there is no home folder to keep it in"))
        # A link is the user's own business, as for the configuration beside it.
        real = Path(os.path.realpath(self.file))
        if real.is_relative_to(self._root):
            # The file could come with the project, which would then trust itself.
            raise InTheWay(what=str(self.file), why=Text("it lies inside the workspace"))
        return real

    def _read(self) -> Pins:
        place, fs = self._place(), OsFileSystem()
        try:
            with open_for_block(fs, fs.open_root(place.parent)) as folder:
                entry = fs.entry(folder, place.name)
                if entry is not None and entry.size > codec.MAX_DOCUMENT_BYTES:
                    raise InTheWay(what=str(self.file), why=Text("it is too large"))
                data, entry = fs.read(folder, place.name)
        except FileNotFoundError:
            return Pins()
        except OSError as error:
            raise InTheWay(what=str(self.file), why=error.strerror or str(error)) from None
        if entry.owner != os.geteuid() or entry.mode & _OTHERS_WRITE:
            raise InTheWay(what=str(self.file), why=Text("another user could have written it"))
        try:
            return codec.decode_foreign(data, Pins, place.name)
        except RingiError as error:
            raise InTheWay(what=str(self.file), why=_why(error)) from None

    def _write(self, pin: Pin | None, record: TrustRecord) -> None:
        place = self._place()
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            # Read under the lock: no pin of another workspace may get lost, and no revoked one return.
            with FileLock(place.with_suffix(".lock"), _WAIT_SEC)("trust"):
                before = self._read()
                kept = {name: one for name, one in before.workspaces.items() if name != self._name}
                after = Pins(
                    workspaces=kept if pin is None else {**kept, self._name: pin},
                    history=(*before.history, record)[-_MAX_HISTORY:],
                )
                replace_file(place, codec.pretty(after))
        except OSError as error:
            raise StorageFailed(what=str(self.file), why=error.strerror or str(error)) from None


def _why(error: RingiError) -> object:
    """The reason alone, or the whole message."""
    return error.details.get("why") or Text(error.message, **error.details)
