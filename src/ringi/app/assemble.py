"""The one place that picks adapters. What most commands do not need is imported on first use."""

# ruff: noqa: PLC0415  # factories

import contextlib
import glob
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ringi.app.caching import Caching
from ringi.app.projection import Later, Projection
from ringi.app.telemetry import telemetry_of
from ringi.app.upkeep import LedgerUpkeep
from ringi.approvals.accepted_signers import accepted_lists, configured_proof, offered_lists, signatures_of
from ringi.approvals.configured_permits import permits_of
from ringi.approvals.person import PersonChannel, TerminalPerson
from ringi.approvals.signers import Configured, Signers
from ringi.config.keys import Config
from ringi.config.load import load
from ringi.engine.run_plan import RunRole
from ringi.errors import RingiError
from ringi.forges.configured import KnownForges, reviews_of
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.lock import FileLock
from ringi.kernel.places import Places, places_of
from ringi.kernel.system import Clock, SystemClock, new_file_mode, new_id
from ringi.kernel.telemetry.port import Telemetry
from ringi.kernel.text import Text, in_language
from ringi.ledger.connection import private_folder
from ringi.ledger.event import EventSink
from ringi.ledger.events import Changed
from ringi.models.configured import budget_of, choose, mask_of
from ringi.models.prompt import LanguageModel
from ringi.plans.configured_commands import BranchChecks, PlanChecks, PlanCommands
from ringi.plans.document import CheckFailure, PlannedChecks
from ringi.plans.services import Services
from ringi.project.context import CodeContext
from ringi.runs.configured_tools import outside_tools
from ringi.runs.store import Store
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.agents.reading import ProjectReader
    from ringi.engine.run_plan import RunPlan
    from ringi.plans.extract.extractor import Extractor
    from ringi.provenance.repository import GitRepository
    from ringi.runs.document import Run, RunFacts
    from ringi.runs.roles import ConfiguredRoles
    from ringi.runs.services import Task
    from ringi.sessions.document import StoredSession
    from ringi.sessions.services import SessionServices
    from ringi.sessions.tool import PlanningTool
    from ringi.tree.commits import GitCommits
    from ringi.tree.copy import WorkCopy
    from ringi.tree.snapshot import Snapshots

Progress = Callable[[Text], None]
"""Reports a slow step to the person."""


class Assembly(NamedTuple):
    """What an open workspace is made of."""

    places: Places
    config: Config
    ledger: Store
    upkeep: LedgerUpkeep
    services: Services
    signers: Signers
    planning: Callable[[], "PlanningTool"]
    extractor: Callable[[], "Extractor"]
    roles: "Callable[[Mapping[RunRole, str] | None], ConfiguredRoles]"
    caching: Caching
    environment: Mapping[str, str]
    forges: KnownForges
    of_task: "Callable[[str], Assembly]"
    """With the settings of a kind of task, over the same ledger."""


def assemble(
    root: Path,
    environment: Mapping[str, str],
    *,
    sinks: Sequence[EventSink] = (),
    supervisors: Callable[[], Sequence[tuple[int, str, str]]] = tuple,
    person: PersonChannel | None = None,
    clock: Clock | None = None,
    ids: Callable[[], str] = new_id,
    on_progress: Progress = lambda _: None,
    at_once: bool = False,
) -> Assembly:
    places = places_of(root, environment)
    config = load(places.root, environment)
    clock = clock or SystemClock()
    private_folder(places.state)
    lock = places.state / "projection.lock"
    projection = Projection(places.root, lock, config.keep.projections, report_of_run)
    later = Later(projection, places.state, config.lock.wait_sec)

    def after_commit(changed: Changed) -> None:
        if at_once:
            projection(ledger, changed)
        else:
            later(changed)
        for event in changed.events:
            for sink in sinks:
                sink(event)

    ledger = Store(
        places.state, clock=clock, ids=ids, wait_sec=config.lock.wait_sec, after_commit=after_commit
    )
    ledger.workspace_id()
    if ledger.meta("workspace") is None:
        ledger.set_meta("workspace", os.fsencode(places.root).decode("utf-8", "backslashreplace"))
    upkeep = LedgerUpkeep(places.root, ledger, projection, later.flush)
    who = person or TerminalPerson(environment, supervisors)

    def made(config: Config) -> Assembly:
        return _assembled(places, config, environment, ledger, upkeep, who, clock, ids, on_progress)

    return made(config)._replace(of_task=cache(lambda task: made(config.for_task(task))))


def _assembled(
    places: Places,
    config: Config,
    environment: Mapping[str, str],
    ledger: Store,
    upkeep: LedgerUpkeep,
    person: PersonChannel,
    clock: Clock,
    ids: Callable[[], str],
    on_progress: Progress,
) -> Assembly:
    configured = configured_proof(config)
    caching = Caching(places, config, environment, ledger, clock)
    forges = KnownForges(config, environment, places.root)
    services = _services(
        places, config, configured, environment, ledger, person, clock, ids, on_progress, caching, forges
    )
    assembly = Assembly(
        places=places,
        config=config,
        ledger=ledger,
        upkeep=upkeep,
        services=services,
        signers=Signers(
            services,
            configured,
            offered=lambda: offered_lists(places.root, environment),
            counting=lambda: accepted_lists(ledger, places.root, environment),
        ),
        planning=lambda: _planning(
            session_services(ledger, services, config, places, environment), services, caching
        ),
        extractor=lambda: _extractor(services),
        roles=lambda commands: _roles(ledger, services, config, places, environment, commands, caching),
        caching=caching,
        environment=environment,
        forges=forges,
        of_task=lambda _: assembly,
    )
    return assembly


