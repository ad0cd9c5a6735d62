"""Whether specs can be carried out, and what they would do (PT-7)."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET

from ringi.errors import BadPatch, PatchMismatch, PathRefused, RingiError, StorageFailed
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.patch.render import Rendered
from ringi.plans.document import ValidationReport
from ringi.plans.effects import (
    MERGEABLE,
    NOTHING,
    Effect,
    Invalid,
    Rules,
    effects_of,
    find_added_lines,
    looking,
    number_lines,
    rendering,
    require_judged,
    your_lines,
)
from ringi.policy.files import critical_category, is_credential
from ringi.policy.findings import findings
from ringi.policy.risk import RiskFacts, assess, is_allowed, is_emptied, is_unshown
from ringi.policy.risk_level import Category, Risk, RiskCode, RiskReason
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt, Preflight
from ringi.tree.file_state import FileState, Touched
from ringi.tree.paths import normalise
from ringi.tree.tree import Tree, repositories

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
    SpecKind.CALL: frozenset(["tool", "arguments", "timeout_sec", "tool_digest"]),
}
_FOREIGN: Final = {
    kind: tuple(
        (field.name, field.default)
        for field in msgspec.structs.fields(ActionSpec)
        if field.name not in _FREE | fields
    )
    for kind, fields in _FIELDS.items()
}
"""Fields of other kinds, with their defaults."""
_WHOLE_WORKSPACE: Final = frozenset([SpecKind.RUN, SpecKind.CALL, SpecKind.ANALYZE])
"""Kinds that need no path."""
_NOT_IN_GROUPS: Final = frozenset([SpecKind.RUN, SpecKind.CALL])
_FOLDERS: Final = frozenset([SpecKind.MKDIR, SpecKind.RUN, SpecKind.ANALYZE])
_LONGEST_RUN: Final = 86_400
_MOST_WORDS: Final = 10_000


def normalise_spec(spec: ActionSpec, timeout_sec: int) -> ActionSpec:
    """The spec as stored: paths in normal form, every default made explicit, because defaults can change.

    `timeout_sec` is for a command or a call that names none.
    """
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
        return _command(spec, timeout_sec)
    if spec.kind is SpecKind.CALL:
        if not (spec.tool or "").strip():
            raise Invalid(Text("it names no tool"))
        return _limit(spec, timeout_sec)
    return spec


def _path(spec: ActionSpec) -> tuple[str, ...]:
    return normalise(spec.path.rstrip("/") if spec.kind in _FOLDERS else spec.path)


def _command(spec: ActionSpec, timeout_sec: int) -> ActionSpec:
    if not spec.argv or not spec.argv[0].strip():
        raise Invalid(Text("it has no command"))
    if len(spec.argv) > _MOST_WORDS or any("\0" in word for word in spec.argv):
        raise Invalid(Text("its command cannot be run by any system"))
    return _limit(spec, timeout_sec)


def _limit(spec: ActionSpec, timeout_sec: int) -> ActionSpec:
    timeout = timeout_sec if spec.timeout_sec is None else spec.timeout_sec
    if not 1 <= timeout <= _LONGEST_RUN:
        raise Invalid(Text("its timeout must be from 1 to {most} seconds", most=_LONGEST_RUN))
    return msgspec.structs.replace(spec, timeout_sec=timeout)


Basis = Mapping[str, FileState | None]
"""Files as the proposer saw them, by path."""


class SeenBefore(NamedTuple):
    """A file as its proposer saw it, which was merged with a later one since."""

    sha256: str
    """Empty if there was no file."""
    data: bytes | None
    """None if they are no longer kept."""


Since = Mapping[str, SeenBefore]
"""By path."""


class Validated(NamedTuple):
    report: ValidationReport
    problems: tuple[Text, ...]
    """The report's issues, not yet rendered in English."""
    diffs: tuple[Rendered, ...]
    """One for each normalised spec, in their order."""


def validate(
    specs: Sequence[ActionSpec],
    tree: Tree,
    rules: Rules,
    basis: Basis,
    since: Mapping[str, SeenBefore] = {},
    *,
    actor: Actor = Actor.AI,
) -> Validated:
    checked = []
    coming: dict[str, str | None] = {}
    for number, spec in enumerate(specs, 1):
        checked.append(_check_one(f"s{number}", spec, tree, rules, basis, since, coming, actor))
        ext = checked[-1][0]
        # In a group folders are made first.
        made = ext.base.path in coming and not (ext.base.group and coming[ext.base.path] == ext.base.group)
        if ext.validated and spec.kind is SpecKind.MKDIR and made:
            late = Text("{path}: a spec before it makes this folder already", path=spec.path)
            checked[-1] = (*checked[-1][:2], late)
        coming |= dict.fromkeys(_paths_made(ext), ext.base.group)
    problems = [problem for _, _, problem in checked if problem]
    problems += misfits([ext for ext, _, problem in checked if not problem], len(specs), rules, tree)
    report = ValidationReport(
        ok=not problems,
        issues=tuple(str(problem) for problem in problems),
        normalized=tuple(ext for ext, _, _ in checked),
    )
    return Validated(report, tuple(problems), tuple(rendered for _, rendered, _ in checked))


