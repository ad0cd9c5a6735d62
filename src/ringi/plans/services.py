from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from ringi.approvals.permits import Permits
from ringi.kernel.telemetry.port import SILENT, Telemetry

if TYPE_CHECKING:  # only names of types
    from contextlib import AbstractContextManager

    from ringi.approvals.forge import ReviewChecks
    from ringi.approvals.person import PersonChannel
    from ringi.approvals.signing import Signatures
    from ringi.config.keys import Config, Limits, Risk, Run
    from ringi.kernel.lock import FileLock
    from ringi.kernel.system import Clock, Ids
    from ringi.kernel.text import Text
    from ringi.models.prompt import Budget, LanguageModel
    from ringi.plans.document import PlanDocument, PlannedChecks
    from ringi.plans.store import PlanStore
    from ringi.project.context import CodeContext
    from ringi.provenance.ports import Repository
    from ringi.tools.ports_process import OutsideTools
    from ringi.tree.check_result import CheckPhase, CheckResult
    from ringi.tree.commands import Commands
    from ringi.tree.commits import GitCommits
    from ringi.tree.snapshot import Snapshots
    from ringi.tree.tree import Tree


_WHOLE_ID: Final = len("00000000-0000-0000-0000-000000000000")


class Rules(NamedTuple):
    """What the specs of a plan have to keep to, and what new files look like here."""

    limits: Limits
    risk: Risk
    run: Run
    new_file_mode: int


class CheckRunner(Protocol):
    def sandboxed(self) -> bool:
        """Whether commands of a plan run in a sandbox in checks before its execution."""

    def __call__(
        self, commands: Sequence[str], files: Mapping[str, tuple[bytes, int] | None], phase: CheckPhase,
        reviewer: int = 0,
    ) -> tuple[CheckResult, ...]:  # fmt: skip
        """Runs in a copy of the workspace with these files replaced (bytes, permission bits; None: deleted).

        Stops at the first that fails. The copy is kept for the process `reviewer`, which removes it.
        """


class Services(NamedTuple):
    """What the plan tool works with."""

    store: PlanStore
    tree: Tree
    clock: Clock
    ids: Ids
    lock: FileLock
    person: PersonChannel
    config: Config
    new_file_mode: int
    checks: PlannedChecks
    """That every plan gets."""
    snapshot_id: Callable[[], str]
    """Of the current workspace; a call takes as long as `git status`."""
    snapshots: Callable[[], Snapshots]
    commands: Commands
    signatures: Signatures
    check: CheckRunner
    analyse: Callable[[str], str]
    """Facts about a file, computed without a model."""
    mask: Callable[[str], str]
    """Marks secrets in what is kept."""
    code: Callable[[], CodeContext]
    """Reads what a model is shown of the project."""
    tools: Callable[[], AbstractContextManager[OutsideTools]] | None = None
    """Of the configured servers, which start when one is needed. None if there are none. Raises NoExtra."""
    commits: Callable[[], GitCommits] | None = None
    """None if nothing can be committed."""
    repository: Callable[[], Repository | None] = lambda: None
    """The person's own; None if there is no git repository."""
    model: Callable[[], LanguageModel] | None = None
    """For text that the parser cannot place. Raises UnknownModel, NoModelKey, NoExtra."""
    model_budget: Budget | None = None
    telemetry: Telemetry = SILENT
    run_id: str = ""
    """Set if the tree is that of a run's branch: its steps are carried out there, and nothing else."""
    prepare: Callable[[], None] = lambda: None
    """Makes the tree if it is not there. Raises BranchRefused."""
    publish: Callable[[], str] = str
    """Brings what was committed on a run's branch into the person's repository. Raises BranchRefused."""
    tidy: Callable[[Mapping[str, tuple[bytes, int] | None]], None] = lambda _: None
    """Makes the tree of a run's branch what is committed, with these files (bytes, permission bits) on top;
    not if it is the person's own.
    """
    is_tested_otherwise: Callable[[PlanDocument], bool] = lambda _: False
    """Whether a step would come onto other files than those that its newest results are about."""
    permits: Permits = Permits()
    """What the people behind a plan may do."""
    reviews: ReviewChecks | None = None
    """None if a yes on a forge does not count."""
    tell: Callable[[Text], None] = lambda _: None
    """Says a sentence to whoever waits for the result."""
    on_branch: Callable[[str], Services] | None = None
    """The services of a run's branch, whether its tree is there or not."""

    @property
    def rules(self) -> Rules:
        return Rules(self.config.limits, self.config.risk, self.config.run, self.new_file_mode)


def plan_id_of(services: Services, name: str) -> str:
    """The id of the plan, given its id, the beginning of it, or its short name (p7)."""
    return name.lower() if len(name) == _WHOLE_ID else services.store.plans.find(name)