def report_of_run(run: "Run", plan: "RunPlan | None", facts: "RunFacts") -> str:
    """In the language of the request: it must not depend on whoever writes it."""
    from ringi.engine.prompts import language_of
    from ringi.runs.report import report

    return report(run, plan, facts, in_language(language_of(run.instruction)))


def _services(
    places: Places,
    config: Config,
    configured: Configured,
    environment: Mapping[str, str],
    ledger: Store,
    person: PersonChannel,
    clock: Clock,
    ids: Callable[[], str],
    on_progress: Progress,
    caching: Caching,
    forges: KnownForges,
) -> Services:
    tree = Tree(OsFileSystem(), places.root)
    telemetry = telemetry_of(places.root, config, environment, clock, ledger.workspace_id)
    own = Services(
        store=ledger,
        tree=tree,
        clock=clock,
        ids=ids,
        lock=FileLock(places.state / "lock", config.lock.wait_sec),
        person=person,
        config=config,
        new_file_mode=new_file_mode(),
        checks=checks_of(config),
        snapshot_id=lambda: snapshots(places).take().id,
        snapshots=lambda: snapshots(places),
        commands=PlanCommands(places, config, environment),
        signatures=signatures_of(ledger, places.root, environment, configured),
        check=PlanChecks(places, config, environment, on_progress),
        analyse=lambda path: _analyse(places, tree, path, config),
        mask=lambda text: mask_of(config, environment)(text),  # noqa: PLW0108  # it loads much
        commits=lambda: commits_of(places, environment, on_progress),
        repository=lambda: repository_of(places, places, environment),
        model=cache(lambda: caching.around(_model(places, config, environment, telemetry))),
        model_budget=budget_of(config),
        telemetry=telemetry,
        code=cache(lambda: code_of(places, tree, config, environment)),
        permits=permits_of(config, forges),
        tools=outside_tools(config, environment, places.root),
        reviews=reviews_of(forges, config.forge),
        tell=on_progress,
    )

    def on_branch(run_id: str) -> Services:
        if not run_id:
            return services
        return _on_branch(services, places, ledger, config, environment, on_progress, run_id)

    services = own._replace(on_branch=on_branch)
    return services


def _on_branch(
    own: Services, places: Places, ledger: Store, config: Config, environment: Mapping[str, str],
    on_progress: Progress, run_id: str,
) -> Services:  # fmt: skip
    """As the workspace's, but with the files and the commits of the run's branch."""
    from ringi.runs.branch import BranchOf, RunBranch
    from ringi.runs.branch_damage import mend_branch
    from ringi.runs.changed_steps import is_tested_otherwise

    branch = RunBranch(places, BranchOf.run(ledger.runs.get(run_id)))
    there = branch.places
    tree = Tree(OsFileSystem(), there.root)

    def mend(*, quick: bool = False) -> None:
        mended = mend_branch(branch, quick=quick)
        for line in mended.lines if mended else ():
            own.tell(line)

    def prepare() -> None:
        mend(quick=True)
        branch.make()

    def publish() -> str:
        mend()
        return branch.publish()

    def timeout_sec() -> float:
        plan = ledger.runs.plan(run_id)
        return plan.limits.timeout_sec if plan else config.checks.timeout_sec

    return own._replace(
        tree=tree,
        snapshot_id=lambda: snapshots(there).take().id,
        snapshots=lambda: snapshots(there),
        commands=PlanCommands(there, config, environment),
        check=BranchChecks(places, there, config, environment, on_progress, timeout_sec),
        analyse=lambda path: _analyse(there, tree, path, config),
        commits=lambda: commits_of(there, environment, on_progress),
        repository=lambda: repository_of(there, places, environment),
        tools=outside_tools(config, environment, there.root),
        run_id=run_id,
        prepare=prepare,
        publish=publish,
        tidy=branch.reset,
        is_tested_otherwise=lambda document: is_tested_otherwise(ledger, document),
    )


def _planning(given: "SessionServices", services: Services, caching: Caching) -> "PlanningTool":
    from ringi.sessions.tool import PlanningTool

    return PlanningTool(given._replace(approved=lambda stored: _remember(caching, services, stored)))


def _remember(caching: Caching, services: Services, stored: "StoredSession") -> None:
    """A person approved this design."""
    if caching.keeps_designs_of(stored.facts.model):
        from ringi.sessions.similar_plan import remember_design

        with contextlib.suppress(RingiError):  # the approval counts, whatever becomes of this
            remember_design(caching.plans, services, stored)


