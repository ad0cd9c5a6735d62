"""`ringi verify`: the files are, or were at that time, exactly what a person approved.

It trusts no earlier result: it compares approvals, intents and results with each other, with the log and
with the files, and checks the signatures again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.approvals.document import Act, Approval, ApprovalSubject, RunApprovalFacts, SessionSubject
from ringi.approvals.kinds import as_written
from ringi.approvals.statement import fingerprint
from ringi.errors import BadDocument, LedgerCorrupt, NewerVersion, NoCommit, NotFound
from ringi.kernel import codec
from ringi.kernel.text import Text
from ringi.ledger import subject as subjects
from ringi.ledger.event import EventKind, LoggedEvent
from ringi.ledger.subject import Subject, elsewhere
from ringi.plans.audit import SHOWN, SubjectFacts, doubts, signer_doubts
from ringi.plans.commit import find_written, outcome_of
from ringi.plans.document import PlanRef
from ringi.plans.execution import STARTED, ExecutionIntent, StoredCommand, StoredIntent, words_of
from ringi.plans.verdict import (
    FileStanding,
    GivenApproval,
    GivenProof,
    Proven,
    ProvenCommit,
    ProvenExecution,
    ProvenFile,
    ProvenSession,
)
from ringi.policy.spec_kind import ONLY_READING, SpecKind
from ringi.tree.action_spec import ActionSpec, CheckFailure
from ringi.tree.commits import GitCommits
from ringi.tree.file_state import FileChange, FileState, OpStatus
from ringi.tree.tree import find_differing

if TYPE_CHECKING:
    from ringi.app.store import Store
    from ringi.app.workspace import Workspace

_UNREADABLE: Final = (BadDocument, NewerVersion, LedgerCorrupt)
_BEGUN: Final = {Act.EXECUTE: EventKind.EXECUTED, Act.UNDO: EventKind.UNDO_STARTED}


class CommitStanding(NamedTuple):
    commit: str = ""
    """Its id; empty if there is none."""
    doubts: tuple[Text, ...] = ()
    """What contradicts the approval."""
    as_approved: bool = False
    """Every file of the plan is in it with exactly the approved bytes."""
    notes: tuple[Text, ...] = ()
    """How it differs: hooks and filters may change what is committed, and history may be rewritten."""

    @property
    def document(self) -> ProvenCommit | UnsetType:
        if not self.commit:
            return UNSET
        return ProvenCommit(self.commit, self.as_approved, tuple(map(str, self.notes)))


class PlanVerdict(NamedTuple):
    document: Proven
    problems: tuple[Text, ...]
    """The document's problems as translatable sentences."""
    commit: CommitStanding = CommitStanding()


class SessionVerdict(NamedTuple):
    document: ProvenSession
    problems: tuple[Text, ...]


def verify_plan(workspace: Workspace, plan_id: str) -> Proven:
    with workspace.one_moment():
        plan_id = workspace.store.plans.find(plan_id)
        return Examination(workspace, only=plan_id).plan(plan_id).document


