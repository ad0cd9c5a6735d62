"""The plan tool (PT-4), with the specification's names. Every change to the workspace goes through it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from ringi.approvals.document import (
    ApprovalOutcome,
    ApprovalRequest,
    ApprovedPlan,
    CommitSubject,
    Declined,
    Proof,
    SignedAct,
)
from ringi.approvals.feedback import LineComment, Side
from ringi.kernel import codec
from ringi.ledger.event import Actor
from ringi.ledger.subject import StepOf
from ringi.patch.conflict import Conflict
from ringi.plans import amend, answer, approve, check, commit, execute, merge, preview, propose, undo
from ringi.plans.approve import outcome
from ringi.plans.document import (
    OPEN,
    Amendment,
    MessageRef,
    PlanAnswer,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanState,
    StoredPlan,
    ValidationReport,
)
from ringi.plans.execution import CommandStart, ExecutionResult
from ringi.plans.merge import MergedSpecs
from ringi.plans.place import require_here
from ringi.plans.propose import NO_REMARKS, Remarks
from ringi.plans.undo import Undoable
from ringi.tree.action_spec import ALL_SPECS, ActionSpec, SpecSelection
from ringi.tree.check_result import CheckResult

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


class PlanTool:
    """A plan is given by its id, the beginning of it, or its short name (p7)."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def _id(self, plan_id: str) -> str:
        return self._workspace.store.plans.id_of(plan_id)

    def propose(
        self,
        content: str,
        sources: Sequence[MessageRef] = (),
        rationale: str = "",
        tags: Sequence[str] = (),
        *,
        proposer: str = "",
        left_out: Sequence[str] = (),
        requester: str = "",
        actor: Actor = Actor.AI,
        plan_id: str = "",
        step: StepOf | UnsetType = UNSET,
        commit: str = "",
    ) -> str:
        """`proposer` is a label for people; `requester` is set only by the program that started the proposer.

        `actor` is who proposes: an agent, unless the caller knows that a person does. A `plan_id` that was
        given before is the same plan again. `step` makes it a step of a run, `commit` is its message.
        """
        for source in sources:
            codec.require(source, MessageRef, "source")
        return propose.propose(
            self._workspace,
            content,
            sources,
            rationale,
            tags,
            proposer=proposer,
            left_out=left_out,
            requester=requester,
            actor=actor,
            plan_id=plan_id,
            step=step,
            commit=commit,
        )

    def propose_specs(
        self,
        content: str,
        specs: Sequence[ActionSpec],
        *,
        proposer: str = "",
        actor: Actor = Actor.AI,
        remarks: Remarks = NO_REMARKS,
        merged: MergedSpecs | None = None,
    ) -> str:
        """A plan together with its specs; stores nothing if one of them is invalid.

        `merged` is for specs that were merged with files that changed meanwhile.
        """
        for spec in specs:
            codec.require(spec, ActionSpec, "spec")
        return propose.propose_specs(
            self._workspace,
            content,
            specs,
            proposer=proposer,
            actor=actor,
            remarks=remarks,
            merged=merged,
        )

    def set_action_specs(
        self,
        plan_id: str,
        specs: Sequence[ActionSpec],
        *,
        actor: Actor = Actor.AI,
        requester: str = "",
        reason: str = "",
        from_model: Sequence[int] = (),
    ) -> ValidationReport:
        """Replacing specs makes a new version of the plan, which no earlier approval covers.

        Invalid specs do not replace others. `requester` is set only by the program that started the proposer.
        `from_model` says which of them, counted from 0, a language model extracted from the plan's text.
        """
        for spec in specs:
            codec.require(spec, ActionSpec, "spec")
        return propose.set_specs(
            self._workspace,
            self._id(plan_id),
            specs,
            basis={},
            actor=actor,
            requester=requester,
            reason=reason,
            keep_good=True,
            from_model=from_model,
        ).report

    def preview(self, plan_id: str) -> PlanPreview:
        """What the plan would do to the current files, or what it did if it was carried out."""
        return preview.preview(self._workspace, self.get(plan_id))

    def conflicts(self, plan_id: str) -> tuple[Conflict, ...]:
        """What a person has to decide, because they and the proposer changed the same meanwhile."""
        document = self.get(plan_id)
        if document.state.status not in OPEN:
            return ()
        return tuple(one.about for one in merge.open_conflicts(self._workspace, document))

    def request_approval(self, plan_id: str, selection: SpecSelection = ALL_SPECS) -> str:
        """Asks for an approval of exactly this; returns the id of the request."""
        return self.ask(plan_id, selection).id

    def ask(
        self, plan_id: str, selection: SpecSelection = ALL_SPECS, seen: PlanDocument | None = None
    ) -> ApprovalRequest:
        """As `request_approval`, but returns the whole request; a person is shown its digest.

        Raises PlanChanged if the plan is no longer the one that was `seen`.
        """
        return approve.request(self._workspace, self._id(plan_id), selection, seen)

    def approve(
        self,
        plan_id: str,
        approver: str,
        selection: SpecSelection = ALL_SPECS,
        proof: Proof | None = None,
        note: str = "",
    ) -> ApprovedPlan:
        """Raises NoChannel without the proof of a person: an answer typed here, or a signature."""
        return approve.approve(self._workspace, self._id(plan_id), approver, selection, proof, note)

    def statement(
        self,
        request: ApprovalRequest,
        approver: str,
        note: str = "",
        *,
        act: SignedAct = SignedAct.APPROVE,
    ) -> str:
        """What a key signs to approve what was asked; with its signature it becomes a SignedAnswer."""
        if act is SignedAct.UNDO:
            return undo.statement(self._workspace, request, approver)
        return approve.statement(self._workspace, request, approver, note)

    def outcome(self, plan_id: str) -> ApprovalOutcome | None:
        """How the newest request ended; None while a person can still answer, or if there was none."""
        return outcome(self._workspace, self._id(plan_id))

    def approved_already(self, plan_id: str, selection: SpecSelection = ALL_SPECS) -> ApprovedPlan | None:
        """The approval that a call gave before, if it still covers exactly this."""
        return approve.find_approval(self._workspace, self._id(plan_id), selection)

    def reject(self, plan_id: str, feedback: str) -> Declined:
        """Feedback is never approval: the plan goes back to its proposer."""
        return approve.reject(self._workspace, self._id(plan_id), feedback)

    def discard(self, plan_id: str, reason: str = "", *, own: bool = False) -> PlanState:
        """Ends the plan: no list shows it any more, and it can never be carried out.

        `own` is set by whoever knows that the proposer itself asks. Raises NoChannel if an agent asks for
        another's plan, or for one that a person decided on.
        """
        return approve.discard(self._workspace, self._id(plan_id), reason, own=own)

    def amend(
        self,
        plan_id: str,
        amendments: Sequence[Amendment],
        *,
        seen: PlanDocument | None = None,
        reason: str = "",
    ) -> ValidationReport:
        """A new version with hunks dropped or lines edited, validated and scored again."""
        return amend.amend(self._workspace, self._id(plan_id), amendments, seen=seen, reason=reason)

    def execute(self, plan_id: str) -> ExecutionResult:
        """Carries out only what a person approved and what was not carried out yet.

        A plan that only reads is free, unless git ignores a file of it or one may hold credentials: raises
        ReadNotApproved.
        """
        return execute.execute(self._workspace, self._id(plan_id))

    def check(self, plan_id: str) -> tuple[CheckResult, ...]:
        """A dry run: all checks, on copies; the workspace stays as it is."""
        return check.dry(self._workspace, self._workspace.store.plans.get(self._id(plan_id)))

    def check_again(self, plan_id: str, *, reviewer: int = 0) -> tuple[CheckResult, ...]:
        """The plan's own checks on its changes as they are now, in a sandbox only (else NoSandbox).

        A process that reviews the plan gets the copy kept, so that the next time is faster.
        """
        return check.again(self._workspace, self._workspace.store.plans.get(self._id(plan_id)), reviewer)

    def comment(
        self,
        plan_id: str,
        path: str,
        line: int,
        text: str,
        *,
        side: Side = Side.NEW,
        seen: PlanDocument | None = None,
        instead_of: LineComment | None = None,
    ) -> LineComment:
        """A comment on one line, for the proposer; it may replace an earlier one."""
        return answer.comment(
            self._workspace,
            self._id(plan_id),
            path,
            line,
            text,
            side=side,
            seen=seen,
            instead_of=instead_of,
        )

    def wish_commit(self, plan_id: str, message: str | None) -> PlanState:
        """Asks for a commit of what the plan writes, with this message; None withdraws it.

        The commit is part of what is approved. Raises NoCommit if no commit can be made.
        """
        return commit.wish(self._workspace, self._id(plan_id), message)

    def answer(self, plan_id: str) -> PlanAnswer:
        """What the person decided, said and changed, for the proposer."""
        return answer.answer(self._workspace, self._workspace.store.plans.get(self._id(plan_id)))

    def to_undo(self, plan_id: str | None = None) -> str:
        """The id of the plan; by default of the one that was carried out last."""
        return self._id(plan_id) if plan_id else undo.newest(self._workspace)

    def revert_commit(self, plan_id: str) -> CommitSubject | None:
        """The commit that could follow an undo, to take back the plan's own; None if there is none.

        Raises NoCommit if it cannot be made.
        """
        stored = self._workspace.store.plans.get(self._id(plan_id))
        require_here(self._workspace, stored)
        return undo.revert_commit(self._workspace, stored, undo.undoable(self._workspace, stored))

    def ask_undo(
        self, plan_id: str | None = None, *, commit: bool = False
    ) -> tuple[ApprovalRequest, Undoable]:
        """What undoing the plan (by default the newest) would restore; with `commit`, a commit follows."""
        return undo.request(self._workspace, self.to_undo(plan_id), commit=commit)

    def undo(self, plan_id: str, approver: str, proof: Proof | None = None) -> ExecutionResult:
        """Restores what the plan changed; later edits of its files stay."""
        return undo.undo(self._workspace, self._id(plan_id), approver, proof)

    def later_changes(self, plan_id: str) -> dict[str, str]:
        """What was written to the plan's files since it was carried out: a diff for each path."""
        return undo.later_changes(self._workspace, self._workspace.store.plans.get(self._id(plan_id)))

    def recover(self) -> list[ExecutionResult]:
        """Finishes or rolls back what a crash interrupted. Every command does this first."""
        return execute.recover(self._workspace)

    def settle(self, plan_id: str, spec_id: str, *, done: bool) -> None:
        """A person says of an interrupted command that it is done, or that it must run again."""
        execute.settle(self._workspace, self._id(plan_id), spec_id, done=done)

    def find(self, name: str) -> str:
        """The id of the plan with this name. Raises NotFound, Ambiguous."""
        return self._workspace.store.plans.find(name)

    def ref(self, plan_id: str) -> PlanRef:
        """Its line in lists."""
        return self._workspace.store.plans.ref(self._id(plan_id))

    def stored(self, plan_id: str) -> StoredPlan:
        """The document with its number and its revision, which counts its saves."""
        return self._workspace.store.plans.get(self._id(plan_id))

    def revision(self, plan_id: str) -> int:
        return self._workspace.store.plans.revision(self._id(plan_id))

    def cut_off(self, plan_id: str) -> tuple[CommandStart, ...]:
        """Commands of the plan that started but have no recorded end."""
        executions = self._workspace.store.executions.of(self._id(plan_id))
        return tuple(command.start for command in execute.cut_off(self._workspace, executions))

    def get(self, plan_id: str) -> PlanDocument:
        return self._workspace.store.plans.get(self._id(plan_id)).document

    def get_state(self, plan_id: str) -> PlanState:
        """Status, specs, selection, approvals, previews, checks and feedback."""
        return self.get(plan_id).state

    def get_current(self) -> PlanRef | None:
        """The plan that was proposed last and not carried out yet."""
        current = self._workspace.store.plans.current()
        return self._workspace.store.plans.ref(current) if current else None

    def list(self, *, limit: int | None = None, waiting: bool = False) -> list[PlanRef]:
        """The newest first, without discarded ones; with `waiting` only those that need a person."""
        return self._workspace.store.plans.refs(limit=limit, waiting=waiting)

    def mark_pending(self, plan_id: str, pending: bool) -> PlanState:  # the specification's signature
        """Switches between proposed and pending_review; an approved plan goes back to review."""
        return propose.mark_pending(self._workspace, self._id(plan_id), pending=pending)

    def clear_current(self) -> None:
        """Makes no plan the current one; the plan itself stays as it is."""
        with self._workspace.store.transaction() as transaction:
            transaction.plans.clear_current()