def session_services(
    ledger: Store,
    services: Services,
    config: Config,
    places: Places,
    environment: Mapping[str, str],
) -> "SessionServices":
    import shutil

    from ringi.engine.run_plan import MAIN_BRANCH
    from ringi.kernel.lock import PassingLock
    from ringi.models.open_calls import OpenCalls
    from ringi.runs.model_budget import session_priced, session_within
    from ringi.sessions.request_files import request_files
    from ringi.sessions.services import SessionServices
    from ringi.tree.copy_layout import branch_of

    def working_on(session_id: str) -> AbstractContextManager[None]:
        return PassingLock(places.state / f"{session_id}.lock", config.lock.wait_sec)("planning")

    return SessionServices(
        store=ledger,
        clock=services.clock,
        ids=services.ids,
        model=services.model or (lambda: _model(places, config, environment, services.telemetry)),
        budget=budget_of(config),
        person=services.person,
        signatures=services.signatures,
        code=services.code(),
        runs=lambda name: shutil.which(name, path=environment.get("PATH")) is not None,
        mask=mask_of(config, environment),
        detailed=config.logs.detailed,
        confidential=config.logs.confidential,
        telemetry=services.telemetry,
        working_on=working_on,
        open_calls=OpenCalls(places.state),
        sleep=time.sleep,
        base_branch=lambda: branch_of(places.root) or MAIN_BRANCH,
        requests=lambda: request_files(places.root),
        permits=services.permits,
        within=session_within(config),
        priced=session_priced(config.llm),
        test_timeout_sec=config.checks.timeout_sec,
        reviews=services.reviews,
    )


def _model(
    places: Places, config: Config, environment: Mapping[str, str], telemetry: Telemetry
) -> LanguageModel:
    here = Path.cwd()
    return choose(config.model, config, environment, here, lambda: _reader(places, config), telemetry.spans)


def _reader(places: Places, config: Config, copy: "WorkCopy | None" = None) -> "ProjectReader":
    from ringi.agents.project_reader import CopyReader, Project

    withheld = bool(config.context.never_send)
    return CopyReader(Project(places, config), withheld=withheld, copy=copy)


def _roles(
    ledger: Store,
    services: Services,
    config: Config,
    places: Places,
    environment: Mapping[str, str],
    commands: Mapping[RunRole, str] | None,
    caching: Caching,
) -> "ConfiguredRoles":
    from ringi.agents.project_reader import Project
    from ringi.models.turns import compact_schema, turns, written
    from ringi.runs.configured_process import process_parts
    from ringi.runs.roles import ConfiguredRoles, RoleServices

    project = Project(places, config)

    def model(name: str, task: "Task | None") -> LanguageModel:
        copy, spans = task.copy if task else None, services.telemetry.spans
        reader = partial(_reader, places, config, copy)
        return caching.around(choose(name, config, environment, Path.cwd(), reader, spans), task)

    return ConfiguredRoles(
        RoleServices(
            workspace=project,
            environment=environment,
            store=ledger,
            code=services.code,
            model=model,
            budget=budget_of(config),
            mask=mask_of(config, environment, keep_lines=True),
            written=lambda prompt, kind: written(turns(prompt, compact_schema(kind))),
            process=process_parts(ledger, services, config, project, environment),
        ),
        commands,
    )


def _analyse(places: Places, tree: Tree, path: str, config: Config) -> str:
    from ringi.project.analysis import analyse

    return analyse(places, tree, path, critical=config.risk.critical)


def _extractor(services: Services) -> "Extractor":
    from ringi.plans.extract.extractor import Extractor

    return Extractor(services)


def snapshots(places: Places) -> "Snapshots":
    from ringi.tree.snapshot import Snapshots

    return Snapshots(places.state, places.root)


def code_of(places: Places, tree: Tree, config: Config, environment: Mapping[str, str]) -> CodeContext:
    from ringi.models.configured import recording_of
    from ringi.project.code_context import SnapshotContext

    # What a model said before is no part of the project.
    own = [(Path.cwd() / name).resolve() for name in [recording_of(config.model)] if name]
    recordings = [str(path.relative_to(places.root)) for path in own if path.is_relative_to(places.root)]
    return SnapshotContext(
        lambda: snapshots(places),
        tree,
        mask=mask_of(config, environment, keep_lines=True),
        index=places.state / "context",
        tokens=config.context.tokens,
        never_send=(*config.context.never_send, *map(glob.escape, recordings)),
    )


def commits_of(
    places: Places, environment: Mapping[str, str], on_progress: Progress = lambda _: None
) -> "GitCommits":
    from ringi.tree.commits import GitCommits

    return GitCommits(places.root, environment, on_progress)


def repository_of(tree: Places, notes: Places, environment: Mapping[str, str]) -> "GitRepository | None":
    """Of these files; the notes go to the person's own."""
    if not os.path.lexists(notes.root / ".git"):
        return None
    from ringi.provenance.repository import GitRepository

    return GitRepository(tree.root, environment, notes_root=notes.root)


def checks_of(config: Config) -> PlannedChecks:
    checks = config.checks
    return PlannedChecks(checks.before, checks.after, CheckFailure(checks.on_failure))
