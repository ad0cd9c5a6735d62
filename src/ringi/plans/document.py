"""The plan, its action specs and its state (PT-1, PT-2, PT-3, PT-5)."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.feedback import Feedback, LineComment
from ringi.kernel.document import Document, Machine, Versioned
from ringi.kernel.system import milliseconds
from ringi.ledger.subject import StepOf
from ringi.patch.conflict import Conflict
from ringi.plans.change_plan import ApprovalState, ChangeApproval, ChangeFacts, ChangePlan, FileDiff
from ringi.policy.risk_level import Risk, RiskReason, highest
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import (
    ALL_SPECS,
    ActionSpecExt,
    Encoding,
    PlannedChecks,
    SpecSelection,
    select_specs,
)
from ringi.tree.check_result import CheckResult


class PlanStatus(StrEnum):
    PROPOSED = "proposed"
    PENDING_REVIEW = "pending_review"
    APPROVED = "approved"
    SCHEDULED = "scheduled"
    EXECUTING = "executing"
    COMPLETED = "completed"
    ABORTED = "aborted"
    DISCARDED = "discarded"


_P = PlanStatus
PLAN_TRANSITIONS: Final[Mapping[PlanStatus, frozenset[PlanStatus]]] = {
    _P.PROPOSED: frozenset([_P.PENDING_REVIEW, _P.DISCARDED]),
    # Sent back or declined: proposed. It only reads, so there is nothing to approve: scheduled.
    _P.PENDING_REVIEW: frozenset([_P.APPROVED, _P.PROPOSED, _P.SCHEDULED, _P.DISCARDED]),
    _P.APPROVED: frozenset([_P.SCHEDULED, _P.PENDING_REVIEW, _P.DISCARDED]),  # stale: pending_review
    _P.SCHEDULED: frozenset([_P.EXECUTING]),
    _P.EXECUTING: frozenset([_P.COMPLETED, _P.ABORTED]),
    _P.COMPLETED: frozenset(),
    # The remainder runs under the same approval (scheduled) or needs a new one (pending_review).
    _P.ABORTED: frozenset([_P.SCHEDULED, _P.PENDING_REVIEW, _P.DISCARDED]),
    _P.DISCARDED: frozenset(),
}
PLAN_MACHINE: Final = Machine("plan", PLAN_TRANSITIONS)
OPEN: Final = frozenset([_P.PROPOSED, _P.PENDING_REVIEW, _P.APPROVED, _P.ABORTED])
"""It is not being carried out, and it has not ended."""
WAITING: Final = frozenset([_P.PENDING_REVIEW, _P.APPROVED, _P.ABORTED])
ENDED: Final = frozenset([_P.COMPLETED, _P.DISCARDED])


class MessageRef(Document, frozen=True):
    message_id: str
    timestamp: str


class Plan(Document, frozen=True):
    id: str
    title: str
    content: str
    sources: tuple[MessageRef, ...]
    rationale: str
    tags: tuple[str, ...]
    created_at: str
    version: int
    proposer: str = ""
    """A label for people; it proves nothing."""
    requester: str | UnsetType = UNSET
    """Who proposed it, as the program itself saw it: with:claude for an agent it started, or user:hanako."""
    user: str | UnsetType = UNSET  # whose agent proposed it
    forked_from: str | UnsetType = UNSET  # the plan that this one was made from
    left_out: tuple[str, ...] = ()
    """What the proposer changed but the plan cannot contain, each with the reason."""


class ApprovalEntry(Document, frozen=True):
    approver: str
    timestamp: str
    selection: SpecSelection


class DiffTotals(Document, frozen=True):
    files: tuple[str, ...]
    added: int
    removed: int
    risk_score: float
    weight: int | UnsetType = UNSET
    """Lines as budgets count them, if there are more: at least one for every 100 bytes that change."""
    hunks: int | UnsetType = UNSET


class PlannedCommit(Document, frozen=True):
    """The person wants a commit of exactly what is written; part of what is approved."""

    message: str  # without the trailers
    offered: str | UnsetType = UNSET  # the commit that was made to be reviewed elsewhere
    upon: str | UnsetType = UNSET  # its parent: on another one it is not what is committed


class ExecutionLink(Document, frozen=True):
    """One execution or undo of the plan, newest last."""

    id: str
    kind: str
    finished_at: str
    overall_success: bool


class PlanState(Document, frozen=True):
    status: PlanStatus
    action_specs: tuple[ActionSpecExt, ...] = ()
    selection: SpecSelection = ALL_SPECS
    approvals: tuple[ApprovalEntry, ...] = ()
    previews: DiffTotals | None = None
    checks: tuple[CheckResult, ...] = ()
    planned_checks: PlannedChecks | UnsetType = UNSET
    check_commands: tuple[str, ...] | UnsetType = UNSET
    """What ran on the proposer's own copy, so that it can run again on a changed version."""
    commit: PlannedCommit | UnsetType = UNSET
    feedback: tuple[Feedback, ...] = ()
    executions: tuple[ExecutionLink, ...] = ()
    comments: tuple[LineComment, ...] | UnsetType = UNSET
    amended_from: int | UnsetType = UNSET  # the proposer's own version, if the person changed it since
    agent_exit: int | UnsetType | None = UNSET
    """How the agent ended in whose copy it was made: its exit code, if not 0; None if it was cut off."""
    from_model: tuple[str, ...] | UnsetType = UNSET
    """Ids of specs that a language model extracted from the plan's text; they are checked like any other."""
    merged_lines: int | UnsetType = UNSET  # of the person's, in files that it was merged with
    requester: str | UnsetType = UNSET
    """Who set the specs of this version, if not the plan's proposer."""


