"""The run that an approved planning session becomes (the planner session of IP), and its stage (RN-4)."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

import msgspec
from msgspec import UNSET, UnsetType

from ringi.approvals.document import ProofKind, Strength
from ringi.approvals.forge import ForgeTerms
from ringi.config.keys import RoleHow
from ringi.engine.run_plan import RunRole
from ringi.engine.run_state import STOPPED, RunPhase, StepStatus
from ringi.kernel.document import Document, Versioned
from ringi.kernel.text import Text
from ringi.kernel.words import KeptText, keep_text, restore_kept
from ringi.models.prompt import Severity
from ringi.models.usage import RunBudget, Spent, total


class OfferedStep(Document, frozen=True):
    """A step of a run as a commit that nobody has approved yet."""

    step_id: str
    plan_id: str
    plan_version: int
    commit: str


class Offer(Document, frozen=True, kw_only=True, omit_defaults=True):
    """What of a run is on the forge."""

    head: str
    """The commit that was made to be pushed; the newest of the steps."""
    steps: tuple[OfferedStep, ...] = ()
    pushed: str = ""
    """The commit that the branch there has, as far as we know."""
    pushing: str = ""
    """A commit that the branch there has if an interrupted push came through."""
    number: int = 0
    """Of the pull or merge request; 0: there is none yet."""
    url: str = ""
    left: str = ""
    """Why something is still to be done there; empty if nothing is, or it is unknown."""
    left_told: KeptText | UnsetType = UNSET
    """The same with its details, if it has some."""
    told: str = ""
    """The end of the run that all of it there says: completed, cancelled or undone."""

    @property
    def why_left(self) -> Text:
        return restore_kept(self.left_told, self.left)


class StopCode(StrEnum):
    """Why a run stopped: the reason_code of stage.json and errors.json."""

    # What has to be as it should before the first step.
    NO_GIT = "NO_GIT"
    UNBORN_BRANCH = "UNBORN_BRANCH"
    DETACHED_HEAD = "DETACHED_HEAD"
    BASE_BRANCH_MISSING = "BASE_BRANCH_MISSING"
    DIRTY_WORKTREE = "DIRTY_WORKTREE"
    WORK_BRANCH_EXISTS = "WORK_BRANCH_EXISTS"
    MAIN_BRANCH = "MAIN_BRANCH"
    GH_FORBIDDEN = "GH_FORBIDDEN"
    NO_UNIT_COMMAND = "NO_UNIT_COMMAND"
    E2E_REQUIRED = "E2E_REQUIRED"
    NO_ROLE = "NO_ROLE"
    # What a role did.
    PERSON_NEEDED = "PERSON_NEEDED"
    CALL_WAITS = "CALL_WAITS"
    REVISION_WAITS = "REVISION_WAITS"
    HELP_NEEDED = "HELP_NEEDED"
    ROLE_FAILED = "ROLE_FAILED"
    ROLE_TIMEOUT = "ROLE_TIMEOUT"
    NO_CHANGES = "NO_CHANGES"
    OUT_OF_SCOPE = "OUT_OF_SCOPE"
    STEP_TOO_LARGE = "STEP_TOO_LARGE"
    UNFIT_CHANGES = "UNFIT_CHANGES"
    COPY_LOST = "COPY_LOST"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    STOP_CONDITION = "STOP_CONDITION"
    INPUT_CONTRADICTION = "INPUT_CONTRADICTION"
    # What its gates said.
    UNIT_TEST_FAILED = "UNIT_TEST_FAILED"
    E2E_FAILED = "E2E_FAILED"
    TEST_TIMEOUT = "TEST_TIMEOUT"
    REVIEW_FINDINGS = "REVIEW_FINDINGS"
    # What a person decides.
    DECLINED = "DECLINED"
    APPROVAL_NEEDED = "APPROVAL_NEEDED"
    # The commit.
    COMMIT_FAILED = "COMMIT_FAILED"
    COMMIT_REWRITTEN = "COMMIT_REWRITTEN"
    BRANCH_MOVED = "BRANCH_MOVED"


class Stop(Document, frozen=True, kw_only=True):
    """Why it stopped, and how it goes on."""

    reason_code: StopCode
    message: str
    next_action: str
    """A command, or what to do."""
    step_id: str = ""
    detail: str = ""
    """The last lines of what failed, masked."""
    told: KeptText | UnsetType = UNSET
    """The message with its details, if it has some."""
    then: KeptText | UnsetType = UNSET
    """The next action, likewise."""

    @property
    def why(self) -> Text:
        return restore_kept(self.told, self.message)

    @property
    def todo(self) -> Text:
        return restore_kept(self.then, self.next_action)


def stop_for(
    code: StopCode,
    message: Text,
    then: Text | str,
    *,
    step_id: str = "",
    detail: str = "",
    mask: Callable[[str], str] = str,
) -> Stop:
    todo = then if isinstance(then, Text) else Text("{command}", command=then)
    return Stop(
        reason_code=code,
        message=mask(str(message)),
        next_action=mask(str(todo)),
        step_id=step_id,
        detail=detail,
        told=keep_text(message, mask) if message.details else UNSET,
        then=keep_text(todo, mask) if todo is then and todo.details else UNSET,
    )


class Attempt(Document, frozen=True, kw_only=True, omit_defaults=True):
    """One turn of a role at a step."""

    role: RunRole
    how: RoleHow
    who: str
    """The program or model, as the configuration names it."""
    cycle: int
    started_at: str
    ended_at: str = ""
    exit_code: int | None = None
    """124 if its time was up."""
    problem: str = ""
    """Why the role had to work again; empty if what it did was accepted."""
    log: str = ""
    """What it printed: a path below runs/."""
    spent: Spent = Spent()
    findings: int = 0
    """How many a reviewing role reported; the step has only the newest."""


class Evidence(Document, frozen=True, kw_only=True, omit_defaults=True):
    """A command and how it ended, on exactly this tree."""

    command: str
    kind: str
    """unit, e2e, or check: what is configured for every plan."""
    exit_code: int
    duration_sec: float
    tree: str
    output_sha256: str
    """Of all that it printed."""
    log: str = ""
    timed_out: bool = False
    sandboxed: bool = True
    doubt: str = ""
    """As in CheckResult."""

    @property
    def passed(self) -> bool:
        return self.exit_code == 0 and not self.doubt


class Finding(Document, frozen=True, kw_only=True, omit_defaults=True):
    """What a reviewing role found: a machine's opinion, shown to the person as such."""

    role: RunRole
    severity: Severity
    message: str
    path: str = ""
    line: int = 0
    criterion: str = ""


