"""What the specs of a plan have to keep to, and what runs its checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

if TYPE_CHECKING:  # only names of types
    from ringi.app.workspace import Workspace
    from ringi.config.keys import LimitsConfig, RiskConfig, RunConfig
    from ringi.tree.check_result import CheckPhase, CheckResult

_WHOLE_ID: Final = len("00000000-0000-0000-0000-000000000000")


class Rules(NamedTuple):
    """What the specs of a plan have to keep to, and what new files look like here."""

    limits: LimitsConfig
    risk: RiskConfig
    run: RunConfig
    new_file_mode: int


def rules_of(workspace: Workspace) -> Rules:
    config = workspace.config
    return Rules(config.limits, config.risk, config.run, workspace.new_file_mode)


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


def plan_id_of(workspace: Workspace, name: str) -> str:
    """The id of the plan, given its id, the beginning of it, or its short name (p7)."""
    return name.lower() if len(name) == _WHOLE_ID else workspace.store.plans.find(name)
