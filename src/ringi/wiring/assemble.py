"""The one place that picks adapters."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from ringi.fs import OsFileSystem
from ringi.integrations.person import TerminalPerson
from ringi.plans.parts import Parts, Rules
from ringi.plans.tool import PlanTool
from ringi.policy.risk import Thresholds
from ringi.ports import Clock, EventSink, PersonChannel
from ringi.store.connection import private_folder
from ringi.store.ledger import Ledger
from ringi.store.lock import FileLock
from ringi.store.projection import Projection
from ringi.store.transaction import Changed
from ringi.wiring.config import Config, Loaded, load
from ringi.wiring.places import Places, places_of
from ringi.wiring.system import SystemClock, new_file_mode, new_id
from ringi.workspace.tree import Tree

_DAY = 86400


class Assembled(NamedTuple):
    places: Places
    loaded: Loaded
    ledger: Ledger
    projection: Projection
    tool: PlanTool
    tree: Tree
    person: PersonChannel
    clock: Clock
    rules: Rules
    environment: Mapping[str, str]


def assemble(
    root: Path,
    environment: Mapping[str, str],
    *,
    sinks: Sequence[EventSink] = (),
    supervisors: Callable[[], Sequence[tuple[int, str]]] = tuple,
    person: PersonChannel | None = None,
) -> Assembled:
    places = places_of(root, environment)
    loaded = load(places.root, environment)
    config, clock = loaded.config, SystemClock()
    private_folder(places.state)
    projection = Projection(places.root, places.state / "projection.lock")

    def after_commit(ledger: Ledger, changed: Changed) -> None:
        projection(ledger, changed)
        for event in changed.events:
            for sink in sinks:
                sink(event)

    ledger = Ledger(
        places.state, clock=clock, ids=new_id, wait_sec=config.lock.wait_sec, after_commit=after_commit
    )
    if ledger.meta("workspace") is None:
        ledger.set_meta("workspace", str(places.root))
    tree = Tree(OsFileSystem(), places.root)
    who = person or TerminalPerson(environment, supervisors)
    parts = Parts(
        store=ledger,
        tree=tree,
        clock=clock,
        ids=new_id,
        lock=FileLock(places.state / "lock", config.lock.wait_sec),
        person=who,
        rules=rules_of(config),
        snapshot_id=lambda: snapshot_id(places),
    )
    return Assembled(
        places, loaded, ledger, projection, PlanTool(parts), tree, who, clock, parts.rules, environment
    )


def snapshot_id(places: Places) -> str:
    from ringi.workspace.snapshot import Snapshots  # noqa: PLC0415  # only for change plans

    return Snapshots(places.state, places.root).take().id


def rules_of(config: Config) -> Rules:
    return Rules(
        thresholds=Thresholds(
            large_overwrite_lines=config.risk.large_overwrite_lines,
            large_overwrite_bytes=config.risk.large_overwrite_bytes,
            critical=config.risk.critical,
            mutable=config.risk.mutable,
        ),
        max_file_bytes=config.limits.max_file_bytes,
        max_specs=config.limits.max_specs,
        forbidden_extensions=config.limits.forbidden_extensions,
        expires_sec=config.approval.expires_sec,
        keep_sec=config.keep.replaced_days * _DAY,
        new_file_mode=new_file_mode(),
    )
