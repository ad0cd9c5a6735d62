"""Power loss on real file systems: with the program's protocol no cut ends mixed, without its syncs many do.

An approved plan is carried out in a child process. Before one of its operations the file systems are shut
down and the child is killed; then they are mounted again and the program recovers. That is done for every
operation in turn, and before and after every commit of the ledger.

What goes wrong without the syncs: a journal brings the names of staged files to the disk, but their bytes
have no place there yet (delayed allocation). After the cut the files are empty, and they have already
replaced the person's files. How soon the names are there depends on others, so three machines are tried:

- everything on one file system: the ledger's commits take the workspace's names along;
- the same, and right before the cut a neighbour syncs a file of its own, as happens on every busy machine:
  then the disk holds exactly the swaps that were made, and a group is found half done;
- the ledger on a file system of its own: nothing helps the workspace but its own syncs.
"""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from enum import StrEnum
from pathlib import Path
from signal import SIGKILL
from typing import NamedTuple

import pytest

from ringi.app.integrity import verify
from ringi.kernel.fs import FileSystem
from ringi.ledger.head import Head
from ringi.plans.document import PlanStatus
from ringi.policy.spec_kind import SpecKind
from ringi.tree.file_state import OpStatus
from tests.crash import scenarios
from tests.crash.scenarios import Picture, Scenario, laid_out, taken
from tests.fakes.world import World
from tests.helpers import in_child
from tests.power import rig
from tests.power.rig import CarelessFileSystem, Disk, PoweredFileSystem, RealPower, System

if os.environ.get("RINGI_POWER") != "1":
    pytest.skip("mounts file systems and shuts them down: make test-power", allow_module_level=True)

# A command that was cut off is a question to a person, not to the disk.
ASKING = {SpecKind.RUN, SpecKind.CALL}
PLANS = [plan for plan in scenarios.ALL if ASKING.isdisjoint(spec.kind for spec in plan.specs)]


class Machine(NamedTuple):
    name: str
    apart: bool = False
    """The ledger has a file system of its own."""
    busy: bool = False
    """A neighbour syncs right before the cut."""


ONE_DISK = Machine("one disk")
NEIGHBOUR = Machine("neighbour", busy=True)
TWO_DISKS = Machine("two disks", apart=True)


class Ended(StrEnum):
    BEFORE = "as before"
    AFTER = "as after"
    BETWEEN = "between groups"
    """Some groups are done and some are not, each of them whole."""
    MIXED = "mixed"
    """None of these, or not what the ledger says."""


class Site:
    """A workspace and its ledger on file systems that lose power together."""

    def __init__(self, disks: tuple[Disk, ...], *, busy: bool) -> None:
        self.root = disks[0].path / "workspace"
        self.state = disks[-1].path / "state"
        self._disks = disks
        self._busy = busy

    def world(self, fs: PoweredFileSystem) -> World:
        world = World(self.state, self.root, fs, fs.power)
        # This ledger's power does fail.
        world.ledger.database.execute("PRAGMA synchronous = FULL")
        if isinstance(fs, CarelessFileSystem):
            fs.intended = lambda: bool(world.ledger.executions.list_unfinished())
        return world

    def clear(self) -> None:
        for folder in (self.root, self.state):
            shutil.rmtree(folder, ignore_errors=True)
        Head(self.state).path.unlink(missing_ok=True)

    def sync(self) -> None:
        for disk in self._disks:
            disk.sync()

    def lose(
        self, system: type[PoweredFileSystem], act: Callable[[World], object], cut: int | None = None
    ) -> None:
        """The power fails before this operation of the act, or right after the last; then it is back."""
        power = RealPower(self._disks, cut, busy=self._busy)

        def work() -> None:
            act(self.world(system(power)))
            power.lose()

        assert in_child(work) == -SIGKILL
        for disk in self._disks:
            disk.power_again()