def with_problems(validated: Validated, found: Sequence[Text]) -> Validated:
    if not found:
        return validated
    issues = (*validated.report.issues, *map(str, found))
    report = msgspec.structs.replace(validated.report, ok=False, issues=issues)
    return validated._replace(report=report, problems=(*validated.problems, *found))


def _paths_made(spec: ActionSpecExt) -> set[str]:
    """What exists after the spec: files, and their parent folders."""
    paths = [file.path.split("/") for file in spec.touched if file.after]
    return {"/".join(parts[:depth]) for parts in paths for depth in range(1, len(parts) + 1)}


def _check_one(
    spec_id: str,
    spec: ActionSpec,
    tree: Tree,
    rules: Rules,
    basis: Basis,
    since: Since,
    coming: Collection[str],
    actor: Actor,
) -> tuple[ActionSpecExt, Rendered, Text | None]:
    try:
        spec = normalise_spec(spec, rules.run.timeout_sec)
        if spec.kind not in CHANGING:
            return _of_no_file(spec_id, spec, tree, rules, coming), NOTHING, None
        effects = effects_of(spec, looking(tree, spec.kind), rules, based=spec.path in basis)
        _require_basis(spec, effects, basis)
        if actor is not Actor.USER:
            require_judged(effects, rules.limits)
    except (Invalid, PathRefused, BadPatch, PatchMismatch, StorageFailed, OSError) as error:
        why = why_of(error)
        problem = Text("{id} {path}: {why}", id=spec_id, path=spec.path, why=why)
        return _invalid(spec_id, spec, rules, str(why)), NOTHING, problem
    rendered = rendering(effects)
    seen = since.get(spec.path) if spec.kind in MERGEABLE else None
    lost = your_lines(effects[-1].old, rendered, seen.data) if seen else ()
    # For a move, the target counts.
    own_first = effects[::-1] if spec.kind is SpecKind.MOVE else effects
    risk, reasons = _risk(spec, own_first, rendered, rules, lost)
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
            diff_summary=_summary(spec, rendered),
        ),
        risk_reasons=reasons,
        before=touched[0].before,
        after=touched[0].after,
        also=tuple(touched[1:]) or UNSET,
        since=seen.sha256 if seen else UNSET,
    )
    return ext, rendered, None


def _summary(spec: ActionSpec, rendered: Rendered) -> str:
    if spec.kind is SpecKind.MKDIR:
        return "folder"
    if spec.kind is SpecKind.MOVE:
        return f"to {spec.target}"
    return "binary" if rendered.binary else f"+{rendered.added} -{rendered.removed}"


def _of_no_file(
    spec_id: str, spec: ActionSpec, tree: Tree, rules: Rules, coming: Collection[str]
) -> ActionSpecExt:
    """A command, a read or a call: its effect on files is unknown or none."""
    found = tree.look_folder(spec.path) if spec.path else None
    if spec.path and found is None and spec.path not in coming:
        raise Invalid(Text("it is not there"))
    if found is not None and bool(found.state.folder) is not (spec.kind is SpecKind.RUN):
        if spec.kind is SpecKind.RUN:
            raise Invalid(Text("a command runs in a folder, and this is a file"))
        if spec.kind is SpecKind.READ:
            raise Invalid(Text("it is a folder"))
    risk, reasons = Risk.LOW, list[RiskReason]()
    if spec.kind is SpecKind.RUN:
        known = is_allowed(spec.argv, rules.run.allowed)
        risk = Risk.MEDIUM if known else Risk.HIGH
        code = RiskCode.COMMAND if known else RiskCode.FOREIGN_COMMAND
        reasons = [RiskReason(code, shlex.join(spec.argv))]
    elif spec.kind is SpecKind.CALL:
        risk, reasons = Risk.HIGH, [RiskReason(RiskCode.TOOL_CALL, spec.tool or "")]
    elif is_credential(spec.path):
        risk, reasons = Risk.HIGH, [RiskReason(RiskCode.CRITICAL_FILE, Category.CREDENTIALS)]
    preflight = Preflight(exists=found is not None, overwrite=False, diff_summary="")
    return ActionSpecExt(
        spec_id, spec, risk, validated=True, preflight=preflight, risk_reasons=tuple(reasons)
    )


