"""Proposes plans and sets their specs; other specs make a new version. The same rules for every caller."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.permits import check_danger
from ringi.approvals.who import actor_at, refuse_agent, require_own, require_settable
from ringi.errors import (
    ChangeFixed,
    ChangeRejected,
    NotFound,
    PathRefused,
    PlanChanged,
    StorageFailed,
    Superseded,
    UnfitSpecs,
)
from ringi.kernel.text import Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import StepOf
from ringi.plans.calls import bind_calls, with_misfits
from ringi.plans.commit_message import proper_message
from ringi.plans.document import (
    DiffTotals,
    MessageRef,
    Plan,
    PlanDocument,
    PlannedCommit,
    PlanState,
    PlanStatus,
    StoredPlan,
    ValidationReport,
    title_of,
    with_state,
)
from ringi.plans.effects import MERGEABLE, rules_of
from ringi.plans.merge import MergedSpecs
from ringi.plans.place import require_here
from ringi.plans.preview import paths_of, render_now
from ringi.plans.reading import without_lines
from ringi.plans.renames import with_renames
from ringi.plans.status import advance, is_sent_back
from ringi.plans.validate import Basis, SeenBefore, Since, Validated, validate, with_problems
from ringi.policy.risk import score
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, ActionSpecExt, CheckFailure, PlannedChecks
from ringi.tree.file_state import FileState
from ringi.tree.tree import Tree, TreeAsSeen

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


def propose(
    workspace: Workspace,
    content: str,
    sources: Sequence[MessageRef],
    rationale: str,
    tags: Sequence[str],
    *,
    proposer: str,
    left_out: Sequence[str],
    requester: str,
    actor: Actor,
    plan_id: str = "",
    step: StepOf | UnsetType = UNSET,
    commit: str = "",
) -> str:
    """A given id makes it the same plan if the call is repeated."""
    if plan_id:
        with suppress(NotFound):
            return workspace.store.plans.get(plan_id).document.plan.id
    document = new_plan(
        workspace,
        content,
        sources=sources,
        rationale=rationale,
        tags=tags,
        proposer=proposer,
        left_out=left_out,
        requester=requester,
        plan_id=plan_id,
    )
    document = msgspec.structs.replace(document, step=step)
    if commit:
        document = with_state(document, commit=PlannedCommit(proper_message(commit)))
    with workspace.store.transaction() as transaction:
        event = NewEvent(EventKind.PLAN_PROPOSED, actor, proposer)
        # A step is decided with its run, not as the plan at hand.
        transaction.plans.add(document, event, current=not step)
    return document.plan.id


def new_plan(
    workspace: Workspace,
    content: str,
    *,
    sources: Sequence[MessageRef] = (),
    rationale: str = "",
    tags: Sequence[str] = (),
    proposer: str = "",
    left_out: Sequence[str] = (),
    requester: str = "",
    plan_id: str = "",
) -> PlanDocument:
    title = title_of(content)
    if not title:
        raise UnfitSpecs(why=Text("a plan needs a text, whose first line becomes its title"))
    requester = requester or workspace.person.requester()
    plan = Plan(
        id=plan_id or workspace.ids(),
        title=title,
        content=content,
        sources=tuple(sources),
        rationale=rationale,
        tags=tuple(tags),
        created_at=workspace.clock.now(),
        version=1,
        proposer=proposer,
        left_out=tuple(left_out),
        requester=requester,
        user=workspace.person.user() if requester.startswith("with:") else UNSET,
    )
    return PlanDocument(plan=plan, state=PlanState(status=PlanStatus.PROPOSED))


def propose_whole(
    workspace: Workspace,
    document: PlanDocument,
    validated: Validated,
    *events: NewEvent,
    actor: Actor,
    reason: str = "",
    seen: Mapping[str, bytes] = {},
) -> str:
    """A plan together with its specs, all or nothing."""
    plan = document.plan
    document = with_specs(workspace, next_version(document, plan.requester or ""), validated)
    if plan.forked_from:
        origin = workspace.store.plans.get(plan.forked_from).document
        marked = still_from_model(origin, validated.report.normalized)
        document = with_state(document, from_model=marked)
    bases, kept_until = _bases(workspace, validated, seen)
    with workspace.store.transaction() as transaction:
        transaction.plans.show_diffs(plan.id, diff_files(validated))
        transaction.plans.add(
            document,
            NewEvent(EventKind.PLAN_PROPOSED, actor, plan.proposer),
            *events,
            NewEvent(EventKind.SPECS_SET, actor, reason),
        )
        for data in bases:
            transaction.put_bytes(data, kept_until)
    return plan.id


class Remarks(NamedTuple):
    """What a proposer says about a plan besides its text."""

    rationale: str = ""
    tags: Sequence[str] = ()
    sources: Sequence[MessageRef] = ()


NO_REMARKS: Final = Remarks()


def propose_specs(
    workspace: Workspace,
    content: str,
    specs: Sequence[ActionSpec],
    *,
    proposer: str,
    actor: Actor,
    remarks: Remarks = NO_REMARKS,
    merged: MergedSpecs | None = None,
) -> str:
    """`merged` says what they were merged with."""
    document = new_plan(workspace, content, proposer=proposer, **remarks._asdict())
    basis, since = (merged.basis, merged.since) if merged else ({}, {})
    specs, wrong = bind_calls(workspace, with_renames(specs, workspace.tree, rules_of(workspace), basis))
    validated = validate(specs, workspace.tree, rules_of(workspace), basis, since, actor=actor)
    validated = with_misfits(validated, wrong)
    validated = with_danger(workspace, lambda: document, validated)
    if validated.problems:
        raise UnfitSpecs(why=validated.problems[0])
    if merged:
        document = with_state(document, merged_lines=merged.lines)
    return propose_whole(workspace, document, validated, actor=actor, seen=merged.seen if merged else {})


def set_specs(
    workspace: Workspace,
    plan_id: str,
    specs: Sequence[ActionSpec],
    *,
    basis: Basis,
    actor: Actor,
    requester: str = "",
    reason: str = "",
    keep_good: bool = False,
    from_model: Sequence[int] = (),
    seen: Mapping[str, bytes] = {},
    merged: MergedSpecs | None = None,
    only_if: PlanDocument | None = None,
    check_commands: Sequence[str] = (),
    agent_exit: int | UnsetType | None = UNSET,
) -> Validated:
    """`seen` has bytes of the basis that the workspace may not have any more, by hash.

    `merged` says what they were merged with. Raises PlanChanged if the plan is no longer `only_if`.
    `requester` is set by whoever started the proposer; else it is whoever is here.
    """
    if workspace.run_id:  # its tree may have to be made first
        require_here(workspace, workspace.store.plans.get(plan_id))
    since = merged.since if merged else {}
    tree = as_seen(workspace.tree, basis, seen) if workspace.run_id else workspace.tree
    if not from_model:  # which counts them
        specs = with_renames(specs, tree, rules_of(workspace), basis)
    specs, wrong = bind_calls(workspace, specs)
    author = author_of(workspace, plan_id, actor)
    validated = with_misfits(validate(specs, tree, rules_of(workspace), basis, since, actor=author), wrong)
    validated = without_lines(workspace, validated)
    validated = with_danger(workspace, lambda: workspace.store.plans.get(plan_id).document, validated)
    if (
        keep_good
        and not validated.report.ok
        and workspace.store.plans.get(plan_id).document.state.action_specs
    ):
        return validated
    bases, kept_until = _bases(workspace, validated, seen)
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        require_here(workspace, stored)
        if only_if:
            require_as_seen(stored, only_if)
        refuse_fixed(stored)
        document = next_version(stored.document, requester or _asking(workspace, stored), f"p{stored.number}")
        if actor is not author and stored.document.state.action_specs:
            document = by_person(stored.document, document)
        document = with_specs(workspace, document, validated)
        if actor is Actor.AI:
            document = with_state(document, agent_exit=agent_exit)
        if check_commands:  # known even if they are cut off
            document = with_state(document, check_commands=tuple(check_commands))
        marked = tuple(validated.report.normalized[index].id for index in from_model)
        lines = (document.state.merged_lines or 0) + merged.lines if merged else UNSET
        document = with_state(document, from_model=marked or UNSET, merged_lines=lines)
        if marked and not reason:
            reason = f"by the model: {', '.join(marked)}"
        transaction.plans.show_diffs(plan_id, diff_files(validated))
        transaction.plans.save(stored, document, NewEvent(EventKind.SPECS_SET, actor, reason))
        for data in bases:
            transaction.put_bytes(data, kept_until)
    return validated


def with_danger(
    workspace: Workspace, document: Callable[[], PlanDocument], validated: Validated
) -> Validated:
    """With what is wrong if one of those who ask for it may not."""
    why = check_danger(workspace, document, validated.report.normalized)
    return validated if why is None else with_problems(validated, [why])


def as_seen(tree: Tree, basis: Basis, seen: Mapping[str, bytes]) -> Tree:
    """What a step of a run began with, which may not be on its branch yet."""
    known: dict[str, tuple[FileState, bytes] | None] = {}
    for path, state in basis.items():
        if state is None:
            known[path] = None
        elif state.sha256 in seen:
            known[path] = state, seen[state.sha256]
    return TreeAsSeen(tree, known)


def _asking(workspace: Workspace, stored: StoredPlan) -> str:
    require_settable(workspace.person, stored)
    return workspace.person.requester()


def find_proposer(workspace: Workspace, plan_id: str) -> Actor:
    """Who began the plan: a person who changes what an agent proposed does not make it their own."""
    first = next((logged.event for logged in workspace.store.events(plan_id)), None)
    return first.actor if first else Actor.AI


def author_of(workspace: Workspace, plan_id: str, actor: Actor) -> Actor:
    """Whose plan it is: updating what an agent proposed does not make it a person's own."""
    own = actor is Actor.USER and find_proposer(workspace, plan_id) is Actor.USER
    return Actor.USER if own else Actor.AI


