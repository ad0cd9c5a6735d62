"""Reading is free, except for what git ignores, what may hold credentials, and what leaves over MCP.

A diff shows what is in a file, so a plan that changes such a file would be a way to read it: clients over MCP
do not get that diff.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from ringi.approvals.feedback import LineComment
from ringi.errors import ReadNotApproved, RingiError
from ringi.kernel.text import Text
from ringi.patch.parse import parse_patch
from ringi.plans.document import PlanAnswer, PlanDocument, PlanPreview, StoredPlan, with_state
from ringi.plans.effects import Invalid, content_of
from ringi.plans.validate import Validated
from ringi.policy.files import is_credential
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec, ActionSpecExt
from ringi.tree.paths import normalise

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_LONGEST_SECRET: Final = 4096
"""A text is cut after it was masked: a secret that is cut in two is not recognised."""
_MISFIT: Final = Text("it does not fit the file, whose lines are not shown without an approval")


def find_guarded(workspace: Workspace, paths: Iterable[str]) -> frozenset[str]:
    """Those whose content needs an approval to be read."""
    named = {path for path in paths if path}
    found = {path for path in named if is_credential(path)}
    rest = named - found
    return frozenset(found.union(workspace.snapshots().find_ignored(rest) if rest else ()))


def find_guarded_in(workspace: Workspace, document: PlanDocument) -> frozenset[str]:
    """Those among all files that the plan names."""
    return find_guarded(workspace, (path for spec in document.state.action_specs for path in paths_in(spec)))


def paths_in(spec: ActionSpecExt) -> tuple[str, ...]:
    return spec.base.path, *(file.path for file in spec.touched)


def require_free(workspace: Workspace, stored: StoredPlan, *, leaves: bool) -> None:
    """A plan that only reads needs no approval, unless it reads one of these, or what it reads leaves."""
    name = f"p{stored.number}"
    if found := find_guarded_in(workspace, stored.document):
        raise ReadNotApproved(plan=name, why=_why(found))
    if leaves:
        raise ReadNotApproved(plan=name, why=Text("what it reads leaves over MCP"))


def _why(paths: frozenset[str]) -> Text:
    credentials = [path for path in sorted(paths) if is_credential(path)]
    ignored = [path for path in sorted(paths) if not is_credential(path)]
    secret = Text("{paths} may hold credentials", paths=", ".join(credentials))
    local = Text("git ignores {paths}", paths=", ".join(ignored))
    if credentials and ignored:
        return Text("{one}; {other}", one=secret, other=local)
    return secret if credentials else local


def without_lines(workspace: Workspace, validated: Validated) -> Validated:
    """Without the lines that an error about a patch quotes, if they are of a guarded file: an agent could
    read it with patches that do not fit.
    """
    report = validated.report
    if report.ok or workspace.person.agent() is None:
        return validated
    patches = [spec for spec in report.normalized if not spec.validated and spec.base.kind is SpecKind.PATCH]
    found = find_guarded(workspace, (path for spec in patches for path in _find_patched(spec.base)))
    hidden = {spec.id for spec in patches if found.intersection(_find_patched(spec.base))}
    if not hidden:
        return validated
    problems = tuple(
        problem.having(**{**problem.details, "why": _MISFIT})
        if problem.details.get("id") in hidden
        else problem
        for problem in validated.problems
    )
    specs = tuple(
        replace(spec, notes=str(_MISFIT)) if spec.id in hidden else spec for spec in report.normalized
    )
    issues = tuple(map(str, problems))
    return validated._replace(report=replace(report, issues=issues, normalized=specs), problems=problems)


def _find_patched(spec: ActionSpec) -> set[str]:
    """All files that a patch names."""
    try:
        files = parse_patch(content_of(spec) or b"").files
        return {spec.path, *("/".join(normalise(file.old_path)) for file in files if file.old_path)}
    except (Invalid, RingiError):
        return {spec.path}


def cut_output(workspace: Workspace, text: str) -> str:
    """As a result keeps it: its beginning, masked."""
    limit = workspace.config.run.output_bytes
    return _start(workspace.mask(_start(text, limit + _LONGEST_SECRET)), limit)


def _start(text: str, limit: int) -> str:
    data = text.encode("utf-8", "backslashreplace")
    return text if len(data) <= limit else data[:limit].decode("utf-8", "ignore")


NOT_SHOWN: Final = "(not shown: git ignores this file, or it may hold credentials)\n"


def preview_for_clients(workspace: Workspace, plan: str) -> PlanPreview:
    document, found = workspace.plan.get(plan), workspace.plan.preview(plan)
    hidden = _specs(document, find_guarded_in(workspace, document))
    diffs = (
        replace(part, diff=NOT_SHOWN) if part.spec_id in hidden and part.diff else part
        for part in found.diffs
    )
    return replace(found, diffs=tuple(diffs)) if hidden else found


def with_unquoted(workspace: Workspace, document: PlanDocument) -> PlanDocument:
    """Without the lines of such files that a person commented on."""
    comments = document.state.comments or ()
    hidden = find_guarded(workspace, (one.path for one in comments))
    return with_state(document, comments=_remove_quotes(comments, hidden)) if hidden else document


def answer_for_clients(workspace: Workspace, plan: str) -> PlanAnswer:
    answer = workspace.plan.answer(plan)
    paths = {one.path for one in answer.changed} | {one.path for one in answer.comments}
    hidden = find_guarded(workspace, paths)
    changed = (replace(one, diff=NOT_SHOWN) if one.path in hidden else one for one in answer.changed)
    comments = _remove_quotes(answer.comments, hidden)
    return replace(answer, changed=tuple(changed), comments=comments) if hidden else answer


def _remove_quotes(comments: Iterable[LineComment], paths: Container[str]) -> tuple[LineComment, ...]:
    return tuple(replace(given, quote="") if given.path in paths else given for given in comments)


def _specs(document: PlanDocument, paths: Iterable[str]) -> set[str]:
    found = set(paths)
    return {spec.id for spec in document.state.action_specs if found.intersection(paths_in(spec))}
