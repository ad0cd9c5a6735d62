"""Runs in a real repository: planning.json made here, roles that are small shell scripts, real commits."""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from ringi.app.api import Workspace, open_workspace
from ringi.approvals.document import TypedAnswer
from ringi.approvals.grant_document import Grant
from ringi.kernel.system import Clock
from ringi.runs.document import Run
from ringi.runs.drive import RunOptions, run_steps
from ringi.runs.grant import GrantOptions, draft_for_run
from ringi.runs.start import ReviewedRun, start_from_file
from ringi.tree.copy import WorkCopy
from tests.fakes.people import SeatedPerson
from tests.fakes.signing import RealKey
from tests.helpers import accept_signers, approve, visible_folder

CALC = "def add(a, b):\n    return a - b\n"
TESTS = 'from calc import add\n\nassert add(2, 3) == 5, add(2, 3)\nprint("fine")\n'
FILES = {"calc.py": CALC, "test_calc.py": TESTS, "README.md": "# Calc\n"}
FIX = "sed -i 's/a - b/a + b/' calc.py"
UNIT = "python3 test_calc.py"


def by_step(*scripts: str) -> str:
    """A role that does something else in each step: the brief says which one it is."""
    cases = "".join(f"*S{at:02}*) {script};; " for at, script in enumerate(scripts, 1))
    return f'case "$(head -n 5 $1)" in {cases} esac'


def git(root: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def project(root: Path, files: Mapping[str, str] | Path = FILES) -> Path:
    """With these files, or those of a folder."""
    if isinstance(files, Path):
        shutil.copytree(files, root)
    root.mkdir(parents=True, exist_ok=True)
    git(root, "init", "-q", "-b", "main")
    for name, text in () if isinstance(files, Path) else files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "first")
    return root


def a_step(number: int, **fields: Any) -> dict[str, Any]:
    name = f"S{number:02}"
    scope = {"target_paths": ["calc.py"], "forbidden_paths": [], "max_diff_lines": 100}
    return {
        "step_id": name,
        "title": fields.get("title", f"Step {number}"),
        "role": fields.get("role", "implementer"),
        "intent": fields.get("intent", "Make it right."),
        "scope": {**scope, **fields.get("scope", {})},
        "inputs": {"request_path": "requests/RQ-20260101-001.md"},
        "commands": fields.get("commands", {"unit": [UNIT]}),
        "success_criteria": ["the tests pass"],
        "links_to_ac": fields.get("links_to_ac", ["AC-01", "AC-02", "AC-03"]),
        "expected_diff": {"lines_max": 50, "files_max": 2, "risk_level": "low"},
        "outputs": {"patch_path": f"runs/RQ-20260101-001/r1/patches/{name}.patch",
                    "log_prefix": f"runs/RQ-20260101-001/r1/logs/step.{name}"},
        **{name: fields[name] for name in ("fallback", "stop_conditions") if name in fields},
    }  # fmt: skip


