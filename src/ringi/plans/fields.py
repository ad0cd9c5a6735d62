"""Which fields a spec of each kind has, and what they may say."""

from typing import Final

import msgspec

from ringi.domain.plan import ActionSpec, SpecKind
from ringi.plans.effects import Invalid
from ringi.plans.parts import Rules
from ringi.text import Text
from ringi.workspace.paths import normalise

_FREE: Final = frozenset(["kind", "description", "optional", "group", "path"])
_FIELDS: Final = {
    SpecKind.CREATE: frozenset(["content", "encoding", "mode"]),
    SpecKind.WRITE: frozenset(["content", "encoding", "mode"]),
    SpecKind.PATCH: frozenset(["content", "encoding", "mode"]),
    SpecKind.DELETE: frozenset[str](),
    SpecKind.MOVE: frozenset(["target", "mode"]),
    SpecKind.MKDIR: frozenset(["mode"]),
    SpecKind.READ: frozenset[str](),
    SpecKind.ANALYZE: frozenset[str](),
    SpecKind.RUN: frozenset(["argv", "timeout_sec"]),
    SpecKind.CALL: frozenset(["tool", "arguments"]),
}
_FOREIGN: Final = {
    kind: tuple(
        (field.name, field.default)
        for field in msgspec.structs.fields(ActionSpec)
        if field.name not in _FREE | fields
    )
    for kind, fields in _FIELDS.items()
}
"""Fields of the other kinds, with what they hold where nobody set them."""
_WHOLE_WORKSPACE: Final = frozenset([SpecKind.RUN, SpecKind.CALL, SpecKind.ANALYZE])
"""Kinds that can do without a path."""
_NOT_IN_GROUPS: Final = frozenset([SpecKind.RUN, SpecKind.CALL])
_FOLDERS: Final = frozenset([SpecKind.MKDIR, SpecKind.RUN, SpecKind.ANALYZE])
_LONGEST_RUN: Final = 86_400
_MOST_WORDS: Final = 10_000


def normalised(spec: ActionSpec, rules: Rules) -> ActionSpec:
    """The spec as it is kept: paths in their one spelling, nothing left to a default that could change."""
    for name, default in _FOREIGN[spec.kind]:
        if getattr(spec, name) != default:
            raise Invalid(Text("{kind} specs have no {field}", kind=str(spec.kind), field=name))
    if spec.kind in _NOT_IN_GROUPS and spec.group is not None:
        raise Invalid(Text("a command cannot be part of a group: it could not be taken back with it"))
    path = "/".join(_path(spec)) if spec.path or spec.kind not in _WHOLE_WORKSPACE else ""
    spec = msgspec.structs.replace(spec, path=path)
    if spec.kind is SpecKind.MOVE:
        return msgspec.structs.replace(spec, target="/".join(normalise(spec.target or "")))
    if spec.kind is SpecKind.RUN:
        return _command(spec, rules)
    if spec.kind is SpecKind.CALL and not (spec.tool or "").strip():
        raise Invalid(Text("it names no tool"))
    return spec


def _path(spec: ActionSpec) -> tuple[str, ...]:
    return normalise(spec.path.rstrip("/") if spec.kind in _FOLDERS else spec.path)


def _command(spec: ActionSpec, rules: Rules) -> ActionSpec:
    if not spec.argv or not spec.argv[0].strip():
        raise Invalid(Text("it has no command"))
    if len(spec.argv) > _MOST_WORDS or any("\0" in word for word in spec.argv):
        raise Invalid(Text("its command cannot be run by any system"))
    timeout = rules.command_timeout_sec if spec.timeout_sec is None else spec.timeout_sec
    if not 1 <= timeout <= _LONGEST_RUN:
        raise Invalid(Text("its timeout must be from 1 to {most} seconds", most=_LONGEST_RUN))
    return msgspec.structs.replace(spec, timeout_sec=timeout)
