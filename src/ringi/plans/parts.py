from collections.abc import Callable
from typing import NamedTuple

from ringi.policy.risk import Thresholds
from ringi.ports import Clock, Ids, PersonChannel, Store, WorkspaceLock
from ringi.workspace.tree import Tree


class Rules(NamedTuple):
    """What the configuration says about plans."""

    thresholds: Thresholds
    max_file_bytes: int
    max_specs: int
    forbidden_extensions: tuple[str, ...]
    expires_sec: int
    keep_sec: int
    new_file_mode: int


class Parts(NamedTuple):
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