def _bases(
    workspace: Workspace, validated: Validated, seen: Mapping[str, bytes] = {}
) -> tuple[tuple[bytes, ...], str]:
    """What the proposer saw of the files it changes, as far as it can be read, and how long it is kept: a
    merge needs it.
    """
    found: dict[str, bytes] = {}
    touched = [
        file for spec in validated.report.normalized if spec.base.kind in MERGEABLE for file in spec.touched
    ]
    for file in touched:
        if file.before is None or file.before.folder:
            continue
        wanted = file.before.sha256
        if wanted in seen:
            found[wanted] = seen[wanted]
            continue
        with suppress(PathRefused, StorageFailed):
            there = workspace.tree.look(file.path)
            if there is not None and there.state.sha256 == wanted:
                found[wanted] = there.data
    return tuple(found.values()), workspace.clock.after(workspace.config.keep.replaced_sec)


def since_of(workspace: Workspace, specs: Sequence[ActionSpecExt]) -> Since:
    """What the proposer saw of the files that were merged since."""
    return {
        spec.base.path: SeenBefore(spec.since, workspace.store.get_bytes(spec.since) if spec.since else b"")
        for spec in specs
        if spec.since is not UNSET
    }


def still_from_model(before: PlanDocument, specs: Sequence[ActionSpecExt]) -> tuple[str, ...] | UnsetType:
    """The ids of specs that a model made, carried over from another version or plan.

    They may have other ids here, and a person may have edited them since: specs of the same kind about the
    same file are marked. A mark too many does less harm than a missing one.
    """
    marked = set(before.state.from_model or ())
    made = {_about(spec) for spec in before.state.action_specs if spec.id in marked}
    return tuple(spec.id for spec in specs if _about(spec) in made) or UNSET


