"""A run on a real repository, with what its roles would have changed."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from ringi.app.api import Workspace, open_workspace
from ringi.engine.run_state import RunPhase
from ringi.ledger.event import Actor, EventKind, NewEvent
from ringi.ledger.subject import StepOf
from ringi.runs.branch import base_of
from ringi.runs.document import Run
from ringi.runs.step_plan import StepPlan, propose_step
from ringi.tree.difference import CopyChange, TreeDifference
from tests.helpers import Person, approve, ledger_of

RUN = "20251214-210501-a1b2c3"
WORK = "aiflow/RQ-1/20251214"
MOMENT = "2026-01-02T03:04:05.000000Z"


def git(root: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True, check=check)
    return done.stdout


def hook(root: Path, name: str, script: str) -> None:
    path = root / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def opened(root: Path) -> Workspace:
    return open_workspace(root, environment=dict(os.environ), person=Person(), at_once=True)


def begun(workspace: Workspace, run_id: str = RUN, *, in_place: bool = False, branch: str = WORK) -> str:
    root = workspace.places.root
    run = Run(
        run_id=run_id,
        planning_session_id="",
        phase=RunPhase.EXECUTING,
        instruction="Do it.",
        created_at=MOMENT,
        updated_at=MOMENT,
        request_id="RQ-1",
        work_branch=branch,
        base_branch="main",
        base_commit=base_of(root, "main"),
        in_place=in_place,
    )
    with ledger_of(workspace).transaction() as transaction:
        transaction.runs.add(run, NewEvent(EventKind.RUN_CREATED, Actor.SYSTEM))
    return run_id


Files = Mapping[str, bytes | None]
README: Files = {"README.md": b"# Sample\n"}
MORE: Files = {"README.md": b"# Sample\n\nMore.\n"}


def difference(before: Files, after: Files, executable: Sequence[str] = ()) -> TreeDifference:
    """As the copy of a run has it: from the bytes that the step began with to those it left."""

    def mode(files: Files, path: str) -> str | None:
        return None if files.get(path) is None else "100755" if path in executable else "100644"

    paths = sorted({*before, *after})
    changes = [
        CopyChange(path, mode(before, path), mode(after, path), before.get(path), after.get(path))
        for path in paths
        if before.get(path) != after.get(path)
    ]
    return TreeDifference("0" * 40, "1" * 40, tuple(changes), ())


def order(workspace: Workspace, step_id: str = "S01", run_id: str = RUN, **more: object) -> StepPlan:
    step = StepOf(run_id, step_id, "RQ-1", workspace.store.runs.get(run_id).in_place)
    plan = StepPlan(workspace.ids(), step, f"Do {step_id}", "Because it is needed.", ("claude",))
    return plan._replace(**more)


def proposed_step(
    workspace: Workspace, before: Files, after: Files, step_id: str = "S01", run_id: str = RUN, **more: object
) -> str:
    made = order(workspace, step_id, run_id, **more)
    propose_step(workspace, difference(before, after), made)
    return made.plan_id


def approved_step(workspace: Workspace, plan_id: str) -> Workspace:
    """The workspace on the run's branch, ready to carry it out."""
    there = workspace.of_plan(plan_id)
    approve(there, plan_id)
    return there
