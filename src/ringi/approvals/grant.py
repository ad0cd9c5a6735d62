"""Standing approvals: given once by a signature, used within their budgets (rule 5)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple, NoReturn, Protocol

from msgspec import UNSET
from msgspec.structs import replace

from ringi.approvals.document import (
    Approval,
    ApprovalRequest,
    ApprovalSubject,
    ProofKind,
    ProofRecord,
    SignedAct,
    SignedAnswer,
)
from ringi.approvals.grant_document import (
    Grant,
    GrantScope,
    GrantState,
    GrantSubject,
    GrantUse,
    RunTerms,
    StoredGrant,
    count_uses,
)
from ringi.approvals.permits import check_always_asked
from ringi.approvals.proof import RequiredStatement, approval_of, compose, prove_by_signature, signer_now
from ringi.approvals.who import actor_at, refuse_agent, requester_of
from ringi.engine.run_state import StepStatus
from ringi.errors import (
    Ambiguous,
    BadGrant,
    GrantRefused,
    NoChannel,
    NotFound,
    SignatureRefused,
    SignatureUnchecked,
)
from ringi.kernel import codec
from ringi.kernel.text import GRANT_SHOWN, Text
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import requester_of_run
from ringi.models.prompt import Severity
from ringi.policy.globs import within
from ringi.policy.risk_level import Risk, highest
from ringi.policy.spec_kind import CHANGING, SpecKind
from ringi.tree.action_spec import ActionSpecExt

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace
    from ringi.plans.document import PlanDocument, StoredPlan
    from ringi.runs.document import Run, StepState

LONGEST_DAYS: Final = 90
SHORTEST_PREFIX: Final = 4
_DAY: Final = 86400
_REQUESTER: Final = re.compile(r"(?:with|user):[^\s:]+")
"""How many characters of a grant's id are shown."""
_EVERYWHERE: Final = "**"
_NO_SANDBOX: Final = Text("commands outside a sandbox are never covered")
_ELSEWHERE: Final = Text("it was given for another workspace")


class _Use(NamedTuple):
    files: int
    lines: int
    step_id: str = ""


class SaveApproval(Protocol):
    def __call__(self, transaction: Store, approval: Approval, event: NewEvent) -> None: ...


