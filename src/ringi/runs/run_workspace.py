"""The copy and the branch of a run: where roles work, where tests run, where a step becomes a commit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import Enum, auto
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import replace

from ringi.agents.sandbox import AgentSandbox, enclose
from ringi.agents.table import AGENTS
from ringi.approvals.feedback import rejections
from ringi.beside.message import message_anew, message_of
from ringi.engine.run_plan import RunPlan, RunStep
from ringi.errors import (
    BranchRefused,
    CheckFailed,
    CopyFailed,
    NotApproved,
    NotFound,
    NotGranted,
    NotNow,
    RingiError,
    SignatureRefused,
    Stale,
    StepNotCommitted,
    StorageFailed,
)
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.process.capture import last
from ringi.kernel.text import Text
from ringi.ledger.event import Actor
from ringi.ledger.subject import StepOf, requester_of_run
from ringi.plans.approve import subject_now
from ringi.plans.check import failing_test, files_after
from ringi.plans.document import ENDED, PlanDocument, PlanStatus
from ringi.plans.merge import find_changed_files, merge_specs, open_conflicts
from ringi.plans.propose import set_specs
from ringi.runs.branch import BranchOf, RunBranch, base_of, dirty_files, require_free
from ringi.runs.changed_steps import evidence_of
from ringi.runs.document import Evidence, Run, StepState, Stop, StopCode, stop_for
from ringi.runs.gates import TreeChanges
from ringi.runs.run_context import refusal
from ringi.runs.start import require_no_main_branch
from ringi.runs.step_plan import StepEnd, StepPlan, propose_step, step_end
from ringi.sessions.request_files import FOLDER, SUFFIX
from ringi.tree.check_result import CheckPhase, CheckResult
from ringi.tree.commands import Invocation
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_run import RUN, CopyRun, lay_over
from ringi.tree.copy_steps import checkout, files_to, line_counts, patch_between, since
from ringi.tree.difference import TreeDifference
from ringi.tree.editable_installs import why_unreliable
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace
    from ringi.engine.run_plan import RunPlan, RunStep
    from ringi.runs.document import Run, StepState, Stop


class StepBase(NamedTuple):
    base_commit: str
    base_tree: str
    copy_id: str


class Decided(Enum):
    """What became of the plan of a step."""

    WAITS = auto()
    """For a person."""
    DECLINED = auto()
    THROWN_AWAY = auto()
    OUTDATED = auto()
    """The branch has other bytes than the step was made from: it has to be merged."""
    COMMITTED = auto()
    NOT_CARRIED_OUT = auto()
    """It is approved; nothing of it is on the branch."""
    NOT_COMMITTED = auto()
    REWRITTEN = auto()
    """A hook changed what was committed; the commit was taken back."""
    TESTS_FAILED = auto()
    """Its commands ran after it was carried out, and it was taken back."""
    CHANGE_FAILED = auto()
    """A person changed it and approved that, and its tests do not pass any more: nothing was carried out."""


class StepDecision(NamedTuple):
    what: Decided
    commit: str = ""
    words: str = ""
    """The person's feedback, why no standing approval covers it, or why there is no commit."""
    version: int = 0
    tree: str = ""
    """Of the branch, if the person changed what the step had made."""
    evidence: tuple[Evidence, ...] = ()
    """If commands ran after it was carried out."""
    tested: tuple[Evidence, ...] = ()
    """What its tests said in a copy, if the person changed what the step had made."""
    plan: str = ""
    """The short name of its plan."""
    grant: str = ""
    """The standing approval that it was committed under."""


class MergedStep(NamedTuple):
    base_tree: str
    tree: str
    version: int
    conflicts: tuple[str, ...] = ()
    """Paths in which a person or the role has to decide."""
    over: bool = False
    """It is carried out already: nothing is left to merge."""


_KEPT_OUTPUT: Final = 16_384
_UNDECIDED: Final = frozenset([PlanStatus.PROPOSED, PlanStatus.PENDING_REVIEW])
_APPROVED: Final = frozenset([PlanStatus.APPROVED, PlanStatus.ABORTED])


