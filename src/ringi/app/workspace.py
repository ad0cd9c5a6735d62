"""An open workspace: the one context that every operation takes. What most commands do not need is made on
first use, and imported then.
"""

# ruff: noqa: PLC0415  # parts that most commands do not need

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from copy import copy
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from ringi.app.projection import DeferredProjection, Projection
from ringi.app.store import Store
from ringi.app.telemetry import telemetry_of
from ringi.app.upkeep import LedgerUpkeep
from ringi.approvals.grant import Grants
from ringi.approvals.permits import Permits
from ringi.approvals.person import PersonChannel, TerminalPerson
from ringi.approvals.signers import (
    Signers,
    read_accepted_lists,
    read_configured_proof,
    read_offered_lists,
    signatures_of,
)
from ringi.config.keys import Config
from ringi.config.load import load
from ringi.engine.run_plan import MAIN_BRANCH
from ringi.errors import BranchRefused, Busy, LedgerOlder, NotFound, SignersForged, StorageFailed, WrongAnswer
from ringi.forges.configured import KnownForges, reviews_of
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.lock import FileLock, PassingLock
from ringi.kernel.places import Places, find_root, places_of
from ringi.kernel.system import Clock, Ids, SystemClock, new_file_mode, new_id, process_environment
from ringi.kernel.text import Text
from ringi.ledger.connection import private_folder
from ringi.ledger.event import EventSink, LoggedEvent
from ringi.ledger.events import PendingProjections
from ringi.ledger.subject import is_session
from ringi.models.configured import budget_of, choose, mask_of
from ringi.models.open_calls import OpenCalls
from ringi.plans.document import OPEN, PlanDocument
from ringi.plans.execution import ExecutionResult
from ringi.plans.place import run_of
from ringi.plans.tool import PlanTool
from ringi.plans.versions import Versions
from ringi.runs.configured_tools import outside_tools
from ringi.tree.action_spec import CheckFailure, PlannedChecks
from ringi.tree.commands import commands_in
from ringi.tree.copy_layout import branch_of
from ringi.tree.snapshot import Snapshots
from ringi.tree.supervisors import supervisors_in
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.agents.reading import ProjectReader
    from ringi.app.caching import Caching
    from ringi.approvals.forge import ReviewChecks
    from ringi.approvals.signing import Signatures
    from ringi.engine.document import Outline
    from ringi.engine.process import RunFeedback
    from ringi.engine.run_plan import RunPlan, RunRole
    from ringi.forges.publishing import RunPublishing
    from ringi.forges.watch import Round
    from ringi.forges.watch_project import WatchEvent
    from ringi.metrics.document import Metrics
    from ringi.models.prompt import Budget, LanguageModel, Prompt
    from ringi.models.usage import TokenUsage
    from ringi.plans.check import CheckRunner
    from ringi.plans.extract_with_model import Extractor
    from ringi.project.context import CodeContext, Context
    from ringi.project.state import ProjectState
    from ringi.provenance.repository import GitRepository
    from ringi.runs.branch import RunBranch
    from ringi.runs.document import Run, RunFacts
    from ringi.runs.role_work import RoleTask
    from ringi.runs.roles import ConfiguredRoles
    from ringi.sessions.document import SessionView
    from ringi.sessions.plan_cache import PlanCache
    from ringi.sessions.tool import PlanningTool
    from ringi.tools.ports_process import OutsideTools
    from ringi.tree.commands import Commands
    from ringi.tree.commits import GitCommits
    from ringi.tree.copy import WorkCopy

Progress = Callable[[Text], None]
"""Reports a slow step to the person."""


def _untold(_: Text) -> None:
    pass