def _require_basis(spec: ActionSpec, effects: Sequence[Effect], basis: Basis) -> None:
    """The result of a patch for an older file cannot be computed from the current file."""
    if spec.kind is SpecKind.PATCH:
        for effect in effects:
            if basis.get(effect.path, effect.before) != effect.before:
                raise Invalid(Text("its file changed since the patch was made"))


def _risk(
    spec: ActionSpec, effects: Sequence[Effect], rendered: Rendered, rules: Rules, lost: tuple[int, ...]
) -> tuple[Risk, tuple[RiskReason, ...]]:
    own, *others = effects
    # A copy leaves its source as it is.
    old = own.old if own.old is not None else next((other.old for other in others if not other.after), None)
    facts = RiskFacts(
        SpecKind.DELETE if own.after is None and spec.kind is not SpecKind.MOVE else spec.kind,
        own.path,
        exists=any(effect.before for effect in effects),
        changed_lines=rendered.added + rendered.removed,
        changed_bytes=_count_changed_bytes(rendered, own),
        # At its new path every line of a moved or copied file is new.
        found=findings(number_lines(own.new or b"") if others else find_added_lines(rendered.hunks)),
        unshown=is_unshown(own.path, effects[-1].old, own.new, own.after.mode if own.after else "0"),
        binary=rendered.binary and own.new is not None and own.new != own.old,
        emptied=is_emptied(old, own.new),
        your_lines=lost,
    )
    risk, reasons = assess(facts, rules.risk)
    sources = [
        RiskReason(RiskCode.CRITICAL_SOURCE, other.path)
        for other in others
        if critical_category(other.path, rules.risk.critical)
    ]
    return (Risk.HIGH if sources else risk), (*reasons, *sources)


def why_of(error: Exception) -> object:
    if isinstance(error, RingiError):
        return error.details.get("why") or Text(error.message, **error.details)
    return error.why if isinstance(error, Invalid) else str(error)


def _count_changed_bytes(rendered: Rendered, effect: Effect) -> int:
    if rendered.binary:
        return max(len(effect.new or b""), len(effect.old or b""))
    return len(rendered.diff)


def _invalid(spec_id: str, spec: ActionSpec, rules: Rules, why: str) -> ActionSpecExt:
    facts = RiskFacts(spec.kind, spec.path, exists=False, changed_lines=0, changed_bytes=0)
    risk, reasons = assess(facts, rules.risk)
    preflight = Preflight(exists=False, overwrite=False, diff_summary="")
    return ActionSpecExt(
        spec_id, spec, risk, validated=False, preflight=preflight, notes=why, risk_reasons=reasons
    )


def misfits(specs: Sequence[ActionSpecExt], count: int, rules: Rules, tree: Tree) -> list[Text]:
    """Problems between specs that are valid by themselves."""
    problems = []
    if not count:
        problems.append(Text("there are no specs"))
    if count > rules.limits.max_specs:
        problems.append(
            Text(
                "there are {count} specs, {limit} are allowed: make several plans of them",
                count=count,
                limit=rules.limits.max_specs,
            )
        )
    return [*problems, *_clashes(specs), *_group_problems(specs), *find_embedded(specs, tree)]


def find_embedded(specs: Sequence[ActionSpecExt], tree: Tree) -> Iterator[Text]:
    """Files removed by the same specs count as still there: a person may select only some of them."""
    written = [
        file.path for spec in specs for file in spec.touched if file.after and file.after != file.before
    ]
    for folder in repositories(tree, written) if written else ():
        yield Text("{path}: with HEAD, objects and refs in it, git obeys it as a repository", path=folder)


def _clashes(specs: Sequence[ActionSpecExt]) -> Iterator[Text]:
    """Two specs on one path, or a file where another spec needs a folder."""
    paths = [path for spec in specs for path in spec.changed_paths]
    folders = {spec.base.path for spec in specs if spec.base.kind is SpecKind.MKDIR}
    for path, count in Counter(paths).items():
        if count > 1:
            yield Text("{path}: two specs name it", path=path)
    files = set(paths) - folders
    for path in sorted(set(paths)):
        parts = path.split("/")
        for depth in range(1, len(parts)):
            if (above := "/".join(parts[:depth])) in files:
                yield Text("{path}: {other} is to be a file and a folder at once", path=path, other=above)


def _group_problems(specs: Sequence[ActionSpecExt]) -> Iterator[Text]:
    """A group is one step: it has one position in the order and fails as one."""
    ended: set[str] = set()
    optional: dict[str, bool] = {}
    last = None
    for spec in specs:
        group = spec.base.group
        if group != last and last is not None:
            ended.add(last)
        if group is not None:
            if group in ended:
                yield Text("the specs of group {group} do not stand together", group=group)
            if optional.setdefault(group, spec.base.optional) != spec.base.optional:
                yield Text("group {group}: all of its specs are optional, or none", group=group)
        last = group
