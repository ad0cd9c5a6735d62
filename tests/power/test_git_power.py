"""Power loss after the program said "done": what it wrote into the person's repository is there, and whole.

The program itself runs, as a person starts it, in a repository on a file system of its own. Git brings names
to the disk before their bytes: without care, the notes and the run's branch are empty files after a cut, or
lead to empty objects, and `git log --all` fails.

Each scene is prepared once and then played again and again. The power fails right after the program has
ended, after a neighbour synced a file (the journal goes to the disk then, with everybody's names), after some
seconds, in which the kernel writes by itself, or while the program works.
"""

import json
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

import pytest

from ringi.approvals.statement import NOTES
from tests.fakes.signing import RealKey
from tests.functional.run_desk import FILES, FIX, a_plan, a_step, by_step, git, project
from tests.functional.warm import RINGI
from tests.helpers import accept_signers_in
from tests.power import rig
from tests.power.rig import Disk, System

if os.environ.get("RINGI_POWER") != "1":
    pytest.skip("mounts file systems and shuts them down: make test-power", allow_module_level=True)

_ROOM: Final = 320
_USER: Final = pwd.getpwuid(os.getuid()).pw_name
_SUB: Final = "printf '\\ndef sub(a, b):\\n    return a - b\\n' >> calc.py"
_BRANCH: Final = "aiflow/RQ-20260101-001/20260101-000000"
_TIMES: Final = 6
"""How often the power fails while the program works."""


class Moment(NamedTuple):
    name: str
    seconds: float = 0.0
    busy: bool = False
    """A neighbour syncs right before the cut."""


MOMENTS: Final = (
    Moment("at once"),
    Moment("neighbour", busy=True),
    Moment("1 s", 1),
    Moment("1 s, neighbour", 1, busy=True),
    Moment("8 s", 8),
)