class Examination:
    """Verifies plans and sessions. To be used inside `one_moment`."""

    def __init__(self, workspace: Workspace, *, only: str = "", every: bool = False) -> None:
        """`only` for one plan: the others are not looked at. `every` compares the files in `.agent/` once."""
        self._workspace = workspace
        self._store = workspace.store
        self._tree = workspace.tree
        self._signatures = workspace.signatures
        self._commits = workspace.commits
        self._breaks = [*workspace.verify_log(only), *signer_doubts(workspace.store, workspace.signatures)]
        repository = workspace.repository()
        self._unreadable = repository.damage() if repository else None
        self._histories: dict[str, _NetEffect] = {}
        self._writes = _Writes(self._store, self._history) if every else None
        self._differences = _by_part(self._differing_files()) if every else None
        self.foreign = tuple(workspace.upkeep.foreign())
        """Plans and sessions in `.agent/` that the ledger does not know."""

    def _differing_files(self, subject_id: str = "") -> list[str]:
        try:
            return self._workspace.upkeep.differences(subject_id)
        except _UNREADABLE:  # the log check reports unreadable rows
            return []

    def _find_forged(self, subject_id: str) -> tuple[str, ...]:
        if self._differences is None:
            return tuple(self._differing_files(subject_id))
        return tuple(self._differences.get(subject_id, ()))

    def list_carried_out(self) -> Iterator[str]:
        """The ids of plans that were carried out, at least in part or possibly; newest first."""
        for ref in self._store.plans.refs(discarded=True):
            try:
                done = self._history(ref.id).any_done
            except _UNREADABLE:
                done = True
            if done:
                yield ref.id

    def plan(self, name: str) -> PlanVerdict:
        plan_id = self._store.plans.find(name)
        problems = [*self._breaks, *_of_notes(self._unreadable)]
        executions: tuple[StoredIntent, ...] = ()
        approvals: tuple[Approval, ...] = ()
        files: list[ProvenFile] = []
        history, commit = _NetEffect(self._store), CommitStanding()
        try:
            approvals, executions = self._store.approvals.of(plan_id), self._store.executions.of(plan_id)
            plan = self._store.plans.get(plan_id).document
            facts = self._facts(subjects.plan(plan_id), plan.plan.requester or "")
            for approval in approvals:
                problems += doubts(facts, approval)
            problems += _ExecutionComparison(facts, approvals).doubts(executions)
            history = self._history(plan_id)
            files = self._files(history, on_branch=elsewhere(plan.step))
            commit = _commit(self._store.events(plan_id), approvals, executions, self._commits)
            problems += commit.doubts
        except _UNREADABLE as error:
            problems.append(Text(error.message, **error.details))
        given = {approval.id: _describe_approval(approval) for approval in approvals}
        used = {stored.intent.approval_id for stored in executions}
        document = Proven(
            plan_id=plan_id,
            name=self._store.plans.ref(plan_id).name,
            proven=not problems,
            carried_out=history.any_done,
            executions=tuple(_execution(stored, given) for stored in executions),
            unused=tuple(one for one in given.values() if one.id not in used),
            files=tuple(files),
            unrecorded=tuple(history.unrecorded),
            log_ok=not self._breaks,
            problems=tuple(map(str, problems)),
            forged=self._find_forged(plan_id),
            commit=commit.document,
        )
        return PlanVerdict(document, tuple(problems), commit)

    def list_approved_sessions(self) -> Iterator[str]:
        """The ids of approved planning sessions, newest first."""
        for ref in self._workspace.planning.list():
            try:
                approved = bool(self._store.approvals.of(ref.session_id))
            except _UNREADABLE:
                approved = True
            if approved:
                yield ref.session_id

    def session(self, name: str) -> SessionVerdict:
        """Checks that its run got what a person approved."""
        planning = self._workspace.planning
        session_id = planning.find(name)
        problems, run_id = list(self._breaks), ""
        given: GivenApproval | None = None
        try:
            approvals = self._store.approvals.of(session_id)
            facts = self._facts(subjects.session(session_id))
            for approval in approvals:
                problems += doubts(facts, approval)
                given, run_id = _describe_approval(approval), approval.spent_by or ""
                said = as_written(approval.subject, SessionSubject)
                run = planning.run(run_id)
                if said is None or said.given != RunApprovalFacts(
                    run.instruction, run.plan_sha256, run.forge
                ):
                    problems.append(Text("run {run} got something else than what was approved", run=run_id))
        except NotFound:
            problems.append(Text("run {run} is not in the ledger", run=run_id))
        except _UNREADABLE as error:
            problems.append(Text(error.message, **error.details))
        document = ProvenSession(
            session_id=session_id,
            run_id=run_id,
            proven=not problems,
            approval=given,
            log_ok=not self._breaks,
            problems=tuple(map(str, problems)),
            forged=self._find_forged(session_id),
        )
        return SessionVerdict(document, tuple(problems))

    def _facts(self, about: Subject, requester: str = "") -> SubjectFacts:
        events = [logged.event for logged in self._store.events(about.id)]
        by_evidence = {event.evidence: event for event in events if event.evidence}
        return SubjectFacts(self._store, self._signatures, about, by_evidence, requester)

    def _history(self, plan_id: str) -> _NetEffect:
        if plan_id not in self._histories:
            self._histories[plan_id] = _NetEffect(self._store, self._store.executions.of(plan_id))
        return self._histories[plan_id]

    def _files(self, history: _NetEffect, *, on_branch: bool) -> list[ProvenFile]:
        """What is on the branch of a run is proven by its commit."""
        standing = {path: one for path, one in history.files.items() if not (one.undone or on_branch)}
        changed = set(self._differing({path: one.after for path, one in standing.items()}))
        since = self._since({path: standing[path].at for path in changed}) if changed else {}
        found = []
        for path, one in history.files.items():
            status = FileStanding.UNDONE if one.undone else FileStanding.AS_APPROVED
            if path in changed:
                status = FileStanding.CHANGED_SINCE
            found.append(ProvenFile(path, status, since.get(path, ""), one.command))
        return sorted(found, key=lambda file: file.path)

    def _differing(self, expected: Mapping[str, FileState | None]) -> list[str]:
        return find_differing(
            self._tree, [FileChange("", path, state, None) for path, state in expected.items()]
        )

    def _since(self, times: Mapping[str, str]) -> dict[str, str]:
        """The plans that wrote the current content, by path."""
        writes = self._writes or _Writes(
            self._store, self._history, self._store.executions.plans_that_wrote(times)
        )
        newest = writes.after(times)
        others = set(self._differing({path: one.after for path, (_, one) in newest.items()}))
        return {path: name for path, (name, _) in newest.items() if path not in others}


