"""What is known about the project at one moment (CP-10): the facts that change plans are based on."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from ringi.kernel.document import WORDS, CamelDocument, Document
from ringi.kernel.text import Text
from ringi.tree.file_state import StateFile

Line = Annotated[int, msgspec.Meta(ge=1)]
"""Counted from 1, as columns are."""


_MOST_NAMED: Final = 20


class Severity(StrEnum):
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Diagnostic(CamelDocument, frozen=True, omit_defaults=True):
    """What a tool or an editor says about a place in a file."""

    file: str
    message: str
    line: Line | None = None
    column: Line | None = None
    severity: Severity = Severity.WARNING
    code: str = ""
    source: str = ""
    """The tool that says so."""
    end_line: Line | None = None
    end_column: Line | None = None
    """The first column after it, as editors count a range."""


class Unanalysed(CamelDocument, frozen=True):
    """A source file whose dependencies are unknown."""

    file: str
    why: str


class Dependencies(CamelDocument, frozen=True):
    """Which file uses which. Both sides are files of the snapshot."""

    uses: dict[str, tuple[str, ...]]
    unanalysed: tuple[Unanalysed, ...] = ()


class GapCode(StrEnum):
    UNREADABLE = "unreadable"
    NOT_CHECKED_OUT = "not_checked_out"
    """A tracked file that a sparse checkout leaves out."""
    UNTRUSTED = "untrusted"
    """A command of the project that no person has trusted."""
    TOOL_FAILED = "tool_failed"
    """A trusted command whose output could not be read."""
    UNSAVED = "unsaved"
    """An editor has unsaved changes."""
    EDITOR = "editor"
    """The editor itself says that its information is incomplete."""


class Gap(CamelDocument, frozen=True):
    """Why a project state is not complete."""

    code: GapCode
    subject: str
    detail: str = ""


def why(gap: Gap) -> Text:
    if gap.code is GapCode.UNREADABLE:
        return Text("{path} cannot be read", path=gap.subject)
    if gap.code is GapCode.NOT_CHECKED_OUT:
        return Text(
            "{path} is tracked and not checked out ({count} in all)", path=gap.subject, count=gap.detail
        )
    if gap.code is GapCode.UNTRUSTED:
        return Text("nobody has trusted the project's command {command} (ringi trust)", command=gap.subject)
    if gap.code is GapCode.TOOL_FAILED:
        return Text("{command} did not say what it found: {why}", command=gap.subject, why=gap.detail)
    if gap.code is GapCode.UNSAVED:
        return Text("{path} has changes in an editor that are not saved", path=gap.subject)
    return Text("the editor {editor} does not know everything yet", editor=gap.subject)


def why_incomplete(gaps: Sequence[Gap]) -> Text:
    """Names every unsaved file, because saving them all may be all that is to be done."""
    unsaved = [gap.subject for gap in gaps if gap.code is GapCode.UNSAVED]
    if len(unsaved) > 1:
        paths = ", ".join(unsaved[:_MOST_NAMED]) + (", …" if len(unsaved) > _MOST_NAMED else "")
        return Text("files with changes in an editor that are not saved: {paths}", paths=paths)
    return why(gaps[0]) if gaps else Text("nothing says why")


class StateSource(StrEnum):
    WORKSPACE = "workspace"
    EDITOR = "editor"


class ProjectState(CamelDocument, frozen=True, kw_only=True):
    version: Literal["1.0"] = "1.0"
    snapshot_id: str
    captured_at: int
    """Milliseconds since 1970."""
    source: StateSource
    files: tuple[StateFile, ...]
    diagnostics: tuple[Diagnostic, ...]
    dependencies: Dependencies
    critical_files: tuple[str, ...]
    mutable_state_files: tuple[str, ...]
    complete: bool
    gaps: tuple[Gap, ...]
    """Empty if it is complete."""
    settings: str = ""
    """SHA-256 of the commands and globs it was captured with; others would give another state."""


_SHA256: Final = msgspec.Meta(
    pattern=r"^[0-9a-fA-F]{64}$(?!\n)", extra={WORDS: Text("a SHA-256 of 64 hexadecimal digits")}
)


class Unsaved(CamelDocument, frozen=True):
    """A file in an editor that was changed and not saved. With its text or its hash, it counts as saved if
    that is what the file holds.
    """

    path: str
    sha256: Annotated[str, _SHA256] | UnsetType = UNSET
    """Of its text as the editor would save it."""
    text: str | UnsetType = UNSET


class EditorState(CamelDocument, frozen=True, kw_only=True):
    """What an editor pushes: only what it alone knows. Everything else is captured from the files."""

    version: Literal["1.0"] = "1.0"
    editor: str
    snapshot_id: str | None = None
    """The snapshot its diagnostics are about; the push is refused if the files have changed since."""
    diagnostics: tuple[Diagnostic, ...] = ()
    unsaved: tuple[str | Unsaved, ...] = ()
    """Files alone, or with what the editor has of them."""
    complete: bool = True


class UnknownUsers(Document, frozen=True):
    """Files whose own dependencies are not known: they may depend on the change."""

    count: int
    first: str
    why: str
    """Why the first could not be analysed."""
