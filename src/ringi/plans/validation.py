"""Whether specs can be carried out, and what they would do (PT-7)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import UNSET

from ringi.domain.plan import (
    ActionSpec,
    ActionSpecExt,
    FileState,
    Preflight,
    SpecKind,
    Touched,
    ValidationReport,
)
from ringi.domain.risk import Risk, RiskCode, RiskReason
from ringi.errors import BadPatch, PatchMismatch, PathRefused, RingiError, StorageFailed
from ringi.patching.render import Rendered
from ringi.plans.effects import Effect, Invalid, effects_of
from ringi.plans.parts import Rules
from ringi.plans.rendering import NOTHING, added_lines, numbered, rendering
from ringi.policy.files import critical_category
from ringi.policy.risk import Facts, assess
from ringi.text import Text
from ringi.workspace.paths import normalise
from ringi.workspace.tree import Tree

Basis = Mapping[str, FileState | None]
"""Files as the proposer saw them, by path."""


class Validated(NamedTuple):
    report: ValidationReport
    problems: tuple[Text, ...]
    """The report's issues, before they became English."""
    diffs: tuple[Rendered, ...]
    """One for each normalised spec, in their order."""


def validate(specs: Sequence[ActionSpec], tree: Tree, rules: Rules, basis: Basis) -> Validated:
    checked = [_check_one(f"s{number}", spec, tree, rules, basis) for number, spec in enumerate(specs, 1)]
    problems = [problem for _, _, problem in checked if problem]
    problems += misfits([ext for ext, _, problem in checked if not problem], len(specs), rules)
    report = ValidationReport(
        ok=not problems,
        issues=tuple(str(problem) for problem in problems),
        normalized=tuple(ext for ext, _, _ in checked),
    )
    return Validated(report, tuple(problems), tuple(rendered for _, rendered, _ in checked))


def _check_one(
    spec_id: str, spec: ActionSpec, tree: Tree, rules: Rules, basis: Basis
) -> tuple[ActionSpecExt, Rendered, Text | None]:
    try:
        path = "/".join(normalise(spec.path))
        spec = msgspec.structs.replace(spec, path=path)
        effects = effects_of(spec, tree.look, rules, based=path in basis)
        _require_basis(spec, effects, basis)
    except (Invalid, PathRefused, BadPatch, PatchMismatch, StorageFailed, OSError) as error:
        why = why_of(error)
        problem = Text("{id} {path}: {why}", id=spec_id, path=spec.path, why=why)
        return _invalid(spec_id, spec, rules, str(why)), NOTHING, problem
    rendered = rendering(effects)
    risk, reasons = _risk(spec, effects, rendered, rules)
    touched = [
        Touched(effect.path, basis.get(effect.path, effect.before), effect.after) for effect in effects
    ]
    ext = ActionSpecExt(
        spec_id,
        spec,
        risk,
        validated=True,
        preflight=Preflight(
            exists=effects[0].before is not None,
            overwrite=effects[0].before is not None and effects[0].after is not None,
            diff_summary="binary" if rendered.binary else f"+{rendered.added} -{rendered.removed}",
        ),
        risk_reasons=reasons,
        before=touched[0].before,
        after=touched[0].after,
        also=tuple(touched[1:]) or UNSET,
    )
    return ext, rendered, None


def _require_basis(spec: ActionSpec, effects: Sequence[Effect], basis: Basis) -> None:
    """What a patch makes of a file as it was cannot be told from the file as it is."""
    if spec.kind is SpecKind.PATCH:
        for effect in effects:
            if basis.get(effect.path, effect.before) != effect.before:
                raise Invalid(Text("its file changed since the patch was made"))


def _risk(
    spec: ActionSpec, effects: Sequence[Effect], rendered: Rendered, rules: Rules
) -> tuple[Risk, tuple[RiskReason, ...]]:
    own, *others = effects
    facts = Facts(
        SpecKind.DELETE if own.after is None else spec.kind,
        own.path,
        exists=any(effect.before for effect in effects),
        changed_lines=rendered.added + rendered.removed,
        changed_bytes=_changed_bytes(rendered, own),
        # At its new place every line of a moved or copied file is new.
        added=tuple(numbered(own.new or b"") if others else added_lines(rendered.diff)),
    )
    risk, reasons = assess(facts, rules.thresholds)
    sources = [
        RiskReason(RiskCode.CRITICAL_SOURCE, other.path)
        for other in others
        if critical_category(other.path, rules.thresholds.critical)
    ]
    return (Risk.HIGH if sources else risk), (*reasons, *sources)


def why_of(error: Exception) -> object:
    if isinstance(error, RingiError):
        return error.details.get("why") or Text(error.message, **error.details)
    return error.why if isinstance(error, Invalid) else str(error)


def _changed_bytes(rendered: Rendered, effect: Effect) -> int:
    if rendered.binary:
        return max(len(effect.new or b""), len(effect.old or b""))
    return len(rendered.diff)


def _invalid(spec_id: str, spec: ActionSpec, rules: Rules, why: str) -> ActionSpecExt:
    facts = Facts(spec.kind, spec.path, exists=False, changed_lines=0, changed_bytes=0)
    risk, reasons = assess(facts, rules.thresholds)
    preflight = Preflight(exists=False, overwrite=False, diff_summary="")
    return ActionSpecExt(
        spec_id, spec, risk, validated=False, preflight=preflight, notes=why, risk_reasons=reasons
    )


def misfits(specs: Sequence[ActionSpecExt], count: int, rules: Rules) -> list[Text]:
    """What is wrong with the specs together, though each may be fine by itself."""
    problems = []
    if not count:
        problems.append(Text("there are no specs"))
    if count > rules.max_specs:
        problems.append(
            Text("there are {count} specs, {limit} are allowed", count=count, limit=rules.max_specs)
        )
    return problems + _clashes([path for spec in specs for path in spec.changed_paths])


def _clashes(paths: Sequence[str]) -> list[Text]:
    """Two specs on one path, or a file where another spec needs a folder."""
    seen = set(paths)
    problems = [Text("{path}: two specs name it", path=path) for path, n in Counter(paths).items() if n > 1]
    for path in sorted(seen):
        parts = path.split("/")
        problems += [
            Text("{path}: {other} is to be a file and a folder at once", path=path, other=above)
            for depth in range(1, len(parts))
            if (above := "/".join(parts[:depth])) in seen
        ]
    return problems