class House:
    """A home, a project, a ledger and copies on one disk; a hub and a key are elsewhere."""

    def __init__(self, disk: Disk, outside: Path) -> None:
        self.disk, self.outside = disk, outside
        self.top = disk.path / "house"
        self.root = self.top / "project"
        self.environment = {
            **os.environ,
            "HOME": str(self.top / "home"),
            **{f"XDG_{kind}_HOME": str(self.top / kind.lower()) for kind in ("STATE", "CACHE", "CONFIG")},
        }

    def ringi(self, *words: str) -> subprocess.CompletedProcess[str]:
        with self.started(*words) as running:
            out, errors = running.communicate(timeout=120)
        return subprocess.CompletedProcess(words, running.returncode, out, errors)

    @contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        with subprocess.Popen(
            [*RINGI, *words],
            cwd=self.root,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as running:
            yield running

    def must(self, *words: str) -> str:
        done = self.ringi(*words)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout

    def git(self, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(["git", *words], cwd=self.root, capture_output=True, text=True, check=False)

    def notes(self) -> int:
        return len(self.git("notes", "--ref", NOTES, "list").stdout.splitlines())


class Scene:
    """What is prepared, the command after which the power fails, and what must work then."""

    name = ""
    notes = 0
    """How many there are once the program said "done"."""

    def __init__(self, house: House, key: RealKey) -> None:
        self.house, self.sign = house, ("--sign", str(key.path))

    def prepare(self) -> None: ...

    def last(self) -> Sequence[str]:
        return ()

    def then(self) -> Sequence[Sequence[str]]:
        return ()

    def wrong(self) -> Iterator[str]:
        if self.house.notes() != self.notes:
            yield f"{self.house.notes()} notes, not {self.notes}"

    def plan(self, number: int) -> None:
        specs, text = self.house.outside / "specs.json", self.house.outside / "plan.md"
        specs.write_text(json.dumps([{"kind": "create", "path": f"n{number}", "content": f"{number}\n"}]))
        text.write_text(f"# Plan {number}\nx\n")
        self.house.must("propose", str(text), "--specs", str(specs))
        self.house.must("approve", f"p{number}", *self.sign)


class FirstPlan(Scene):
    name, notes = "first plan", 1

    def prepare(self) -> None:
        self.plan(1)
        self.plan(2)

    def last(self) -> Sequence[str]:
        return ("execute", "p1")

    def then(self) -> Sequence[Sequence[str]]:
        return ("execute", "p2"), ("undo", "p1", *self.sign)


class LaterPlan(FirstPlan):
    name, notes = "later plan", 3

    def prepare(self) -> None:
        for number in (1, 2, 3, 4):
            self.plan(number)
        self.house.must("execute", "p1")
        self.house.must("execute", "p2")

    def last(self) -> Sequence[str]:
        return ("execute", "p3")

    def then(self) -> Sequence[Sequence[str]]:
        return ("execute", "p4"), ("undo", "p3", *self.sign)


class CommittedPlan(FirstPlan):
    name = "committed plan"

    def prepare(self) -> None:
        specs, text = self.house.outside / "specs.json", self.house.outside / "plan.md"
        specs.write_text(json.dumps([{"kind": "create", "path": "n1", "content": "1\n"}]))
        text.write_text("# Plan 1\nx\n")
        self.house.must("propose", str(text), "--specs", str(specs))
        self.plan(2)

    def last(self) -> Sequence[str]:
        return ("apply", "p1", "--commit", *self.sign)

    def wrong(self) -> Iterator[str]:
        yield from super().wrong()
        if not self.house.git("log", "-1", "--format=%s", "main").stdout.startswith("Plan 1"):
            yield "the commit is lost"
        if not self.house.git("status").stdout:
            yield "git status fails"


class Undo(Scene):
    name, notes = "undo", 1

    def prepare(self) -> None:
        self.plan(1)
        self.plan(2)
        self.house.must("execute", "p1")

    def last(self) -> Sequence[str]:
        return ("undo", "p1", *self.sign)

    def then(self) -> Sequence[Sequence[str]]:
        return (("execute", "p2"),)


class Step(Scene):
    name, notes = "step", 1

    def prepare(self) -> None:
        role, plan = self.house.top / "role", self.house.outside / "planning.json"
        role.write_text("#!/bin/sh\nset -e\n" + by_step(FIX, _SUB) + "\n")
        role.chmod(0o755)
        plan.write_text(json.dumps(a_plan(a_step(1), a_step(2))))
        done = self.house.ringi("run", "--plan", str(plan), *self.sign, "--with", f"{role} {{brief}}")
        assert done.returncode == 3, (done.stdout, done.stderr)
        self.house.must("approve", "p1", *self.sign)

    def last(self) -> Sequence[str]:
        return ("execute", "p1")

    def then(self) -> Sequence[Sequence[str]]:
        return ("approve", "p2", *self.sign), ("continue",)

    def wrong(self) -> Iterator[str]:
        yield from super().wrong()
        if self.house.git("rev-list", "--count", f"main..{_BRANCH}").stdout.strip() != "1":
            yield "the branch does not have the step"


class InPlace(Step):
    name = "step in place"

    def prepare(self) -> None:
        role, plan = self.house.top / "role", self.house.outside / "planning.json"
        role.write_text("#!/bin/sh\nset -e\n" + by_step(FIX, _SUB) + "\n")
        role.chmod(0o755)
        plan.write_text(json.dumps(a_plan(a_step(1), a_step(2))))
        words = ("run", "--plan", str(plan), *self.sign, "--with", f"{role} {{brief}}", "--in-place")
        done = self.house.ringi(*words)
        assert done.returncode == 3, (done.stdout, done.stderr)
        self.house.must("approve", "p1", *self.sign)


class Sync(Scene):
    """Notes of others come from a hub, which is elsewhere."""

    name, notes = "sync", 2

    def prepare(self) -> None:
        hub, other = self.house.outside / "hub", self.house.outside / "other"
        for folder in (hub, other):
            shutil.rmtree(folder, ignore_errors=True)
        git(self.house.outside, "clone", "-q", "--bare", str(self.house.root), str(hub))
        git(self.house.outside, "clone", "-q", str(hub), str(other))
        self.house.git("remote", "add", "origin", str(hub))
        self.plan(1)
        self.plan(2)
        self.house.must("execute", "p1")
        blob = git(other, "rev-parse", "HEAD:README.md")
        git(other, "notes", "--ref", NOTES, "add", "-m", "theirs", blob)
        git(other, "push", "-q", "origin", NOTES)

    def last(self) -> Sequence[str]:
        return ("sync", "--no-push")

    def then(self) -> Sequence[Sequence[str]]:
        # The hub is elsewhere, and must be the same the next time.
        return ("execute", "p2"), ("sync", "--no-push")


SCENES: Final = (FirstPlan, LaterPlan, CommittedPlan, Undo, Step, InPlace, Sync)


class Stage:
    """A scene on a disk, as it was prepared."""

    def __init__(self, house: House, scene: Scene, template: Path) -> None:
        self.house, self.scene, self._template = house, scene, template
        shutil.rmtree(house.top, ignore_errors=True)
        for folder in ("home", "config/ringi"):
            (house.top / folder).mkdir(parents=True)
        key = Path(scene.sign[1])
        listed = house.top / "config/ringi/allowed_signers"
        listed.write_text(f"{_USER} {key.with_suffix('.pub').read_text()}")
        listed.chmod(0o600)
        project(house.root, FILES)
        for name, value in (("name", "Hanako"), ("email", "hanako@example.invalid")):
            git(house.root, "config", f"user.{name}", value)
        with pytest.MonkeyPatch.context() as patch:
            for name, value in house.environment.items():
                patch.setenv(name, value)
            accept_signers_in(house.root)
        scene.prepare()
        shutil.copytree(house.top, template, symlinks=True)

    def fresh(self) -> None:
        shutil.rmtree(self.house.top)
        shutil.copytree(self._template, self.house.top, symlinks=True)
        # The beginning is on the disk, whatever comes then.
        self.house.disk.sync()

    def lose_after(self, moment: Moment) -> None:
        """The program says that it is done, and then the power fails."""
        self.fresh()
        self.house.must(*self.scene.last())
        time.sleep(moment.seconds)
        self._lose(busy=moment.busy)

    def lose_during(self, seconds: float, *, busy: bool) -> bool:
        """Whether it had ended by then."""
        self.fresh()
        with self.house.started(*self.scene.last()) as running:
            with suppress(subprocess.TimeoutExpired):
                running.wait(seconds)
            if busy:
                self.house.disk.commit()
            self.house.disk.lose_power()
            ended = running.poll() is not None
            _end(running)
        self._power_again()
        return ended

    def _power_again(self) -> None:
        self.house.disk.power_again()
        # Nobody starts a machine within the second. A lock that is older than that is nobody's.
        for lock in self.house.top.rglob("*.lock"):
            os.utime(lock, (0, 0))

    def _lose(self, *, busy: bool) -> None:
        if busy:
            self.house.disk.commit()
        self.house.disk.lose_power()
        self._power_again()

    def seconds(self) -> float:
        self.fresh()
        start = time.monotonic()
        self.house.must(*self.scene.last())
        return time.monotonic() - start

    def torn(self) -> Iterator[str]:
        """What git finds, before any command of ours."""
        for words in (("fsck", "--no-dangling"), ("log", "--all", "--oneline")):
            done = self.house.git(*words)
            if done.returncode:
                yield f"git {words[0]}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}"

    def lost(self) -> Iterator[str]:
        """What was said to be done and is not there."""
        yield from self.scene.wrong()

    def stuck(self, *, during: bool = False) -> Iterator[str]:
        """What the next commands say, one after the other."""
        for words in (("recover",), ("doctor",), ("verify", "--all"), *self.scene.then()):
            done = self.house.ringi(*words)
            # A question that is left is no failure: 3 says that a person is needed. What was cut off on the
            # way may be refused, for a reason.
            if done.returncode not in {0, 3} and (done.returncode == 1 or not during):
                yield f"{words[0]}: exit {done.returncode} {(done.stderr or done.stdout).strip()[-200:]}"
        yield from self.torn()


def _end(running: subprocess.Popen[str]) -> None:
    """The machine is off, so nothing of it runs on."""
    with suppress(ProcessLookupError):
        os.killpg(running.pid, signal.SIGKILL)
    running.communicate()


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where sandboxes work; they hide what is below /tmp."""
    with tempfile.TemporaryDirectory(prefix="ringi-power-", dir="/var/tmp") as made:
        yield Path(made).resolve()


each_system = pytest.mark.parametrize("system", [rig.EXT4, rig.XFS], ids=lambda system: system.name)
each_scene = pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)


@contextmanager
def staged(folder: Path, system: System, scene: type[Scene]) -> Iterator[Stage]:
    try:
        rig.mount_privately()
        with Disk(folder / "disk", system._replace(megabytes=_ROOM)) as disk:
            outside = folder / "outside"
            outside.mkdir()
            house = House(disk, outside)
            yield Stage(house, scene(house, RealKey(outside, "key")), folder / "template")
    except rig.CannotShow as error:
        why = f"Nothing is shown about {system.name}: {error}"
    else:
        return
    pytest.fail(why, pytrace=False)


@pytest.mark.req("PT-6", "PT-12")
@each_scene
@each_system
def test_what_is_done_stays_done(folder, record_property, system, scene):
    counts: Counter[str] = Counter()
    wrong = []
    with staged(folder, system, scene) as stage:
        for moment in MOMENTS:
            stage.lose_after(moment)
            found = {"torn": list(stage.torn()), "lost": list(stage.lost()), "stuck": list(stage.stuck())}
            counts.update(name for name, problems in found.items() if problems)
            wrong += [f"{moment.name}: {name}: {one}" for name, all_ in found.items() for one in all_]
    record_property("power git", _row(system, scene, "after", len(MOMENTS), counts))
    assert wrong == []


@pytest.mark.req("PT-6", "PT-12")
@each_scene
@each_system
def test_a_cut_on_the_way_leaves_it_whole(folder, record_property, system, scene):
    counts: Counter[str] = Counter()
    wrong = []
    with staged(folder, system, scene) as stage:
        whole = stage.seconds()
        for number in range(_TIMES):
            ended = stage.lose_during(whole * (number + 1) / (_TIMES + 1), busy=bool(number % 2))
            found = {"torn": list(stage.torn()), "stuck": list(stage.stuck(during=True))}
            counts.update(name for name, problems in found.items() if problems)
            at = f"cut {number}{' (it had ended)' if ended else ''}"
            wrong += [f"{at}: {name}: {one}" for name, all_ in found.items() for one in all_]
    record_property("power git", _row(system, scene, "during", _TIMES, counts))
    assert wrong == []


def _row(system: System, scene: type[Scene], when: str, cuts: int, counts: Counter[str]) -> tuple[str, ...]:
    return (system.name, scene.name, when, *map(str, (cuts, counts["torn"], counts["lost"], counts["stuck"])))
