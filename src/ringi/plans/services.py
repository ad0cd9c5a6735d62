from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:  # only names of types
    from ringi.domain.plan import PlannedChecks
    from ringi.domain.prompt import Budget
    from ringi.policy.risk import Thresholds
    from ringi.ports import (
        CheckRunner,
        Clock,
        Commands,
        Commits,
        Ids,
        LanguageModel,
        PersonChannel,
        Signatures,
        Store,
        WorkspaceLock,
    )
    from ringi.workspace.snapshot import Snapshots
    from ringi.workspace.tree import Tree


_WHOLE_ID: Final = len("00000000-0000-0000-0000-000000000000")


class Rules(NamedTuple):
    """What the configuration says about plans."""

    thresholds: Thresholds
    max_file_bytes: int
    max_specs: int
    forbidden_extensions: tuple[str, ...]
    expires_sec: int
    keep_sec: int
    new_file_mode: int
    allowed_commands: tuple[str, ...]
    """Globs of commands that are no high risk."""
    command_timeout_sec: int
    kept_output: int
    """In bytes, of a command or a reading."""
    checks: PlannedChecks


class Services(NamedTuple):
    """What the plan tool is made of."""

    store: Store
    tree: Tree
    clock: Clock
    ids: Ids
    lock: WorkspaceLock
    person: PersonChannel
    rules: Rules
    snapshot_id: Callable[[], str]
    """Of the workspace as it is now; looking takes as long as `git status`."""
    snapshots: Callable[[], Snapshots]
    commands: Commands
    signatures: Signatures
    check: CheckRunner
    analyse: Callable[[str], str]
    """What can be said about a file mechanically."""
    commits: Callable[[], Commits] | None = None
    """None if nothing can be committed."""
    model: Callable[[], LanguageModel] | None = None
    """For what the parser cannot place in a plan's text. Raises UnknownModel, NoModelKey, NoExtra."""
    model_budget: Budget | None = None


def plan_id_of(services: Services, name: str) -> str:
    """The id of the plan that is named by it, by its beginning, or as people do (p7)."""
    return name.lower() if len(name) == _WHOLE_ID else services.store.find(name)