class _Written(NamedTuple):
    """The last change to a file, and its state before the first."""

    before: FileState | None
    after: FileState | None
    at: str
    undone: bool
    command: str


class _Writes:
    """The last plan that wrote each file. Reads each plan once, the newest first, and no more than needed."""

    def __init__(
        self, store: Store, history: Callable[[str], _NetEffect], among: Container[str] | None = None
    ) -> None:
        """`among` are the plans to read; None for all."""
        self._store = store
        self._history = history
        self._among = among
        self._left: list[PlanRef] | None = None
        self._newest: dict[str, tuple[str, _Written]] = {}

    def after(self, times: Mapping[str, str]) -> dict[str, tuple[str, _Written]]:
        """By path, the name of the plan and what it wrote, if that was later than the given time."""
        if self._left is None:
            refs = [ref for ref in self._store.plans.refs(discarded=True) if not elsewhere(ref.step)]
            among = refs if self._among is None else [ref for ref in refs if ref.id in self._among]
            self._left = sorted(among, key=attrgetter("updated_at"))
        while self._left and self._left[-1].updated_at > min(times.values()):
            ref = self._left.pop()
            for path, one in self._history(ref.id).files.items():
                if path not in self._newest or one.at > self._newest[path][1].at:
                    self._newest[path] = ref.name, one
        found = {path: self._newest[path] for path in times if path in self._newest}
        return {path: (name, one) for path, (name, one) in found.items() if one.at > times[path]}


class _NetEffect:
    """The combined effect of executions and undos on files."""

    def __init__(self, store: Store, executions: Sequence[StoredIntent] = ()) -> None:
        self._store = store
        self.files: dict[str, _Written] = {}
        self.unrecorded: list[str] = []
        self.any_done = False
        for stored in executions:
            self.add(stored)

    def add(self, stored: StoredIntent) -> None:
        intent, result = stored.intent, stored.result
        if result is None:
            return
        done = {(one.spec_id, one.path) for one in result.results if one.status is OpStatus.DONE}
        undone = intent.kind is Act.UNDO
        for change in intent.changes:
            if (change.spec_id, change.path) in done:
                self._compose(change, result.finished_at, undone=undone)
        self.any_done |= any(outcome.status is OpStatus.DONE for outcome in result.results)
        for command in self._store.executions.commands(intent.id):
            self._add_command(command, result.finished_at)

    def _add_command(self, command: StoredCommand, at: str) -> None:
        words, end = " ".join(command.start.argv), command.end
        if end is None or end.exit_code is None:
            self.unrecorded.append(words)
        if end is None:
            return
        self.any_done |= bool(end.settled_by)
        self.unrecorded += end.beyond
        for effect in end.effects:
            self._compose(effect, at, command=words)

    def _compose(self, change: FileChange, at: str, *, undone: bool = False, command: str = "") -> None:
        past = self.files.get(change.path)
        before = past.before if past and not past.undone else change.before
        self.files[change.path] = _Written(before, change.after, at, undone, command)

    def takes_back(self, change: FileChange) -> bool:
        past = self.files.get(change.path)
        return past is not None and (past.after, past.before) == (change.before, change.after)