class RunWorkspace:
    """All effects of a run on files, git and the plan tool. Each can be called again after a crash."""

    def __init__(self, workspace: Workspace, environment: Mapping[str, str], sandbox: AgentSandbox) -> None:
        self._workspace = workspace
        self._environment = environment
        self._sandbox = sandbox
        self._outputs: dict[tuple[str, str], str] = {}
        """The last lines of commands, by tree and command, for the checks of a plan."""
        self._seen = ""
        """The tree of the copy, if nothing has run in it since it was captured."""
        self._measured: TreeDifference | None = None
        """What was measured last. It has the bytes, so later changes of the copy do not matter."""

    # ------------------------------------------------------------------ the beginning

    def begin(self, run: Run, plan: RunPlan) -> StepBase | Stop:
        """Checks the repository, makes the branch and the copy."""
        root = self._workspace.places.root
        try:
            branch = _branch_to_make(self._workspace, run)
            if plan.gates.require_clean_worktree and (dirty := _unclean(root, dirty_files(root))):
                message = Text("these files are not committed: {paths}", paths=", ".join(dirty))
                hint = Text("commit or stash them, then: ringi continue {run}", run=run.run_id)
                return stop_for(StopCode.DIRTY_WORKTREE, message, hint)
            branch.make()
        except BranchRefused as error:
            return refusal(run, error)
        copy = _copy_of(self._workspace.places.copies, run.run_id)
        if copy is not None and not copy.record.taken:  # the process that made it was killed
            copy.remove()
            copy = None
        copy = copy or _make(self._workspace, run)
        self._seen = _bring_to(copy, branch)
        return StepBase(branch.of.base_commit, self._seen, copy.id)

    # ------------------------------------------------------------------ the copy

    def require_copy(self, run: Run) -> None:
        """Raises CopyFailed if it is gone."""
        _open_copy(self._workspace, run)

    def copy(self, run: Run) -> WorkCopy:
        """To work in. Raises CopyFailed if it is gone."""
        self._seen = ""
        return _open_copy(self._workspace, run)

    def new_copy(self, run: Run) -> StepBase:
        """Another one, with the files of the branch."""
        branch = self._workspace.branch(run.run_id)
        branch.make()
        if (old := _copy_of(self._workspace.places.copies, run.run_id)) is not None:
            old.remove()
        copy = _make(self._workspace, run)
        self._seen = _bring_to(copy, branch)
        return StepBase(run.base_commit, self._seen, copy.id)

    def checkout(self, run: Run, tree: str) -> None:
        """The copy has exactly the files of this tree. Raises CopyFailed if they are lost."""
        if self._seen != tree:
            checkout(_open_copy(self._workspace, run), tree)
            self._seen = tree

    def measure(self, run: Run, base_tree: str) -> TreeChanges:
        copy = _open_copy(self._workspace, run)
        found = since(copy, base_tree).difference()
        self._seen = found.tree
        self._measured = found
        return TreeChanges(found.tree, line_counts(copy, found), found.left_out)

    def patch(self, run: Run, base_tree: str, tree: str) -> bytes:
        """As `git apply` takes it; it was tried. Raises CopyFailed."""
        return patch_between(_open_copy(self._workspace, run), base_tree, tree)

    # ------------------------------------------------------------------ commands

    def uses_sandbox(self) -> bool:
        """Whether commands can run before a person has approved what they run."""
        return self._sandbox.bwrap is not None

    def test(
        self, run: Run, command: str, *, kind: str, timeout_sec: float, log: Callable[[bytes], None]
    ) -> Evidence:
        """In the copy, on the files that are there."""
        seen_before = self._seen
        copy = self.copy(run)

        def enclosing(invocation: Invocation) -> Invocation:
            return enclose(self._workspace, copy, self._sandbox, invocation, terminal=False)

        root = self._workspace.places.root
        doubt = why_unreliable(root, self._environment, sandboxed=self.uses_sandbox())
        copy_run = CopyRun(copy, self._environment, None, enclosing, doubt)
        tree = seen_before or copy.shadow.capture().tree
        seen = hashlib.sha256()

        def on_output(data: bytes) -> None:
            seen.update(data)
            log(data)

        ran = copy_run.run(command, timeout_sec=timeout_sec, output=last(_KEPT_OUTPUT), on_output=on_output)
        self._outputs[tree, command] = ran.text
        return Evidence(
            command=command,
            kind=kind,
            exit_code=ran.exit_code,
            duration_sec=round(ran.duration_sec, 3),
            tree=tree,
            output_sha256=seen.hexdigest(),
            timed_out=ran.timed_out,
            sandboxed=self.uses_sandbox(),
            doubt=doubt(command) or "",
        )

    # ------------------------------------------------------------------ the plan of a step

    def propose(
        self, run: Run, step: RunStep, state: StepState, *, tests: Sequence[str], checks_after: Sequence[str]
    ) -> int:
        """Makes what the step changed the plan with the id it has; returns its version.

        `tests` have to pass on what is committed, `checks_after` run once it is carried out.
        """
        difference = self._difference(run, state)
        who = [attempt.who for attempt in state.attempts if attempt.role is step.role]
        order = StepPlan(
            plan_id=state.plan_id,
            step=StepOf(run.run_id, step.step_id, run.request_id, run.in_place),
            title=step.title,
            intent=step.intent,
            assisted_by=tuple(dict.fromkeys(who)),
            checks=tuple(
                _check(one, self._outputs.get((one.tree, one.command), ""))
                for one in state.evidence
                if one.tree == state.tree
            ),
            checks_after=tuple(checks_after),
            tests=tuple(tests),
            findings=state.findings,
            proposer=who[-1] if who else "",
        )
        return propose_step(self._workspace.on_branch(run.run_id), difference, order)

    def _difference(self, run: Run, state: StepState) -> TreeDifference:
        """Of the step's tree to the one that it began with."""
        self.checkout(run, state.tree)
        most, known = self._workspace.config.limits.max_specs, self._measured
        self._measured = None
        if known and (known.base, known.tree) == (state.base_tree, state.tree) and len(known.changes) <= most:
            return known
        copy = _open_copy(self._workspace, run)
        difference = since(copy, state.base_tree).difference(most)
        if difference.tree != state.tree:  # an unknown process wrote to it
            checkout(copy, state.tree)
            difference = since(copy, state.base_tree).difference(most)
        return difference

    def settle_step(self, run: Run, state: StepState, *, in_turn: bool = True) -> StepDecision:
        """Carries it out if it is approved, or a standing approval covers it.

        Not `in_turn`, only whether it was declined: a step before it is not decided yet.
        """
        there, waits, why = self._workspace.on_branch(run.run_id), Text(""), ""
        if not in_turn:
            open_ = there.plan.get_state(state.plan_id).status in _UNDECIDED
            words = _rejection_words(there, state) if open_ else ""
            return StepDecision(Decided.DECLINED if words else Decided.WAITS, words=words)
        for _ in range(2):  # once more if an approval has ended
            if there.plan.get_state(state.plan_id).status in _UNDECIDED:
                if words := _rejection_words(there, state):
                    return StepDecision(Decided.DECLINED, words=words)
                waits = _ask_standing(there, state.plan_id)
            if there.plan.get_state(state.plan_id).status not in _APPROVED:
                break
            why = _carry_out(there, state.plan_id)
            if there.plan.get_state(state.plan_id).status not in _UNDECIDED:
                break
        document = there.plan.get(state.plan_id)
        status = document.state.status
        if status in _APPROVED:
            return _explain_failure(there, document, why)
        if status is PlanStatus.DISCARDED:
            return StepDecision(Decided.THROWN_AWAY)
        if status is PlanStatus.COMPLETED:
            self._seen = ""
            return _describe_end(self._workspace, run, there, state, document)
        return StepDecision(Decided.WAITS, words=str(waits))

    def merge(self, run: Run, state: StepState) -> MergedStep:
        """Brings the plan up to date with the branch, and the copy to the result."""
        there = self._workspace.on_branch(run.run_id)
        copy = self.copy(run)
        base = _bring_to(copy, self._workspace.branch(run.run_id))
        document = there.plan.get(state.plan_id)
        if document.state.status is PlanStatus.COMPLETED:
            return MergedStep(base, base, document.plan.version, over=True)
        its_turn = replace(document, step=UNSET)  # until then no step is compared with the branch
        if find_changed_files(there, its_turn):
            if conflicts := open_conflicts(there, its_turn):
                paths = tuple(dict.fromkeys(one.about.path for one in conflicts))
                return MergedStep(base, "", document.plan.version, paths)
            merged = merge_specs(there, its_turn)
            set_specs(
                there,
                state.plan_id,
                merged.specs,
                basis=merged.basis,
                actor=Actor.AI,
                requester=requester_of_run(run.run_id),
                reason="merged with what was changed before it",
                seen=merged.seen,
                merged=merged,
                only_if=document,
            )
        stored = there.plan.stored(state.plan_id)
        lay_over(Tree(OsFileSystem(), copy.tree), files_after(there, stored))
        return MergedStep(base, copy.shadow.capture().tree, stored.document.plan.version)

    def throw_away(self, state: StepState) -> str:
        """Its plan; returns what a person said when they sent it back, or nothing."""
        if not state.plan_id:
            return ""
        with suppress(NotFound):
            there = self._workspace.of_plan(state.plan_id)
            if there.plan.get_state(state.plan_id).status not in ENDED:
                there.plan.discard(state.plan_id, own=True)
            # Also if it was thrown away before a crash.
            return _rejection_words(there, state, anew=True)
        return ""

    # ------------------------------------------------------------------ the end

    def publish(self, run: Run) -> Stop | None:
        """Brings the branch into the person's repository."""
        try:
            self._workspace.branch(run.run_id).publish()
        except BranchRefused as error:
            return refusal(run, error)
        return None

    def tidy(self, run: Run) -> None:
        """Removes the copy, and the branch's folder."""
        with suppress(StorageFailed, OSError):  # the next command tries again
            if (copy := _copy_of(self._workspace.places.copies, run.run_id)) is not None:
                copy.remove(wait=False)
            if run.base_commit:
                self._workspace.branch(run.run_id).remove()


