"""The promises about runs: what carrying out a step costs beside git alone, and that many steps cost no more.

Role and tests do next to nothing, so that all the time is ours; what they take is counted as ours, too.
"""

import itertools
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from bench.measure import Figure, ratio, settle, size, take_turns
from bench.plans import alternate
from bench.scratch import SomebodyThere
from bench.snapshots import repository
from ringi.app.api import Workspace, open_workspace
from ringi.approvals.document import TypedAnswer
from ringi.engine.run_state import RunPhase
from ringi.runs.document import Review, Run
from ringi.runs.drive import RunOptions, run_steps
from ringi.runs.start import ReviewedRun, start_from_file
from ringi.tree.action_spec import ALL_SPECS

RINGI = str(Path(sys.executable).with_name("ringi"))
FILES = size(7_000, 20)
MOST_STEPS = size(99, 3)
_FILE = "p0/q0/f0.py"
_LINE = "changed = True"
_CRITERIA = ["AC-01", "AC-02", "AC-03"]
_APPROVAL_NEEDED = 3


def figures() -> Iterator[Figure]:
    with _not_in_tmp(), repository(FILES) as (root, _, environment):
        settle()
        project = _Project(root, environment)
        project.configure()
        yield from _steps(project)
    yield from _many_steps()


def _steps(project: "_Project") -> Iterator[Figure]:
    patch = project.patch()
    one, bare, two = alternate(
        5, lambda: project.carried_out(1), lambda: project.bare(patch), lambda: project.carried_out(2)
    )
    yield ratio(f"a run of one step, {FILES:,} files ÷ git worktree add, apply, commit", (one, bare), 8)
    yield ratio("the second step of a run ÷ the first", (two - one, one), 0.5)


def _many_steps() -> Iterator[Figure]:
    with _not_in_tmp(), repository(20) as (root, _, environment):
        project = _Project(root, environment)
        project.configure()
        few, many = project.waiting(1), project.waiting(MOST_STEPS)
        for name in ("status", "continue"):
            jobs = [project.command(name, run_id) for run_id in (many, few)]
            take_turns(2, *jobs)
            yield ratio(f"ringi {name}, {MOST_STEPS} steps ÷ 1 step", take_turns(15, *jobs), 1.2)


@contextmanager
def _not_in_tmp() -> Iterator[None]:
    """The sandbox has a /tmp of its own, in which the role would not be found."""
    before = tempfile.tempdir
    if tempfile.gettempdir() == "/tmp":
        tempfile.tempdir = "/var/tmp"
    try:
        yield
    finally:
        tempfile.tempdir = before