class _ExecutionComparison:
    """Compares executions with the approvals they name."""

    def __init__(self, facts: SubjectFacts, approvals: Sequence[Approval]) -> None:
        self._facts = facts
        self._approvals = {approval.id: approval for approval in approvals}

    def doubts(self, executions: Sequence[StoredIntent]) -> Iterator[Text]:
        history = _NetEffect(self._facts.store)
        for stored in executions:
            for why in self._reasons(stored, history):
                yield Text("execution {id}: {why}", id=stored.intent.id[:SHOWN], why=why)
            history.add(stored)

    def _reasons(self, stored: StoredIntent, history: _NetEffect) -> Iterator[Text]:
        intent = stored.intent
        begun = self._facts.events.get(codec.digest(codec.canonical(intent)))
        if begun is None or begun.event is not _BEGUN[intent.kind]:
            yield Text("the log does not have it: it was put in or changed")
        yield from _results(stored)
        if not intent.approval_id:
            yield from self._without_approval(intent)
            return
        approval = self._approvals.get(intent.approval_id)
        subject = as_written(approval.subject, ApprovalSubject) if approval else None
        if approval is None or subject is None:
            yield Text("there is no approval {id} of this plan", id=intent.approval_id[:SHOWN])
            return
        given = self._facts.events.get(approval.evidence)
        if given and begun and given.seq > begun.seq:
            yield Text("it began before it was approved")
        if intent.kind is subject.kind and intent.started_at > approval.expires_at:
            yield Text("its approval had expired")
        yield from self._within(intent, subject, history)
        yield from self._commands(intent, subject)

    def _without_approval(self, intent: ExecutionIntent) -> Iterator[Text]:
        steps = intent.steps or ()
        ran = self._facts.store.executions.commands(intent.id)
        if intent.changes or ran or any(step.kind not in ONLY_READING for step in steps):
            yield Text("it changed something, and nobody had approved it")

    def _within(
        self, intent: ExecutionIntent, subject: ApprovalSubject, history: _NetEffect
    ) -> Iterator[Text]:
        if intent.kind is subject.kind:
            approved = {_plain(change) for change in subject.changes}
            wrong = [change.path for change in intent.changes if _plain(change) not in approved]
        elif _may_be_taken_back(intent, subject):
            wrong = [change.path for change in intent.changes if not history.takes_back(change)]
        else:
            yield Text("it was approved to {approved}, not to {done}",
                       approved=str(subject.kind), done=str(intent.kind))  # fmt: skip
            return
        for path in wrong:
            yield Text("{path} was not changed as approved", path=path)
        specs = {one.id: one.spec for one in subject.specs}
        for step in intent.steps or ():
            spec = specs.get(step.spec_id)
            words = words_of(spec) if spec else ()
            if spec is None or (spec.kind, spec.path, words) != (step.kind, step.path, step.argv):
                yield Text("{id} is not what was approved", id=step.spec_id)

    def _commands(self, intent: ExecutionIntent, subject: ApprovalSubject) -> Iterator[Text]:
        specs: dict[str, ActionSpec] = {one.id: one.spec for one in subject.specs}
        for command in self._facts.store.executions.commands(intent.id):
            start, spec = command.start, specs.get(command.start.spec_id)
            ran = " ".join(start.argv)
            if spec is None or spec.kind not in STARTED or words_of(spec) != start.argv:
                yield Text("it ran {command}, which nobody approved", command=ran)
            elif spec.kind is SpecKind.RUN and subject.sandboxed and not start.sandboxed:
                yield Text("{command} ran outside the sandbox that was approved", command=ran)