def _about(spec: ActionSpecExt) -> tuple[object, ...]:
    return spec.base.kind, spec.base.path, spec.base.target, spec.base.argv


def keep_specs(
    workspace: Workspace,
    plan_id: str,
    spec_ids: Sequence[str],
    *,
    seen: PlanDocument,
    actor: Actor,
    reason: str,
) -> None:
    """A new version with only these specs, each as validated, based on what the proposer saw."""
    stored = workspace.store.plans.get(plan_id)
    require_as_seen(stored, seen)
    specs = tuple(spec for spec in stored.document.state.action_specs if spec.id in set(spec_ids))
    if specs != stored.document.state.action_specs:
        refuse_fixed(stored)
    report = ValidationReport(ok=True, issues=(), normalized=specs)
    validated = Validated(report, (), tuple(render_now(workspace, spec) for spec in specs))
    specs_set = NewEvent(EventKind.SPECS_SET, actor, reason)
    document = next_version(stored.document, workspace.person.requester(), f"p{stored.number}")
    document = with_state(document, from_model=still_from_model(stored.document, specs))
    if actor is Actor.USER:
        document = by_person(stored.document, document)
    save_version(workspace, stored, document, validated, specs_set)


def require_as_seen(stored: StoredPlan, seen: PlanDocument) -> None:
    """A person decides only about what was shown, not about what replaced it since."""
    now = stored.document
    shown = (seen.specs_sha256, seen.plan.version, seen.state.commit)
    if shown != (now.specs_sha256, now.plan.version, now.state.commit):
        raise PlanChanged(plan=f"p{stored.number}")


def mark_pending(workspace: Workspace, plan_id: str, *, pending: bool) -> PlanState:
    target = PlanStatus.PENDING_REVIEW if pending else PlanStatus.PROPOSED
    kind = EventKind.MARKED_PENDING if pending else EventKind.SENT_BACK
    with workspace.store.transaction() as transaction:
        stored = transaction.plans.get(plan_id)
        name, before = f"p{stored.number}", stored.document.state.status
        refuse_rejected(stored)
        require_own(workspace.person, stored)
        if before in _DECIDED:
            refuse_agent(workspace.person, f"ringi request {name} --pending")
        document = with_state(stored.document, status=advance(stored.document, name, target))
        event = NewEvent(kind, actor_at(workspace.person))
        return transaction.plans.save(stored, document, event).document.state