@contextmanager
def site(folder: Path, system: System, machine: Machine) -> Iterator[Site]:
    names = ("workspace", "ledger") if machine.apart else ("both",)
    try:
        rig.mount_privately()
        with ExitStack() as stack:
            disks = tuple(stack.enter_context(Disk(folder / name, system)) for name in names)
            yield Site(disks, busy=machine.busy)
    except rig.CannotShow as error:
        why = f"Nothing is shown about {system.name}: {error}"
    else:
        return
    pytest.fail(why, pytrace=False)


class Trial:
    """One approved plan, carried out again and again, each time cut somewhere else."""

    def __init__(
        self, here: Site, template: Path, scenario: Scenario, system: type[PoweredFileSystem]
    ) -> None:
        self._site = here
        self._template = template
        self._system = system
        self.scenario = scenario
        here.clear()
        (here.root / ".agent").mkdir(parents=True)
        laid_out(here.root, scenario.before)
        with self.world() as world:
            self.plan_id = world.approved(scenario.specs)
        shutil.copytree(here.root, template / "workspace", symlinks=True)
        shutil.copytree(here.state, template / "state")

    def world(self) -> World:
        return self._site.world(PoweredFileSystem(RealPower()))

    def operations(self) -> int:
        """As many as there are when nothing fails."""
        self._fresh()
        power = RealPower()
        with self._site.world(self._system(power)) as world:
            assert world.tool.execute(self.plan_id).overall_success
        assert taken(self._site.root) == self.scenario.last
        return power.count

    def _fresh(self) -> None:
        self._site.clear()
        shutil.copytree(self._template / "workspace", self._site.root, symlinks=True)
        shutil.copytree(self._template / "state", self._site.state)
        # The beginning is on the disk, whatever comes then.
        self._site.sync()

    def cuts(self) -> Iterator[int]:
        """After each of them the machine is up again and nothing is recovered yet."""
        for number in range(1, self.operations() + 2):
            self._fresh()
            self._site.lose(self._system, lambda world: world.tool.execute(self.plan_id), number)
            yield number

    def is_torn(self) -> bool:
        return taken(self._site.root) not in (self.scenario.first, self.scenario.last)

    def recover(self, *, lose: bool) -> None:
        """Twice; where the power then fails at once, what was recovered must be on the disk."""
        if lose:
            self._site.lose(PoweredFileSystem, self._recover_twice)
            return
        with self.world() as world:
            self._recover_twice(world)

    def _recover_twice(self, world: World) -> None:
        world.tool.recover()
        found = self._everything(world)
        assert world.tool.recover() == []
        assert self._everything(world) == found

    def ended(self, world: World) -> Ended:
        found, done = taken(self._site.root), done_paths(world, self.plan_id)
        if self._completed(world):
            return Ended.AFTER if found == self.scenario.last else Ended.MIXED
        if not done:
            return Ended.BEFORE if found == self.scenario.first else Ended.MIXED
        first, last = self.scenario.first.files, self.scenario.last.files
        wanted = {path: (last if path in done else first).get(path) for path in {*first, *last}}
        as_told = found.files == {path: state for path, state in wanted.items() if state is not None}
        return Ended.BETWEEN if as_told and not torn_groups(world, self.plan_id, done) else Ended.MIXED

    def _completed(self, world: World) -> bool:
        return world.tool.get_state(self.plan_id).status is PlanStatus.COMPLETED

    def problems(self, world: World) -> Iterator[str]:
        """What is wrong after a recovery; ends with the plan carried out."""
        found, ledger, _ = self._everything(world)
        if self.ended(world) is Ended.MIXED:
            yield f"done are {done_paths(world, self.plan_id)}, the files are {found}"
        if world.ledger.executions.list_unfinished():
            yield "an execution has no result"
        yield from map(str, verify(world.ledger))
        # A dropped stage may be back: its end was not worth a sync.
        if world.tool.recover() or self._everything(world) != (found, ledger, []):
            yield "there was more to recover"
        if not self._completed(world):
            if not world.tool.execute(self.plan_id).overall_success:
                yield "it cannot be carried out any more"
            if taken(self._site.root) != self.scenario.last:
                yield f"carried out again: {taken(self._site.root)}"

    def _everything(self, world: World) -> tuple[Picture, list[str], list[str]]:
        """The workspace, the ledger, and what lies in the stages."""
        stages = sorted(path.name for path in (self._site.root / ".agent" / "tmp").rglob("*"))
        return taken(self._site.root), list(world.ledger.database.iterdump()), stages