class StepState(Document, frozen=True, kw_only=True, omit_defaults=True):
    step_id: str
    status: StepStatus = StepStatus.WAITING
    cycle: int = 0
    """How often a role had to work again because of gates or findings; a person's no starts at 0."""
    attempts: tuple[Attempt, ...] = ()
    pending: Spent = Spent()
    """What a waiting turn took so far: the attempt counts it when the turn ends."""
    base_tree: str = ""
    """What the role began with."""
    tree: str = ""
    """What it made of it; empty until that is measured."""
    lines: int = 0
    files: int = 0
    evidence: tuple[Evidence, ...] = ()
    changed_since_tested: bool = False
    """Only as it is shown: a review changed the bytes that were tested, and the result is not tested."""
    findings: tuple[Finding, ...] = ()
    feedback: str = ""
    """What the role is told in its next turn."""
    fallback: bool = False
    """The role failed: the step's fallback works instead."""
    plan_id: str = ""
    plan_version: int = 0
    """The version whose bytes the evidence is about."""
    merging: bool = False
    """An earlier step was changed after this one was made, and it is brought up to date."""
    commit: str = ""
    grant: str = ""
    """The standing approval that it was committed under: no person looked at it."""
    started_at: str = ""
    ended_at: str = ""

    @property
    def told_at(self) -> str:
        """When the last turn at it ended: what was said since then is new."""
        return self.attempts[-1].ended_at if self.attempts else ""


class Review(StrEnum):
    EACH = "each"
    END = "end"
    FORGE = "forge"
    """At the end, in a pull or merge request."""


def review_of(forge: ForgeTerms | None) -> Review:
    """As what was approved says."""
    return Review.FORGE if forge is not None and forge.opens_change else Review.END