class Grants:
    """The standing approvals of a workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def draft(self, scope: GrantScope, expires_at: str) -> GrantSubject:
        """What to sign. Raises BadGrant if no grant may be that wide."""
        subject = GrantSubject(
            id=self._workspace.ids(),
            workspace=self._workspace.store.workspace_id(),
            scope=scope,
            created_at=self._workspace.clock.now(),
            expires_at=_as_utc(expires_at),
        )
        _require_narrow(self._workspace, subject)
        _refuse_agent(self._workspace, scope)
        return subject

    def statement(self, subject: GrantSubject, approver: str) -> str:
        """The bytes that a key signs."""
        return compose(self._workspace, SignedAct.GRANT, codec.digest(codec.canonical(subject)), approver)

    def add(self, subject: GrantSubject, approver: str, proof: SignedAnswer | None = None) -> Grant:
        """Raises NoChannel without a signature: a standing approval is always signed."""
        if proof is None:
            why = Text("a standing approval needs a signature")
            raise NoChannel(why=why, command="ringi grant new")
        if subject.workspace != self._workspace.store.workspace_id():
            raise BadGrant(why=_ELSEWHERE)
        _require_narrow(self._workspace, subject)
        _refuse_agent(self._workspace, subject.scope)
        data = codec.canonical(subject)
        wanted = RequiredStatement(
            SignedAct.GRANT, codec.digest(data), approver, "", subject.created_at, subject.expires_at
        )
        record = prove_by_signature(self._workspace, proof, wanted)
        with self._workspace.store.transaction() as transaction:
            # Including a revoked one: its signature cannot be used again.
            if any(stored.grant.id == subject.id for stored in self._workspace.store.grants.all()):
                raise BadGrant(why=Text("it was added already"))
            grant = Grant(
                id=subject.id,
                approver=approver,
                digest=wanted.digest,
                subject=data.decode(),
                proof=record,
                after_event=transaction.last_hash(),
            )
            transaction.grants.add(grant)
        return grant

    def revoke(self, grant_id: str, reason: str = "") -> GrantState:
        """Needs no proof, because it only restricts what is allowed."""
        found = _find(self._workspace, grant_id)
        with self._workspace.store.transaction() as transaction:
            transaction.grants.revoke(found, reason, actor_at(self._workspace.person))
        return next(state for state in self.list() if state.grant.id == found)

    def list(self) -> tuple[GrantState, ...]:
        """The newest first, each with its uses."""
        return tuple(
            _state(self._workspace, stored) for stored in reversed(self._workspace.store.grants.all())
        )

    def covering(self, stored: StoredPlan, subject: ApprovalSubject | None = None) -> Grant | None:
        """The grant that covers the whole plan as it is now; None if none does."""
        for standing in reversed(self._workspace.store.grants.all()):
            try:
                _require_cover(self._workspace, stored, standing, subject)
            except (GrantRefused, SignatureUnchecked):
                continue
            return standing.grant
        return None

    def refusals(self, plan_id: str, subject: ApprovalSubject | None = None) -> tuple[GrantRefused, ...]:
        """Why each grant for their requester does not cover the specs; the newest grant first."""
        stored, reasons = self._workspace.store.plans.get(plan_id), []
        for standing in reversed(self._workspace.store.grants.all()):
            if _subject(standing.grant).scope.requester != requester_of(stored.document):
                continue
            try:
                _require_cover(self._workspace, stored, standing, subject)
            except GrantRefused as error:
                reasons.append(error)
            except SignatureUnchecked as error:
                why = Text(error.message, **error.details)
                reasons.append(
                    GrantRefused(grant=standing.grant.id[:GRANT_SHOWN], plan=f"p{stored.number}", why=why)
                )
        return tuple(reasons)

    def use(
        self, stored: StoredPlan, grant: Grant, asked: ApprovalRequest, data: bytes, save: SaveApproval
    ) -> Approval:
        """Uses the grant for the request; `data` is what would be approved now, and `save` saves the plan
        with the approval. Raises GrantRefused.
        """
        workspace, name = self._workspace, f"p{stored.number}"
        subject = codec.decode_own(data, ApprovalSubject, "approval")
        _require_cover(workspace, stored, _standing(workspace, grant.id, name), subject)
        if codec.digest(data) != asked.digest:
            _refuse(grant.id, Text("something else was asked for"), name)
        use = _use_of(stored)
        with workspace.store.transaction() as transaction:
            # Check again now that nobody else can write: two uses at once must not spend the same budget.
            standing = _standing(workspace, grant.id, name)
            _require_time(workspace, standing, name)
            _require_left(workspace, standing, use, name)
            _require_run(workspace, stored, standing.grant, subject)
            record, last = _record(workspace, grant, use), transaction.last_hash()
            approval = approval_of(workspace, asked, data, record, approver=grant.approver, after_event=last)
            transaction.approvals.add(approval)
            reason = str(Text("standing approval {grant}", grant=grant.id))
            save(transaction, approval, NewEvent(EventKind.APPROVED, Actor.SYSTEM, reason, approval))
        return approval

    def refuse_newest(self, stored: StoredPlan, approvals: Sequence[Approval]) -> None:
        """If the newest came through a grant that never covers such a plan, no older one counts either."""
        for approval in approvals[-1:]:
            if approval.proof.kind is ProofKind.GRANT and (why := _never(self._workspace, stored.document)):
                _refuse(approval.proof.grant or "", why, f"p{stored.number}")

    def require_standing(self, plan: str, approval: Approval) -> None:
        """An approval through a grant counts as long as the grant does."""
        standing = _standing(self._workspace, approval.proof.grant or "", plan)
        _require_time(self._workspace, standing, plan)
        _require_signed(self._workspace, standing.grant, plan)


def _require_narrow(workspace: Workspace, subject: GrantSubject) -> None:
    scope = subject.scope
    if why := _too_wide(workspace, scope):
        raise BadGrant(why=why)
    if subject.expires_at != _as_utc(subject.expires_at) or subject.expires_at <= workspace.clock.now():
        raise BadGrant(why=Text("{date} is over", date=subject.expires_at))
    if subject.expires_at > workspace.clock.after(LONGEST_DAYS * _DAY):
        raise BadGrant(
            why=Text("it may last 1 day at most", "it may last {count} days at most", count=LONGEST_DAYS)
        )


def _refuse_agent(workspace: Workspace, scope: GrantScope) -> None:
    """An agent that starts a run does not let its steps through as well, whatever key it can read."""
    if scope.run:
        refuse_agent(workspace.person, f"ringi grant new --run {scope.run.run_id} --sign KEY")


def _too_wide(workspace: Workspace, scope: GrantScope) -> Text | None:
    budgets = (scope.files_per_use, scope.lines_per_use, scope.files_total, scope.lines_total)
    if why := _unfit_requester(workspace, scope):
        return why
    if scope.max_risk is Risk.HIGH:
        return Text("a high risk is never covered")
    if not scope.globs or not all(scope.globs):
        return Text("it names no paths")
    if not scope.kinds:
        return Text("it names no kinds of specs")
    if SpecKind.CALL in scope.kinds:
        return Text("calls of outside tools are never covered")
    if SpecKind.RUN in scope.kinds and not workspace.commands.uses_sandbox():
        return _NO_SANDBOX
    if SpecKind.RUN in scope.kinds and scope.globs != (_EVERYWHERE,):
        return Text("a command may write anywhere, so its only path is {glob}", glob=_EVERYWHERE)
    if min(budgets) < 1:
        return Text("each budget is at least 1")
    return None


def _unfit_requester(workspace: Workspace, scope: GrantScope) -> Text | None:
    if not scope.run:
        if _REQUESTER.fullmatch(scope.requester) and scope.requester.isprintable():
            return None
        return Text("{name} is neither with:AGENT nor user:NAME", name=scope.requester)
    try:
        return unfit_terms(workspace.store.runs.get(scope.run.run_id), scope, scope.run)
    except NotFound:
        return Text("there is no run {run}", run=scope.run.run_id)


def _find(workspace: Workspace, name: str) -> str:
    name = name.lower()
    ids = [stored.grant.id for stored in workspace.store.grants.all()]
    found = [name] if name in ids else [other for other in ids if other.startswith(name)]
    if len(name) < SHORTEST_PREFIX or not found:
        raise NotFound(what=Text("standing approval"), name=name, see="ringi grant list")
    if len(found) > 1:
        raise Ambiguous(name=name, candidates=", ".join(found))
    return found[0]


def _state(workspace: Workspace, stored: StoredGrant) -> GrantState:
    subject = _subject(stored.grant)
    uses = tuple(use_of(use) for use in workspace.store.approvals.of_grant(stored.grant.id))
    return GrantState(stored.grant, subject.scope, subject.expires_at, uses, stored.revoked_at)


def use_of(approval: Approval) -> GrantUse:
    """What an approval through a grant took from it."""
    proof, said = approval.proof, codec.decode_own(approval.subject.encode(), ApprovalSubject, "approval")
    return GrantUse(
        approval.id,
        approval.subject_id,
        approval.timestamp,
        proof.used_files or 0,
        proof.used_lines or 0,
        said.step.step_id if said.step else UNSET,
    )


def _record(workspace: Workspace, grant: Grant, use: _Use) -> ProofRecord:
    """Includes all that was signed, so that the approval can be checked by itself."""
    terms = _subject(grant).scope.run
    return replace(
        grant.proof,
        kind=ProofKind.GRANT,
        user=workspace.person.user(),
        grant=grant.id,
        grant_subject=grant.subject,
        used_files=use.files,
        used_lines=use.lines,
        run_dollars=workspace.store.runs.get(terms.run_id).spent.dollars if terms else UNSET,
    )


def _standing(workspace: Workspace, grant_id: str, plan: str) -> StoredGrant:
    for standing in workspace.store.grants.all():
        if standing.grant.id == grant_id:
            return standing
    return _refuse(grant_id, Text("it is not in the ledger"), plan)


def _require_cover(
    workspace: Workspace, stored: StoredPlan, standing: StoredGrant, subject: ApprovalSubject | None
) -> None:
    """Every check that needs no write; the signature comes last, because it takes longest."""
    plan, grant = f"p{stored.number}", standing.grant
    scope, document = _subject(grant).scope, stored.document
    if requester_of(document) != scope.requester:
        _refuse(grant.id, Text("it was given for what {name} asks for", name=scope.requester), plan)
    _require_time(workspace, standing, plan)
    if why := _never(workspace, document):
        _refuse(grant.id, why, plan)
    _require_run(workspace, stored, grant, subject)
    if why := _outside(workspace, scope, document.state.action_specs):
        _refuse(grant.id, why, plan)
    risk = document.risk()
    if risk is Risk.HIGH or highest((risk, scope.max_risk)) is not scope.max_risk:
        why = Text("the risk is {risk}, {limit} is covered", risk=str(risk), limit=str(scope.max_risk))
        _refuse(grant.id, why, plan)
    use = _use_of(stored)
    if use.files > scope.files_per_use:
        most = scope.files_per_use
        _refuse(grant.id, Text("{count} files, {most} at once are covered", count=use.files, most=most), plan)
    if use.lines > scope.lines_per_use:
        most = scope.lines_per_use
        _refuse(grant.id, Text("{count} lines, {most} at once are covered", count=use.lines, most=most), plan)
    _require_left(workspace, standing, use, plan)
    _require_signed(workspace, grant, plan)


def _never(workspace: Workspace, document: PlanDocument) -> Text | None:
    """Why no standing approval covers it, however wide."""
    if document.change:
        return Text("a change plan is never covered: a person approves each one")
    if document.state.commit and not document.step:
        return Text("a commit is never covered")
    if any(given.is_rejection for given in document.state.feedback):
        return Text("a person rejected it once, and decides again")
    return check_always_asked(workspace, document)


def _require_run(
    workspace: Workspace, stored: StoredPlan, grant: Grant, subject: ApprovalSubject | None
) -> None:
    """A step of a run is covered by a grant for that run, and by no other; and that covers nothing else."""
    terms, step = _subject(grant).scope.run, stored.document.step
    if not terms and not step:
        return
    if not terms or not step or step.run_id != terms.run_id:
        _refuse(grant.id, Text("it was not signed for this run"), f"p{stored.number}")
    try:
        run = workspace.store.runs.get(terms.run_id)
    except NotFound:
        _refuse(grant.id, _ELSEWHERE, f"p{stored.number}")
    agent = (
        Text("an agent may not use it; a person has to continue the run")
        if workspace.person.agent()
        else None
    )
    if why := agent or explain_uncovered(run, terms, stored.document, subject):
        _refuse(grant.id, why, f"p{stored.number}")


def _outside(workspace: Workspace, scope: GrantScope, specs: Sequence[ActionSpecExt]) -> Text | None:
    if not specs:
        return Text("there are no specs")
    for spec in specs:
        if not spec.validated:
            return Text("{id} cannot be carried out", id=spec.id)
        kind = SpecKind.MOVE if spec.old_path else spec.base.kind
        if kind not in scope.kinds or kind is SpecKind.CALL:
            return Text("{id} is of kind {kind}", id=spec.id, kind=str(kind))
        # A path that is read, or where a command runs, is not among the touched ones.
        own = [spec.base.path] if spec.base.path else []
        for path in [file.path for file in spec.touched] or own:
            if not within(path, scope.globs):
                return Text("{path} is not among its paths", path=path)
    if any(spec.base.kind is SpecKind.RUN for spec in specs) and not workspace.commands.uses_sandbox():
        return _NO_SANDBOX
    return None


def _require_time(workspace: Workspace, standing: StoredGrant, plan: str) -> None:
    subject, now = _subject(standing.grant), workspace.clock.now()
    if revoked_at := standing.revoked_at or _find_revocation(workspace, standing.grant, plan):
        _refuse(standing.grant.id, Text("it was revoked at {when}", when=revoked_at), plan)
    if subject.expires_at < now:
        _refuse(standing.grant.id, Text("it ended at {when}", when=subject.expires_at), plan)
    if now < subject.created_at:  # whoever signed it, or this machine, has a wrong clock
        _refuse(
            standing.grant.id,
            Text("it is valid from {when} on; is the clock right?", when=subject.created_at),
            plan,
        )


def _find_revocation(workspace: Workspace, grant: Grant, plan: str) -> str | None:
    """When it was revoked, according to the log: changing a row in the ledger does not make a grant valid."""
    hash_ = codec.digest(codec.canonical(grant))
    events = [logged.event for logged in workspace.store.events(grant.id)]
    if not any(event.event is EventKind.GRANTED and event.evidence == hash_ for event in events):
        _refuse(grant.id, Text("the log does not have it"), plan)
    revoked = (event for event in events if event.event is EventKind.GRANT_REVOKED)
    return next((event.at for event in revoked if event.document == hash_), None)


def _require_left(workspace: Workspace, standing: StoredGrant, use: _Use, plan: str) -> None:
    state = _state(workspace, standing)
    uses, terms = count_uses(state.uses, use.step_id), state.scope.run
    if terms and len(uses) >= terms.steps:
        why = Text("steps used up: {count} of {most}", count=len(uses), most=terms.steps)
        _refuse(standing.grant.id, why, plan)
    files = state.scope.files_total - sum(past.files for past in uses)
    lines = state.scope.lines_total - sum(past.lines for past in uses)
    if terms and use.lines > lines:
        why = Text("lines needed: {count}, left: {left}", count=use.lines, left=max(lines, 0))
        _refuse(standing.grant.id, why, plan)
    if use.files > files or use.lines > lines:
        why = Text(
            "{files} files and {lines} lines are needed, {left_files} and {left_lines} are left",
            files=use.files,
            lines=use.lines,
            left_files=max(files, 0),
            left_lines=max(lines, 0),
        )
        _refuse(standing.grant.id, why, plan)


def _require_signed(workspace: Workspace, grant: Grant, plan: str) -> None:
    """Requires that its bytes are those signed, by a key that is listed now."""
    subject = _subject(grant)
    if (subject.id, subject.workspace) != (grant.id, workspace.store.workspace_id()):
        _refuse(grant.id, _ELSEWHERE, plan)
    if codec.digest(grant.subject.encode()) != grant.digest:
        _refuse(grant.id, Text("it is not what was signed"), plan)
    try:
        signer_now(workspace, grant.proof, grant.digest)
    except SignatureRefused as error:
        _refuse(grant.id, Text(error.message, **error.details), plan)


def _as_utc(moment: str) -> str:
    """In the clock's format, so that text order is time order."""
    why = Text("{date} is no date with a time zone, such as 2026-12-31T00:00:00Z", date=moment)
    try:
        read = datetime.fromisoformat(moment)
        utc = read.astimezone(UTC)
    except (ValueError, OverflowError):
        raise BadGrant(why=why) from None
    if not read.tzinfo:
        raise BadGrant(why=why)
    return utc.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _subject(grant: Grant) -> GrantSubject:
    return codec.decode_own(grant.subject.encode(), GrantSubject, "standing approval")


