"""A plan as lines, the same in every command and screen."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET

from ringi.approvals.document import COMMIT_TRAILERS, Approval
from ringi.approvals.view import format_approval, format_proof
from ringi.errors import NoCommit
from ringi.kernel.lines import Line, Style, TextSpan, line, prose, step
from ringi.kernel.text import Text, moment, restore_text
from ringi.plans import words
from ringi.plans.change_plan import ChangeFacts
from ringi.plans.document import (
    ENDED,
    OPEN,
    Difference,
    DiffSummary,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanStatus,
    SpecDifference,
    ValidationReport,
    comments_now,
    files_changed,
    undone_at,
)
from ringi.plans.execution import ExecutionResult
from ringi.plans.result_view import excerpt, result_lines
from ringi.plans.status import is_sent_back
from ringi.plans.waiting_view import standing
from ringi.policy.risk_level import Risk, RiskCode, RiskReason
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.project.context import FileKind
from ringi.project.kinds import kinds_of
from ringi.tree.action_spec import (
    ALL_SPECS,
    ActionSpecExt,
    CheckFailure,
    PlannedChecks,
    SpecSelection,
    select_specs,
)
from ringi.tree.check_result import CheckResult

if TYPE_CHECKING:
    from ringi.plans.commit import Announced

_MOST_SPECS: Final = 100
_ON_FAILURE: Final = {
    CheckFailure.UNDO: Text("if one fails, everything is taken back"),
    CheckFailure.KEEP: Text("if one fails, what was written stays"),
}
DIFFERENCE_STYLE: Final = {
    Difference.ADDED: Style.GOOD,
    Difference.REMOVED: Style.BAD,
    Difference.CHANGED: Style.WARNING,
    Difference.BASIS: Style.WARNING,
}


class PlanFacts(NamedTuple):
    """A plan, and what is known about it besides its document."""

    ref: PlanRef
    document: PlanDocument
    preview: PlanPreview
    sandbox: Text | None = None
    """How its commands would run."""
    commit: "Announced | NoCommit | None" = None
    """The commit that would follow, or why there cannot be one."""
    approvals: Sequence[Approval] = ()
    last_result: ExecutionResult | None = None


def plan_lines(facts: PlanFacts) -> Iterator[Line]:
    ref, document = facts.ref, facts.document
    plan, state = document.plan, document.state
    yield line(Text("{name}  {title}", name=ref.name, title=plan.title), Style.STRONG)
    summary = Text(
        "{status} · {proposer} · version {version} · {when}",
        status=words.status(ref),
        proposer=plan.proposer,
        version=plan.version,
        when=moment(plan.created_at),
    )
    yield line(summary, Style.FAINT, indent=2)
    decided = state.status in {*ENDED, PlanStatus.PROPOSED}
    yield from _standing_lines(document, () if decided else facts.preview.stale)
    if plan.rationale.strip():
        yield prose(Text("why: {reason}", reason=" ".join(plan.rationale.split())), indent=2)
    if not state.action_specs:
        yield line(Text("only a text so far, without specs:"), indent=2)
        yield from excerpt(plan.content, first=True)
    yield from _spec_lines(facts)
    if document.change:
        yield from _change_lines(document.change, ref)
    yield from _meanwhile_lines(document, facts.preview)
    yield from _obstacle_lines(document, facts.preview)
    yield from _check_lines(document)
    yield from _commit_lines(facts.commit)
    for given_back in state.feedback:
        yield line(Text("its proposer is told: {text}", text=given_back.text), indent=2)
    for comment in comments_now(document):
        where = Text("{path}:{line}: {text}", path=comment.path, line=comment.line, text=comment.text)
        yield line(Text("your comment on {where}", where=where), indent=2)
    yield from _approval_lines(document, facts.approvals)
    if facts.last_result is not None:
        yield from _execution_lines(document, facts.last_result)


def issue_lines(report: ValidationReport) -> Iterator[Line]:
    """Why the specs cannot be carried out."""
    for issue in report.issues[:_MOST_SPECS]:
        yield line(Text("✗ {issue}", issue=restore_text(issue)), Style.BAD)


def total_line(document: PlanDocument, selection: SpecSelection = ALL_SPECS) -> Line | None:
    """Size and risk; for a part of a plan only the risk."""
    found, risk = document.state.previews, document.risk(selection)
    if found is None:
        return None
    size = words.size(files_changed(document), found.added, found.removed)
    if not selection.all:
        chosen = ", ".join(spec.id for spec in select_specs(document.state.action_specs, selection))
        size = Text("only {specs} of it", specs=chosen)
    return line(Text("{size}   {risk}", size=size, risk=words.RISK[risk]), words.RISK_STYLE[risk], indent=2)


def next_step(document: PlanDocument, name: str) -> str | None:
    status = document.state.status
    if status is PlanStatus.PENDING_REVIEW:
        return f"ringi review {name}"
    if status in {PlanStatus.APPROVED, PlanStatus.ABORTED}:
        return f"ringi execute {name}"
    if status is PlanStatus.COMPLETED and undone_at(document):
        return f"ringi review {name}"
    if status is not PlanStatus.PROPOSED:
        return None
    if document.change and (document.change.superseded_at or is_sent_back(document)):
        return f"ringi propose --again {name}"  # it stays rejected
    return (
        f"ringi request {name} --pending" if document.state.action_specs else f"ringi specs {name} --extract"
    )


def difference_line(difference: SpecDifference) -> Line:
    return Line((difference_span(difference),), indent=2)


def difference_span(difference: SpecDifference) -> TextSpan:
    """Between two versions."""
    marked = {
        Difference.ADDED: Text("+ {path}: only in the later one", path=difference.path),
        Difference.REMOVED: Text("- {path}: only in the earlier one", path=difference.path),
        Difference.CHANGED: Text("~ {path}", path=difference.path),
        Difference.BASIS: Text("! {path}: it replaces another file than before", path=difference.path),
    }
    return TextSpan(marked[difference.what], DIFFERENCE_STYLE[difference.what])


def _spec_lines(facts: PlanFacts) -> Iterator[Line]:
    state = facts.document.state
    by_model = set(state.from_model or ())
    for number, (spec, part) in enumerate(zip(state.action_specs, facts.preview.diffs, strict=True), 1):
        # After a drop the ids have gaps; --only takes ids.
        label = f"{number}." if spec.id == f"s{number}" else f"{number}. [{spec.id}]"
        yield _spec_line(label, spec, _size(spec, part), part.risk)
        for note in words.terms(spec, facts.sandbox, by_model=spec.id in by_model):
            yield line(note, indent=7)
        yield from _concern_lines(spec, part.reasons, indent=7)


def _spec_line(label: str, spec: ActionSpecExt, size: Text | str, risk: Risk) -> Line:
    facts = {"number": label, "action": words.action(spec), "risk": words.RISK[risk]}
    title = Text("{number} {action}  {risk}", **facts)
    if size:
        title = Text("{number} {action}  {size}  {risk}", size=size, **facts)
    return line(title, words.RISK_STYLE[risk], indent=2)


def _size(spec: ActionSpecExt, part: DiffSummary) -> Text | str:
    """Empty if it changes no content."""
    if spec.base.kind not in CHANGING or spec.base.kind is SpecKind.MKDIR or spec.only_mode:
        return ""
    return Text("binary") if part.binary else f"+{part.added} -{part.removed}"


def _concern_lines(spec: ActionSpecExt, reasons: Sequence[RiskReason], *, indent: int) -> Iterator[Line]:
    """Why it is risky, and why it cannot be carried out."""
    for given in reasons:
        yield line(words.reason(spec.base.path, given), indent=indent)
    if not spec.validated:
        yield line(
            Text("cannot be carried out: {why}", why=restore_text(spec.notes)), Style.BAD, indent=indent
        )


def _change_lines(change: ChangeFacts, ref: PlanRef) -> Iterator[Line]:
    yield line(Text("change plan: {why}", why=words.TRIGGER[change.basis.trigger]), indent=2)
    for found in change.basis.related_diagnostics:
        yield line(words.diagnostic(found), indent=4)
    yield from _format_affected(change)
    level = change.risk.level
    risk = Text("risk by the rules of change plans: {risk}", risk=words.RISK[level])
    yield line(risk, words.RISK_STYLE[level], indent=2)
    for reason in change.risk.reasons:
        yield line(Text("{reason}", reason=reason), indent=4)
    for given in filter(None, [change.explanation.summary, change.explanation.details]):
        said = Text("its proposer says: {words}", words=given)
        if change.explained_by:
            said = Text("{model} says: {words}", model=change.explained_by, words=given)
        yield line(said, Style.FAINT, indent=2)
    if change.superseded_at:
        yield line(Text("! superseded: the project changed since"), Style.WARNING, indent=2)
        yield step(f"ringi propose --again {ref.name}")


def _format_affected(change: ChangeFacts) -> Iterator[Line]:
    affected, unknown = change.scope.affected_files, change.unknown_users
    if affected:
        yield line(Text("files that depend on it: {files}", files=words.some(affected)), indent=2)
    elif unknown:
        yield line(Text("no file is known to depend on it"), indent=2)
    else:
        yield line(Text("no other file depends on it"), indent=2)
    if unknown:
        text = Text(
            "! not complete: 1 file could not be analysed",
            "! not complete: {count} files could not be analysed",
            count=unknown.count,
        )
        yield line(text, Style.WARNING, indent=2)
        yield line(Text("{path}: {why}", path=unknown.first, why=unknown.why), indent=4)


def _standing_lines(document: PlanDocument, stale: Sequence[str]) -> Iterator[Line]:
    yield from (Line((span,), indent=2) for span in standing(document, stale))


def _meanwhile_lines(document: PlanDocument, preview: PlanPreview) -> Iterator[Line]:
    """What became of lines that the person wrote meanwhile."""
    if document.state.status in OPEN:
        for conflict in preview.conflicts[:_MOST_SPECS]:
            yield line(words.conflict(conflict, document.plan.proposer), Style.WARNING, indent=2)
    if document.state.merged_lines is not UNSET:
        yield line(words.format_merged(document.state.merged_lines), indent=2)
    if lost := _count_lost_lines(preview):
        yield line(words.format_lost(lost), Style.WARNING, indent=2)


def _count_lost_lines(preview: PlanPreview) -> int:
    return sum(sum(map(bool, part.your_lines)) for part in preview.diffs)


def _obstacle_lines(document: PlanDocument, preview: PlanPreview) -> Iterator[Line]:
    """Other plans in its way, and what is not part of it."""
    for other in preview.overlaps:
        same = Text("! {plan} changes {paths} too", plan=other.name, paths=words.some(other.paths))
        yield line(same, Style.WARNING, indent=2)
    for left in document.plan.left_out:
        yield line(Text("! not in the plan: {left}", left=left), Style.WARNING, indent=2)


def _check_lines(document: PlanDocument) -> Iterator[Line]:
    state = document.state
    if state.planned_checks and state.status is not PlanStatus.COMPLETED:
        yield from _format_planned(state.planned_checks)
    for result in state.checks:
        yield _check_line(result)
        if result.exit_code:
            yield from excerpt(result.output)
    if state.checks and (lost := find_lost_tests(state.action_specs)):
        yield line(lost, Style.WARNING, indent=2)
    if document.plan.version > 1 and not state.checks and state.status is PlanStatus.PENDING_REVIEW:
        yield line(Text("no check has run on exactly these bytes"), Style.FAINT, indent=2)


def _check_line(result: CheckResult) -> Line:
    return line(words.tests(result), Style.GOOD if result.passed else Style.BAD, indent=2)


def _format_planned(planned: PlannedChecks) -> Iterator[Line]:
    for command in planned.before:
        yield line(Text("checked before it is carried out: {command}", command=command), indent=2)
    for command in planned.after:
        yield line(Text("checked afterwards: {command}", command=command), indent=2)
    if planned.after:
        yield line(_ON_FAILURE[planned.on_failure], indent=4)


def _commit_lines(found: "Announced | NoCommit | None") -> Iterator[Line]:
    """The commit that follows the execution; the approval covers it too."""
    if isinstance(found, NoCommit):
        yield line(Text("! {why}", why=Text(found.message, **found.details)), Style.WARNING, indent=2)
    elif found is not None:
        yield line(words.commit(found.subject), indent=2)
        body = found.subject.message.partition("\n")[2].strip("\n")
        yield from excerpt(body, first=True, indent=4)
        offered = found.subject.offered
        trailers = Text("with the lines {names}", names=", ".join(COMMIT_TRAILERS))
        made = Text("as it was offered for review: {commit}", commit=offered) if offered else trailers
        yield line(made, Style.FAINT, indent=4)
        for mixed in words.format_mixed(found):
            yield line(mixed, Style.WARNING, indent=4)


def _approval_lines(document: PlanDocument, approvals: Sequence[Approval]) -> Iterator[Line]:
    given = {approval.timestamp: approval for approval in approvals}
    for entry in document.state.approvals:
        yield line(format_approval(entry.approver, entry.timestamp), indent=2)
        if (approval := given.get(entry.timestamp)) is not None:
            yield line(format_proof(approval.proof), indent=4)
            if approval.note:
                yield line(Text("note: {note}", note=approval.note), indent=4)
        if not entry.selection.all:
            yield line(Text("only {specs}", specs=", ".join(entry.selection.ids)), indent=4)


def _execution_lines(document: PlanDocument, last: ExecutionResult) -> Iterator[Line]:
    """The output of commands and readings; only those files that were not written."""
    when = moment(last.finished_at)
    whole = last.overall_success
    yield line(
        Text("carried out {when}", when=when) if whole else Text("carried out in part {when}", when=when),
        indent=2,
    )
    specs = {spec.id: spec for spec in document.state.action_specs}
    yield from result_lines(last, specs, files=not whole)


_GONE: Final = frozenset([RiskCode.DELETE, RiskCode.EMPTIED])


def find_lost_tests(specs: Sequence[ActionSpecExt]) -> Text | None:
    gone = [spec.base.path for spec in specs if _GONE & {reason.code for reason in spec.risk_reasons}]
    kinds = kinds_of(gone)
    paths = [path for path in gone if kinds[path] is FileKind.TEST]
    return Text("! tests were deleted or emptied: {paths}", paths=words.some(paths, 2)) if paths else None
