"""Whether specs can be carried out, and what they would do (PT-7)."""

import base64
import binascii
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from ringi.domain.codec import NOT_TEXT, digest
from ringi.domain.plan import (
    ActionSpec,
    ActionSpecExt,
    Encoding,
    FileState,
    Preflight,
    SpecKind,
    ValidationReport,
)
from ringi.errors import BadDocument, PathRefused, RingiError, StorageFailed, Unreadable
from ringi.patching.render import Rendered, Side, render
from ringi.plans.parts import Rules
from ringi.policy.risk import Facts, assess
from ringi.text import Text
from ringi.workspace.paths import normalise
from ringi.workspace.tree import Found, Tree

EXECUTABLE_KINDS: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.DELETE])
_MODE: Final = re.compile(r"0[0-7]{3}")

Basis = Mapping[str, FileState | None]
"""Files as the proposer saw them, by path."""


class Validated(NamedTuple):
    report: ValidationReport
    problems: tuple[Text, ...]
    """The report's issues, before they became English."""
    diffs: tuple[Rendered, ...]
    """One for each normalised spec, in their order."""


class _Invalid(Exception):
    def __init__(self, why: Text) -> None:
        super().__init__(str(why))
        self.why = why


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
        found = tree.look(path)
        data = _after_bytes(spec, found, rules, based=path in basis)
        after = _after_state(spec, found, data, rules)
    except (_Invalid, PathRefused, StorageFailed, Unreadable, OSError) as error:
        why = _why(error)
        problem = Text("{id} {path}: {why}", id=spec_id, path=spec.path, why=why)
        return _invalid(spec_id, spec, rules, str(why)), Rendered(b"", 0, 0, binary=False), problem
    rendered = difference(path, found and found.data, found and found.state, data, after)
    facts = Facts(
        spec.kind,
        path,
        exists=found is not None,
        changed_lines=rendered.added + rendered.removed,
        changed_bytes=_changed_bytes(rendered, found, data),
    )
    risk, reasons = assess(facts, rules.thresholds)
    ext = ActionSpecExt(
        spec_id,
        spec,
        risk,
        validated=True,
        preflight=Preflight(
            exists=found is not None,
            overwrite=found is not None and after is not None,
            diff_summary="binary" if rendered.binary else f"+{rendered.added} -{rendered.removed}",
        ),
        risk_reasons=reasons,
        before=basis.get(path, found.state if found else None),
        after=after,
    )
    return ext, rendered, None


def _why(error: Exception) -> object:
    if isinstance(error, RingiError):
        return error.details["why"]
    return error.why if isinstance(error, _Invalid) else str(error)


def _changed_bytes(rendered: Rendered, found: Found | None, data: bytes | None) -> int:
    if rendered.binary:
        return max(len(data or b""), len(found.data) if found else 0)
    return len(rendered.diff)


def _invalid(spec_id: str, spec: ActionSpec, rules: Rules, why: str) -> ActionSpecExt:
    facts = Facts(spec.kind, spec.path, exists=False, changed_lines=0, changed_bytes=0)
    risk, reasons = assess(facts, rules.thresholds)
    preflight = Preflight(exists=False, overwrite=False, diff_summary="")
    return ActionSpecExt(
        spec_id, spec, risk, validated=False, preflight=preflight, notes=why, risk_reasons=reasons
    )


def _after_bytes(spec: ActionSpec, found: Found | None, rules: Rules, *, based: bool) -> bytes | None:
    """`based`: the proposer saw an earlier state, so a difference to now makes the plan stale, not wrong."""
    if spec.kind not in EXECUTABLE_KINDS:
        raise _Invalid(Text("specs of kind {kind} cannot be carried out yet", kind=str(spec.kind)))
    if spec.kind is SpecKind.DELETE:
        if found is None and not based:
            raise _Invalid(Text("there is no such file to delete"))
        return None
    if spec.kind is SpecKind.CREATE and found is not None and not based:
        raise _Invalid(Text("the file exists; use write to overwrite it"))
    name = spec.path.rsplit("/", 1)[-1].lower()
    for extension in rules.forbidden_extensions:
        if name.endswith(extension):
            raise _Invalid(Text("files ending in {extension} are forbidden", extension=extension))
    data = content_of(spec)
    if data is None:
        if found is None or spec.mode is None:
            raise _Invalid(Text("it has no content"))
        return found.data
    if len(data) > rules.max_file_bytes:
        raise _Invalid(
            Text("it has {size} bytes, {limit} are allowed", size=len(data), limit=rules.max_file_bytes)
        )
    return data


def content_of(spec: ActionSpec) -> bytes | None:
    if spec.content is None:
        return None
    if spec.encoding is Encoding.UTF8:
        try:
            return spec.content.encode()
        except UnicodeEncodeError:
            raise BadDocument(what=spec.path, why=NOT_TEXT) from None
    try:
        return base64.b64decode(spec.content, validate=True)
    except (binascii.Error, ValueError):
        raise _Invalid(Text("its content is not valid base64")) from None


def _after_state(spec: ActionSpec, found: Found | None, data: bytes | None, rules: Rules) -> FileState | None:
    if data is None:
        return None
    if spec.mode is not None and not _MODE.fullmatch(spec.mode):
        raise _Invalid(Text("its mode {mode} is not four octal digits such as 0644", mode=spec.mode))
    mode = spec.mode or (found.state.mode if found else f"{rules.new_file_mode:04o}")
    return FileState(digest(data), mode)


def difference(
    path: str, old: bytes | None, before: FileState | None, new: bytes | None, after: FileState | None
) -> Rendered:
    return render(path, _side(old, before), _side(new, after))


def _side(data: bytes | None, state: FileState | None) -> Side | None:
    return Side(data, _git_mode(state.mode)) if data is not None and state is not None else None


def _git_mode(mode: str) -> str:
    return "100755" if int(mode, 8) & 0o100 else "100644"


def misfits(specs: Sequence[ActionSpecExt], count: int, rules: Rules) -> list[Text]:
    """What is wrong with the specs together, though each may be fine by itself."""
    problems = []
    if not count:
        problems.append(Text("there are no specs"))
    if count > rules.max_specs:
        problems.append(
            Text("there are {count} specs, {limit} are allowed", count=count, limit=rules.max_specs)
        )
    return problems + _clashes([spec.base.path for spec in specs])


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