class Workspace:
    """`plan` is the plan tool; every change to files goes through it. `grants` are the standing approvals."""

    def __init__(
        self,
        places: Places,
        environment: Mapping[str, str],
        config: Config,
        store: Store,
        upkeep: LedgerUpkeep,
        *,
        person: PersonChannel,
        clock: Clock,
        ids: Ids = new_id,
        tell: Progress = _untold,
    ) -> None:
        self.own_places = places
        """The person's, also if `places` are those of a run's branch."""
        self.places = places
        self.environment = environment
        self.config = config
        self.store = store
        self.upkeep = upkeep
        self.person = person
        self.clock = clock
        self.ids = ids
        self.tell = tell
        """Says a sentence to whoever waits for the result."""
        self.tree = Tree(OsFileSystem(), places.root)
        self.lock = FileLock(places.state / "lock", config.lock.wait_sec)
        self.telemetry = telemetry_of(places.root, config, environment, clock, store.workspace_id)
        self.new_file_mode = new_file_mode()
        self.sleep = time.sleep
        self.run_id = ""
        """Set if the files are those of a run's branch: its steps are carried out there, and nothing else."""
        self.recovered: tuple[ExecutionResult, ...] = ()
        """Interrupted executions that opening the workspace finished or rolled back."""
        self._own = self
        self._of_task: dict[str, Workspace] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            self.upkeep.flush()
        finally:
            self.store.close()

    def replace(self, **parts: Any) -> Self:
        """The same workspace with other parts."""
        other = copy(self)
        for name in _HOLD_THE_WORKSPACE:
            other.__dict__.pop(name, None)
        other.__dict__.update(parts)
        if not other.run_id:
            other.__dict__["_own"] = other
        return other

    # ------------------------------------------------------------------ the tools

    @cached_property
    def plan(self) -> PlanTool:
        return PlanTool(self)

    @cached_property
    def versions(self) -> Versions:
        return Versions(self)

    @cached_property
    def grants(self) -> Grants:
        return Grants(self)

    @cached_property
    def signers(self) -> Signers:
        """Whose signatures count."""
        return Signers(
            self,
            read_configured_proof(self.config),
            offered=lambda: read_offered_lists(self.own_places.root, self.environment),
            counting=lambda: read_accepted_lists(self.store, self.own_places.root, self.environment),
        )

    @cached_property
    def planning(self) -> "PlanningTool":
        """Planning sessions: from an instruction to a design that a person approved."""
        from ringi.sessions.tool import PlanningTool

        return PlanningTool(self)

    @cached_property
    def extractor(self) -> "Extractor":
        """Reads action specs from the text of a plan."""
        from ringi.plans.extract_with_model import Extractor

        return Extractor(self)

    # ------------------------------------------------------------------ files and git

    def snapshots(self) -> "Snapshots":
        return Snapshots(self.places.state, self.places.root)

    def snapshot_id(self) -> str:
        """Of the current files; a call takes as long as `git status`."""
        return self.snapshots().take().id

    def commits(self) -> "GitCommits":
        from ringi.tree.commits import GitCommits

        return GitCommits(self.places.root, self.environment, self.tell)

    def repository(self) -> "GitRepository | None":
        """Of these files, with the notes of the person's own; None if there is no git repository."""
        if not os.path.lexists(self.own_places.root / ".git"):
            return None
        from ringi.provenance.repository import GitRepository

        return GitRepository(self.places.root, self.environment, notes_root=self.own_places.root)

    def analyse(self, path: str) -> str:
        """Facts about a file, computed without a model."""
        from ringi.project.analysis import analyse

        return analyse(self.places, self.tree, path, critical=self.config.risk.critical)

    @cached_property
    def code(self) -> "CodeContext":
        """Reads the project for whoever plans a change to it."""
        from ringi.project.code_context import SnapshotContext

        places = self.own_places
        return SnapshotContext(
            lambda: Snapshots(places.state, places.root),
            self._own.tree,
            mask=self.mask_lines,
            index=places.state / "context",
            tokens=self.config.context.tokens,
            never_send=self.config.context.never_send,
        )

    def context(self, request: str, *, tokens: int | None = None, limit: int | None = None) -> "Context":
        """What a model would be shown of the project for this request: at most so many tokens, and files."""
        return self.code.gather(request, tokens=tokens, limit=limit).context

    def base_branch(self) -> str:
        """What a run would begin from."""
        return branch_of(self.own_places.root) or MAIN_BRANCH

    def requests(self) -> Iterable[str]:
        """The ids of the files in `requests/`."""
        from ringi.sessions.request_files import request_files

        return request_files(self.own_places.root)

    def project_state(self) -> "ProjectState | None":
        """The newest captured state."""
        return self.store.states.newest()

    # ------------------------------------------------------------------ commands and checks

    @cached_property
    def commands(self) -> "Commands":
        return commands_in(self.places.root, self.places, self.config, self.environment)

    @cached_property
    def checks(self) -> PlannedChecks:
        """That every plan gets."""
        checks = self.config.checks
        return PlannedChecks(checks.before, checks.after, CheckFailure(checks.on_failure))

    @cached_property
    def check(self) -> "CheckRunner":
        """In a dry run, a step of a run is tested as the run itself tests it."""
        from ringi.tree.copy_run import checks_of

        found = checks_of(self.places, self.config, self.environment, self.tell)
        if not self.run_id:
            return found
        from ringi.runs.step_plan import StepChecks

        plan = self.store.runs.plan(self.run_id)
        seconds = plan.limits.timeout_sec if plan else self.config.checks.timeout_sec
        return StepChecks(self._own, self.places.root, self.environment, seconds, found, self.tell)

    @cached_property
    def tools(self) -> "Callable[[], AbstractContextManager[OutsideTools]] | None":
        """Of the configured servers, which start when needed; None if there are none. Raises NoExtra."""
        return outside_tools(self.config, self.environment, self.places.root)

    def has_program(self, name: str) -> bool:
        """Whether the search path has it."""
        return shutil.which(name, path=self.environment.get("PATH")) is not None

    # ------------------------------------------------------------------ people

    @cached_property
    def signatures(self) -> "Signatures":
        return signatures_of(
            self.store, self.own_places.root, self.environment, read_configured_proof(self.config)
        )

    @cached_property
    def forges(self) -> KnownForges:
        """GitHub and GitLab, as far as they are known here."""
        return KnownForges(self.config, self.environment, self.own_places.root)

    @cached_property
    def permits(self) -> Permits:
        """What the people behind a plan may do."""
        return Permits(self.config.planning.permissions, self.forges)

    @cached_property
    def reviews(self) -> "ReviewChecks | None":
        """None if a yes on a forge does not count."""
        return reviews_of(self.forges, self.config.forge)

    def publishing(self) -> "RunPublishing":
        """How a run reaches its forge by git."""
        from ringi.forges.publishing import RunPublishing

        return RunPublishing(self.own_places, self.environment, self.store, self.forges)

    # ------------------------------------------------------------------ models and roles

    def mask(self, text: str) -> str:
        """Marks secrets in what is kept."""
        return mask_of(self.config, self.environment)(text)

    def mask_lines(self, text: str) -> str:
        """As `mask`; the lines stay as many."""
        return mask_of(self.config, self.environment, keep_lines=True)(text)

    @cached_property
    def budget(self) -> "Budget":
        """What one question to a model may take."""
        return budget_of(self.config)

    @cached_property
    def caching(self) -> "Caching":
        from ringi.app.caching import Caching

        return Caching(self.own_places, self.config, self.environment, self.store, self.clock)

    @property
    def cache(self) -> "PlanCache":
        """What models answered before."""
        return self.caching.plans

    def model(self) -> "LanguageModel":
        """The configured one. Raises UnknownModel, NoModelKey, NoExtra."""
        return self._model

    @cached_property
    def _model(self) -> "LanguageModel":
        return self.named_model(self.config.model)

    def named_model(self, name: str, task: "RoleTask | None" = None) -> "LanguageModel":
        """One that reads the project by itself reads the task's copy. Raises as `model`."""
        copy = task.copy if task else None
        found = choose(
            name,
            self.config,
            self.environment,
            lambda: self._reader(copy),
            self.telemetry.spans,
            _playbook,
        )
        return self.caching.around(found, task)

    def _reader(self, copy: "WorkCopy | None") -> "ProjectReader":
        from ringi.agents.project_reader import CopyReader

        return CopyReader(self._own, withheld=bool(self.config.context.never_send), copy=copy)

    def roles(self, commands: "Mapping[RunRole, str] | None" = None) -> "ConfiguredRoles":
        """Who works on the steps of a run; commands given here replace what is configured."""
        from ringi.runs.roles import ConfiguredRoles

        return ConfiguredRoles(self, commands)

    @cached_property
    def open_calls(self) -> "OpenCalls":
        """By session: what a call took whose answer is not saved yet. A killed process leaves it there."""
        return OpenCalls(self.own_places.state)

    def working_on(self, session_id: str) -> AbstractContextManager[None]:
        """Held while a model works for this session, so that nobody pays for it twice. Raises Busy."""
        lock = self.own_places.state / f"{session_id}.lock"
        return PassingLock(lock, self.config.lock.wait_sec)("planning")

    def within(self, prompt: "Prompt", model: str, used: "TokenUsage") -> None:
        """Raises BudgetUsed if a session's call could not end within what is left after so much was used."""
        from ringi.runs.model_budget import require_left

        require_left(self.config, prompt, model, used)

    def priced(self, model: str, usage: "TokenUsage") -> "TokenUsage":
        """With its cost, if the model's price is known."""
        from ringi.runs.model_budget import add_cost

        return add_cost(self.config.llm, model, usage)

    # ------------------------------------------------------------------ a kind of task, a run's branch

    def for_task(self, task: str) -> "Workspace":
        """The same workspace with the settings of a kind of task; empty: of any."""
        config = self.config.for_task(task) if task else self.config
        if config is self.config:
            return self
        if task not in self._of_task:
            self._of_task[task] = Workspace(
                self.own_places, self.environment, config, self.store, self.upkeep,
                person=self.person, clock=self.clock, ids=self.ids, tell=self.tell,
            )  # fmt: skip
        return self._of_task[task]

    def on_branch(self, run_id: str) -> "Workspace":
        """The same workspace with the files of the run's branch, where its steps are carried out.

        They may not be there: `prepare` makes them.
        """
        if run_id == self.run_id:
            return self
        if not run_id:
            return self._own
        places = self.branch(run_id).places
        there = self._own.replace(run_id=run_id, places=places, tree=Tree(OsFileSystem(), places.root))
        for name in _OF_THE_FILES:
            there.__dict__.pop(name, None)
        return there

    def branch(self, run_id: str) -> "RunBranch":
        from ringi.runs.branch import BranchOf, RunBranch

        return RunBranch(self.own_places, BranchOf.run(self.store.runs.get(run_id)))

    def of_plan(self, plan_id: str) -> "Workspace":
        """Where the plan is carried out: here, or on the branch of the run that it is a step of."""
        document = self.plan.get(plan_id)
        there = self.on_branch(run_of(document))
        if there is not self and document.state.status in OPEN:
            with contextlib.suppress(BranchRefused):  # whatever needs the files says so again
                there.prepare()
        return there

    def prepare(self) -> None:
        """Makes the files of a run's branch if they are not there. Raises BranchRefused."""
        if self.run_id:
            branch = self.branch(self.run_id)
            self._mend(branch, quick=True)
            branch.make()

    def publish(self) -> str:
        """Brings what was committed on a run's branch into the person's repository. Raises BranchRefused."""
        if not self.run_id:
            return ""
        branch = self.branch(self.run_id)
        if done := branch.find_published():
            return done
        self._mend(branch, quick=False)
        return branch.publish()

    def _mend(self, branch: "RunBranch", *, quick: bool) -> None:
        from ringi.runs.ref_damage import mend_branch

        mended = mend_branch(branch, quick=quick)
        for line in mended.lines if mended else ():
            self.tell(line)

    def tidy(self, files: "Mapping[str, tuple[bytes, int] | None]") -> None:
        """Makes the files of a run's branch what is committed, with these (bytes, permission bits) on top;
        not if they are the person's own.
        """
        if self.run_id:
            self.branch(self.run_id).reset(files)

    def is_tested_otherwise(self, document: PlanDocument) -> bool:
        """Whether a step would come onto other files than those that its newest results are about."""
        if not self.run_id:
            return False
        from ringi.runs.changed_steps import is_tested_otherwise

        return is_tested_otherwise(self.store, document)

    # ------------------------------------------------------------------ the ledger

    def plan_name(self, plan_id: str) -> str:
        """The short name, such as p7."""
        return self.plan.ref(plan_id).name

    def log(self, name: str | None = None) -> Iterator[LoggedEvent]:
        """The events of everything, or of one plan, planning session or run."""
        return self.store.events(None if name is None else self._id_of(name))

    def _id_of(self, name: str) -> str:
        if is_session(name):
            return self.planning.find(name)
        try:
            return self.plan.find(name)
        except NotFound:
            for find in (self.planning.find, self.planning.find_run):
                with contextlib.suppress(NotFound):
                    return find(name)
            raise

    def one_moment(self) -> AbstractContextManager[None]:
        """What is read from the ledger inside is of one moment, whatever other processes commit."""
        return self.store.one_moment()

    def verify_log(self, plan_id: str = "") -> list[Text]:
        """Every place where the ledger was altered, or what matters to one plan; empty if it is sound."""
        return self.upkeep.breaks(plan_id)

    def flush(self) -> None:
        """Writes pending files to `.agent/` now instead of in a moment."""
        self.upkeep.flush()

    # ------------------------------------------------------------------ for scripts

    def outline(self, request: str) -> "Outline":
        """Goal, subtasks and action plan for this request; nothing is carried out. Raises OutlineFailed."""
        from ringi.sessions.outline import outline

        return outline(self, request).document

    def task(self, request: str) -> "SessionView | Run":
        """What `ringi run --models` plans: a design by the model to approve, or with planning off a run.

        Raises NoTaskModel, NotPermitted, BadBrought and ModelFailed.
        """
        from ringi.runs.start import plan_task

        return plan_task(self, request)

    def issue(self, named: str, *, opens_change: bool = False) -> "SessionView":
        """What `ringi run --issue` plans: a session about an issue, by its address or its number.

        With `opens_change` its run offers the result as a pull or merge request. Nothing is written there.
        Raises NoForge, NoForgeToken, ItemRefused, ForgeFailed, NotPermitted.
        """
        from ringi.forges.intake import start_from_item

        return start_from_item(self, named, opens_change=opens_change)[0]

    def feedback(self, run_id: str, text: str) -> "RunFeedback":
        """What should be different about a run; never an approval. Raises RunOver, BadFeedback."""
        from ringi.runs.feedback import give_feedback

        return give_feedback(self, self.store.runs.find(run_id), text).feedback

    def watch(self, name: str = "", on_news: "Callable[[WatchEvent], None]" = lambda _: None) -> "Round":
        """Looks once at what is said on forges about open sessions and runs, or one, and carries them on.

        Raises Busy if another process watches already, NoForgeToken, ForgeRejected.
        """
        from ringi.forges.watch import Watcher, lock_watching

        with lock_watching(self.places.state):
            return Watcher(self, on_news).round(name)

    def metrics(self, since: str = "") -> "Metrics":
        """The figures of chapter 16 from what is recorded; `since` is a moment as ISO 8601, in UTC."""
        from ringi.metrics.measure import measure

        return measure(self.store, self.config, self.places.root, self.clock.now(), self.mask, since)

    @property
    def configuration(self) -> Config:
        """The name of `config` in scripts."""
        return self.config