class PlanDocument(Versioned, frozen=True, kw_only=True):
    """plan.json: the plan, its state, and references to its approvals and its result."""

    plan: Plan
    state: PlanState
    approval: str | None = None
    result: str | None = None
    specs_sha256: str = ""
    """Hash of the specs as stored in the ledger, so that the log's hash of the plan covers them."""
    change: ChangeFacts | UnsetType = UNSET
    """What makes the plan a change plan."""
    step: StepOf | UnsetType = UNSET
    """Set if it belongs to a run: it is carried out on the run's branch, nowhere else."""

    def risk(self, selection: SpecSelection = ALL_SPECS) -> Risk:
        """Change plans have their own risk criteria; the higher risk counts."""
        risks = tuple(spec.risk for spec in select_specs(self.state.action_specs, selection))
        return highest((*risks, self.change.risk.level) if self.change else risks)


class PlanRef(Document, frozen=True):
    """A line of a list, enough to choose a plan."""

    id: str
    number: int
    title: str
    status: PlanStatus
    version: int
    proposer: str
    created_at: str
    updated_at: str
    files: int
    added: int
    removed: int
    risk: Risk
    undone: bool = False
    superseded: bool | UnsetType = UNSET  # a change plan of an earlier project state
    step: StepOf | UnsetType = UNSET
    called_by: str | UnsetType = UNSET  # the run whose model wants this call

    @property
    def name(self) -> str:
        """What people type: short, and never reused in a workspace."""
        return f"p{self.number}"


class PlanIndex(Versioned, frozen=True, kw_only=True):
    """index.json: the newest plans; older ones are in numbered pages."""

    recent: tuple[PlanRef, ...]
    count: int
    page_size: int
    pages: str
    """How a page is named; page n holds the plans (n-1)*page_size+1 to n*page_size."""


class PlanPage(Versioned, frozen=True, kw_only=True):
    page: int
    plans: tuple[PlanRef, ...]


class ValidationReport(Document, frozen=True):
    ok: bool
    issues: tuple[str, ...]
    normalized: tuple[ActionSpecExt, ...]


class DiffSummary(Document, frozen=True):
    spec_id: str
    path: str
    kind: SpecKind
    added: int
    removed: int
    binary: bool
    risk: Risk
    reasons: tuple[RiskReason, ...]
    diff: str
    renamed_from: str | UnsetType = UNSET
    """The old path of a renamed file."""
    mode: str | UnsetType = UNSET
    """The new permissions, if only they change."""
    your_lines: tuple[int, ...] = ()
    """Deleted lines that the person wrote meanwhile, by their number now; 0: a file that is not text."""


class Overlap(Document, frozen=True):
    """Another open plan that changes the same files."""

    plan_id: str
    name: str
    title: str
    paths: tuple[str, ...]


