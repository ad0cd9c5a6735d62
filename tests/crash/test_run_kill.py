"""kill -9 anywhere in a run: whoever goes on makes the same commits, and nothing twice."""

import contextlib
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from ringi.domain.plan import PlanStatus
from ringi.domain.run import Review, RunPhase, StopCode
from ringi.errors import RunOver
from ringi.usecases.run import cancel_run
from tests.crash.killing import EVERY, FULL, KILLED, Driver
from tests.functional.run_desk import FIX, RunDesk, a_plan, a_step, at_home, by_step, git, project
from tests.helpers import fingerprint

BRANCH = "aiflow/RQ-20260101-001/20260101-000000"
INDEX = ".git/index"
FIRST, EACH, PARTS = 70, 150, 16
ROLE = by_step(FIX, "echo 'It adds.' >> README.md")
PLAN = a_plan(
    a_step(1, title="Add instead of subtracting"),
    a_step(2, scope={"target_paths": ["README.md"]}, title="Say that it adds"),
)
_OF_THIS_PLAN = re.compile(r"^(Ringi-Plan|Ringi-Approval): .*$", re.MULTILINE)


class Ended(NamedTuple):
    """What came of a run, without times and the ids of plans."""

    commits: Sequence[tuple[str, str]]
    """Trees and messages."""
    refs: str
    files: Mapping[str, str]
    """The person's, with their index."""


class Bureau:
    """A project with a run that somebody has approved, as often as it takes."""

    def __init__(
        self,
        base: Path,
        monkeypatch: pytest.MonkeyPatch,
        *,
        in_place: bool = False,
        granted: bool = False,
        half: bool = False,
    ) -> None:
        """`granted`: somebody signed for its steps. `half`: the first is committed, the second waits."""
        self._base, self._here, self._template = base, base / "here", base / "template"
        self._in_place = in_place
        self.root = self._here / "project"
        (self._here / "home").mkdir(parents=True)
        monkeypatch.setenv("HOME", str(self._here / "home"))
        project(self.root)
        for name, value in (("user.name", "Hanako"), ("user.email", "hanako@example.com")):
            git(self.root, "config", name, value)
        self.desk = RunDesk(self.root, implementer=ROLE)
        self.desk.start(PLAN)
        if granted:
            self.desk.grant(self.desk.key())
        if half:
            self.desk.go(review=Review.EACH)
            self.desk.decide("S01")
        self.before = self.files()
        self._here.rename(self._template)

    def fresh(self) -> None:
        shutil.rmtree(self._here, ignore_errors=True)
        shutil.copytree(self._template, self._here, symlinks=True)

    def task(self, event: int = 0, **more: object) -> dict[str, object]:
        return {
            **more,
            "root": str(self.root),
            "environment": {"HOME": os.environ["HOME"], "PATH": os.environ["PATH"], "LANG": "C.UTF-8"},
            "run": self.desk.run_id,
            "options": {"in_place": self._in_place},
            "event": event,
        }

    def files(self) -> dict[str, str]:
        found = fingerprint(self.root)
        return {name: what for name, what in found.items() if not name.startswith(".git/") or name == INDEX}

    def killed(self) -> None:
        """Whatever is half done, the person's files are not touched."""
        if not self._in_place:
            assert self.files() == self.before
            assert git(self.root, "symbolic-ref", "HEAD") == "refs/heads/main"

    def ended(self) -> Ended:
        self.killed()
        with self.desk.open() as workspace:
            assert workspace.verify_log() == []
            assert workspace.recovered == ()
            run = workspace.sessions.run(self.desk.run_id)
            assert run.phase is RunPhase.COMPLETED
            assert {ref.id for ref in workspace.plan.list()} == {step.plan_id for step in run.steps}
            for standing in workspace.grants.list():  # each step used it once
                assert [use.step_id for use in standing.uses] == ["S01", "S02"]
                assert [step.grant for step in run.steps] == [standing.grant.id] * 2
            copies = workspace.places.copies
        self._wait_for_processes()
        folders = (copies, copies.with_name(f"{copies.name}.runs"))
        assert [path for folder in folders for path in folder.glob("[!.]*")] == []
        assert [step.commit for step in run.steps] == self._log("%H")
        assert git(self.root, "fsck", "--strict", "--no-dangling") == ""
        messages = [_OF_THIS_PLAN.sub(r"\1", text) for text in self._log("%B")]
        refs = git(self.root, "for-each-ref", "--format=%(refname)")
        files = {} if self._in_place else self.files()
        return Ended(list(zip(self._log("%T"), messages, strict=True)), refs, files)

    def _log(self, form: str) -> list[str]:
        found = git(self.root, "log", "-z", "--reverse", f"--format={form}", f"main..{BRANCH}")
        return [text.strip() for text in found.removesuffix("\0").split("\0")]

    def _wait_for_processes(self) -> None:
        """Those of somebody who was killed end by themselves."""
        until = time.monotonic() + 60
        while found := [words for words in _processes() if str(self._base) in words]:
            assert time.monotonic() < until, found
            time.sleep(0.05)


