"""What a plan would do to the current files, or did when it was carried out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import UNSET

from ringi.errors import InvalidSpecs, NotFound, Refused, StorageFailed
from ringi.kernel.text import Text
from ringi.patch.conflict import Conflict
from ringi.patch.render import Rendered
from ringi.plans.document import DiffSummary, PlanDocument, PlanPreview, PlanStatus, StoredPlan
from ringi.plans.effects import (
    MERGEABLE,
    NOTHING,
    Effect,
    Invalid,
    Known,
    Look,
    content_of,
    difference,
    effects_of,
    looking,
    rendering,
    rules_of,
    your_lines,
)
from ringi.plans.merge import file_merge, find_changed_files, find_seen_before, is_changed
from ringi.plans.overlaps import overlaps
from ringi.plans.place import to_show
from ringi.policy.risk import score
from ringi.policy.risk import your_lines as your_lines_reason
from ringi.policy.risk_level import Risk, RiskCode, RiskReason, highest
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpecExt

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


class ShownSpec(NamedTuple):
    """What a spec does to the files as they are now, or did."""

    rendered: Rendered
    lost: tuple[int, ...] = ()
    conflicts: tuple[Conflict, ...] = ()


def preview(workspace: Workspace, document: PlanDocument) -> PlanPreview:
    """The plan against the current workspace; if it was carried out, against the workspace as it was then."""
    workspace = to_show(workspace, document)
    specs = document.state.action_specs
    done = document.state.status is PlanStatus.COMPLETED
    stale = () if done else find_changed_files(workspace, document)
    pairs = [
        (spec, ShownSpec(_render_done(workspace, spec)))
        if done
        else (spec, show_spec(workspace, spec, changed=is_changed(spec, stale)))
        for spec in specs
    ]
    return PlanPreview(
        files=paths_of(specs),
        diffs=tuple(_summary(spec, shown) for spec, shown in pairs),
        risk_score=score(specs),
        stale=stale,
        overlaps=() if done else overlaps(workspace, document),
        conflicts=tuple(conflict for _, shown in pairs for conflict in shown.conflicts),
    )


def _summary(spec: ActionSpecExt, shown: ShownSpec) -> DiffSummary:
    rendered = shown.rendered
    return diff_summary(
        spec,
        rendered.added,
        rendered.removed,
        binary=rendered.binary,
        diff=rendered.diff.decode("utf-8", "backslashreplace"),
        lost=shown.lost,
    )


def diff_summary(
    spec: ActionSpecExt,
    added: int,
    removed: int,
    *,
    binary: bool,
    diff: str = "",
    lost: tuple[int, ...] = (),
) -> DiffSummary:
    risk, reasons = risk_now(spec, lost)
    return DiffSummary(
        spec_id=spec.id,
        path=spec.base.path,
        kind=spec.base.kind,
        added=added,
        removed=removed,
        binary=binary,
        risk=risk,
        reasons=reasons,
        diff=diff,
        renamed_from=spec.old_path or UNSET,
        mode=spec.after.mode if spec.after and spec.only_mode else UNSET,
        your_lines=lost,
    )


def risk_now(spec: ActionSpecExt, lost: Sequence[int]) -> tuple[Risk, tuple[RiskReason, ...]]:
    """With the lines that the person wrote after the spec was set."""
    if not lost or any(given.code is RiskCode.YOUR_LINES for given in spec.risk_reasons):
        return spec.risk, spec.risk_reasons
    return highest((spec.risk, Risk.MEDIUM)), (*spec.risk_reasons, your_lines_reason(lost))


def show_spec(workspace: Workspace, spec: ActionSpecExt, *, changed: bool) -> ShownSpec:
    """If its file changed meanwhile, what is left of it after a merge."""
    merge = file_merge(workspace, spec) if changed else None
    if merge is not None:
        return ShownSpec(merge.render(), conflicts=tuple(one.about for one in merge.conflicts))
    rendered = render_now(workspace, spec)
    if spec.base.kind not in MERGEABLE or not (changed or spec.since is not UNSET):
        return ShownSpec(rendered)
    return ShownSpec(rendered, find_lost_lines(workspace, spec, rendered))


def find_lost_lines(workspace: Workspace, spec: ActionSpecExt, rendered: Rendered) -> tuple[int, ...]:
    """Lines that the person wrote since its proposer saw the file and that it deletes."""
    try:
        found = workspace.tree.look(spec.old_path or spec.base.path)
    except (Refused, StorageFailed, OSError):
        return ()
    return your_lines(found.data if found else None, rendered, find_seen_before(workspace, spec).data)


def render_now(workspace: Workspace, spec: ActionSpecExt) -> Rendered:
    if not spec.validated:
        return NOTHING
    try:
        return rendering(effects_now(workspace, spec))
    except (Invalid, Refused, StorageFailed, OSError):
        # Stale: shows the proposer's content without the current file.
        if spec.base.kind is SpecKind.PATCH:
            return NOTHING._replace(diff=content_of(spec.base) or b"")
        return difference(spec.base.path, None, None, content_of(spec.base), spec.after)


def _render_done(workspace: Workspace, spec: ActionSpecExt) -> Rendered:
    effects = effects_done(workspace, spec)
    return rendering(effects) if effects else NOTHING


def effects_now(workspace: Workspace, spec: ActionSpecExt) -> tuple[Effect, ...]:
    look = _look_at_seen(workspace, spec) if workspace.run_id else looking(workspace.tree, spec.base.kind)
    return effects_of(spec.base, look, rules_of(workspace), based=True)


def _look_at_seen(workspace: Workspace, spec: ActionSpecExt) -> Look:
    """The files as the step of a run found them: the steps before it may not be on the branch yet."""
    known = {}
    for file in spec.touched:
        data = workspace.store.get_bytes(file.before.sha256) if file.before else None
        if file.before and data is not None:
            known[file.path] = Known(file.before, data)
    return known.get


def effects(workspace: Workspace, stored: StoredPlan) -> list[tuple[Effect, ...]]:
    document, name = stored.document, f"p{stored.number}"
    found = []
    for spec in document.state.action_specs:
        if document.state.status is PlanStatus.COMPLETED:
            done = effects_done(workspace, spec)
            if done is None:
                raise NotFound(what=Text("copy of the bytes before"), name=spec.base.path, see="ringi show")
            found.append(done)
            continue
        try:
            found.append(effects_now(workspace, spec))
        except Invalid as error:
            raise InvalidSpecs(plan=name, issues=error.why) from None
    return found


def effects_proposed(workspace: Workspace, document: PlanDocument) -> list[tuple[Effect, ...]]:
    """From the files as the proposer saw them, whatever they are now, as far as they are kept."""
    try:
        return [
            effects_of(spec.base, _look_at_proposed(workspace, spec), rules_of(workspace), based=True)
            for spec in document.state.action_specs
        ]
    except Invalid as error:
        raise InvalidSpecs(plan=document.plan.title, issues=error.why) from None


def _look_at_proposed(workspace: Workspace, spec: ActionSpecExt) -> Look:
    known, now = _look_at_seen(workspace, spec), looking(workspace.tree, spec.base.kind)
    absent = {file.path for file in spec.touched if file.before is None}
    return lambda path: None if path in absent else known(path) or now(path)


def effects_done(workspace: Workspace, spec: ActionSpecExt) -> tuple[Effect, ...] | None:
    """From the bytes in the ledger; None if they are gone."""
    effects = []
    for file in spec.touched:
        before = workspace.store.get_bytes(file.before.sha256) if file.before else None
        after = workspace.store.get_bytes(file.after.sha256) if file.after else None
        if (file.before and before is None) or (file.after and after is None):
            return None
        effects.append(Effect(file.path, file.before, before, file.after, after))
    return tuple(effects)


def after_bytes(workspace: Workspace, spec: ActionSpecExt, before: Mapping[str, bytes]) -> dict[str, bytes]:
    """The bytes of the spec's files after it, by hash, made from the bytes before, by hash."""
    known = {
        file.path: Known(file.before, before[file.before.sha256]) for file in spec.touched if file.before
    }
    effects = effects_of(spec.base, known.get, rules_of(workspace), based=True)
    return {
        effect.after.sha256: effect.new
        for effect in effects
        if effect.after is not None and effect.new is not None
    }


def paths_of(specs: Sequence[ActionSpecExt]) -> tuple[str, ...]:
    return tuple(sorted({path for spec in specs for path in spec.changed_paths}))