def _describe_end(
    workspace: Workspace, run: Run, there: Workspace, state: StepState, document: PlanDocument
) -> StepDecision:
    end = step_end(there, state.plan_id) or StepEnd()
    after = [one for one in document.state.checks if one.phase is CheckPhase.AFTER]
    evidence = tuple(evidence_of(one) for one in after)
    if end.commit:
        tree, version = "", document.plan.version
        dry: tuple[Evidence, ...] = ()
        if version != state.plan_version:
            tree = _bring_to(_open_copy(workspace, run), workspace.branch(run.run_id))
            dry = tuple(evidence_of(one, sandboxed=True) for one in _results_on(document, tree))
        used = [one.proof for one in there.store.approvals.of(state.plan_id) if one.spent_by]
        grant = used[-1].grant or "" if used else ""
        return StepDecision(
            Decided.COMMITTED,
            end.commit,
            version=version,
            tree=tree,
            evidence=evidence,
            grant=grant,
            tested=dry,
        )
    if any(not one.passed for one in after):
        words = next(one.output for one in after if not one.passed)
        return StepDecision(Decided.TESTS_FAILED, words=words, evidence=evidence)
    what = Decided.REWRITTEN if end.rewritten else Decided.NOT_COMMITTED
    return StepDecision(what, words=str(end.failed or ""))


