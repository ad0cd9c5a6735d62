"""A plan under review brought up to date with files that changed meanwhile; conflicts are decided here."""

from collections.abc import Mapping
from typing import Final

from msgspec import UNSET

from ringi.errors import NoDiff
from ringi.kernel.lines import Style
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.patch.conflict import ConflictChoice as Taken
from ringi.patch.conflict import Decision
from ringi.plans import edits, words
from ringi.plans import review_view as views
from ringi.plans.diff_view import Row, RowKind
from ringi.plans.document import PlanStatus
from ringi.plans.merge import OpenConflict, find_changed_files, merge_specs, open_conflicts
from ringi.plans.propose import set_specs
from ringi.plans.review_loop import PlanPrompter, ReviewAct, ReviewChoice
from ringi.plans.reviewed_plan import ReviewedPlan, find_undecided

NOTHING_LEFT: Final = Text("Nothing of it is left: your files have it already, or your own version stays.")
_TAKEN: Final[Mapping[ReviewAct, Taken]] = {
    ReviewAct.TAKE_MINE: Taken.OURS,
    ReviewAct.TAKE_THEIRS: Taken.THEIRS,
    ReviewAct.TAKE_BOTH: Taken.BOTH,
}
DECIDING: Final = frozenset([*_TAKEN, ReviewAct.EDIT_CONFLICT])
AFTER_CONFLICTS: Final = frozenset(
    [
        ReviewAct.APPLY,
        ReviewAct.APPROVE,
        ReviewAct.DROP_HUNK,
        ReviewAct.EDIT_LINE,
        ReviewAct.ADD_LINE,
        ReviewAct.DELETE_LINE,
        ReviewAct.EDIT_FILE,
    ]
)
"""Acts that wait until every conflict is decided."""


def merge_if_clean(plan: ReviewedPlan) -> Text | None:
    """What was merged with lines that the person wrote meanwhile; None if there is nothing, or a conflict."""
    superseded = bool(plan.document.change and plan.document.change.superseded_at)
    plan.conflicts = ()
    if plan.status is not PlanStatus.PENDING_REVIEW and not superseded:
        return None
    plan.stale = find_changed_files(plan.workspace, plan.document)
    if not plan.stale and not superseded:
        return None
    plan.conflicts = open_conflicts(plan.workspace, plan.document)
    merged = merge_specs(plan.workspace, plan.document)
    return None if plan.conflicts or merged.unknown or not merged.specs else update(plan)


def update(plan: ReviewedPlan) -> Text:
    """A new version: the specs merged with the files as they are now, and conflicts as decided."""
    plan.require_as_shown()
    if plan.document.change:
        return _carry_over(plan)
    merged = merge_specs(plan.workspace, plan.document, plan.decisions)
    if not merged.specs:
        return NOTHING_LEFT
    before = plan.document.state
    by_model = {spec.base.path for spec in before.action_specs if spec.id in (before.from_model or ())}
    validated = set_specs(
        plan.workspace,
        plan.plan_id,
        merged.specs,
        basis=merged.basis,
        actor=Actor.USER,
        reason="merged with the files as they are now",
        keep_good=True,
        from_model=[number for number, spec in enumerate(merged.specs) if spec.path in by_model],
        seen=merged.seen,
        merged=merged,
        only_if=plan.document,
    )
    if not validated.report.ok:
        return Text("It does not fit your files as they are: {why}", why=validated.problems[0])
    plan.look()
    if merged.unknown:
        paths = ", ".join(merged.unknown)
        return Text("Updated, not merged: {paths}. It may delete lines you wrote meanwhile.", paths=paths)
    return views.format_merged(merged.lines, merged.kept)


def _carry_over(plan: ReviewedPlan) -> Text:
    """A change plan gets no other version: a new plan takes its place, and the review goes on with it."""
    # It needs the dependencies of the whole project; other reviews open sooner without.
    from ringi.plans.from_patch import propose_again  # noqa: PLC0415

    before = plan.name
    try:
        plan.plan_id = _successor(plan) or propose_again(plan.workspace, plan.plan_id, plan.decisions)
    except NoDiff:
        return NOTHING_LEFT
    plan.look()
    lines = plan.document.state.merged_lines
    if lines is UNSET:
        return Text(
            "{before} was for an earlier state of the project; this is {plan}.", before=before, plan=plan.name
        )
    told = {"before": before, "plan": plan.name, "merged": words.format_merged(lines)}
    return Text("{before} is {plan} now: {merged}", **told)


def _successor(plan: ReviewedPlan) -> str | None:
    """The plan that took its place already and still waits."""
    for ref in plan.tool.list(waiting=True):
        if plan.tool.get(ref.id).plan.forked_from == plan.plan_id and not ref.superseded:
            return ref.id
    return None


def settle_conflict(plan: ReviewedPlan, conflict: OpenConflict, decision: Decision) -> Text:
    """Notes what the person decided; after the last one the plan is merged."""
    plan.require_as_shown()
    plan.decisions[conflict.key] = decision
    now = open_conflicts(plan.workspace, plan.document)
    if now != plan.conflicts:
        plan.conflicts = now
        plan.stale = find_changed_files(plan.workspace, plan.document)
        return Text("Your file changed meanwhile; look again.")
    if left := len(find_undecided(plan)):
        return Text("1 conflict left.", "{count} conflicts left.", count=left)
    return update(plan)


def describe_block(plan: ReviewedPlan) -> Text:
    """Why nothing else can be done yet."""
    places = [one.place for one in find_undecided(plan)]
    return views.format_undecided(places) if places else NOTHING_LEFT


def decision_of(
    plan: ReviewedPlan, prompter: PlanPrompter, choice: ReviewChoice
) -> tuple[OpenConflict, Decision] | None:
    """What the person decides about a conflict; None, and a message, if they decide nothing."""
    waiting = find_undecided(plan) or plan.conflicts
    conflict = choice.conflict or (waiting[0] if waiting else None)
    if conflict is None:
        prompter.say(Text("There is no conflict here."))
        return None
    if choice.act is ReviewAct.EDIT_CONFLICT:
        made = _edit(plan, prompter, conflict)
        return None if made is None else (conflict, made)
    side = _TAKEN[choice.act]
    if side is Taken.BOTH and not conflict.in_lines:
        prompter.say(Text("It has no lines: take yours [<] or theirs [>]."), Style.WARNING)
        return None
    return conflict, side


def _edit(plan: ReviewedPlan, prompter: PlanPrompter, conflict: OpenConflict) -> bytes | None:
    """One line in place; more of them, the person's and then the proposer's, in their editor."""
    if not conflict.mine and not conflict.theirs:
        prompter.say(Text("It has no lines: take yours [<] or theirs [>]."), Style.WARNING)
        return None
    made: bytes | None = None
    if len(conflict.mine) == len(conflict.theirs) == 1:
        row = Row(RowKind.MINE, new=1, data=conflict.mine[0].rstrip(b"\n"))
        theirs = conflict.theirs[0].rstrip(b"\r\n").decode("utf-8", "backslashreplace")
        above = [Text("{who}: {line}", who=plan.document.plan.proposer, line=theirs)]
        question = Text("Line {line}:", line=conflict.about.line)
        text = prompter.ask(question, start=edits.line_text(row), above=above)
        made = None if text is None else edits.replace_line(conflict.mine[0], row, text)
    else:
        both = b"".join([*conflict.mine, *conflict.theirs])
        found, code = prompter.edit(conflict.about.path, both, 0)
        made = None if code or found == both else found
    if made is None:
        prompter.say(Text("Nothing was changed."))
    return made