def a_plan(*steps: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    """`limits` and `gates` have only what differs."""
    criteria = [{"id": f"AC-{n:02}", "given": "a calculator", "when": "it adds", "then": "it is right"}
                for n in (1, 2, 3)]  # fmt: skip
    limits = {"max_diff_lines": 100, "timeout_sec": 60, "max_steps_per_run": 99, "max_autofix_cycles": 1}
    gates = {"require_clean_worktree": True, "require_work_branch": True, "require_unit_pass": True,
             "require_e2e_for_regression_ac": False, "forbid_gh": True,
             "max_step_too_large_retries": 1}  # fmt: skip
    return {
        "version": "1.0",
        "request_id": "RQ-20260101-001",
        "run_id": fields.get("run_id", "20260101-000000-a1b2c3"),
        "created_at": "2026-01-01T00:00:00+00:00",
        "base_branch": fields.get("base_branch", "main"),
        "work_branch": fields.get("work_branch", "aiflow/RQ-20260101-001/20260101-000000"),
        "limits": {**limits, **fields.get("limits", {})},
        "context": {"summary": "Make it add.", "constraints": [], "acceptance_criteria": criteria,
                    "test_instructions": {"unit": "", "e2e": ""}, **fields.get("context", {})},
        "steps": list(steps),
        "gates": {**gates, **fields.get("gates", {})},
        "outputs": {"planning_json": "runs/RQ-20260101-001/r1/planning.json",
                    "stage_json": "runs/RQ-20260101-001/r1/stage.json",
                    "report_md": "runs/RQ-20260101-001/r1/report.md"},
    }  # fmt: skip


@contextmanager
def at_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a home, where sandboxes work; the project will be in it."""
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir=visible_folder()) as folder:
        base = Path(folder).resolve()
        (base / "home").mkdir()
        monkeypatch.setenv("HOME", str(base / "home"))
        for kind in ("STATE", "CACHE", "CONFIG", "DATA"):
            monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
        yield base


class RunDesk:
    """One person, one project, and what they have configured."""

    def __init__(self, root: Path, **roles: str) -> None:
        """Roles by the script that plays them."""
        self.root = root
        self.scripts = root.parent / "roles"
        self.scripts.mkdir(exist_ok=True)
        lines = ["roles:"]
        for name, script in roles.items():
            path = self.scripts / name
            path.write_text(f"#!/bin/sh\nset -e\n{script}\n")
            path.chmod(0o755)
            lines += [f"  {name}:", f"    command: {path} {{brief}}"]
        self.configure("\n".join(lines) + "\n" if roles else "")
        self.run_id = ""
        self.person: SeatedPerson = SeatedPerson()
        self.clock: Clock | None = None

    def configure(self, text: str) -> None:
        folder = Path(os.environ["HOME"]) / ".config/ringi"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.yaml").write_text(text)

    def open(self) -> Workspace:
        return open_workspace(self.root, person=self.person, clock=self.clock, at_once=True)

    def start(self, plan: Mapping[str, Any], *, approved: bool = True) -> str:
        with self.open() as workspace:
            run = start_from_file(workspace, json.dumps(plan).encode(), "planning.json")
        self.run_id = run.run_id
        if approved:
            self.approve_plan()
        return run.run_id

    def approve_plan(self) -> None:
        with self.open() as workspace:
            reviewed = ReviewedRun(workspace, self.run_id)
            reviewed.approve(TypedAnswer(reviewed.digest, "yes"))

    def key(self, name: str = "key") -> RealKey:
        """A new one whose signatures count."""
        key = RealKey(self.scripts, name)
        folder = Path(os.environ["HOME"]) / ".config/ringi"
        with (folder / "allowed_signers").open("a") as file:
            file.write(f"person {key.public}\n")
        (folder / "allowed_signers").chmod(0o600)
        with self.open() as workspace:
            accept_signers(workspace)
        return key

    def grant(
        self, key: RealKey, seconds: float = 3600, terms: dict[str, Any] | None = None, **wanted: Any
    ) -> Grant:
        """A standing approval for the steps of the run; `terms` are narrower than its plan."""
        with self.open() as workspace:
            until = workspace.clock.after(seconds)
            subject = draft_for_run(workspace, self.run_id, GrantOptions(**wanted), until)
            scope = subject.scope
            subject = replace(subject, scope=replace(scope, run=replace(scope.run, **(terms or {}))))
            return workspace.grants.add(
                subject, "person", key.sign(workspace.grants.statement(subject, "person"))
            )

    def go(self, **options: Any) -> Run:
        with self.open() as workspace:
            return run_steps(workspace, self.run_id, RunOptions(**options))

    def decide(self, *step_ids: str) -> Run:
        """Approves and carries out what these steps changed, then goes on."""
        for step_id in step_ids:
            with self.open() as workspace:
                there = workspace.of_plan(self.plan_of(step_id))
                approve(there, self.plan_of(step_id))
                there.plan.execute(self.plan_of(step_id))
        return self.go()

    def run(self) -> Run:
        with self.open() as workspace:
            return workspace.store.runs.get(self.run_id)

    def plan_of(self, step_id: str) -> str:
        return next(step.plan_id for step in self.run().steps if step.step_id == step_id)

    def commits(self, branch: str = "aiflow/RQ-20260101-001/20260101-000000") -> Sequence[str]:
        """Subjects, the oldest first."""
        return git(self.root, "log", "--reverse", "--format=%s", f"main..{branch}").splitlines()

    def file(self, name: str, branch: str = "aiflow/RQ-20260101-001/20260101-000000") -> str:
        return git(self.root, "show", f"{branch}:{name}")

    def copies(self) -> list[Path]:
        with self.open() as workspace:
            return [one.tree for one in WorkCopy.all(workspace.places.copies)]

    def copy_of(self, run: Run) -> Path:
        """Where roles work."""
        with self.open() as workspace:
            return workspace.places.copies / run.copy_id / "tree"

    def file_in_copy(self, run: Run, name: str) -> str:
        return (self.copy_of(run) / name).read_text()