def _explain_failure(there: Workspace, document: PlanDocument, why: str) -> StepDecision:
    failed = failing_test(document)
    if failed is None or not why:
        return StepDecision(Decided.NOT_CARRIED_OUT, words=why)
    return StepDecision(
        Decided.CHANGE_FAILED,
        words=failed.output,
        tested=(evidence_of(failed, sandboxed=True),),
        plan=there.plan_name(document.plan.id),
    )


def _results_on(document: PlanDocument, tree: str) -> Iterator[CheckResult]:
    """The newest result of each test on exactly this tree."""
    dry = [one for one in document.state.checks if one.phase is CheckPhase.DRY and one.tree == tree]
    yield from {one.command: one for one in dry}.values()


def _rejection_words(there: Workspace, state: StepState, *, anew: bool = False) -> str:
    """What the person said since the last turn; empty if they did not decline it."""
    answer = there.plan.answer(state.plan_id)
    if not rejections(answer.feedback, state.told_at):
        return ""
    since = state.told_at
    return message_anew(answer, since=since) if anew else message_of(answer, (), since=since)


def _ask_standing(there: Workspace, plan_id: str) -> Text:
    """Why no standing approval covers it; empty if one does, or there is none."""
    with suppress(RingiError):  # a person can still be asked
        there.plan.request_approval(plan_id)
    document = there.plan.get(plan_id)
    if document.state.status is PlanStatus.APPROVED or not there.store.grants.all():
        return Text("")
    with suppress(RingiError):
        subject = subject_now(there, document, document.state.selection, there.clock.now())
        for error in there.grants.refusals(plan_id, subject):
            return Text(error.message, **error.details)
    return Text("")