def _use_of(stored: StoredPlan) -> _Use:
    totals, step = stored.document.state.previews, stored.document.step
    step_id = step.step_id if step else ""
    if not totals:
        return _Use(1, 0, step_id)
    # A command alone has no known files; but no use is free.
    return _Use(max(len(totals.files), 1), max(totals.weight or 0, totals.added + totals.removed), step_id)


def _refuse(grant_id: str, why: Text, plan: str = "") -> NoReturn:
    raise GrantRefused(grant=grant_id[:GRANT_SHOWN], plan=plan, why=why)


def unfit_terms(run: Run, scope: GrantScope, terms: RunTerms) -> Text | None:
    """Why nobody may sign this."""
    if scope.requester != requester_of_run(run.run_id) or not CHANGING.issuperset(scope.kinds):
        return Text("it covers the steps of run {run} and nothing else", run=run.run_id)
    if not 1 <= terms.steps <= len(run.steps):
        return Text("steps of the run: {count}", count=len(run.steps))
    if terms.dollars is not UNSET and not (math.isfinite(terms.dollars) and terms.dollars >= 0):
        return Text("dollars are 0 or more")
    return _other_run(run, terms)


def explain_uncovered(
    run: Run, terms: RunTerms, document: PlanDocument, subject: ApprovalSubject | None
) -> Text | None:
    """Why a person has to look at this step, whatever its paths and lines are.

    `subject` is what would be approved, with the commit; None if nobody knows that now.
    """
    step_id = document.step.step_id if document.step else ""
    state = next((one for one in run.steps if one.step_id == step_id), None)
    if not state or state.status is not StepStatus.PROPOSED or state.plan_version != document.plan.version:
        return Text("the step is not finished")
    planned = document.state.planned_checks
    if planned and (planned.before or planned.after):
        return Text("its checks would run code that nobody has looked at outside a sandbox")
    return _other_run(run, terms) or _doubtful(state) or _beyond(run, terms, subject)