class _Project(NamedTuple):
    root: Path
    environment: Mapping[str, str]

    numbers = itertools.count()

    def configure(self) -> None:
        home = self.root.parent
        role = home / "role"
        role.write_text(f"#!/bin/sh\necho '{_LINE}' >> {_FILE}\n")
        role.chmod(0o755)
        settings = home / ".config" / "ringi" / "config.yaml"
        settings.parent.mkdir(parents=True)
        settings.write_text(f"roles:\n  implementer:\n    command: {role} {{brief}}\n")

    def opened(self) -> Workspace:
        return open_workspace(self.root, environment=self.environment, person=SomebodyThere(), at_once=True)

    def git(self, *words: str, cwd: Path | None = None) -> bytes:
        return subprocess.run(
            ["git", *words],
            cwd=cwd or self.root,
            env=dict(self.environment),
            check=True,
            stdout=subprocess.PIPE,
        ).stdout

    # ------------------------------------------------------------------ git alone

    def patch(self) -> Path:
        place, path = self.root / _FILE, self.root.parent / "change.patch"
        before = place.read_text()
        place.write_text(f"{before}{_LINE}\n")
        path.write_bytes(self.git("diff"))
        place.write_text(before)
        return path

    def bare(self, patch: Path) -> float:
        number = next(self.numbers)
        tree = self.root.parent / f"tree{number}"
        start = time.perf_counter()
        self.git("worktree", "add", "-q", "-b", f"bare{number}", str(tree))
        self.git("apply", str(patch), cwd=tree)
        self.git("commit", "-q", "-a", "-m", "change", cwd=tree)
        taken = time.perf_counter() - start
        shutil.rmtree(tree)
        return taken

    # ------------------------------------------------------------------ a run

    def carried_out(self, steps: int) -> float:
        """From an approved plan to commits on a branch; the approvals themselves are not measured."""
        run_id = self.started(steps)
        with self.opened() as workspace:
            # As in a project that nobody has planned in before.
            shutil.rmtree(workspace.places.state / "context", ignore_errors=True)
            start = time.perf_counter()
            run = run_steps(workspace, run_id, RunOptions())
            for step in run.steps:
                there = workspace.of_plan(step.plan_id)
                asked = there.plan.ask(step.plan_id)
                answer = TypedAnswer(asked.digest, asked.digest[:6])
                there.plan.approve(step.plan_id, "bench", ALL_SPECS, answer)
                there.plan.execute(step.plan_id)
            done = run_steps(workspace, run_id, RunOptions())
            taken = time.perf_counter() - start
        assert done.phase is RunPhase.COMPLETED, done.stop
        return taken

    def waiting(self, steps: int) -> str:
        """A run whose first step waits for a person."""
        run_id = self.started(steps)
        with self.opened() as workspace:
            run: Run = run_steps(workspace, run_id, RunOptions(review=Review.EACH))
        assert run.stop is not None
        assert run.steps[0].plan_id, run.stop
        return run_id

    def started(self, steps: int) -> str:
        number = next(self.numbers)
        plan = _plan(steps, number, self.git("branch", "--show-current").decode().strip())
        with self.opened() as workspace:
            run = start_from_file(workspace, json.dumps(plan).encode(), "planning.json")
            reviewed = ReviewedRun(workspace, run.run_id)
            reviewed.approve(TypedAnswer(reviewed.digest, "yes"))
        return run.run_id

    def command(self, name: str, run_id: str) -> Callable[[], object]:
        def run() -> None:
            done = subprocess.run(
                [RINGI, name, run_id],
                cwd=self.root,
                env=dict(self.environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            assert done.returncode in {0, _APPROVAL_NEEDED}, done

        return run


def _plan(steps: int, number: int, base: str) -> dict[str, Any]:
    request, run = "RQ-20260101-001", f"20260101-{number:06}-a1b2c3"
    folder = f"runs/{request}/{run}"
    criteria = [
        {"id": name, "given": "a file", "when": "it is read", "then": "it has one more line"}
        for name in _CRITERIA
    ]
    return {
        "version": "1.0",
        "request_id": request,
        "run_id": run,
        "created_at": "2026-01-01T00:00:00+00:00",
        "base_branch": base,
        "work_branch": f"aiflow/{request}/{number:06}",
        "limits": {"max_diff_lines": 100, "timeout_sec": 60, "max_steps_per_run": 99,
                   "max_autofix_cycles": 1},
        "context": {"summary": "Add a line.", "constraints": [], "acceptance_criteria": criteria,
                    "test_instructions": {"unit": "", "e2e": ""}},
        "steps": [_step(at, folder) for at in range(1, steps + 1)],
        "gates": {"require_clean_worktree": True, "require_work_branch": True, "require_unit_pass": True,
                  "require_e2e_for_regression_ac": False, "forbid_gh": True,
                  "max_step_too_large_retries": 1},
        "outputs": {name: f"{folder}/{file}" for name, file in (
            ("planning_json", "planning.json"), ("stage_json", "stage.json"), ("report_md", "report.md"),
        )},
    }  # fmt: skip


def _step(number: int, folder: str) -> dict[str, Any]:
    name = f"S{number:02}"
    return {
        "step_id": name,
        "title": f"Add line {number}",
        "role": "implementer",
        "intent": "Add a line.",
        "scope": {"target_paths": [_FILE], "forbidden_paths": [], "max_diff_lines": 100},
        "inputs": {"request_path": "requests/RQ-20260101-001.md"},
        "commands": {"unit": ["true"]},
        "success_criteria": ["it has one more line"],
        "links_to_ac": _CRITERIA,
        "expected_diff": {"lines_max": 50, "files_max": 2, "risk_level": "low"},
        "outputs": {"patch_path": f"{folder}/patches/{name}.patch", "log_prefix": f"{folder}/logs/{name}"},
    }


if __name__ == "__main__":
    for figure in figures():
        print(figure)