class Run(Versioned, frozen=True, kw_only=True, omit_defaults=True):
    # Always written; the others only if they are set.
    schema_version: Annotated[int, msgspec.Meta(ge=1)] = msgspec.field(default_factory=lambda: 1)
    run_id: str
    planning_session_id: str
    """Empty if its plan was made elsewhere."""
    phase: RunPhase
    instruction: str
    """The enhanced instruction of the session, as it was approved."""
    created_at: str
    updated_at: str
    created_by: str = ""
    """The user who asked for it: it has at most their permissions, even if others continue it."""
    request_id: str = ""
    plan_sha256: str = ""
    """Of planning.json, which is stored beside it; empty as long as there is none."""
    work_branch: str = ""
    base_branch: str = ""
    base_commit: str = ""
    current_step_index: int = 0
    """The first step that is not done."""
    steps: tuple[StepState, ...] = ()
    review: Review = Review.END
    in_place: bool = False
    most_steps: int = 0
    """How many steps are done before it pauses, counted from the start; 0: no pause."""
    allowed: tuple[str, ...] = ()
    """Paths that the person added to what the steps may change."""
    tests: tuple[str, ...] = ()
    """Commands that the person gave: they test each step from then on, instead of what the plan names."""
    implementer: str = ""
    """The command that the person chose for it; empty: as configured."""
    base_tree: str = ""
    """What the first step begins with."""
    copy_id: str = ""
    """The copy in which roles work."""
    stop: Stop | None = None
    stopped_in: RunPhase | None = None
    replaces: str = ""
    """The run that this one was planned from anew."""
    replaced_by: str = ""
    undone: bool = False
    """A person took its branch back."""
    planned: Spent = Spent()
    """What planning it took."""
    budget: RunBudget = RunBudget()
    heard: tuple[str, ...] = ()
    """Ids of the feedback that a step was told."""
    by_model: bool = False
    """Models have every role."""
    forge: ForgeTerms | None = None
    """What it does on a forge, as it was approved."""
    offer: Offer | None = None
    """What of it is there."""

    @property
    def step(self) -> StepState | None:
        """The current one; None if all are done."""
        return self.steps[self.current_step_index] if self.current_step_index < len(self.steps) else None

    @property
    def spent(self) -> Spent:
        return total([self.ended, *(step.pending for step in self.steps)])

    @property
    def ended(self) -> Spent:
        """What planning and the turns that ended took."""
        return total([self.planned, *(attempt.spent for step in self.steps for attempt in step.attempts)])


class StoredRun(NamedTuple):
    run: Run
    revision: int
    """Counts saves; a save names the revision it read and fails if another came first."""


def stage_of(run: Run) -> dict[str, Any]:
    """stage.json: the run without the text that planning.json and the session have."""
    raw: dict[str, Any] = msgspec.to_builtins(run)
    del raw["instruction"]
    return {"version": "1.0", **raw, "phase": run.phase, "current_step_index": run.current_step_index}


def errors_of(run: Run) -> dict[str, Any] | None:
    """errors.json: None unless it failed or needs input."""
    if run.stop is None or run.phase not in STOPPED:
        return None
    stop = run.stop
    return {
        "version": "1.0",
        "request_id": run.request_id,
        "run_id": run.run_id,
        "phase": run.phase,
        "at": run.updated_at,
        "reason_code": stop.reason_code,
        "message": stop.message,
        "step_id": stop.step_id or None,
        "next_action": stop.next_action,
        "detail": stop.detail,
        "work_branch": run.work_branch,
    }


class RunApproval(NamedTuple):
    """A person's yes to the plan of a run, or to one of its steps."""

    step_id: str
    """Empty: to the plan."""
    approver: str
    at: str
    proof: ProofKind
    strength: Strength
    grant: str = ""
    """The standing approval that covered it."""


class RunFacts(NamedTuple):
    """What a report needs beside the run and its plan."""

    approvals: tuple[RunApproval, ...] = ()
    plans: Mapping[str, str] = {}
    """By step: the short name of its plan, such as p7."""


class RunEvent(NamedTuple):
    """Something that happened, for those who watch."""

    run: Run
    step_id: str
    what: Text
    line: str = ""
    """The last line that a command printed."""