_DECIDED: Final = frozenset([PlanStatus.APPROVED, PlanStatus.ABORTED])
"""An approval ends if such a plan goes back."""


_NAME_LENGTH: Final = 50
"""In characters; one may take four bytes."""


def refuse_superseded(stored: StoredPlan) -> None:
    if stored.document.change and stored.document.change.superseded_at:
        raise Superseded(plan=f"p{stored.number}")


def refuse_rejected(stored: StoredPlan) -> None:
    """By a newer project state, or by a person."""
    refuse_superseded(stored)
    if stored.document.change and is_sent_back(stored.document):
        raise ChangeRejected(plan=f"p{stored.number}")


def refuse_fixed(stored: StoredPlan) -> None:
    """The diffs of a change plan cannot be replaced."""
    if stored.document.change:
        raise ChangeFixed(plan=f"p{stored.number}")


def next_version(document: PlanDocument, requester: str, name: str = "") -> PlanDocument:
    """The plan ready for other specs, which no earlier approval covers; raises if it cannot take any.

    `requester` is whoever sets them: a standing approval for somebody else must not cover them.
    """
    status = document.state.status
    if status is not PlanStatus.PENDING_REVIEW:
        status = advance(document, name, PlanStatus.PENDING_REVIEW)
    version = document.plan.version + bool(document.state.action_specs)
    plan = msgspec.structs.replace(document.plan, version=version)
    # The earlier selection may name specs that are gone.
    return with_state(
        msgspec.structs.replace(document, plan=plan),
        status=status,
        selection=ALL_SPECS,
        checks=(),
        commit=_not_offered(document.state.commit),
        amended_from=UNSET,
        requester=UNSET if requester == document.plan.requester else requester,
    )


def _not_offered(commit: PlannedCommit | UnsetType) -> PlannedCommit | UnsetType:
    """A commit that was offered has other bytes than what comes now."""
    return PlannedCommit(commit.message) if commit else UNSET


def by_person(before: PlanDocument, changed: PlanDocument) -> PlanDocument:
    """The next version as the person's own, compared with the proposer's last one."""
    return with_state(changed, amended_from=before.state.amended_from or before.plan.version)


def with_specs(workspace: Workspace, document: PlanDocument, validated: Validated) -> PlanDocument:
    return with_state(
        document,
        action_specs=validated.report.normalized,
        previews=totals_of(validated),
        planned_checks=_plan_checks(workspace, document),
    )


def save_version(
    workspace: Workspace, stored: StoredPlan, document: PlanDocument, validated: Validated, *events: NewEvent
) -> None:
    require_here(workspace, stored)
    with workspace.store.transaction() as transaction:
        transaction.plans.show_diffs(document.plan.id, diff_files(validated))
        transaction.plans.save(stored, with_specs(workspace, document, validated), *events)


def _plan_checks(workspace: Workspace, document: PlanDocument) -> PlannedChecks | UnsetType:
    """The checks in the current configuration: from here on they are part of what is approved."""
    checks, own = workspace.checks, document.state.planned_checks
    if document.step:
        # Its own stay; and no step stays on the branch without a commit.
        after = tuple(dict.fromkeys([*checks.after, *(own.after if own else ())]))
        tests = checks.tests if checks.tests is not UNSET or not own else own.tests
        checks = PlannedChecks(checks.before, after, CheckFailure.UNDO, tests or UNSET)
    return checks if checks.before or checks.after or checks.tests else UNSET


def totals_of(validated: Validated) -> DiffTotals:
    normalized = validated.report.normalized
    added = sum(rendered.added for rendered in validated.diffs)
    removed = sum(rendered.removed for rendered in validated.diffs)
    weight = sum(rendered.weight for rendered in validated.diffs)
    return DiffTotals(
        files=paths_of(normalized),
        added=added,
        removed=removed,
        risk_score=score(normalized),
        weight=weight if weight > added + removed else UNSET,
        hunks=sum(len(rendered.hunks) for rendered in validated.diffs),
    )


def diff_files(validated: Validated) -> Mapping[str, bytes]:
    """For people: one per spec, with a telling file name."""
    return {
        # Cut, because the file's own name may already have the maximum length.
        f"{spec.id}-{spec.base.path.rsplit('/', 1)[-1][:_NAME_LENGTH]}.diff": rendered.diff
        for spec, rendered in zip(validated.report.normalized, validated.diffs, strict=True)
        if spec.validated
    }
