"""One action of a plan: what it does to which file, as proposed and as checked."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Final

from msgspec import UNSET, UnsetType

from ringi.kernel.document import Document
from ringi.policy.risk_level import Risk, RiskReason
from ringi.policy.spec_kind import CHANGING, ONLY_READING, SpecKind
from ringi.tree.file_state import FileState, Touched


class Encoding(StrEnum):
    UTF8 = "utf-8"
    BASE64 = "base64"


class ActionSpec(Document, frozen=True, omit_defaults=True):
    kind: SpecKind
    path: str = ""
    content: str | None = None
    description: str = ""
    optional: bool = False
    encoding: Encoding = Encoding.UTF8
    mode: str | None = None
    """Permission bits in octal, such as "0755". None keeps the file's own, or the default for a new one."""
    group: str | None = None
    target: str | None = None
    argv: tuple[str, ...] = ()
    timeout_sec: int | None = None
    tool: str | None = None
    arguments: Mapping[str, Any] | None = None
    tool_digest: str | None = None  # of the tool as it was proposed: another one is not called


class Preflight(Document, frozen=True):
    exists: bool
    overwrite: bool
    diff_summary: str


class ActionSpecExt(Document, frozen=True):
    id: str
    base: ActionSpec
    risk: Risk
    validated: bool
    preflight: Preflight
    notes: str = ""
    risk_reasons: tuple[RiskReason, ...] = ()
    before: FileState | None = None
    """The file as the proposer saw it; the plan is stale if it differs now."""
    after: FileState | None = None
    also: tuple[Touched, ...] | UnsetType = UNSET
    """Other files: the old path of a rename, the source of a copy."""
    since: str | UnsetType = UNSET
    """Hash of the file that the proposer saw, if it was merged with a later one; empty if there was none."""

    @property
    def touched(self) -> tuple[Touched, ...]:
        if self.base.kind not in CHANGING:
            return ()
        return (Touched(self.base.path, self.before, self.after), *(self.also or ()))

    @property
    def changed_paths(self) -> tuple[str, ...]:
        """Paths that change; always includes the spec's own path."""
        own = self.base.path
        return tuple(file.path for file in self.touched if file.path == own or file.before != file.after)

    @property
    def old_path(self) -> str | None:
        """The path of a renamed file before."""
        if self.base.kind is SpecKind.MOVE:
            return self.base.path
        gone = [file for file in self.also or () if file.after is None]
        return gone[0].path if gone else None

    @property
    def only_mode(self) -> bool:
        """Whether only the permissions change."""
        before, after = self.before, self.after
        return bool(before and after and before.sha256 == after.sha256 and before.mode != after.mode)


class SpecSelection(Document, frozen=True):
    all: bool
    ids: tuple[str, ...] = ()


ALL_SPECS: Final = SpecSelection(all=True)


class CheckFailure(StrEnum):
    """What happens to a plan whose checks fail after it was carried out."""

    KEEP = "keep"
    UNDO = "undo"


class PlannedChecks(Document, frozen=True):
    """Part of what is approved."""

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    on_failure: CheckFailure = CheckFailure.UNDO
    tests: tuple[str, ...] | UnsetType = UNSET  # of a step: they pass on its very bytes, or none is written


def select_specs(specs: tuple[ActionSpecExt, ...], selection: SpecSelection) -> tuple[ActionSpecExt, ...]:
    if selection.all:
        return specs
    wanted = set(selection.ids)
    return tuple(spec for spec in specs if spec.id in wanted)


def only_reads(specs: Sequence[ActionSpecExt]) -> bool:  # nothing in it needs an approval
    return bool(specs) and all(spec.base.kind in ONLY_READING for spec in specs)
