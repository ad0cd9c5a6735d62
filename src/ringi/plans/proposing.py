"""Plans come in, get their specs, are validated and shown."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from ringi.domain.events import Actor, EventKind
from ringi.domain.plan import (
    PLAN_MACHINE,
    ActionSpec,
    ActionSpecExt,
    CheckPhase,
    CheckResult,
    DiffSummary,
    MessageRef,
    Plan,
    PlanDocument,
    PlanPreview,
    PlanState,
    PlanStatus,
    SpecKind,
    ValidationReport,
    title_of,
    with_state,
)
from ringi.errors import (
    EmptyPlan,
    InvalidSpecs,
    NotFound,
    PlanChanged,
    Refused,
    StorageFailed,
    Superseded,
    UnfitSpecs,
)
from ringi.patching.render import Rendered
from ringi.plans.approving import files_of
from ringi.plans.effects import Effect, Invalid, Known, content_of, effects_of, looking
from ringi.plans.looking import differing
from ringi.plans.overlapping import overlaps
from ringi.plans.parts import Parts
from ringi.plans.rendering import NOTHING, difference, rendering
from ringi.plans.revising import (
    by_person,
    diff_files,
    next_version,
    paths_of,
    refuse_fixed,
    save_version,
    with_specs,
)
from ringi.plans.validation import Basis, Validated, validate
from ringi.policy.risk import score
from ringi.ports import NewEvent, StoredPlan
from ringi.text import Text


def propose(
    parts: Parts,
    content: str,
    sources: Sequence[MessageRef],
    rationale: str,
    tags: Sequence[str],
    *,
    proposer: str,
    left_out: Sequence[str],
    requester: str,
    actor: Actor,
) -> str:
    document = new_plan(
        parts,
        content,
        sources=sources,
        rationale=rationale,
        tags=tags,
        proposer=proposer,
        left_out=left_out,
        requester=requester,
    )
    with parts.store.transaction() as transaction:
        transaction.add_plan(document, NewEvent(EventKind.PLAN_PROPOSED, actor, proposer))
        transaction.set_current(document.plan.id)
    return document.plan.id


def new_plan(
    parts: Parts,
    content: str,
    *,
    sources: Sequence[MessageRef] = (),
    rationale: str = "",
    tags: Sequence[str] = (),
    proposer: str = "",
    left_out: Sequence[str] = (),
    requester: str = "",
) -> PlanDocument:
    title = title_of(content)
    if not title:
        raise EmptyPlan
    plan = Plan(
        id=parts.ids(),
        title=title,
        content=content,
        sources=tuple(sources),
        rationale=rationale,
        tags=tuple(tags),
        created_at=parts.clock.now(),
        version=1,
        proposer=proposer,
        left_out=tuple(left_out),
        requester=requester or f"user:{parts.person.user()}",
    )
    return PlanDocument(plan=plan, state=PlanState(status=PlanStatus.PROPOSED))


def propose_whole(
    parts: Parts,
    document: PlanDocument,
    validated: Validated,
    *events: NewEvent,
    actor: Actor,
    reason: str = "",
) -> str:
    """A plan together with its specs, all or nothing."""
    document, plan = with_specs(parts, next_version(document), validated), document.plan
    if plan.forked_from:
        origin = parts.store.plan(plan.forked_from).document
        marked = still_from_model(origin, validated.report.normalized)
        document = with_state(document, from_model=marked)
    with parts.store.transaction() as transaction:
        transaction.add_plan(
            document,
            NewEvent(EventKind.PLAN_PROPOSED, actor, plan.proposer),
            *events,
            NewEvent(EventKind.SPECS_SET, actor, reason),
        )
        transaction.show_diffs(plan.id, diff_files(validated))
        transaction.set_current(plan.id)
    return plan.id


def propose_specs(
    parts: Parts, content: str, specs: Sequence[ActionSpec], *, proposer: str, actor: Actor
) -> str:
    document = new_plan(parts, content, proposer=proposer)
    validated = validate(specs, parts.tree, parts.rules, {})
    if validated.problems:
        raise UnfitSpecs(why=validated.problems[0])
    return propose_whole(parts, document, validated, actor=actor)


def set_specs(
    parts: Parts,
    plan_id: str,
    specs: Sequence[ActionSpec],
    *,
    basis: Basis,
    actor: Actor,
    reason: str = "",
    keep_good: bool = False,
    from_model: Sequence[int] = (),
) -> Validated:
    validated = validate(specs, parts.tree, parts.rules, basis)
    if keep_good and not validated.report.ok and parts.store.plan(plan_id).document.state.action_specs:
        return validated
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        refuse_fixed(stored)
        document = next_version(stored.document)
        if actor is Actor.USER and stored.document.state.action_specs:
            document = by_person(stored.document, document)
        document = with_specs(parts, document, validated)
        marked = tuple(validated.report.normalized[index].id for index in from_model)
        document = with_state(document, from_model=marked or UNSET)
        if marked and not reason:
            reason = f"by the model: {', '.join(marked)}"
        transaction.save_plan(stored, document, NewEvent(EventKind.SPECS_SET, actor, reason))
        transaction.show_diffs(plan_id, diff_files(validated))
    return validated


def still_from_model(before: PlanDocument, specs: Sequence[ActionSpecExt]) -> tuple[str, ...] | UnsetType:
    """The ids of specs that a model made, as another version or another plan knows it.

    They may have other numbers here, and a person may have edited them since: what is of the same kind and
    about the same is marked. A mark too many does less harm than one that is missing.
    """
    marked = set(before.state.from_model or ())
    made = {_about(spec) for spec in before.state.action_specs if spec.id in marked}
    return tuple(spec.id for spec in specs if _about(spec) in made) or UNSET


def _about(spec: ActionSpecExt) -> tuple[object, ...]:
    return spec.base.kind, spec.base.path, spec.base.target, spec.base.argv


def keep_specs(
    parts: Parts, plan_id: str, spec_ids: Sequence[str], *, seen: PlanDocument, actor: Actor, reason: str
) -> None:
    """A new version with these specs only, each as it was validated, on what the proposer saw."""
    stored = parts.store.plan(plan_id)
    require_as_seen(stored, seen)
    specs = tuple(spec for spec in stored.document.state.action_specs if spec.id in set(spec_ids))
    if specs != stored.document.state.action_specs:
        refuse_fixed(stored)
    report = ValidationReport(ok=True, issues=(), normalized=specs)
    validated = Validated(report, (), tuple(render_now(parts, spec) for spec in specs))
    specs_set = NewEvent(EventKind.SPECS_SET, actor, reason)
    document = with_state(next_version(stored.document), from_model=still_from_model(stored.document, specs))
    if actor is Actor.USER:
        document = by_person(stored.document, document)
    save_version(parts, stored, document, validated, specs_set)


def require_as_seen(stored: StoredPlan, seen: PlanDocument) -> None:
    """A person decides about what was shown, and about nothing that came in its place since."""
    now = stored.document
    shown = (seen.specs_sha256, seen.plan.version, seen.state.commit)
    if shown != (now.specs_sha256, now.plan.version, now.state.commit):
        raise PlanChanged(plan=f"p{stored.number}")


def preview(parts: Parts, document: PlanDocument) -> PlanPreview:
    """The plan against the workspace as it is now; one that was carried out, as it was then."""
    specs = document.state.action_specs
    done = document.state.status is PlanStatus.COMPLETED
    pairs = [(spec, _render_done(parts, spec) if done else render_now(parts, spec)) for spec in specs]
    return PlanPreview(
        files=paths_of(specs),
        diffs=tuple(
            DiffSummary(
                spec_id=spec.id,
                path=spec.base.path,
                kind=spec.base.kind,
                added=rendered.added,
                removed=rendered.removed,
                binary=rendered.binary,
                risk=spec.risk,
                reasons=spec.risk_reasons,
                diff=rendered.diff.decode("utf-8", "backslashreplace"),
            )
            for spec, rendered in pairs
        ),
        risk_score=score(specs),
        stale=()
        if done
        else tuple(differing(parts.tree, files_of([spec for spec in specs if spec.validated]))),
        overlaps=() if done else overlaps(parts, document),
    )


def render_now(parts: Parts, spec: ActionSpecExt) -> Rendered:
    if not spec.validated:
        return NOTHING
    try:
        return rendering(effects_now(parts, spec))
    except (Invalid, Refused, StorageFailed, OSError):
        # Stale: what the proposer wants is shown without what is there now.
        if spec.base.kind is SpecKind.PATCH:
            return NOTHING._replace(diff=content_of(spec.base) or b"")
        return difference(spec.base.path, None, None, content_of(spec.base), spec.after)


def _render_done(parts: Parts, spec: ActionSpecExt) -> Rendered:
    effects = effects_done(parts, spec)
    return rendering(effects) if effects else NOTHING


def effects_now(parts: Parts, spec: ActionSpecExt) -> tuple[Effect, ...]:
    return effects_of(spec.base, looking(parts.tree, spec.base.kind), parts.rules, based=True)


def effects(parts: Parts, stored: StoredPlan) -> list[tuple[Effect, ...]]:
    document, name = stored.document, f"p{stored.number}"
    found = []
    for spec in document.state.action_specs:
        if document.state.status is PlanStatus.COMPLETED:
            done = effects_done(parts, spec)
            if done is None:
                raise NotFound(what=Text("copy of the bytes before"), name=spec.base.path, see="ringi show")
            found.append(done)
            continue
        try:
            found.append(effects_now(parts, spec))
        except Invalid as error:
            raise InvalidSpecs(plan=name, issues=error.why) from None
    return found


def effects_done(parts: Parts, spec: ActionSpecExt) -> tuple[Effect, ...] | None:
    """From the bytes the ledger keeps; None where they are gone."""
    effects = []
    for file in spec.touched:
        before = parts.store.get_bytes(file.before.sha256) if file.before else None
        after = parts.store.get_bytes(file.after.sha256) if file.after else None
        if (file.before and before is None) or (file.after and after is None):
            return None
        effects.append(Effect(file.path, file.before, before, file.after, after))
    return tuple(effects)


def after_bytes(parts: Parts, spec: ActionSpecExt, before: Mapping[str, bytes]) -> dict[str, bytes]:
    """What the spec's files will hold, by their hash, made from the bytes before, by theirs."""
    known = {
        file.path: Known(file.before, before[file.before.sha256]) for file in spec.touched if file.before
    }
    effects = effects_of(spec.base, known.get, parts.rules, based=True)
    return {
        effect.after.sha256: effect.new
        for effect in effects
        if effect.after is not None and effect.new is not None
    }


