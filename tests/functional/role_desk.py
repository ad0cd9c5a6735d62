"""A project, a run with one step, and whoever has its roles, without the rest of the runner."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ringi import open_workspace
from ringi.beside.launch import make_copy
from ringi.config.keys import RoleHow
from ringi.engine.run_plan import RunPlan, RunRole
from ringi.models.usage import Spent
from ringi.runs.document import Attempt, StepState
from ringi.runs.role_work import RoleTask, RoleWork
from ringi.tree.copy import WorkCopy
from tests.functional.beside_desk import HomeDesk, home_desk
from tests.unit.runs.run_samples import plan_of, run_of, step_of

SCOPE = {"target_paths": ["app/hello.py"], "max_diff_lines": 40}
INPUTS = {"request_path": "requests/RQ-1.md"}


class RoleDesk:
    def __init__(self, desk: HomeDesk) -> None:
        self.desk = desk
        self.root = desk.root
        self.printed = bytearray()
        self.kept: dict[str, str] = {}
        self.plan = plan()
        self._copy: WorkCopy | None = None
        self.environment: dict[str, str] = {}

    def configure(self, **roles: Any) -> None:
        """In the user's own file: implementer={…}, and runs, llm and so on as they are."""
        above = {
            name: roles.pop(name)
            for name in ("runs", "llm", "model", "with", "planning", "context")
            if name in roles
        }
        file = self.desk.home / ".config" / "ringi" / "config.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(msgspec.json.encode({"roles": roles, **above}))  # JSON is YAML

    def script(self, name: str, body: str) -> str:
        return str(self.desk.program(name, f"#!/bin/sh\n{body}\n"))

    @property
    def copy(self) -> WorkCopy:
        if self._copy is None:
            with self.opened() as workspace:
                self._copy = make_copy(workspace, ["run"], (), lambda _: None)
        return self._copy

    def opened(self) -> Any:
        return open_workspace(self.root, environment={**os.environ, **self.environment})

    def file(self, name: str) -> str:
        return (self.copy.tree / name).read_text()

    def task(self, role: RunRole, **changes: Any) -> RoleTask:
        state = changes.pop("state", StepState(step_id="S01", base_tree=self.copy.base))
        return RoleTask(
            run=changes.pop("run", run_of(self.plan, state)),
            plan=self.plan,
            step=self.plan.steps[0],
            state=state,
            role=role,
            copy=self.copy,
            base_tree=self.copy.base,
            **{
                "feedback": "", "commits": (), "log": self.printed.extend,
                "keep": self.kept.__setitem__, **changes,
            },
        )  # fmt: skip

    def work(self, role: RunRole = RunRole.IMPLEMENTER, **changes: Any) -> RoleWork:
        with self.opened() as workspace:
            return workspace.roles({}).work(self.task(role, **changes))

    def judge(self, role: RunRole = RunRole.REVIEWER, **changes: Any) -> RoleWork:
        """What is in the copy now is the step's change."""
        state = StepState(step_id="S01", base_tree=self.copy.base, tree=self.copy.difference().tree)
        with self.opened() as workspace:
            return workspace.roles({}).judge(self.task(role, **{"state": state, **changes}))

    def change(self) -> None:
        (self.copy.tree / "app" / "hello.py").write_text('def hello():\n    return "hi"\n')


def plan(**changes: Any) -> RunPlan:
    facts = {"scope": SCOPE, "inputs": INPUTS, "commands": {"unit": ["true"]}, **changes}
    return plan_of(step_of(1, ["AC-01"], **facts))


def spent(tokens: int, dollars: float = 0.0) -> Attempt:
    return Attempt(
        role=RunRole.IMPLEMENTER, how=RoleHow.MODEL, who="m", cycle=0, started_at="",
        spent=Spent(input_tokens=tokens, dollars=dollars),
    )  # fmt: skip


@contextmanager
def role_desk(monkeypatch: pytest.MonkeyPatch, repository: Path) -> Iterator[RoleDesk]:
    with home_desk(monkeypatch, repository) as desk:
        yield RoleDesk(desk)
