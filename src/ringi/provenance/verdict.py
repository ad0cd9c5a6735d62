"""What `ringi verify RANGE` answers: whose approval covers each file that differs, and how well."""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.statement import ApprovedPlan
from ringi.kernel.document import Document, Versioned
from ringi.kernel.text import Text
from ringi.ledger.subject import StepOf


class Level(StrEnum):
    """How well a change is proven, the strongest first. A chain is as strong as its weakest link."""

    SIGNED = "signed"
    """By a listed key: an approval, or a person's own commit that no agent had a part in."""
    CONFIRMED = "confirmed"
    """Through a standing approval, which is signed (its use is not), or in a review that a forge confirms."""
    UNASSISTED = "unassisted"
    """In a commit that no agent had a part in, as far as its message says."""
    TYPED = "typed"
    """A note says that a person typed yes: nothing proves it in a clone."""
    NONE = "none"


class Mode(StrEnum):
    """What must be covered, from the loosest to the strictest."""

    REPORT = "report"
    """Nothing; what is not even typed is told first."""
    AGENTS = "agents"
    """What agents had a part in."""
    STRICT = "strict"
    """Everything, by a signature over these very bytes or over a diff that gives them."""


_STRENGTH: Final = {level: place for place, level in enumerate(Level)}
_ENOUGH: Final = {Mode.REPORT: Level.TYPED, Mode.AGENTS: Level.UNASSISTED, Mode.STRICT: Level.SIGNED}


def at_least(level: Level, other: Level) -> bool:
    return _STRENGTH[level] <= _STRENGTH[other]


def weakest(levels: Iterable[Level]) -> Level:
    """`SIGNED` of none: nothing weakens it."""
    return max(levels, key=_STRENGTH.__getitem__, default=Level.SIGNED)


def suffices(level: Level, mode: Mode) -> bool:
    return at_least(level, _ENOUGH[mode])


class Evidence(Document, frozen=True, kw_only=True, omit_defaults=True):
    """One link of a chain: an approval, or a commit."""

    level: Level
    by: str
    """The name that the key is listed under; if nothing is signed, the name that is claimed."""
    at: str
    key: str = ""
    """The fingerprint of the key that signed."""
    act: str = ""
    """approve or undo; empty for a commit."""
    note: str = ""
    plan: ApprovedPlan | UnsetType = UNSET
    step: StepOf | UnsetType = UNSET
    grant: str = ""
    """The standing approval that it was given through."""
    review: str = ""
    """Where on a forge it was given."""
    commit: str = ""
    replayed: bool = False
    """Its diff, applied to other bytes than those that were approved, gives exactly these."""


class ProofProblem(NamedTuple):
    """What keeps approvals from counting at all."""

    what: Text
    commands: tuple[str, ...]
    """What to run about it."""


class Side(Document, frozen=True):
    mode: str
    blob: str


class FileVerdict(Document, frozen=True, kw_only=True):
    path: str
    before: Side | None
    after: Side | None
    level: Level
    covered: bool
    """Whether the level suffices in the mode that was asked for."""
    chain: tuple[Evidence, ...]
    """From before to after."""
    why: tuple[str, ...]
    """What speaks against it, if it is not covered."""


class LineVerdict(Versioned, frozen=True, kw_only=True, omit_defaults=True):
    """What `ringi why FILE:LINE` answers."""

    path: str
    line: int
    text: str
    commit: str = ""
    """The commit that wrote it; empty if none has it yet."""
    title: str = ""
    """The first line of the commit's message."""
    approval: Evidence | UnsetType = UNSET
    """The approval that brought the line; or the commit itself, if only that speaks for it."""
    request: str = ""
    """What was asked for, as far as this ledger knows."""
    step: str = ""
    """The title of the step."""
    decisions: tuple[str, ...] = ()
    """What the person decided in the planning session."""


class RangeVerdict(Versioned, frozen=True, kw_only=True):
    subject: str
    """What was named: range, commit or run; branch for a push."""
    name: str
    base: str
    """The commit that it is compared with; empty for nothing at all."""
    head: str
    mode: Mode
    covered: bool
    cut_off: bool
    """The clone is shallow: nothing counts, because which repository it is of cannot be known."""
    notes: int
    """How many approvals of these files are in the notes."""
    unread: int
    """How many notes could not be read."""
    files: tuple[FileVerdict, ...]
    """Those that are not covered first."""
    problems: tuple[str, ...]
    """What keeps approvals from counting at all, such as a shallow clone."""
    forge: str | UnsetType = UNSET
    """The project that was asked about reviews, if one was."""

    @property
    def uncovered(self) -> tuple[FileVerdict, ...]:
        return tuple(file for file in self.files if not file.covered)
