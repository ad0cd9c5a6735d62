"""A run on its forge: its branch, the pull or merge request, the status and the comment, as the run is now.

Every part can be done again, in another process and after a crash: what is there is found by the branch of
the run, by marks, and by what the ledger says was pushed. So nothing is made twice.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from msgspec import UNSET
from msgspec.structs import replace

from ringi.approvals.forge import ForgeTerms
from ringi.approvals.view import change_name, item_name, not_pushed
from ringi.engine.instruction import language_of
from ringi.engine.run_state import OVER, RunPhase, StepStatus
from ringi.errors import (
    BranchOvertaken,
    BranchRefused,
    ChangeOver,
    ChangeTaken,
    CloneUnreadable,
    FilterNeeded,
    ForgeFailed,
    InvalidSpecs,
    NoCommit,
    NoExtra,
    NoForge,
    NoForgeToken,
    NoSuchCommit,
    NotesFailed,
    NotFound,
    NotOffered,
    OfferMoved,
    PushFailed,
    RefDamaged,
    RingiError,
    SyncFailed,
)
from ringi.forges.body import change_body, change_title
from ringi.forges.document import ChangeRequest, ChangeState, CommitStatus, NewChangeRequest, StatusState
from ringi.forges.port import CodeHost
from ringi.forges.progress import tell_run
from ringi.forges.terms import reviews_count
from ringi.kernel.text import COMMIT_SHOWN, Text, in_language
from ringi.kernel.words import keep_text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.plans.document import PlanDocument
from ringi.plans.offer import offer_order, set_offered
from ringi.policy.risk_level import CATEGORY, Category, RiskCode
from ringi.runs import machine
from ringi.runs.branch import BranchOf
from ringi.runs.changed_steps import follow_plans
from ringi.runs.document import Offer, OfferedStep, Review, Run, RunEvent, StepState, Stop, StopCode, stop_for
from ringi.tree.action_spec import select_specs

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_LEFT: Final = (
    *(BranchRefused, CloneUnreadable, ForgeFailed, InvalidSpecs, NoCommit, NoExtra, NoForge, NoForgeToken),
    *(NoSuchCommit, NotesFailed, PushFailed, RefDamaged, SyncFailed),
)
_UNDONE: Final = "undone"
_HARMFUL: Final = frozenset([Category.CREDENTIALS, Category.CI])
"""What others could read, and what the forge would run with its own secrets."""
_HERE: Final = Text("the result waits for an approval here: a review on the forge does not count")
_OVER: Final = {ChangeState.CLOSED: Text("closed"), ChangeState.MERGED: Text("merged")}
OnEvent = Callable[[RunEvent], None]


def is_due(run: Run) -> bool:
    """Whether the forge has to be told of the end of the run."""
    return run.forge is not None and run.phase in OVER and _end(run) != (run.offer.told if run.offer else "")


def _end(run: Run) -> str:
    return _UNDONE if run.undone else str(run.phase)


def offer_run(workspace: Workspace, run_id: str, on_event: OnEvent = lambda _: None) -> Run:
    """Brings the forge up to date. The caller holds the lock of the run.

    Raises nothing that a later try can mend: the run says then what is left to do.
    """
    run = workspace.store.runs.get(run_id)
    if run.replaces and run.forge:
        with suppress(NotFound):
            if is_due(workspace.store.runs.get(run.replaces)):
                offer_run(workspace, run.replaces, on_event)
    if run.forge is None or (run.phase in OVER and not is_due(run)):
        return run
    on_forge = _OnForge(workspace, run, run.forge, on_event)
    try:
        _bring(on_forge)
    except _LEFT as error:
        _leave(on_forge, error)
    return on_forge.run


class _OnForge:
    """One run in the ledger, and the place that it is brought to."""

    def __init__(self, workspace: Workspace, run: Run, terms: ForgeTerms, on_event: OnEvent) -> None:
        self.workspace = workspace
        self.terms = terms
        self.parts = workspace.publishing()
        self.plan = workspace.store.runs.plan(run.run_id)
        self.say = in_language(language_of(run.instruction))
        self.run = run
        self._on_event = on_event

    @property
    def offer(self) -> Offer:
        return self.run.offer or Offer(head="")

    @property
    def host(self) -> CodeHost:
        return self.workspace.forges.host(self.terms.project)

    def hear(self, what: Text) -> None:
        self._on_event(RunEvent(self.run, "", what))

    def set_status(self, state: StatusState, words: Text) -> None:
        self.host.commits.set_status(self.offer.head, CommitStatus(state, self.say(words), self.offer.url))

    def stop(self, code: StopCode, why: Text, then: Text | str) -> Stop | None:
        """At the step where it waits; None if it does not."""
        old, mask = self.run.stop, self.workspace.mask
        return old and stop_for(code, why, then, step_id=old.step_id, detail=old.detail, mask=mask)

    def save(self, reason: str, *, stop: Stop | None = None, **offer: object) -> None:
        stored = self.workspace.store.runs.get_stored(self.run.run_id)
        changed = replace(stored.run, offer=replace(self.offer, **offer), stop=stop or stored.run.stop)
        if changed != stored.run:
            changed = replace(changed, updated_at=self.workspace.clock.now())
            event = NewEvent(EventKind.RUN_ADVANCED, Actor.SYSTEM, reason)
            with self.workspace.store.transaction() as transaction:
                transaction.runs.save(changed, event, stored.revision)
        self.run = changed


def _bring(there: _OnForge) -> None:
    run = there.run
    if run.phase is RunPhase.CANCELLED or run.undone:
        _withdraw(there)
    elif run.phase is RunPhase.COMPLETED:
        _settle(there)
    elif is_offered(run):
        _show(there)
    tell_run(there.workspace, there.run)
    if run.phase in OVER:
        there.save(f"{there.terms.project.host}: {_end(run)}", told=_end(run), left="", left_told=UNSET)


def _show(there: _OnForge) -> None:
    """What waits for a review."""
    _offer_steps(there)
    if not there.offer.steps:
        return
    _require_open(there)
    _push(there)
    _open(there)
    waits, message, action = (
        (Text("waits for an approving review"), Text("the result waits for a review"), "ringi watch")
        if reviews_count(there.workspace)
        else (Text("waits for an approval where the run is"), _HERE, "ringi review")
    )
    there.set_status(StatusState.PENDING, waits)
    code = StopCode.APPROVAL_NEEDED  # it may have been moved, and put back
    there.save("offered", stop=there.stop(code, message, action), left="", left_told=UNSET)


def _settle(there: _OnForge) -> None:
    """What was approved. It may be merged already."""
    tip = BranchOf.run(there.run).tip
    if not tip or not there.terms.opens_change:
        return
    there.save(f"head {tip[:COMMIT_SHOWN]}", head=tip)
    change = _find_change(there)
    is_open = change is None or change.state is ChangeState.OPEN
    if is_open:
        _push(there)
    elif there.offer.pushed != tip:
        _require_open(there)
    there.parts.sync_notes(there.terms)
    if is_open:
        _open(there)  # after the notes: CI looks again when the text changes
    found = there.parts.verdict(there.run, tip)
    count, covered = len(found.files), sum(one.covered for one in found.files)
    words = Text("{covered} of {count} files are approved", covered=covered, count=count)
    there.set_status(StatusState.SUCCESS if covered == count else StatusState.FAILURE, words)


def _withdraw(there: _OnForge) -> None:
    """The run ended without this; a comment there says so."""
    change = _find_change(there) if there.terms.opens_change else None
    if change is None:
        return
    name = f"`{there.run.run_id}`"
    words = Text("Run {run} was cancelled. Its commits stay on this branch and are not approved.", run=name)
    if there.run.undone:
        words = Text("Run {run} was undone: its branch is gone where it ran.", run=name)
    there.hear(Text("closing {url}", url=change.url))
    there.host.items.write(change.item, f"run {there.run.run_id} end", there.say(words))
    if change.state is ChangeState.OPEN:
        there.host.changes.edit(change.number, state=ChangeState.CLOSED)
    if there.offer.pushed:
        there.set_status(StatusState.FAILURE, Text("the run was cancelled"))
    there.save("withdrawn", number=change.number, url=change.url)


def _leave(there: _OnForge, error: RingiError) -> None:
    """Says what is left to do, also on the forge if that works."""
    mask, why, stop = there.workspace.mask, Text(error.message, **error.details), None
    if is_offered(there.run):
        # Trying again does not help.
        decided = isinstance(error, ChangeOver | ChangeTaken | NoForge | NotOffered | OfferMoved)
        again = f"ringi continue {there.run.run_id}"
        code = StopCode.BRANCH_MOVED if isinstance(error, OfferMoved) else StopCode.APPROVAL_NEEDED
        stop = there.stop(code, why, Text(error.hint, **error.details) if error.hint and decided else again)
    there.save(f"left: {error.code}", stop=stop, left=mask(str(why)), left_told=keep_text(why, mask))
    if isinstance(error, ChangeOver | ChangeTaken) or not isinstance(
        error, ForgeFailed | NoForgeToken | NoExtra
    ):
        with suppress(RingiError):
            tell_run(there.workspace, there.run)


# The commits.


def _offer_steps(there: _OnForge) -> None:
    """Each step as a commit object; its id is part of what a review approves.

    Only as far as each was made from what the one before it is now. The others come once those are decided:
    the run makes them fit first.
    """
    run, branch = there.run, there.workspace.on_branch(there.run.run_id)
    branch.prepare()
    commits, parent = there.parts.commits(run), there.workspace.branch(run.run_id).tip()
    known = {(one.plan_id, one.plan_version): one.commit for one in there.offer.steps}
    made, fits = list[OfferedStep](), True
    for index, step in enumerate(run.steps):
        if step.status is not StepStatus.PROPOSED:
            continue
        document, below = branch.plan.get(step.plan_id), parent
        version = document.plan.version
        fits = fits and not step.merging and step.base_tree == machine.tree_before(run, index)
        why: object = _find_harm(document) if fits else None
        if fits and why is None:
            order = offer_order(branch, step.plan_id, below, _step_time(run, step))
            try:
                parent = commits.make(order, known.get((step.plan_id, version), ""))
                made.append(OfferedStep(step.step_id, step.plan_id, version, parent))
            except FilterNeeded as error:
                why = error.details["why"]
        if why is not None:
            if not made:
                raise NotOffered(step=step.step_id, why=why, plan=branch.plan_name(step.plan_id))
            fits = False
        set_offered(branch, step.plan_id, version, parent if fits else "", below if fits else "")
        fits = fits and version == step.plan_version  # else it was changed here
    there.save(f"offers {parent[:COMMIT_SHOWN]}", head=parent, steps=tuple(made))


def _find_harm(document: PlanDocument) -> Text | None:
    """Why a push of it before its approval could do harm: a push cannot be taken back."""
    for spec in select_specs(document.state.action_specs, document.state.selection):
        for reason in spec.risk_reasons:
            if reason.code is RiskCode.SECRET:
                return Text("{path} may contain a secret", path=spec.base.path)
            if reason.code is RiskCode.CRITICAL_FILE and reason.subject in _HARMFUL:
                what = CATEGORY[Category(reason.subject)]
                return Text("{path} is {what}", path=spec.base.path, what=what)
    return None


def _push(there: _OnForge) -> None:
    """Only onto what we pushed ourselves."""
    branch, head, offer = there.run.work_branch, there.offer.head, there.offer
    remote = there.parts.branches(there.run, there.terms)
    now = remote.tip(branch)
    if now not in {head, offer.pushed, *filter(None, [offer.pushing])}:
        raise _describe_move(there, now)
    if now != head:
        there.hear(Text("pushing {branch}", branch=branch))
        there.save(f"pushes {head[:COMMIT_SHOWN]}", pushed=now, pushing=head)
        try:
            remote.push(branch, head, now)
        except BranchOvertaken:
            raise _describe_move(there, remote.tip(branch)) from None
    there.save(f"pushed {head[:COMMIT_SHOWN]}", pushed=head, pushing="")


def _describe_move(there: _OnForge, now: str) -> OfferMoved:
    if not now:
        why = Text("it was deleted")
    elif there.offer.pushed or there.offer.pushing:
        why = not_pushed(now[:COMMIT_SHOWN])
    else:
        why = Text("there is one already that the run did not push")
    host, run = there.terms.project.host, there.run
    return OfferMoved(branch=run.work_branch, host=host, why=why, run=run.run_id)


# The change.


def _find_change(there: _OnForge) -> ChangeRequest | None:
    """Ours by its number; by branches and author if a crash lost the number."""
    run, host = there.run, there.host
    if there.offer.number:
        return host.changes.change(there.offer.number)
    found = host.changes.from_branch(run.work_branch)
    if found is None or found.base_branch != run.base_branch or found.author.id != host.people.me().id:
        return None
    return found


def _require_open(there: _OnForge) -> None:
    change, project = _find_change(there), there.terms.project
    if change is not None and change.state is not ChangeState.OPEN:
        raise ChangeOver(
            change=item_name(project, change.item),
            host=project.host,
            state=_OVER[change.state],
            run=there.run.run_id,
        )


def _open(there: _OnForge) -> None:
    """A title that was changed there stays."""
    run, mask = there.run, there.workspace.mask
    now = follow_plans(there.workspace.store, run, there.plan)
    report = mask(there.parts.report(_preview_approved(now, there.offer)))
    counts = reviews_count(there.workspace)
    store, made = there.workspace.store, [step.plan_id for step in run.steps if step.plan_id]
    reviewed = any(one.proof.review for plan_id in made for one in store.approvals.of(plan_id))
    body = change_body(run, there.plan, there.terms, report, there.say, counts=counts, reviewed=reviewed)
    if there.offer.number:
        there.host.changes.edit(there.offer.number, body=body)
        return
    there.hear(Text("opening a draft {change}", change=change_name(there.terms.project)))
    title = mask(change_title(run, there.plan))
    change = there.host.changes.open(NewChangeRequest(run.work_branch, run.base_branch, title, body))
    there.save(f"opened {change.url}", number=change.number, url=change.url)


def _preview_approved(run: Run, offer: Offer) -> Run:
    """As a review decides about it: with the commits that wait for one."""
    made = {one.step_id: one.commit for one in offer.steps}
    steps = tuple(
        replace(step, status=StepStatus.DONE, commit=made[step.step_id])
        if step.status is StepStatus.PROPOSED and step.step_id in made
        else step
        for step in run.steps
    )
    done = all(step.status is StepStatus.DONE for step in steps)
    return replace(run, steps=steps, stop=None, phase=RunPhase.COMPLETED if done else run.phase)


def is_offered(run: Run) -> bool:
    """Whether a review on the forge decides what comes next."""
    waits = run.stop is not None and run.stop.reason_code in {StopCode.APPROVAL_NEEDED, StopCode.BRANCH_MOVED}
    terms = run.forge is not None and run.forge.opens_change
    made = any(step.status is StepStatus.PROPOSED for step in run.steps)
    return waits and terms and made and run.review is Review.FORGE and run.stopped_in is RunPhase.EXECUTING


def _step_time(run: Run, step: StepState) -> str:
    """When the step was made: it does not change when it is offered again."""
    return step.told_at or step.started_at or run.created_at
