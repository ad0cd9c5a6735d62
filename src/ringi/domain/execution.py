"""What is about to be written, and what became of it (PT-5, PT-12)."""

from enum import StrEnum

from ringi.domain.approval import FileChange, SubjectKind
from ringi.domain.base import Document, Versioned


class OpStatus(StrEnum):
    DONE = "done"
    UNDONE = "undone"
    """Ours was taken back because another file of the group could not be written."""
    CONFLICT = "conflict"
    """Somebody else wrote here; theirs was left alone."""
    FAILED = "failed"
    UNTOUCHED = "untouched"


class FileOpOutcome(Document, frozen=True):
    spec_id: str
    path: str
    status: OpStatus
    detail: str = ""


class ExecutionIntent(Versioned, frozen=True, kw_only=True):
    """Committed before the first file changes: all that recovery needs, besides the bytes it names."""

    id: str
    kind: SubjectKind
    plan_id: str
    plan_version: int
    approval_id: str
    changes: tuple[FileChange, ...]
    new_folders: tuple[str, ...]
    """Folders that were not there and are made, outermost first."""
    started_at: str


class ExecutionResult(Versioned, frozen=True, kw_only=True):
    """result.json, and what execute answers."""

    execution_id: str
    plan_id: str
    kind: SubjectKind
    overall_success: bool
    results: tuple[FileOpOutcome, ...]
    started_at: str
    finished_at: str
    recovered: bool = False
    kept: tuple[str, ...] = ()
    """Files outside the workspace's own names that hold bytes somebody else wrote meanwhile."""
