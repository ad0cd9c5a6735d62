"""An open workspace as the use cases see it: its tools and their ports."""

import contextlib
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING, Self

from ringi.app.upkeep import LedgerUpkeep
from ringi.approvals.grant import Grants
from ringi.approvals.person import PersonChannel
from ringi.approvals.signers import Signers
from ringi.config.keys import Config
from ringi.errors import BranchRefused, Busy, LedgerOlder, NotFound, SignersForged, StorageFailed, WrongAnswer
from ringi.kernel.places import Places
from ringi.kernel.system import Clock
from ringi.kernel.text import Text
from ringi.ledger.event import LoggedEvent
from ringi.ledger.subject import is_session
from ringi.plans.document import OPEN
from ringi.plans.execution import ExecutionResult
from ringi.plans.place import run_of
from ringi.plans.services import Services
from ringi.plans.tool import PlanTool
from ringi.plans.versions import Versions
from ringi.project.context import CodeContext
from ringi.runs.store import Store

if TYPE_CHECKING:  # most commands do not need them
    from ringi.engine.run_plan import RunRole
    from ringi.forges.offer_port import Publishing
    from ringi.forges.port import Forges
    from ringi.plans.extract.extractor import Extractor
    from ringi.project.context import Context
    from ringi.project.state import ProjectState
    from ringi.runs.branch import RunBranch
    from ringi.runs.roles import ConfiguredRoles
    from ringi.sessions.plan_cache import PlanCache
    from ringi.sessions.tool import PlanningTool


class OpenWorkspace:
    """`plan` is the plan tool; every change to files goes through it. `grants` are the standing approvals."""

    def __init__(
        self,
        services: Services,
        upkeep: LedgerUpkeep,
        places: Places,
        environment: Mapping[str, str],
        config: Config,
        store: Store,
        signers: Signers,
        planning: "Callable[[], PlanningTool]",
        extractor: "Callable[[], Extractor]",
        roles: "Callable[[Mapping[RunRole, str] | None], ConfiguredRoles]",
        cache: "PlanCache",
        forges: "Forges",
        publishing: "Callable[[], Publishing]",
        for_task: "Callable[[str], OpenWorkspace]",
    ) -> None:
        self.services = services
        """For use cases only; others use the tools."""
        self.plan = PlanTool(services)
        self.versions = Versions(services)
        self.grants = Grants(services)
        self.upkeep = upkeep
        self.places = places
        self._own_places = places
        self.environment = environment
        self.config = config
        self.store = store
        """For use cases only, like the services."""
        self.signers = signers
        """Whose signatures count."""
        self._planning = planning
        self._extractor = extractor
        self.roles = roles
        """Who works on the steps of a run; commands given here replace what is configured."""
        self.cache = cache
        """What models answered before."""
        self.forges = forges
        """GitHub and GitLab, as far as they are known here."""
        self.forge = forges.host
        """A project on its forge; without one, that of the remote."""
        self.publishing = publishing
        """How a run reaches its forge by git."""
        self.for_task = for_task
        """The same workspace with the settings of a kind of task; empty: of any."""
        self.recovered: tuple[ExecutionResult, ...] = ()
        """Interrupted executions that opening the workspace finished or rolled back."""

    def on_branch(self, run_id: str) -> Self:
        """The same workspace with the files of the run's branch, where its steps are carried out."""
        services = self.services
        if run_id == services.run_id or services.on_branch is None:
            return self
        there = copy(self)
        there.services = found = services.on_branch(run_id)
        there.plan, there.versions, there.grants = PlanTool(found), Versions(found), Grants(found)
        there.places = self.branch(run_id).places if run_id else self._own_places
        return there

    def branch(self, run_id: str) -> "RunBranch":
        from ringi.runs.branch import BranchOf, RunBranch  # noqa: PLC0415  # most commands have no run

        return RunBranch(self._own_places, BranchOf.run(self.store.runs.get(run_id)))

    def of_plan(self, plan_id: str) -> Self:
        """Where the plan is carried out: here, or on the branch of the run that it is a step of."""
        document = self.plan.get(plan_id)
        there = self.on_branch(run_of(document))
        if there is not self and document.state.status in OPEN:
            with contextlib.suppress(BranchRefused):  # whatever needs the files says so again
                there.services.prepare()
        return there

    @cached_property
    def planning(self) -> "PlanningTool":
        """Planning sessions: from an instruction to a design that a person approved."""
        return self._planning()

    @cached_property
    def extractor(self) -> "Extractor":
        """Reads action specs from the text of a plan."""
        return self._extractor()

    @property
    def code(self) -> CodeContext:
        """Reads the project for whoever plans a change to it."""
        return self.services.code()

    @property
    def person(self) -> PersonChannel:
        return self.services.person

    @property
    def clock(self) -> Clock:
        return self.services.clock

    def project_state(self) -> "ProjectState | None":
        """The newest captured state."""
        return self.services.store.states.newest()

    def context(self, request: str, *, tokens: int | None = None, limit: int | None = None) -> "Context":
        """What a model would be shown of the project for this request: at most so many tokens, and files."""
        return self.code.gather(request, tokens=tokens, limit=limit).context

    def plan_name(self, plan_id: str) -> str:
        """The short name, such as p7."""
        return self.plan.ref(plan_id).name

    def log(self, name: str | None = None) -> Iterator[LoggedEvent]:
        """The events of everything, or of one plan, planning session or run."""
        return self.services.store.events(None if name is None else _named(self, name))

    def one_moment(self) -> contextlib.AbstractContextManager[None]:
        """What is read from the ledger inside is of one moment, whatever other processes commit."""
        return self.services.store.one_moment()

    def verify_log(self, plan_id: str = "") -> list[Text]:
        """Every place where the ledger was altered, or what matters to one plan; empty if it is sound."""
        return self.upkeep.breaks(plan_id)

    def flush(self) -> None:
        """Writes pending files to `.agent/` now instead of in a moment."""
        self.upkeep.flush()


def _named(workspace: OpenWorkspace, name: str) -> str:
    if is_session(name):
        return workspace.planning.find(name)
    try:
        return workspace.plan.find(name)
    except NotFound:
        for find in (workspace.planning.find, workspace.planning.find_run):
            with contextlib.suppress(NotFound):
                return find(name)
        raise


def adopt_proof(workspace: OpenWorkspace) -> None:
    """What the person's own configuration demands holds from here on, whatever another one says."""
    # Only if it can be written now: until then the configuration demands it.
    with contextlib.suppress(Busy, LedgerOlder, SignersForged, StorageFailed, WrongAnswer):
        workspace.signers.adopt()


def recover_if_needed(workspace: OpenWorkspace) -> None:
    if workspace.services.store.executions.unfinished() or workspace.services.store.plans.checking():
        if workspace.services.lock.is_held() or workspace.upkeep.is_read_only():
            return  # somebody is carrying it out right now, or nobody can
        # An older ledger is only read.
        with contextlib.suppress(Busy, LedgerOlder):
            workspace.recovered = tuple(workspace.plan.recover())