def _other_run(run: Run, terms: RunTerms) -> Text | None:
    """Why these terms are not about the run as it is."""
    if not terms.plan_sha256 or run.plan_sha256 != terms.plan_sha256:
        return Text("the run has another plan than the one that was signed")
    if run.work_branch != terms.branch:
        return Text("the branch of the run is {branch}", branch=run.work_branch)
    if terms.branch == run.base_branch:
        return Text("commits on {branch} are never covered", branch=terms.branch)
    return None


def _doubtful(state: StepState) -> Text | None:
    if failed := next((one for one in state.evidence if one.tree == state.tree and not one.passed), None):
        return Text("{command} did not pass", command=failed.command)
    if found := next((one for one in state.findings if one.severity is Severity.ERROR), None):
        return Text("the {role} found an error in it", role=str(found.role))
    return None


def _beyond(run: Run, terms: RunTerms, subject: ApprovalSubject | None) -> Text | None:
    spent = run.spent.dollars
    if terms.dollars is not UNSET and spent > terms.dollars:
        return Text("the run has spent ${spent}, ${most} are covered",
                    spent=f"{spent:.2f}", most=f"{terms.dollars:.2f}")  # fmt: skip
    commit = subject.commit if subject else UNSET
    if commit and commit.branch != terms.branch:
        return Text("commits on {branch} are never covered", branch=commit.branch)
    if commit and (hooks := [name for name in commit.hooks if name not in terms.hooks]):
        return Text("the hook {hook} runs with the commit, outside a sandbox", hook=hooks[0])
    return None
