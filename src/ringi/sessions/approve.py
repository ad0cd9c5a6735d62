"""A person approves the design: what exactly, with what proof, and which run it becomes (IP-8, IP-9)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from ringi.approvals.cover import SubjectHistory, covering_approval
from ringi.approvals.document import Approval, ApprovalRequest, Proof, SignedAct
from ringi.approvals.kinds import of_session, request_of
from ringi.approvals.proof import approval_of, prove, require_answer
from ringi.engine.instruction import ANSWER, NO_REASON, REASON, Instruction
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_state import RUN_MACHINE, RunPhase
from ringi.errors import NotFound, SessionOver
from ringi.kernel import codec
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import short
from ringi.models.budget import count_planning
from ringi.sessions import operations
from ringi.sessions.document import HANDED_ON, PlanningSession, StoredSession
from ringi.sessions.operations import ENDED, state_of
from ringi.sessions.save import prepare_save, save_with_retries

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace
    from ringi.runs.document import Run


def build_enhanced_instruction(session: PlanningSession) -> str:
    """Without skipped questions."""
    requirements = "\n".join(
        f"- {_within(question.question)}\n{ANSWER}{_within(question.answer)}"
        for question in session.questions
        if question.type in HANDED_ON and question.answer is not None
    )
    decisions = "\n".join(
        f"- {_within(decision.topic)}: {_within(decision.selected.name)}\n"
        + (f"{REASON}{_within(decision.rationale)}" if decision.rationale else NO_REASON)
        for decision in session.decisions
        if decision.selected
    )
    return Instruction(session.instruction, requirements, decisions, session.design_summary or "").render()


def _within(words: str) -> str:
    """Indents further lines so that they stay inside their item."""
    return "\n  ".join(words.splitlines())


def subject_of(workspace: Workspace, stored: StoredSession) -> bytes:
    """The bytes that the person approves."""
    session, workspace_id = stored.session, workspace.store.workspace_id()
    plan, forge = _plan_of(stored), stored.facts.forge
    return codec.canonical(
        of_session(session, workspace_id, build_enhanced_instruction(session), plan, forge)
    )


def _plan_of(stored: StoredSession) -> RunPlan:
    assert stored.facts.run_plan is not None  # noqa: S101  # a session in review is saved with it
    return stored.facts.run_plan


def request(workspace: Workspace, stored: StoredSession) -> ApprovalRequest:
    """A session in review is its own request: this one is not stored."""
    session, now = stored.session, workspace.clock.now()
    return request_of(
        subjects.session(session.session_id),
        session.reject_count,
        subject_of(workspace, stored),
        ids=workspace.ids,
        # It may be in the future if the clock was set back or a file said so: then it is no limit.
        requested_at=session.updated_at if session.updated_at <= now else "",
        expires_at=now,
    )


def approve(workspace: Workspace, stored: StoredSession, approver: str, proof: Proof) -> StoredSession:
    session = stored.session
    command = f"ringi plan --resume {short(session.session_id)}"
    require_answer(workspace, proof, command, f"{command} --approve --sign KEY")
    asked, data = request(workspace, stored), subject_of(workspace, stored)
    made_at = session.created_at
    record = prove(workspace, asked, data, proof, act=SignedAct.APPROVE, approver=approver, made_at=made_at)
    now = asked.expires_at
    plan, facts = _plan_of(stored), stored.facts
    run = workspace.store.runs.waiting(
        plan,
        session.session_id,
        build_enhanced_instruction(session),
        now,
        facts.created_by,
        forge=facts.forge,
        replaces=facts.replaces,
        planned=count_planning(facts.usage),
        by_model=facts.by_model,
    )
    state, entries = prepare_save(workspace, operations.approve(state_of(stored), run.run_id, now), ())

    def saving(transaction: Store) -> StoredSession:
        last = transaction.last_hash()
        approval = approval_of(workspace, asked, data, record, approver=approver, after_event=last)
        event = NewEvent(EventKind.SESSION_APPROVED, Actor.USER, asked.digest, approval)
        made = transaction.sessions.save(stored, state.session, state.facts, event, entries)
        transaction.approvals.add(approval)
        transaction.approvals.spend(approval.id, run.run_id)
        transaction.runs.add(run, NewEvent(EventKind.RUN_CREATED, Actor.SYSTEM, session.session_id), plan)
        return made

    return save_with_retries(workspace, saving)


def covering(workspace: Workspace, session: PlanningSession) -> Approval | None:
    """The approval of exactly what its run got. Raises like `covering_approval`."""
    session_id = session.session_id
    history = SubjectHistory(
        subjects.session(session_id),
        short(session_id),
        workspace.store.approvals.of(session_id),
        [logged.event for logged in workspace.store.events(session_id)],
    )
    if not history.approvals:
        return None
    run = workspace.store.runs.get(session.planner_session_id or "")
    plan = workspace.store.runs.plan(run.run_id)
    workspace_id = workspace.store.workspace_id()
    # A run without one was never approved.
    data = (
        codec.canonical(of_session(session, workspace_id, run.instruction, plan, run.forge)) if plan else b""
    )
    return covering_approval(workspace, history, lambda _: data)


def cancel(workspace: Workspace, stored: StoredSession, actor: Actor) -> StoredSession:
    """Also cancels an approved session and its run, as long as the run has not begun."""
    state, entries = prepare_save(workspace, operations.cancel(state_of(stored)), ())

    def saving(transaction: Store) -> StoredSession:
        # Inside the transaction, so that it is not started meanwhile.
        run = _waiting_run(workspace, stored.session)
        event = NewEvent(EventKind.SESSION_CANCELLED, actor)
        made = transaction.sessions.save(stored, state.session, state.facts, event, entries)
        if run is not None:
            phase = RUN_MACHINE.advance(run.phase, RunPhase.CANCELLED)
            ended = replace(run, phase=phase, updated_at=state.session.updated_at)
            transaction.runs.save(ended, NewEvent(EventKind.RUN_CANCELLED, actor))
        return made

    return save_with_retries(workspace, saving)


def _waiting_run(workspace: Workspace, session: PlanningSession) -> Run | None:
    """None if there is none to cancel: the session was not approved, or its run is lost."""
    if not session.planner_session_id:
        return None
    try:
        run = workspace.store.runs.get(session.planner_session_id)
    except NotFound:
        return None
    if run.phase is not RunPhase.PLANNING:
        raise SessionOver(session=short(session.session_id), status=ENDED[session.status])
    return run