def add_checks(parts: Parts, plan_id: str, results: Sequence[CheckResult]) -> None:
    passed = sum(result.exit_code == 0 for result in results)
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        state = stored.document.state
        passed_after = results and all((one.phase, one.exit_code) == (CheckPhase.AFTER, 0) for one in results)
        if passed_after and not state.commit:  # which is still to come
            transaction.set_checking(None)
        own = [one.command for one in results if one.phase is UNSET]
        commands = tuple(dict.fromkeys([*(state.check_commands or ()), *own])) or UNSET
        document = with_state(stored.document, checks=(*state.checks, *results), check_commands=commands)
        reason = f"{passed} of {len(results)} checks passed"
        transaction.save_plan(stored, document, NewEvent(EventKind.CHECKED, Actor.SYSTEM, reason))


def mark_pending(parts: Parts, plan_id: str, *, pending: bool) -> PlanState:
    target = PlanStatus.PENDING_REVIEW if pending else PlanStatus.PROPOSED
    kind = EventKind.MARKED_PENDING if pending else EventKind.SENT_BACK
    with parts.store.transaction() as transaction:
        stored = transaction.plan(plan_id)
        if stored.document.change and stored.document.change.superseded_at:
            raise Superseded(plan=f"p{stored.number}")
        status = PLAN_MACHINE.advance(stored.document.state.status, target)
        document = with_state(stored.document, status=status)
        return transaction.save_plan(stored, document, NewEvent(kind, Actor.USER)).document.state