def _processes() -> Iterator[str]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            yield f"{os.fsdecode(words)} {(folder / 'cwd').readlink()}"


@pytest.fixture
def base(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    with at_home(monkeypatch) as base:
        yield base


@pytest.mark.req("RN-4", "RN-5")
@pytest.mark.parametrize(("in_place", "granted"), [(False, False), (True, False), (False, True)])
def test_killed_again_and_again(
    driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool, granted: bool
):
    bureau = Bureau(base, monkeypatch, in_place=in_place, granted=granted)
    bureau.fresh()
    assert driver.run(bureau.task()) == 0
    whole = bureau.ended()
    bureau.fresh()
    event, kills = FIRST + 50 * in_place, 0
    while (code := driver.run(bureau.task(event))) == KILLED:
        bureau.killed()
        event, kills = EACH, kills + 1
    assert code == 0
    assert kills > 3
    assert bureau.ended() == whole


@pytest.mark.req("RN-4", "RN-5")
@pytest.mark.skipif(not FULL, reason="one run per moment: make campaign")
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("in_place", [False, True])
def test_killed_at_every_moment(
    driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch, in_place: bool, part: int
):
    bureau = Bureau(base, monkeypatch, in_place=in_place)
    bureau.fresh()
    assert driver.run(bureau.task()) == 0
    whole = bureau.ended()
    event = 1 + part
    while True:
        bureau.fresh()
        if driver.run(bureau.task(event)) != KILLED:
            break
        bureau.killed()
        assert driver.run(bureau.task()) == 0, event
        assert bureau.ended() == whole, event
        event += PARTS
    assert event > 400


@pytest.mark.req("RN-4")
def test_killed_while_it_is_cancelled(driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch):
    bureau, event, kills = Bureau(base, monkeypatch, half=True), 0, 0
    while True:
        bureau.fresh()
        event += 2 * EVERY
        code = driver.run(bureau.task(event, cancel=True))
        kills += code == KILLED
        bureau.killed()
        cancelled_again(bureau)
        if code != KILLED:
            break
    assert code == 0
    assert kills > 1


def cancelled_again(bureau: Bureau) -> None:
    """What was committed stays, and nothing else of the run."""
    with bureau.desk.open() as workspace:
        with contextlib.suppress(RunOver):
            cancel_run(workspace, bureau.desk.run_id)
        run = workspace.sessions.run(bureau.desk.run_id)
        assert run.phase is RunPhase.CANCELLED
        assert workspace.verify_log() == []
        states = [workspace.plan.get_state(step.plan_id).status for step in run.steps]
        assert states == [PlanStatus.COMPLETED, PlanStatus.DISCARDED]
        copies = workspace.places.copies
    folders = (copies, copies.with_name(f"{copies.name}.runs"))
    assert [path for folder in folders for path in folder.glob("[!.]*")] == []
    assert bureau.desk.commits() == ["Add instead of subtracting"]
    with pytest.raises(RunOver):
        bureau.desk.go()


@pytest.mark.req("RN-4")
def test_killed_while_it_is_cancelled_and_then_continued_after_all(
    driver: Driver, base: Path, monkeypatch: pytest.MonkeyPatch
):
    bureau, event = Bureau(base, monkeypatch, half=True), 0
    while True:
        bureau.fresh()
        event += 2 * EVERY
        if driver.run(bureau.task(event, cancel=True)) != KILLED:
            break
        bureau.killed()
        if bureau.desk.run().phase is not RunPhase.CANCELLED:
            run = bureau.desk.go()
            assert run.stop is not None, event
            run = bureau.desk.go(retry=True)
            assert run.stop is not None
            assert run.stop.reason_code is StopCode.APPROVAL_NEEDED, run.stop
            assert bureau.desk.decide("S02").phase is RunPhase.COMPLETED
            assert bureau.desk.commits() == ["Add instead of subtracting", "Say that it adds"]
