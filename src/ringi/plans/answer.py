"""A person's answer to a plan, as its proposer receives it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from ringi.approvals.document import ApprovalOutcome, ApprovedPlan, Cancelled, Declined, ExpiredRequest
from ringi.approvals.feedback import LineComment, Side
from ringi.approvals.who import actor_at
from ringi.errors import InvalidSpecs, NotFound
from ringi.kernel.text import Text
from ringi.ledger.event import EventKind, NewEvent
from ringi.plans.approve import outcome
from ringi.plans.document import (
    OPEN,
    OutcomeKind,
    PlanAnswer,
    PlanDocument,
    PlanStatus,
    StoredPlan,
    with_state,
)
from ringi.plans.effects import Effect, Invalid
from ringi.plans.preview import effects_now
from ringi.plans.propose import require_as_seen
from ringi.plans.status import refusal
from ringi.plans.versions import compare
from ringi.policy.spec_kind import CHANGING
from ringi.tree.action_spec import ActionSpecExt

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_LONGEST_QUOTE: Final = 200
_SHOWN: Final = 80
CommentChange = tuple[LineComment | None, LineComment | None]
"""What was said before, and what is said instead; None for nothing."""
_KINDS: Final = {
    ApprovedPlan: OutcomeKind.APPROVED,
    Declined: OutcomeKind.DECLINED,
    Cancelled: OutcomeKind.CANCELLED,
    ExpiredRequest: OutcomeKind.EXPIRED,
}


def comment(
    workspace: Workspace,
    plan_id: str,
    path: str,
    line: int,
    text: str,
    *,
    side: Side,
    seen: PlanDocument | None,
    instead_of: LineComment | None = None,
) -> LineComment:
    """Changes neither the plan nor an approval of it."""
    stored = _open_plan(workspace, plan_id, seen)
    given = draft_comment(workspace, stored, path, line, text, side=side)
    _replace_comments(workspace, stored, [(instead_of, given)])
    return given


def draft_comment(
    workspace: Workspace, stored: StoredPlan, path: str, line: int, text: str, *, side: Side
) -> LineComment:
    """A comment that is not kept yet. Raises if there is no such line."""
    if not text.strip():
        raise InvalidSpecs(plan=f"p{stored.number}", issues=Text("a comment needs words"))
    return LineComment(
        timestamp=workspace.clock.now(),
        path=path,
        line=line,
        side=side,
        text=text,
        quote=_quote(workspace, stored, path, line, side),
        version=stored.document.plan.version,
    )


def remove_comment(
    workspace: Workspace, plan_id: str, given: LineComment, *, seen: PlanDocument | None
) -> None:
    """The log keeps what was said."""
    replace_comments(workspace, plan_id, [(given, None)], seen=seen)


def replace_comments(
    workspace: Workspace, plan_id: str, changes: Sequence[CommentChange], *, seen: PlanDocument | None
) -> None:
    """All at once."""
    _replace_comments(workspace, _open_plan(workspace, plan_id, seen), changes)


def _replace_comments(workspace: Workspace, stored: StoredPlan, changes: Sequence[CommentChange]) -> None:
    comments = list(stored.document.state.comments or ())
    said = []
    for before, given in changes:
        place = comments.index(before) if before in comments else len(comments)
        comments[place : place + 1] = [given] if given else []
        if one := given or before:
            words = f"{one.path}:{one.line}: {given.text if given else 'removed'}"
            said.append(words[:_SHOWN])
    document = with_state(stored.document, comments=tuple(comments) or UNSET)
    actor = actor_at(workspace.person)
    with workspace.store.transaction() as transaction:
        events = (NewEvent(EventKind.COMMENTED, actor, words) for words in said)
        transaction.plans.save(stored, document, *events)


def _open_plan(workspace: Workspace, plan_id: str, seen: PlanDocument | None) -> StoredPlan:
    stored = workspace.store.plans.get(plan_id)
    if seen:
        require_as_seen(stored, seen)
    if stored.document.state.status not in OPEN:
        raise refusal(stored.document, f"p{stored.number}", PlanStatus.PENDING_REVIEW)
    return stored


def _quote(workspace: Workspace, stored: StoredPlan, path: str, line: int, side: Side) -> str:
    name, see = f"p{stored.number}", f"ringi show p{stored.number} --diff"
    specs = stored.document.state.action_specs
    about = next((spec for spec in specs if path in {file.path for file in spec.touched}), None)
    if about is None:
        raise NotFound(what=Text("file in the plan"), name=path, see=see)
    lines = _lines(_effect(workspace, name, about, path), side)
    if not 1 <= line <= len(lines):
        raise NotFound(what=Text("line"), name=f"{path}:{line}", see=see)
    return lines[line - 1].decode("utf-8", "backslashreplace")[:_LONGEST_QUOTE]


def _effect(workspace: Workspace, plan: str, spec: ActionSpecExt, path: str) -> Effect:
    if spec.base.kind not in CHANGING:
        raise InvalidSpecs(plan=plan, issues=Text("only lines of files take comments"))
    try:
        return next(effect for effect in effects_now(workspace, spec) if effect.path == path)
    except Invalid as error:
        raise InvalidSpecs(plan=plan, issues=error.why) from None


def _lines(effect: Effect, side: Side) -> list[bytes]:
    data = (effect.old if side is Side.OLD else effect.new) or b""
    lines = data.split(b"\n")
    return lines[:-1] if not lines[-1] else lines


def answer(workspace: Workspace, stored: StoredPlan) -> PlanAnswer:
    document = stored.document
    plan, state = document.plan, document.state
    changed = (
        compare(workspace, plan.id, state.amended_from, plan.id, plan.version).differences
        if state.amended_from
        else ()
    )
    found = outcome(workspace, plan.id)
    kind = _kind(found)
    if kind is OutcomeKind.CANCELLED and state.amended_from and state.status is PlanStatus.PENDING_REVIEW:
        kind = None  # cancelled by the person's own edit: they are still deciding
    return PlanAnswer(
        plan_id=plan.id,
        name=f"p{stored.number}",
        version=plan.version,
        status=state.status,
        outcome=kind,
        note=found.approval.note if isinstance(found, ApprovedPlan) else "",
        feedback=state.feedback,
        comments=state.comments or (),
        changed=changed,
    )


def _kind(found: ApprovalOutcome | None) -> OutcomeKind | None:
    return None if found is None else _KINDS.get(type(found), OutcomeKind.NO_CHANNEL)