def _results(stored: StoredIntent) -> Iterator[Text]:
    """Compares the result with the intent."""
    intent, result = stored.intent, stored.result
    if result is None:
        return
    if (result.execution_id, result.kind) != (intent.id, intent.kind):
        yield Text("its result belongs to another one")
    known = {(change.spec_id, change.path) for change in intent.changes}
    known |= {(step.spec_id, step.path) for step in intent.steps or ()}
    for outcome in result.results:
        if outcome.status is OpStatus.DONE and (outcome.spec_id, outcome.path) not in known:
            yield Text("{path} was done and never begun", path=outcome.path or outcome.spec_id)


def _of_notes(why: Text | None) -> Iterator[Text]:
    if why is not None:
        yield Text("the notes with its proof are damaged: {why}. Rebuild them: ringi recover", why=why)


def _by_part(paths: Sequence[str]) -> dict[str, list[str]]:
    """The files of each plan and session, which a folder or a file is named after."""
    found: dict[str, list[str]] = {}
    for path in paths:
        for part in path.split("/"):
            found.setdefault(part.removesuffix(".json"), []).append(path)
    return found


def _plain(change: FileChange) -> tuple[str, str, FileState | None, FileState | None]:
    """Without its position, which the execution assigns."""
    return change.spec_id, change.path, change.before, change.after


def _may_be_taken_back(intent: ExecutionIntent, subject: ApprovalSubject) -> bool:
    """The plan's approval covers the rollback after a failed check."""
    wanted = subject.checks.on_failure if subject.checks else None
    # No step of a run stays without its commit.
    return intent.kind is Act.UNDO and (wanted is CheckFailure.UNDO or bool(subject.step))


def _execution(stored: StoredIntent, given: Mapping[str, GivenApproval]) -> ProvenExecution:
    intent, result = stored.intent, stored.result
    return ProvenExecution(
        intent.id,
        intent.kind,
        intent.started_at,
        result.finished_at if result else "",
        overall_success=result is not None and result.overall_success,
        approval=given.get(intent.approval_id),
    )


def _describe_approval(approval: Approval) -> GivenApproval:
    record = approval.proof
    proof = GivenProof(
        record.kind,
        record.strength,
        record.user,
        record.channel,
        record.principal or "",
        fingerprint(record.key) if record.key else "",
        record.grant or "",
        record.fresh_since or "",
        record.review.url if record.review else "",
    )
    return GivenApproval(approval.id, approval.approver, approval.timestamp, approval.note, proof)


def _commit(
    events: Iterator[LoggedEvent],
    approvals: Sequence[Approval],
    executions: Sequence[StoredIntent],
    commits: Callable[[], GitCommits] | None,
) -> CommitStanding:
    outcome = outcome_of(events)
    if outcome is None or not outcome.commit or commits is None:
        return CommitStanding()
    done = [one for one in executions if one.result and one.intent.kind is Act.EXECUTE]
    given = {approval.id: approval for approval in approvals}
    approval = given.get(done[-1].intent.approval_id) if done else None
    subject = as_written(approval.subject, ApprovalSubject) if approval else None
    name = outcome.commit[:SHOWN]
    if subject is None or not subject.commit:
        why = Text("commit {id} was made, and nobody had approved one", id=name)
        return CommitStanding(outcome.commit, (why,))
    files = find_written(done, done[-1].intent.approval_id, subject)
    try:
        found = {path: one and one.data for path, one in commits().files(outcome.commit, list(files)).items()}
    except NoCommit:
        why = Text("commit {id} is not in the repository any more", id=name)
        return CommitStanding(outcome.commit, notes=(why,))
    notes = tuple(_commit_notes(files, found, name))
    return CommitStanding(outcome.commit, as_approved=not notes, notes=notes)


def _commit_notes(
    files: Mapping[str, FileState | None], found: Mapping[str, bytes | None], name: str
) -> Iterator[Text]:
    for path, state in files.items():
        data = found.get(path)
        if (state is None and data is None) or _is(state, data):
            continue
        if data is not None and _is(state, data.replace(b"\n", b"\r\n")):
            yield Text("{path} is in commit {id} with git's own line ends", path=path, id=name)
        else:
            yield Text("{path} is in commit {id}, but not as approved: a hook or a filter changed it",
                       path=path, id=name)  # fmt: skip


def _is(state: FileState | None, data: bytes | None) -> bool:
    return state is not None and data is not None and codec.digest(data) == state.sha256
