"""How a run begins (RN-13, IP-9): from an approved session, a planning.json, a request or a task.

Nothing is carried out here. A run without an approved session waits for an approval of its own. In a task
models have every role (PP-28).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
from msgspec.structs import replace

from ringi.approvals.cover import SubjectHistory, covering_approval
from ringi.approvals.document import Approval, ApprovalRequest, Proof, SignedAct
from ringi.approvals.forge import ForgeTerms
from ringi.approvals.kinds import of_run, request_of
from ringi.approvals.proof import approval_of, compose, prove, require_answer
from ringi.approvals.who import actor_at
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.document import GoalUnderstanding
from ringi.engine.instruction import language_of
from ringi.engine.request import Request, read_request, without_comments
from ringi.engine.run_parts import PartsInput, RunWishes, keep_valid, keep_valid_paths
from ringi.engine.run_plan import MAIN_BRANCH, Name, RunPlan, RunRole
from ringi.engine.run_state import OVER, RunPhase, run_id
from ringi.errors import (
    BadInstruction,
    MainBranch,
    NotAsked,
    NoTaskModel,
    NotFound,
    RunOver,
    SessionOver,
    UnfitForRun,
)
from ringi.kernel import codec
from ringi.kernel.document import prepare
from ringi.kernel.problems import Level, Problem, ReasonCode, problem
from ringi.kernel.text import Text, writable
from ringi.ledger import subject as subjects
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import is_session, short
from ringi.models.usage import PLAYBOOK
from ringi.plans.document import title_of
from ringi.policy.globs import globs
from ringi.runs.branch import main_of_remotes
from ringi.runs.check_document import CheckedDocument, DocumentKind, check_document
from ringi.runs.document import Run, review_of
from ringi.sessions.document import ApprovedSession, FromRequest, SessionView
from ringi.sessions.operations import ENDED, LONGEST_INSTRUCTION, why_unfit
from ringi.sessions.request_files import next_id
from ringi.tree.copy_layout import branch_of

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace
    from ringi.runs.role_planner import Planner

_MOST_SHOWN: Final = 30
_EMPTY_SECTION: Final = re.compile(r"^##[^\n]*\n\s*(?=^##|\Z)", re.MULTILINE)
"""Of the template, left as it was."""
_WRONG: Final = {
    DocumentKind.RUN_PLAN: Text("it is not a planning.json"),
    DocumentKind.REQUEST: Text("it is not a request in Markdown"),
}


def start_from_session(workspace: Workspace, name: str) -> Run:
    """The run of an approved session, or the run of that name, ready to go on.

    Raises NotFound, NotAsked if the session is not approved yet, SessionOver, RunOver.
    """
    run = workspace.store.runs.get(_run_named(workspace, name))
    require_current(run)
    return run


def require_current(run: Run) -> None:
    """Raises RunOver if it is, or if another run was planned in its place."""
    if run.replaced_by:
        why, command = Text("it was planned anew"), f"ringi run {run.replaced_by}"
        raise RunOver(run=run.run_id, why=why, command=command)
    require_open(run)


def require_open(run: Run) -> None:
    """Raises RunOver."""
    if run.phase in OVER:
        why = Text("it is completed") if run.phase is RunPhase.COMPLETED else Text("it is cancelled")
        raise RunOver(run=run.run_id, why=why, command='ringi run "…"')


def require_no_main_branch(workspace: Workspace, run: Run) -> None:
    """What goes there is approved apart from the run, by merging. Raises MainBranch."""
    mains = globs(workspace.config.runs.main_branches)
    if mains.match(run.work_branch) or run.work_branch in main_of_remotes(workspace.places.root):
        raise MainBranch(branch=run.work_branch)


def _run_named(workspace: Workspace, name: str) -> str:
    if not is_session(name):
        try:
            return workspace.store.runs.find(name)
        except NotFound:
            pass  # perhaps the beginning of a session's id
    view = workspace.planning.view(name)
    if isinstance(view.pending, ApprovedSession):
        return view.pending.run_id
    session = short(view.session_id)
    if view.status in ENDED:
        raise SessionOver(session=session, status=ENDED[view.status])
    raise NotAsked(given=Text("a run"), asked=Text("its design is not approved yet"), session=session)


def start_from_file(workspace: Workspace, data: bytes, name: str, forge: ForgeTerms | None = None) -> Run:
    """A new run with this planning.json. Raises UnfitForRun with everything that is wrong with it."""
    _require(check_document(data, "planning.json"), DocumentKind.RUN_PLAN, name)
    plan = codec.decode_foreign(data, RunPlan, name)
    own, told = _own_name(workspace, plan), _instruction(plan)
    return add_run(workspace, own, "", told, reason=writable(name), forge=forge)


def start_from_request(
    workspace: Workspace, data: bytes, name: str, forge: ForgeTerms | None = None
) -> SessionView:
    """A planning session about this request; what it demands is in the plan that the person approves.

    `name` is the file's path. Raises UnfitForRun with everything that is wrong with it, and like `start`.
    """
    _require(check_document(data, "request.md"), DocumentKind.REQUEST, name)
    text = data.decode("utf-8-sig")
    request = msgspec.convert(read_request(text).raw, prepare(Request))
    path = _below(workspace, name)
    source = FromRequest(_request_id(workspace, name), path, request)
    return workspace.planning.start(
        _EMPTY_SECTION.sub("", without_comments(text)).strip(),
        actor=actor_at(workspace.person),
        request=source,
        agent_brings=planner_of(workspace) is not None,
        forge=forge,
    )


def planner_of(workspace: Workspace, *, by_model: bool = False) -> Planner | None:
    """Who plans a run, instead of the questions of a session."""
    roles = workspace.roles(None)
    return (roles.by_model() if by_model else roles).planner()


def _require(checked: CheckedDocument, kind: DocumentKind, name: str) -> None:
    problems = checked.problems
    if checked.ok and checked.kind is not kind:
        problems = (problem(ReasonCode.SCHEMA_INVALID, "$", _WRONG[kind]),)
    failures = [one for one in problems if one.level is Level.FAIL]
    if failures:
        raise UnfitForRun(what=name, why=_lines(failures))


def _lines(problems: Sequence[Problem]) -> Text | str:
    """One to a line, as `ringi check` shows them."""
    words: Text | str = ""
    for one in problems[:_MOST_SHOWN]:
        words = Text("{before}\n  {code} {path} {message}", before=words, code=str(one.code), path=one.path,
                     message=one.message)  # fmt: skip
    return words


def _below(workspace: Workspace, name: str) -> str:
    """Its path below the workspace; empty if it is somewhere else, or no plan can name it."""
    try:
        path = Path(name).resolve().relative_to(workspace.places.root.resolve()).as_posix()
    except (OSError, ValueError):
        return ""
    return "".join(keep_valid_paths([path]))


def _request_id(workspace: Workspace, name: str) -> str:
    """The name of the file if it can be one of a folder and a branch; else the next free one."""
    stem = Path(name).stem
    return stem if keep_valid([stem], Name) else next_id(workspace)


def _own_name(workspace: Workspace, plan: RunPlan) -> RunPlan:
    """With an id, a branch and a folder of its own, if there was a run with its id."""
    if workspace.store.approvals.mentions(plan.run_id):
        return with_run_id(plan, run_id(workspace.clock.now(), workspace.ids()))
    return plan


def with_run_id(plan: RunPlan, name: str) -> RunPlan:
    """The same plan for another run."""
    before, after = f"runs/{plan.request_id}/{plan.run_id}/", f"runs/{plan.request_id}/{name}/"

    def move(path: str) -> str:
        return after + path.removeprefix(before) if path.startswith(before) else path

    outputs = plan.outputs
    return replace(
        plan,
        run_id=name,
        work_branch=f"aiflow/{plan.request_id}/{name}",
        steps=tuple(
            replace(
                step,
                inputs=replace(step.inputs, request_path=move(step.inputs.request_path)),
                outputs=replace(
                    step.outputs,
                    patch_path=move(step.outputs.patch_path),
                    log_prefix=move(step.outputs.log_prefix),
                ),
            )
            for step in plan.steps
        ),
        outputs=replace(
            outputs,
            planning_json=move(outputs.planning_json),
            stage_json=move(outputs.stage_json),
            report_md=move(outputs.report_md),
            errors_json=move(outputs.errors_json) if outputs.errors_json else outputs.errors_json,
        ),
    )


def _instruction(plan: RunPlan) -> str:
    """What a role is told of the whole, if no session said it."""
    context = plan.context
    constraints = [f"- {one}" for one in context.constraints]
    criteria = [
        f"- {one.id}: Given {one.given}, When {one.when}, Then {one.then}"
        for one in context.acceptance_criteria
    ]
    parts = [context.summary]
    parts += ["## Constraints\n" + "\n".join(constraints)] if constraints else []
    parts.append("## Acceptance criteria\n" + "\n".join(criteria))
    return "\n\n".join(parts)


def add_run(
    workspace: Workspace,
    plan: RunPlan,
    session_id: str,
    instruction: str,
    *,
    reason: str = "",
    replaces: str = "",
    by_model: bool = False,
    forge: ForgeTerms | None = None,
) -> Run:
    """A run in phase planning that a person has to approve; it takes the place of another one, if given.

    That one's creator stays, and what it does on a forge. Raises NotPermitted.
    """
    actor = workspace.person.user()
    now = workspace.clock.now()
    run = workspace.store.runs.waiting(
        plan, session_id, instruction, now, actor, forge=forge, by_model=by_model
    )
    if replaces:
        before = workspace.store.runs.get(replaces)
        run = replace(
            run,
            replaces=replaces,
            implementer=before.implementer,
            created_by=before.created_by or actor,
            by_model=before.by_model,
            planned=before.planned,
            forge=before.forge,
            review=review_of(before.forge),
        )
    workspace.permits.require_allowed(run.created_by, actor)
    with workspace.store.transaction() as transaction:
        transaction.runs.add(run, NewEvent(EventKind.RUN_CREATED, Actor.USER, reason or session_id), plan)
    return run


# Its approval.


def covering(workspace: Workspace, run_id: str) -> Approval | None:
    """The approval of exactly this run, given with its session or alone. Raises like `covering_approval`."""
    run, store = workspace.store.runs.get(run_id), workspace.store
    if run.planning_session_id:
        try:
            session = store.sessions.get(run.planning_session_id).session
        except NotFound:
            session = None
        if session is not None and session.planner_session_id == run_id:
            return workspace.planning.approval(session.session_id)
    plan = store.runs.plan(run_id)
    history = SubjectHistory(
        subjects.run(run_id),
        run_id,
        store.approvals.of(run_id),
        [logged.event for logged in store.events(run_id)],
    )
    if plan is None or not history.approvals:
        return None
    data = codec.canonical(of_run(run, plan, store.workspace_id()))
    return covering_approval(workspace, history, lambda _: data)


class ReviewedRun:
    """A run that waits for an approval of its own, as last shown to the person."""

    def __init__(self, workspace: Workspace, run_id: str) -> None:
        self._workspace = workspace
        self.run_id = run_id
        self.command = f"ringi run {run_id}"
        self.signing = f"{self.command} --sign KEY"
        self.look()

    def look(self) -> None:
        """Raises NotFound if it has no plan, RunOver."""
        store = self._workspace.store
        stored, plan = store.runs.get_stored(self.run_id), store.runs.plan(self.run_id)
        if plan is None:
            raise NotFound(what=Text("planning.json"), name=self.run_id, see="ringi status")
        self.run, self.revision, self.plan = stored.run, stored.revision, plan
        if RunPhase.PLANNING not in {self.run.phase, self.run.stopped_in}:
            raise RunOver(
                run=self.run_id, why=Text("it has begun already"), command=f"ringi status {self.run_id}"
            )
        self.data = codec.canonical(of_run(self.run, plan, store.workspace_id()))
        self.digest = codec.digest(self.data)

    def request(self) -> ApprovalRequest:
        """It is its own request, like a session in review."""
        run, now = self.run, self._workspace.clock.now()
        return request_of(
            subjects.run(run.run_id),
            1,
            self.data,
            ids=self._workspace.ids,
            # A clock that was set back is no limit.
            requested_at=run.created_at if run.created_at <= now else "",
            expires_at=now,
        )

    def statement(self, approver: str) -> str:
        """The bytes that a key signs to approve the run."""
        return compose(self._workspace, SignedAct.APPROVE, self.digest, approver)

    def approve(self, proof: Proof) -> Run:
        """Raises RunRace if it changed since it was shown."""
        require_answer(self._workspace, proof, self.command, self.signing)
        asked = self.request()
        run = replace(self.run, updated_at=self._workspace.clock.now())
        with record_approval(self._workspace, asked, self.data, proof, self.run.created_at) as (
            transaction,
            approval,
        ):
            event = NewEvent(EventKind.RUN_APPROVED, Actor.USER, asked.digest, approval)
            transaction.runs.save(run, event, self.revision)
        return run


@contextmanager
def record_approval(
    workspace: Workspace, asked: ApprovalRequest, data: bytes, proof: Proof, made_at: str
) -> Iterator[tuple[Store, Approval]]:
    """The approval of something about a run; the caller saves the run with its event."""
    user = workspace.person.user()
    act = SignedAct.APPROVE
    record = prove(workspace, asked, data, proof, act=act, approver=user, made_at=made_at)
    with workspace.store.transaction() as transaction:
        last = transaction.last_hash()
        approval = approval_of(workspace, asked, data, record, approver=user, after_event=last)
        yield transaction, approval
        transaction.approvals.add(approval)


def begin_task(
    workspace: Workspace, request: str, actor: Actor, forge: ForgeTerms | None = None
) -> SessionView | Run:
    """A session that the planner is to bring the design of; with planning.enabled false a run of one step.

    A person approves either. Raises NoTaskModel, BadInstruction, NotPermitted.
    """
    for role in (RunRole.PLANNER, RunRole.IMPLEMENTER):
        if workspace.config.role(role).model in {"", PLAYBOOK}:
            raise NoTaskModel
    if not workspace.config.planning.enabled:
        return _run_without_planning(workspace, request, forge)
    return workspace.planning.start(request, actor=actor, agent_brings=True, by_model=True, forge=forge)


def plan_task(workspace: Workspace, request: str) -> SessionView | Run:
    """Begun, and planned as far as a model can. Raises BadBrought, ModelFailed, and like `begin_task`."""
    begun = begin_task(workspace, request, actor_at(workspace.person))
    if isinstance(begun, Run):
        return begun
    planner = planner_of(workspace, by_model=True)
    assert planner is not None  # noqa: S101  # a task has a model
    return planner.bring(workspace.planning, begun.session_id)


def _run_without_planning(workspace: Workspace, request: str, forge: ForgeTerms | None) -> Run:
    words = request.strip()
    if why := why_unfit(words, LONGEST_INSTRUCTION):
        raise BadInstruction(why=why)
    now = workspace.clock.now()
    planned = PartsInput(
        words,
        goal=GoalUnderstanding(main_objective=title_of(words)),
        project=workspace.code.gather(words).project,
        language=language_of(words),
    )
    base = branch_of(workspace.places.root) or MAIN_BRANCH
    names = RunNames(next_id(workspace), run_id(now, workspace.ids()), now, base)
    plan = compile_run_plan(planned, names, RunWishes(timeout_sec=workspace.config.checks.timeout_sec))
    return add_run(workspace, plan, "", words, by_model=True, forge=forge)
