"""Power loss at every operation: the group is wholly done or wholly undone, and the ledger says which."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ringi.app.integrity import verify
from ringi.ledger.head import Head
from ringi.plans.document import PlanStatus
from ringi.tree.action_spec import ActionSpec
from tests.crash import scenarios
from tests.crash.killing import EVERY, moments
from tests.crash.scenarios import Picture, Scenario
from tests.fakes.power import Choice, Node, Power, PowerLoss, PowerLossFileSystem, everything, nothing, some
from tests.fakes.world import World, answer_to

ROOT = Path("/workspace")
SEEDS = 4
KINDS = ("execute", "undo")
CHOICES = (nothing, everything, some(1))


class Bench:
    """One thing to do, prepared once and then done again and again, each time cut somewhere else."""

    def __init__(
        self,
        folder: Path,
        scenario: Scenario,
        kind: str,
        system: type[PowerLossFileSystem] = PowerLossFileSystem,
    ) -> None:
        self._folder = folder
        self._kind = kind
        self._system = system
        self._template = folder / "template"
        fs = PowerLossFileSystem()
        for path, (data, mode) in scenario.before.items():
            fs.put(path, data, mode)
        with World(self._template, ROOT, fs) as world:
            self.plan_id = world.approved(scenario.specs)
            self.before, self.after = scenario.first, scenario.last
            if kind == "undo":
                assert world.tool.execute(self.plan_id).overall_success
                self._asked = world.tool.ask_undo(self.plan_id)[0].digest
                self.before, self.after = self.after, self.before
        assert seen(fs) == self.before
        self._fs = fs.after_power_loss(everything)

    def start(self, cut: int | None) -> World:
        state = self._folder / "state"
        shutil.rmtree(state, ignore_errors=True)
        shutil.copytree(self._template, state)
        # What is noted beside it goes back too: this is another machine, not an older copy.
        shutil.copy(Head(self._template).path, Head(state).path)
        power = Power(cut)
        fs = self._fs.after_power_loss(everything)
        return self.on(self._system(power, fs.root))

    def on(self, fs: PowerLossFileSystem) -> World:
        return World(self._folder / "state", ROOT, fs, fs.power)

    def act(self, world: World) -> None:
        if self._kind == "execute":
            result = world.tool.execute(self.plan_id)
        else:
            result = world.tool.undo(self.plan_id, "person", answer_to(self._asked))
        assert result.overall_success

    def reached(self, world: World) -> bool:
        if self._kind == "execute":
            return world.tool.get_state(self.plan_id).status is PlanStatus.COMPLETED
        return world.ledger.plans.ref(self.plan_id).undone

    def steps(self) -> int:
        with self.start(None) as world:
            self.act(world)
            return world.ledger._power.count

    def cut_at(self, cut: int, choice: Choice, power: Power | None = None) -> World:
        """The world after a power loss during the act."""
        with self.start(cut) as world, pytest.raises(PowerLoss):
            self.act(world)
        return self.on(world.fs.after_power_loss(choice, power or Power()))


def seen(fs: PowerLossFileSystem) -> Picture:
    files, folders = {}, set()

    def walk(node: Node, prefix: str) -> None:
        for name, child in node.names.items():
            path = f"{prefix}{name}"
            if path == ".agent":
                continue
            if child.names or child.kind == "folder":
                folders.add(path)
                walk(child, f"{path}/")
            else:
                files[path] = (child.data, child.mode)

    walk(fs.root, "")
    return Picture(files, folders)


def stages(fs: PowerLossFileSystem) -> list[str]:
    agent = fs.root.names.get(".agent")
    staging = agent and agent.names.get("tmp")
    return sorted(staging.names) if staging else []


class Seen(NamedTuple):
    picture: Picture
    stages: list[str]
    ledger: list[str]


def all_of(world: World) -> Seen:
    """Everything that a second recovery could change."""
    return Seen(seen(world.fs), stages(world.fs), list(world.ledger.database.iterdump()))


def problems(bench: Bench, world: World) -> list[str]:
    """What is wrong with the world after a recovery; ends with the act done."""
    found = all_of(world)
    done = bench.reached(world)
    wrong = []
    if found.picture != (bench.after if done else bench.before):
        wrong.append(f"the ledger says {'done' if done else 'undone'}, the files are {found.picture}")
    if found.stages:
        wrong.append(f"a stage is left: {found.stages}")
    if world.ledger.executions.list_unfinished():
        wrong.append("an execution has no result")
    wrong += [str(text) for text in verify(world.ledger)]
    if (durable := seen(world.fs.after_power_loss(nothing))) != found.picture:
        wrong.append(f"not on the disk: {durable}")
    if world.tool.recover() or all_of(world) != found:
        wrong.append("a second recovery changed something")
    if not wrong and not done:
        bench.act(world)
        if not bench.reached(world) or seen(world.fs) != bench.after:
            wrong.append(f"done again: {seen(world.fs)}")
    return wrong


def choices() -> Iterator[Choice]:
    yield nothing
    yield everything
    yield from map(some, range(SEEDS))


@pytest.fixture
def bench(tmp_path: Path) -> Callable[..., Bench]:
    return lambda *what: Bench(tmp_path, *what)


@pytest.mark.req("PT-6", "PT-12")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_power_loss_at_every_operation(bench, scenario, kind):
    tried = bench(scenario, kind)
    steps = tried.steps()
    assert steps > 10
    outcomes = set()
    for cut in moments(steps, scenarios.ALL.index(scenario), KINDS.index(kind)):
        for choice in choices():
            with tried.cut_at(cut, choice) as world:
                world.tool.recover()
                outcomes.add(tried.reached(world))
                assert problems(tried, world) == [], f"cut before operation {cut} of {steps}"
    assert outcomes == {True, False}


@pytest.mark.req("PT-6", "PT-12")
@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_reported_done_is_on_the_disk(bench, scenario, kind):
    tried = bench(scenario, kind)
    with tried.start(None) as world:
        tried.act(world)
        for choice in choices():
            assert seen(world.fs.after_power_loss(choice)) == tried.after
        assert problems(tried, world) == []


@pytest.mark.req("PT-6", "PT-12")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("choice", CHOICES, ids=["nothing", "everything", "some"])
def test_power_loss_during_recovery(bench, kind, choice):
    tried = bench(scenarios.SMALL, kind)
    cuts = 0
    for cut in moments(tried.steps(), KINDS.index(kind), CHOICES.index(choice)):
        again = 0
        while True:
            again += 1
            with tried.cut_at(cut, choice, Power(again)) as world:
                try:
                    world.tool.recover()
                except PowerLoss:
                    cuts += 1
                else:
                    break
            with tried.on(world.fs.after_power_loss(choice)) as world:
                world.tool.recover()
                assert problems(tried, world) == [], f"cut before {cut}, recovery before {again}"
    assert cuts > 100 // EVERY


# --- any plan, any cuts ---------------------------------------------------------------------------

PATHS = ("a", "b/c", "b/d", "b/e/f", "g/h/i")
CONTENTS = st.binary(max_size=6).map(lambda data: data.hex())
MODES = st.sampled_from([0o644, 0o755, 0o600])


@st.composite
def plans(draw: st.DrawFn) -> Scenario:
    before = draw(st.dictionaries(st.sampled_from(PATHS), st.tuples(CONTENTS.map(str.encode), MODES)))
    specs: list[ActionSpec] = []
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, unique=True)):
        if path in before and draw(st.booleans()):
            specs.append(scenarios.delete(path))
        else:
            mode = draw(st.none() | MODES.map("{:04o}".format))
            content = draw(st.none() | CONTENTS) if path in before and mode else draw(CONTENTS)
            specs.append(scenarios.write(path, content, mode))
    return Scenario("generated", before, specs)


@pytest.mark.req("PT-6", "PT-12")
@given(
    plan=plans(),
    kind=st.sampled_from(KINDS),
    cuts=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    seed=st.integers(0, 2**32),
)
def test_any_plan_survives_any_series_of_losses(tmp_path_factory, plan, kind, cuts, seed):
    assume(plan.first != plan.last)
    tried = Bench(tmp_path_factory.mktemp("any"), plan, kind)
    choice = some(seed)
    world = tried.start(cuts[0])
    with contextlib.suppress(PowerLoss):
        tried.act(world)
    for cut in cuts[1:]:
        world.ledger.close()
        world = tried.on(world.fs.after_power_loss(choice, Power(cut)))
        with contextlib.suppress(PowerLoss):
            world.tool.recover()
    world.ledger.close()
    with tried.on(world.fs.after_power_loss(choice)) as world:
        world.tool.recover()
        assert problems(tried, world) == []


# --- the check can fail ---------------------------------------------------------------------------


class LosesContents(PowerLossFileSystem):
    """As a program that forgets to sync what it staged."""

    def sync_file(self, at: int, name: str) -> None:
        self.power.tick()

    def sync_everything(self, folder: int) -> None:
        self.power.tick()


class LosesNames(PowerLossFileSystem):
    """As a program that forgets to sync its folders."""

    def sync_folder(self, folder: int) -> None:
        self.power.tick()

    def sync_everything(self, folder: int) -> None:
        self.power.tick()


@pytest.mark.parametrize("system", [LosesContents, LosesNames])
@pytest.mark.parametrize("scenario", [scenarios.SMALL, scenarios.MIXED], ids=lambda scenario: scenario.name)
def test_without_the_syncs_some_loss_is_fatal(bench, scenario, system):
    tried = bench(scenario, "execute", system)

    def found() -> Iterator[str]:
        # From the end: the last operations stand on the most that was not synced.
        for cut in range(tried.steps(), 0, -1):
            for choice in choices():
                with tried.cut_at(cut, choice) as world:
                    world.tool.recover()
                    yield from problems(tried, world)

    assert any("the files are" in text or "not on the disk" in text for text in found())