_HOLD_THE_WORKSPACE: Final = ("plan", "versions", "grants", "signers", "planning", "extractor")
_OF_THE_FILES: Final = ("commands", "check", "tools", "commits", "repository", "snapshots", "snapshot_id")


def _supervisors(places: Places) -> list[tuple[int, str, str]]:
    return supervisors_in(places.copies)


def _playbook() -> "LanguageModel":
    from ringi.sessions.playbook import Playbook

    return Playbook()


def _report(run: "Run", plan: "RunPlan | None", facts: "RunFacts") -> str:
    from ringi.runs.report import report_of_run

    return report_of_run(run, plan, facts)


def open_workspace(
    path: str | os.PathLike[str] = ".",
    *,
    environment: Mapping[str, str] | None = None,
    sinks: Sequence[EventSink] = (),
    person: PersonChannel | None = None,
    clock: Clock | None = None,
    ids: Ids = new_id,
    on_progress: Progress = _untold,
    at_once: bool = False,
) -> Workspace:
    """Opens the workspace that contains the path, and first finishes or rolls back what a crash interrupted.

    The files in `.agent/` are written shortly after a call, and when the workspace is closed; with
    `at_once`, before the call returns.
    """
    environment = process_environment() if environment is None else environment
    places = places_of(find_root(Path(path)), environment)
    config = load(places.root, environment)
    clock = clock or SystemClock()
    private_folder(places.state)
    projection = Projection(places.root, places.state / "projection.lock", config.keep.projections, _report)
    later = DeferredProjection(projection, places.state, config.lock.wait_sec)

    def after_commit(changed: PendingProjections) -> None:
        if at_once:
            projection(store, changed)
        else:
            later(changed)
        for event in changed.events:
            for sink in sinks:
                sink(event)

    store = Store(
        places.state, clock=clock, ids=ids, wait_sec=config.lock.wait_sec, after_commit=after_commit
    )
    store.workspace_id()
    if store.meta("workspace") is None:
        store.set_meta("workspace", os.fsencode(places.root).decode("utf-8", "backslashreplace"))
    workspace = Workspace(
        places,
        environment,
        config,
        store,
        LedgerUpkeep(places.root, store, projection, later.flush),
        person=person or TerminalPerson(environment, lambda: _supervisors(places)),
        clock=clock,
        ids=ids,
        tell=on_progress,
    )
    try:
        recover_if_needed(workspace)
        adopt_proof(workspace)
    except BaseException:
        workspace.close()
        raise
    return workspace


def adopt_proof(workspace: Workspace) -> None:
    """What the person's own configuration demands holds from here on, whatever another one says."""
    # Only if it can be written now: until then the configuration demands it.
    with contextlib.suppress(Busy, LedgerOlder, SignersForged, StorageFailed, WrongAnswer):
        workspace.signers.adopt()


def recover_if_needed(workspace: Workspace) -> None:
    if workspace.store.executions.list_unfinished() or workspace.store.plans.checking():
        if workspace.lock.is_held() or workspace.upkeep.is_read_only():
            return  # another process carries it out right now, or none can
        # An older ledger is only read.
        with contextlib.suppress(Busy, LedgerOlder):
            workspace.recovered = tuple(workspace.plan.recover())
