"""What an execution will write, and what became of it (PT-5, PT-12)."""

from typing import Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.document import Act
from ringi.kernel import codec
from ringi.kernel.document import Document, Versioned
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.commit_order import CommitOutcome
from ringi.tree.file_state import FileChange, OpStatus

STARTED: Final = frozenset([SpecKind.RUN, SpecKind.CALL])
"""Kinds that are recorded before they start: what they do is not known in advance."""


class FileOpOutcome(Document, frozen=True):
    spec_id: str
    path: str
    status: OpStatus
    detail: str = ""
    exit_code: int | UnsetType = UNSET
    output: str | UnsetType = UNSET
    """What a command printed or a read found, up to the limit."""
    later_lines: int | UnsetType = UNSET
    """Set if an undo merged the file: how many lines written since stay."""


class Step(Document, frozen=True):
    """A step between the files: a command, a call or a read."""

    unit: int
    """Its place among the units of files."""
    spec_id: str
    kind: SpecKind
    path: str = ""
    argv: tuple[str, ...] = ()
    """Of a call its tool and its arguments as JSON."""
    timeout_sec: int = 0
    optional: bool = False
    sandboxed: bool | UnsetType = UNSET
    """As it was approved."""
    tool_digest: str | UnsetType = UNSET


def words_of(spec: ActionSpec) -> tuple[str, ...]:
    """What a command or a call starts."""
    if spec.kind is SpecKind.CALL:
        return spec.tool or "", codec.canonical(spec.arguments or {}).decode()
    return spec.argv


class CommandStart(Versioned, frozen=True, kw_only=True):
    """Recorded before a command or a call starts. Without a recorded end, nobody knows what it did."""

    execution_id: str
    plan_id: str
    spec_id: str
    argv: tuple[str, ...]
    sandboxed: bool
    snapshot_id: str
    """Snapshot of the workspace right before."""
    started_at: str
    done: tuple[int, ...] = ()
    """The units of files finished by then: the command may change them again."""


class CommandEnd(Versioned, frozen=True, kw_only=True):
    execution_id: str
    plan_id: str
    spec_id: str
    exit_code: int | None
    """None if a person said how it ended."""
    output: str
    cut: bool
    """It printed more than is kept."""
    timed_out: bool
    duration_sec: float
    ended_at: str
    effects: tuple[FileChange, ...] = ()
    """What changed in the tree while it ran, without ignored files."""
    beyond: tuple[str, ...] = ()
    """Links and other changes that an undo cannot restore."""
    settled_by: str = ""
    """The person who said how it ended."""

    @property
    def succeeded(self) -> bool:
        return self.exit_code == 0 or bool(self.settled_by)


class ExecutionIntent(Versioned, frozen=True, kw_only=True):
    """Recorded before the first file changes: all that recovery needs, besides the bytes it names."""

    id: str
    kind: Act
    plan_id: str
    plan_version: int
    approval_id: str
    changes: tuple[FileChange, ...]
    new_folders: tuple[str, ...]
    """Folders to be made, outermost first."""
    started_at: str
    emptied: tuple[str, ...] | UnsetType = UNSET
    """Folders to be removed if they become empty."""
    steps: tuple[Step, ...] | UnsetType = UNSET
    refused: tuple[str, ...] | UnsetType = UNSET
    """Files that an undo leaves as they are, because they were edited since."""
    unknown: tuple[str, ...] | UnsetType = UNSET
    """Commands whose effects are not recorded, so that an undo cannot be whole."""
    commits: bool | UnsetType = UNSET
    """Whether a commit follows an undo."""


class ExecutionResult(Versioned, frozen=True, kw_only=True):
    """result.json, and what execute answers."""

    execution_id: str
    plan_id: str
    kind: Act
    overall_success: bool
    results: tuple[FileOpOutcome, ...]
    started_at: str
    finished_at: str
    recovered: bool = False
    kept: tuple[str, ...] = ()
    """Files in the stage with bytes that others wrote meanwhile."""
    commit: CommitOutcome | UnsetType = UNSET


class StoredIntent(NamedTuple):
    intent: ExecutionIntent
    result: ExecutionResult | None


class StoredCommand(NamedTuple):
    start: CommandStart
    end: CommandEnd | None