def done_paths(world: World, plan_id: str) -> set[str]:
    results = [execution.result for execution in world.ledger.executions.of(plan_id)]
    outcomes = [outcome for result in results if result for outcome in result.results]
    return {outcome.path for outcome in outcomes if outcome.status is OpStatus.DONE}


def torn_groups(world: World, plan_id: str, done: set[str]) -> set[str]:
    """Groups of which the ledger says that a part was done."""
    seen: dict[str, set[bool]] = {}
    for spec in world.tool.get_state(plan_id).action_specs:
        seen.setdefault(spec.base.group or spec.id, set()).update(path in done for path in spec.changed_paths)
    return {group for group, states in seen.items() if len(states) > 1}


def row(system: System, machine: Machine, protocol: str, torn: int, ends: Counter[Ended]) -> tuple[str, ...]:
    numbers = [ends.total(), torn, *(ends[end] for end in Ended)]
    share = f"{ends[Ended.MIXED] / ends.total():.0%}"
    return (system.name, machine.name, protocol, *map(str, numbers), share)


each_system = pytest.mark.parametrize("system", [rig.EXT4, rig.XFS], ids=lambda system: system.name)


def each_machine(*machines: Machine) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("machine", machines, ids=lambda machine: machine.name)


def test_every_operation_counts():
    """One that is new to the file system must be placed: cut before it, or named as one that only reads."""
    operations = {name for name in vars(FileSystem) if not name.startswith("_")}
    assert {name for name in vars(PoweredFileSystem) if not name.startswith("_")} == operations - rig.READING


@pytest.mark.req("PT-6", "PT-12")
@each_machine(ONE_DISK, NEIGHBOUR, TWO_DISKS)
@each_system
def test_no_cut_ends_mixed(tmp_path, record_property, system, machine):
    ends: Counter[Ended] = Counter()
    torn, wrong = 0, []
    with site(tmp_path, system, machine) as here:
        for scenario in PLANS:
            trial = Trial(here, tmp_path / scenario.name, scenario, PoweredFileSystem)
            for number in trial.cuts():
                torn += trial.is_torn()
                # Where nothing helps: elsewhere the ledger's commit would take the rest along.
                trial.recover(lose=machine.apart)
                with trial.world() as world:
                    ends[trial.ended(world)] += 1
                    found = list(trial.problems(world))
                wrong += [f"{scenario.name}, before operation {number}: {text}" for text in found]
    record_property("power", row(system, machine, "own", torn, ends))
    assert wrong == []
    assert not ends[Ended.MIXED]
    assert ends[Ended.BEFORE] > 10
    assert ends[Ended.AFTER] > 10
    assert torn or not machine.busy


@each_machine(ONE_DISK, NEIGHBOUR)
@each_system
def test_without_syncs_before_the_intent_some_do(tmp_path, record_property, system, machine):
    """Otherwise the test above would prove nothing."""
    ends: Counter[Ended] = Counter()
    torn = 0
    with site(tmp_path, system, machine) as here:
        for scenario in PLANS:
            trial = Trial(here, tmp_path / scenario.name, scenario, CarelessFileSystem)
            for _ in trial.cuts():
                torn += trial.is_torn()
                with trial.world() as world:
                    world.tool.recover()
                    ends[trial.ended(world)] += 1
    record_property("power", row(system, machine, "careless", torn, ends))
    assert ends[Ended.MIXED]