def _carry_out(there: Workspace, plan_id: str) -> str:
    """Why not; empty if it was, or if it needs another decision. The outcome is in the ledger."""
    try:
        result = there.plan.execute(plan_id)
    except (Stale, CheckFailed, StepNotCommitted) as error:
        return str(Text(error.message, **error.details))
    except (NotGranted, NotApproved, NotNow, SignatureRefused):
        return ""
    return next((str(one.detail) for one in result.results if one.detail), "")


def _branch_to_make(workspace: Workspace, run: Run) -> RunBranch:
    root = workspace.places.root
    if run.base_commit:
        return workspace.branch(run.run_id)
    branch = RunBranch(
        workspace.places,
        BranchOf(run.run_id, run.base_branch, "", run.work_branch, run.in_place),
    )
    require_no_main_branch(workspace, run)
    if not branch.is_made:  # else it was, and the one who made it was killed
        require_free(root, run.work_branch)
    base = base_of(root, run.work_branch if run.in_place and branch.is_made else run.base_branch)
    return RunBranch(workspace.places, branch.of._replace(base_commit=base))


def _make(workspace: Workspace, run: Run) -> WorkCopy:
    places = workspace.places
    copy = WorkCopy.make(
        places.root,
        places.state,
        places.copies,
        carry=workspace.config.beside.carry,
        ignored=tuple(dict.fromkeys(name for agent in AGENTS.values() for name in agent.ignored)),
        supervisor=Supervisor.this_process(),
        command=(RUN, run.run_id),
    )
    copy.note(taken=True)
    return copy


def _open_copy(workspace: Workspace, run: Run) -> WorkCopy:
    copy = WorkCopy.open(workspace.places.copies / run.copy_id)
    if copy.is_gone:
        raise CopyFailed(why=Text("its folder {folder} is gone", folder=str(copy.tree)))
    me = Supervisor.this_process()
    if copy.record.supervisor != me:
        copy.note(supervisor=me)
    return copy


def _copy_of(copies: Path, run_id: str) -> WorkCopy | None:
    for copy in WorkCopy.all(copies):
        if copy.record.command == (RUN, run_id):
            return copy
    return None


def _bring_to(copy: WorkCopy, branch: RunBranch) -> str:
    """The copy gets the files of the branch, as they are in its folder; returns its tree."""
    tree = copy.shadow.capture().tree
    if files := files_to(copy, tree, branch.root):
        lay_over(Tree(OsFileSystem(), copy.tree), files)
        tree = copy.shadow.capture().tree
    return tree


def _check(one: Evidence, output: str) -> CheckResult:
    return CheckResult(
        command=one.command,
        exit_code=one.exit_code,
        duration_sec=one.duration_sec,
        tree=one.tree,
        output=output,
        doubt=one.doubt or UNSET,
    )


def _unclean(root: Path, paths: Sequence[str]) -> list[str]:
    """Requests are ours to write. Git names a new folder, not the files in it."""

    def is_request(path: str) -> bool:
        found = (root / FOLDER).glob("**/*") if path == f"{FOLDER}/" else [root / path]
        return path.startswith(f"{FOLDER}/") and all(one.suffix == SUFFIX for one in found)

    return [path for path in paths if not is_request(path)]
