"""A title for a plan without one: one sentence about what it changes."""

import posixpath
from collections.abc import Mapping, Sequence
from typing import Final

from ringi.errors import Refused
from ringi.patch.parse import parse_patch
from ringi.patch.patch import PatchKind
from ringi.plans.effects import Invalid, content_of
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec

_CHANGE: Final = "Change"
_RENAME: Final = "Rename"
_VERBS: Final[Mapping[SpecKind, str]] = {
    SpecKind.CREATE: "Add",
    SpecKind.MKDIR: "Add",
    SpecKind.DELETE: "Delete",
    SpecKind.MOVE: "Move",
    SpecKind.READ: "Read",
    SpecKind.ANALYZE: "Analyse",
}


_LATER: Final = ("fixup!", "squash!", "amend!", "wip")
"""How subjects begin that say nothing about the whole."""


def title_of_commits(subjects: Sequence[str]) -> str:
    """Newest first. The oldest says what it is about, those after it usually what was wrong with it."""
    telling = [subject for subject in subjects if not subject.lower().startswith(_LATER)]
    return next(iter((telling or list(subjects))[::-1]), "")


def title_of_specs(specs: Sequence[ActionSpec]) -> str:
    """Empty if they name no file."""
    named = [spec for spec in specs if spec.path]
    if len(named) == 1 and (old := _old_path(named[0])):
        return f"{_RENAME} {old} to {named[0].path}"
    verbs = {_RENAME if _old_path(spec) else _VERBS.get(spec.kind, _CHANGE) for spec in named}
    return title_of_paths([spec.path for spec in named], verbs.pop() if len(verbs) == 1 else _CHANGE)


def _old_path(spec: ActionSpec) -> str | None:
    """The path that a patch renames its file from."""
    if spec.kind is not SpecKind.PATCH:
        return None
    try:
        file, *_ = parse_patch(content_of(spec) or b"").files
    except (Invalid, Refused):
        return None
    return file.old_path if file.kind is PatchKind.RENAMED else None


def title_of_paths(paths: Sequence[str], verb: str = _CHANGE) -> str:
    if len(paths) <= 1:
        return f"{verb} {paths[0]}" if paths else ""
    folder = posixpath.commonpath([posixpath.dirname(path) for path in paths])
    where = f" in {folder}" if folder else ""
    return f"{verb} {len(paths)} files{where}"
