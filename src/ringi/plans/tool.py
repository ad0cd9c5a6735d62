"""The plan tool (PT-4): the one door to the workspace, with the specification's names."""

from collections.abc import Sequence
from typing import Final

from ringi.domain.approval import ApprovalRequest, ApprovedPlan, Declined, TypedAnswer
from ringi.domain.events import Actor
from ringi.domain.execution import ExecutionIntent, ExecutionResult
from ringi.domain.plan import (
    ALL_SPECS,
    ActionSpec,
    CheckResult,
    MessageRef,
    PlanDocument,
    PlanPreview,
    PlanRef,
    PlanState,
    SpecSelection,
    ValidationReport,
)
from ringi.domain.project_state import ProjectState
from ringi.plans import carrying, changing, deciding, proposing
from ringi.plans.changing import Change, Dependents
from ringi.plans.effects import Effect
from ringi.plans.parts import Parts
from ringi.plans.validation import Basis, Validated

_WHOLE_ID: Final = len("00000000-0000-0000-0000-000000000000")


class PlanTool:
    """A plan is named by its id, the beginning of it, or the short name people use (p7)."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def _id(self, plan_id: str) -> str:
        return plan_id.lower() if len(plan_id) == _WHOLE_ID else self._parts.store.find(plan_id)

    def propose(
        self,
        content: str,
        sources: Sequence[MessageRef] = (),
        rationale: str = "",
        tags: Sequence[str] = (),
        *,
        proposer: str = "",
        left_out: Sequence[str] = (),
        actor: Actor = Actor.AI,
    ) -> str:
        return proposing.propose(
            self._parts,
            content,
            sources,
            rationale,
            tags,
            proposer=proposer,
            left_out=left_out,
            actor=actor,
        )

    def propose_specs(
        self, content: str, specs: Sequence[ActionSpec], *, proposer: str = "", actor: Actor = Actor.AI
    ) -> str:
        """A plan together with its specs; where one of them cannot be carried out, nothing is kept."""
        return proposing.propose_specs(self._parts, content, specs, proposer=proposer, actor=actor)

    def propose_change(self, change: Change, state: ProjectState, dependents: Dependents) -> str:
        """A change plan on this project state; every rule of its specification holds, or nothing is kept."""
        return changing.propose_change(self._parts, change, state, dependents)

    def take_state(self, state: ProjectState) -> list[str]:
        """The newest project state; answers with the change plans it supersedes."""
        return changing.take_state(self._parts, state)

    def effects(self, plan_id: str) -> list[tuple[Effect, ...]]:
        """What each spec does to files, or did."""
        return proposing.effects(self._parts, self._parts.store.plan(self._id(plan_id)))

    def set_action_specs(
        self, plan_id: str, specs: Sequence[ActionSpec], *, actor: Actor = Actor.AI, reason: str = ""
    ) -> ValidationReport:
        """Replacing specs makes a new version of the plan, which no earlier approval covers.

        Specs that fail validation do not replace others.
        """
        return proposing.set_specs(
            self._parts, self._id(plan_id), specs, basis={}, actor=actor, reason=reason, keep_good=True
        ).report

    def set_specs_on(
        self, plan_id: str, specs: Sequence[ActionSpec], basis: Basis, *, actor: Actor, reason: str = ""
    ) -> Validated:
        """As `set_action_specs`, for a proposer that saw the files as `basis` says, not as they are now."""
        plan_id = self._id(plan_id)
        return proposing.set_specs(self._parts, plan_id, specs, basis=basis, actor=actor, reason=reason)

    def keep_specs(
        self, plan_id: str, spec_ids: Sequence[str], *, seen: PlanDocument, actor: Actor, reason: str
    ) -> None:
        """A new version with these specs only, each as it was `seen`; a change plan keeps all of them."""
        plan_id = self._id(plan_id)
        proposing.keep_specs(self._parts, plan_id, spec_ids, seen=seen, actor=actor, reason=reason)

    def add_checks(self, plan_id: str, results: Sequence[CheckResult]) -> None:
        proposing.add_checks(self._parts, self._id(plan_id), results)

    def preview(self, plan_id: str) -> PlanPreview:
        return proposing.preview(self._parts, self.get(plan_id))

    def request_approval(self, plan_id: str, selection: SpecSelection = ALL_SPECS) -> str:
        return self.ask(plan_id, selection).id

    def ask(
        self, plan_id: str, selection: SpecSelection = ALL_SPECS, seen: PlanDocument | None = None
    ) -> ApprovalRequest:
        """As `request_approval`, answering with the whole request; its digest is what a person is shown.

        Raises PlanChanged where the plan is no longer the one that was `seen`.
        """
        return deciding.request(self._parts, self._id(plan_id), selection, seen)

    def approve(
        self,
        plan_id: str,
        approver: str,
        selection: SpecSelection = ALL_SPECS,
        proof: TypedAnswer | None = None,
        note: str = "",
    ) -> ApprovedPlan:
        """Raises NoChannel without the proof of a person."""
        return deciding.approve(self._parts, self._id(plan_id), approver, selection, proof, note)

    def reject(self, plan_id: str, feedback: str) -> Declined:
        return deciding.reject(self._parts, self._id(plan_id), feedback)

    def execute(self, plan_id: str) -> ExecutionResult:
        return carrying.execute(self._parts, self._id(plan_id))

    def ask_undo(self, plan_id: str | None = None) -> tuple[ApprovalRequest, ExecutionIntent]:
        """What undoing the plan (the newest, if none is named) would bring back."""
        plan_id = self._id(plan_id) if plan_id else carrying.newest_undoable(self._parts)
        return carrying.request_undo(self._parts, plan_id)

    def undo(self, plan_id: str, approver: str, proof: TypedAnswer | None = None) -> ExecutionResult:
        return carrying.undo(self._parts, self._id(plan_id), approver, proof)

    def recover(self) -> list[ExecutionResult]:
        return carrying.recover(self._parts)

    def get(self, plan_id: str) -> PlanDocument:
        return self._parts.store.plan(self._id(plan_id)).document

    def get_state(self, plan_id: str) -> PlanState:
        return self.get(plan_id).state

    def get_current(self) -> PlanRef | None:
        current = self._parts.store.current()
        return self._parts.store.ref(current) if current else None

    def list(self, *, limit: int | None = None, waiting: bool = False) -> list[PlanRef]:
        return self._parts.store.refs(limit=limit, waiting=waiting)

    def mark_pending(self, plan_id: str, pending: bool) -> PlanState:  # the specification's signature
        return proposing.mark_pending(self._parts, self._id(plan_id), pending=pending)

    def clear_current(self) -> None:
        with self._parts.store.transaction() as transaction:
            transaction.set_current(None)
