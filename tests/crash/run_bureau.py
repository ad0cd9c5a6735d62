"""A run that is killed again and again, and what comes of it."""

import contextlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringi.engine.run_state import OVER, RunPhase
from ringi.runs.document import Review, Run
from tests.crash.killing import KILLED, Driver
from tests.functional.beside_desk import WALLS
from tests.functional.run_desk import FILES, RunDesk, git, project
from tests.helpers import fingerprint

INDEX = ".git/index"
_OF_THIS_PLAN = re.compile(r"^(Ringi-Plan|Ringi-Approval): .*$", re.MULTILINE)
_OF_THIS_RUN = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")


class Story(NamedTuple):
    """What is to happen."""

    plan: Mapping[str, Any] | None
    """None if the run is yet to be planned."""
    roles: Mapping[str, str]
    """Shell scripts."""
    edits: Mapping[str, str] = {}
    """By step: the file of a step that changes one, as the person makes it before they approve."""
    in_place: bool = False
    granted: bool = False
    """Somebody signed for its steps."""
    half: bool = False
    """The first is committed, the second waits."""
    files: Mapping[str, str] | Path = FILES
    """By path, or all of a folder."""
    config: Mapping[str, Any] | None = None
    """Instead of roles that are scripts."""


class Ended(NamedTuple):
    """What came of a run, without times and the ids of plans and runs."""

    commits: Sequence[tuple[str, str]]
    """Trees and messages."""
    refs: str
    files: Mapping[str, str]
    """The person's, with their index."""


class Bureau:
    """A project with a run that somebody has approved, as often as it takes."""

    def __init__(self, base: Path, monkeypatch: pytest.MonkeyPatch, story: Story) -> None:
        if not WALLS:
            pytest.skip("a run is tested in a sandbox, and bubblewrap does not work here")
        self._base, self._here, self._template = base, base / "here", base / "template"
        self._story = story
        self.root = self._here / "project"
        (self._here / "home").mkdir(parents=True)
        monkeypatch.setenv("HOME", str(self._here / "home"))
        project(self.root, story.files)
        for name, value in (("user.name", "Hanako"), ("user.email", "hanako@example.com")):
            git(self.root, "config", name, value)
        self.desk = RunDesk(self.root, **story.roles)
        if story.config:
            self.desk.configure(json.dumps(story.config))
        if story.plan:
            self.desk.start(story.plan)
        if story.granted:
            self.key = self.desk.key()
            if story.plan:
                self.desk.grant(self.key)
        if story.half:
            self.desk.go(review=Review.EACH)
            self.desk.decide("S01")
        self.before = self.files()
        self._here.rename(self._template)

    def fresh(self) -> None:
        shutil.rmtree(self._here, ignore_errors=True)
        shutil.copytree(self._template, self._here, symlinks=True)

    def task(self, **more: object) -> dict[str, object]:
        """`event` is when it is killed; or `moment` ("call" or "return") and `save`: at which save of it."""
        return {
            "root": str(self.root),
            "environment": {
                "HOME": os.environ["HOME"],
                "PATH": os.environ["PATH"],
                "LANG": "C.UTF-8",
                "OPENAI_API_KEY": "sk-none",
            },
            "run": self.desk.run_id,
            "options": {"in_place": self._story.in_place},
            "edits": self._story.edits,
            **more,
        }

    def killed_on_its_way(
        self, driver: Driver, first: Mapping[str, object], then: Mapping[str, object]
    ) -> int:
        """From the start to the end, by process after process; how many of them were killed."""
        self.fresh()
        kill, kills = first, 0
        while (code := driver.run(self.task(**kill))) == KILLED:
            self.look()
            kill, kills = then, kills + 1
        assert code == 0
        return kills

    def killed_at_saves(
        self, driver: Driver, moment: str, saved_by: str = "RunContext.save", each: int = 1
    ) -> int:
        """At every transition, or some: "call", before it is saved, or "return", after it was."""
        first = {"moment": moment, "save": each, "saved_by": saved_by}
        # Before a save the next process has to come as far as this one first.
        return self.killed_on_its_way(driver, first, {**first, "save": each + (moment == "call")})

    def whole(self, driver: Driver) -> Ended:
        """Nobody is killed."""
        self.fresh()
        assert driver.run(self.task()) == 0
        return self.ended()

    def files(self) -> dict[str, str]:
        found = fingerprint(self.root)
        return {name: what for name, what in found.items() if not name.startswith(".git/") or name == INDEX}

    def look(self) -> None:
        """Whatever is half done, the person's files are not touched."""
        if not self._story.in_place:
            assert self.files() == self.before
            assert git(self.root, "symbolic-ref", "HEAD") == "refs/heads/main"

    def runs(self) -> list[Run]:
        """The first one, and those planned anew from it."""
        with self.desk.open() as workspace:
            runs = [workspace.store.runs.get(self.desk.run_id)]
            while runs[-1].replaced_by:
                runs.append(workspace.store.runs.get(runs[-1].replaced_by))
        return runs

    def ended(self) -> Ended:
        self.look()
        with self.desk.open() as workspace:
            assert workspace.verify_log() == []
            assert workspace.recovered == ()
            calls = {
                record.plan_id
                for process in workspace.store.processes.of()
                for record in workspace.store.processes.actions(process.process_id)
            }
            plans = {ref.id for ref in workspace.plan.list()} - calls
            copies, grants = workspace.places.copies, workspace.grants.list()
        runs = self.runs()
        run = runs[-1]
        for standing in grants:  # each step used it once
            assert [use.step_id for use in standing.uses] == [step.step_id for step in run.steps]
            assert {step.grant for step in run.steps} == {standing.grant.id}
        assert run.phase is RunPhase.COMPLETED
        assert all(one.phase in OVER for one in runs)
        assert _plans(run) <= plans <= {id_ for one in runs for id_ in _plans(one)}
        self._wait_for_processes()
        folders = (copies, copies.with_name(f"{copies.name}.runs"))
        assert [path for folder in folders for path in folder.glob("[!.]*")] == []
        log = [self._log(run, form) for form in ("%H", "%T", "%B")]
        assert [step.commit for step in run.steps] == log[0]
        assert git(self.root, "fsck", "--strict", "--no-dangling") == ""
        messages = [_OF_THIS_PLAN.sub(r"\1", _OF_THIS_RUN.sub("RUN", text)) for text in log[2]]
        refs = _OF_THIS_RUN.sub("RUN", git(self.root, "for-each-ref", "--format=%(refname)"))
        files = {} if self._story.in_place else self.files()
        return Ended(list(zip(log[1], messages, strict=True)), refs, files)

    def _log(self, run: Run, form: str) -> list[str]:
        found = git(self.root, "log", "-z", "--reverse", f"--format={form}", f"main..{run.work_branch}")
        return [text.strip() for text in found.removesuffix("\0").split("\0")]

    def _wait_for_processes(self) -> None:
        """Those of somebody who was killed end by themselves."""
        until = time.monotonic() + 60
        while found := [words for words in _processes() if str(self._base) in words]:
            assert time.monotonic() < until, found
            time.sleep(0.05)


def _plans(run: Run) -> set[str]:
    return {step.plan_id for step in run.steps if step.plan_id}


def _processes() -> Iterator[str]:
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (folder / "cmdline").read_bytes().replace(b"\0", b" ")
            yield f"{os.fsdecode(words)} {(folder / 'cwd').readlink()}"
