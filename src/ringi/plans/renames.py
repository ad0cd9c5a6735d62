"""A file that is deleted and made again elsewhere becomes one spec: a patch that renames it."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

import msgspec

from ringi.errors import Refused, StorageFailed
from ringi.patch.renames import renames
from ringi.patch.render import FileSide, is_binary, render_move
from ringi.plans.effects import Effect, Invalid, Known, Rules, SeenFile, effects_of, git_mode, pack
from ringi.plans.validate import Basis
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ActionSpec, Encoding
from ringi.tree.tree import Tree

_SAID_BY_GIT: Final = frozenset([None, "0755"])
"""Permissions that say no more than git does: then the file keeps its other bits."""
_PLAIN: Final = "100644"
_WHOLE_FILES: Final = ("\nnew file mode ", "\ndeleted file mode ", "/dev/null")
_HEADER: Final = 10_000
"""Characters of a patch that its first file's names can take."""


def with_renames(specs: Sequence[ActionSpec], tree: Tree, rules: Rules, basis: Basis) -> list[ActionSpec]:
    """The same result, byte for byte; a file that changed since its proposer saw it is not renamed."""
    found: list[ActionSpec] = []
    for (changing, *_), part in groupby(specs, key=_stretch):
        together = list(part)
        found += _join_renames(together, tree, rules, basis) if changing else together
    return found


def _stretch(spec: ActionSpec) -> tuple[bool, str | None, bool]:
    """Equal for neighbours that may become one: a command between them would see half of it."""
    return spec.kind in CHANGING, spec.group, spec.optional


def _join_renames(specs: list[ActionSpec], tree: Tree, rules: Rules, basis: Basis) -> Iterator[ActionSpec]:
    whole = {spec.path: effect for spec in specs if (effect := _whole(spec, tree, rules))}
    gone = {
        path: Known(one.before, one.old)
        for path, one in whole.items()
        if one.before and one.old is not None and basis.get(path, one.before) == one.before
    }
    made = {path: one.new for path, one in whole.items() if one.new is not None}
    pairs = renames({path: old.data for path, old in gone.items()}, made) if gone and made else {}
    instead, left_out = {}, set()
    for spec in specs:
        old = pairs.get(spec.path)
        if old and (patch := _patch(spec, old, gone[old], whole[spec.path], rules)):
            instead[spec.path] = patch
            left_out.add(old)
    for spec in specs:
        if spec.path not in left_out:
            yield instead.get(spec.path, spec)


def _whole(spec: ActionSpec, tree: Tree, rules: Rules) -> Effect | None:
    """What a spec does that makes or deletes a file; None for others, and for those that do not fit."""
    if spec.kind is SpecKind.PATCH:
        start = (spec.content or "")[:_HEADER]
        if spec.encoding is Encoding.UTF8 and not any(mark in start for mark in _WHOLE_FILES):
            return None
    elif spec.kind not in {SpecKind.CREATE, SpecKind.DELETE}:
        return None
    try:
        effect, *others = effects_of(spec, tree.look, rules)
    except (Invalid, Refused, StorageFailed):
        return None
    return None if others or (effect.before is None) is (effect.after is None) else effect


def _patch(spec: ActionSpec, old_path: str, old: SeenFile, made: Effect, rules: Rules) -> ActionSpec | None:
    """None if no patch can say it: files that are not text, and differ."""
    new = made.new or b""
    if old.data != new and (is_binary(old.data) or is_binary(new)):
        return None
    mode = git_mode(made.after.mode) if made.after else _PLAIN
    rendered = render_move(
        old_path, spec.path, FileSide(old.data, git_mode(old.state.mode)), FileSide(new, mode)
    )
    content, encoding = pack(rendered.diff)
    own_mode = None if spec.mode in _SAID_BY_GIT else spec.mode
    patch = msgspec.structs.replace(
        spec, kind=SpecKind.PATCH, content=content, encoding=encoding, mode=own_mode
    )
    try:
        effects = effects_of(patch, {old_path: old}.get, rules)
    except (Invalid, Refused):
        return None
    return patch if effects[0].new == new else None