class PlanPreview(Document, frozen=True):
    files: tuple[str, ...]
    diffs: tuple[DiffSummary, ...]
    risk_score: float
    stale: tuple[str, ...] = ()  # files that changed since the specs were set
    overlaps: tuple[Overlap, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    """What a person has to decide first; until then their own version stays."""


def title_of(content: str) -> str:
    """The first non-empty line, without Markdown's heading marks."""
    for line in content.splitlines():
        if stripped := line.strip().lstrip("#").strip():
            return stripped[:200]
    return ""


def undone_at(document: PlanDocument) -> str | None:
    """When it was taken back; None if it was not, or was carried out again since."""
    for newest in document.state.executions[-1:]:
        return newest.finished_at if newest.kind == "undo" and newest.overall_success else None
    return None


def files_changed(document: PlanDocument) -> int:
    """As people count: a renamed file is one."""
    totals = document.state.previews
    renamed = sum(spec.old_path is not None for spec in document.state.action_specs if spec.validated)
    return len(totals.files) - renamed if totals else 0


def comments_now(document: PlanDocument) -> tuple[LineComment, ...]:
    """Comments on the latest proposal; earlier ones were delivered, and their lines may have changed."""
    since = document.state.amended_from or document.plan.version
    return tuple(given for given in document.state.comments or () if given.version >= since)


def with_state(document: PlanDocument, **changes: object) -> PlanDocument:
    return msgspec.structs.replace(document, state=msgspec.structs.replace(document.state, **changes))


_DECIDED: Final = frozenset([_P.APPROVED, _P.SCHEDULED, _P.EXECUTING, _P.COMPLETED, _P.ABORTED])


def change_plan_of(document: PlanDocument) -> ChangePlan | None:
    """None for an ordinary plan."""
    facts = document.change
    if not facts:
        return None
    return ChangePlan(
        version="1.0",
        plan_id=document.plan.id,
        created_at=milliseconds(document.plan.created_at),
        basis=facts.basis,
        scope=facts.scope,
        changes=tuple(
            FileDiff(spec.base.path, spec.base.content or "") for spec in document.state.action_specs
        ),
        validations=facts.validations,
        risk=facts.risk,
        explanation=facts.explanation,
        approval=_approval(document.state, facts.superseded_at),
    )


def _approval(state: PlanState, superseded_at: str | None) -> ApprovalState:
    if superseded_at:
        # The project changed; no person decided.
        return ApprovalState(ChangeApproval.REJECTED, milliseconds(superseded_at))
    if state.status in _DECIDED:
        when = milliseconds(state.approvals[-1].timestamp) if state.approvals else None
        return ApprovalState(ChangeApproval.APPROVED, when, "user")
    rejected = [given.timestamp for given in state.feedback if given.is_rejection]
    if rejected and state.status in {PlanStatus.PROPOSED, PlanStatus.DISCARDED}:
        return ApprovalState(ChangeApproval.REJECTED, milliseconds(rejected[-1]), "user")
    if state.status is PlanStatus.DISCARDED:
        return ApprovalState(ChangeApproval.REJECTED)
    return ApprovalState(ChangeApproval.PENDING)


class StoredPlan(NamedTuple):
    document: PlanDocument
    revision: int
    """Counts saves; a save names the revision it read and fails if another came first."""
    number: int


class DropSpec(Document, frozen=True, tag="drop_spec"):
    spec_id: str


class DropHunks(Document, frozen=True, tag="drop_hunks"):
    spec_id: str
    hunks: tuple[int, ...]
    """From 1, as the preview shows them."""


class NewContent(Document, frozen=True, tag="new_content"):
    """The new content of the spec's file."""

    spec_id: str
    content: str
    encoding: Encoding = Encoding.UTF8


Amendment = DropSpec | DropHunks | NewContent


class Difference(StrEnum):
    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    BASIS = "basis"
    """The file that it replaces is another one."""


class SpecDifference(Document, frozen=True):
    """What one spec does in one version and not in the other."""

    path: str
    """For a command, its command line."""
    what: Difference
    diff: str
    """From the earlier version's result to the later one's."""


class PlanComparison(Document, frozen=True):
    plan_id: str
    version: int
    other_plan_id: str
    other_version: int
    differences: tuple[SpecDifference, ...]


class OutcomeKind(StrEnum):
    """What became of a request for approval (rule 3)."""

    APPROVED = "approved"
    DECLINED = "declined"
    CANCELLED = "cancelled"
    EXPIRED = "expired"
    NO_CHANNEL = "no_channel"


class PlanAnswer(Document, frozen=True):
    """Summarised for whoever proposed the plan."""

    plan_id: str
    name: str
    version: int
    status: PlanStatus
    outcome: OutcomeKind | None
    """None while a person can still answer, or if none was asked."""
    note: str = ""
    """What the person wrote with an approval."""
    feedback: tuple[Feedback, ...] = ()
    comments: tuple[LineComment, ...] = ()
    changed: tuple[SpecDifference, ...] = ()
    """What the person dropped or edited in the proposed version."""
