"""The real file system, a real process, and kill -9: set up once, killed again and again."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ringi
from ringi.plans.document import PlanStatus
from tests.crash.scenarios import Picture, Scenario, laid_out, taken, with_later
from tests.fakes.people import SeatedPerson
from tests.fakes.world import answer_to, approved
from tests.helpers import ledger_of

REPOSITORY = Path(__file__).resolve().parents[2]
KILLED = -signal.SIGKILL
FULL = os.environ.get("RINGI_CAMPAIGN") == "full"
"""Every plan is killed everywhere; without it the plans that stand for the others, at some of the moments."""
EVERY = 1 if FULL else 5


def moments(count: int, *part: int) -> range:
    """From 1 to `count`: all in a campaign, else every fifth, beginning at another one for each part."""
    return range(1 + sum(part) % EVERY, count + 1, EVERY)


class Driver:
    """Starts children that carry out a plan; says how each of them ended."""

    def __init__(self) -> None:
        path = os.pathsep.join(part for part in sys.path if part)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.crash.driver"],
            cwd=REPOSITORY,
            env={"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "PYTHONPATH": path},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._answer() == "ready"

    def run(self, task: Mapping[str, Any], attached: Callable[[int], None] | None = None) -> int:
        """`attached` gets the child's pid while it waits, and must send it SIGUSR1."""
        self._process.stdin.write(json.dumps({**task, "attach": attached is not None}) + "\n")
        self._process.stdin.flush()
        if attached:
            attached(self._answer()["pid"])
        return self._answer()["code"]

    def _answer(self) -> Any:
        line = self._process.stdout.readline()
        assert line, "the driver ended"
        return json.loads(line)

    def close(self) -> None:
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(timeout=90)


class Victim:
    """A workspace with something to do in it, as often as it takes."""

    def __init__(self, folder: Path, scenario: Scenario, kind: str) -> None:
        self._here, self._template = folder / "here", folder / "template"
        self._kind = kind
        self.root = self._here / "workspace"
        self.environment = {"HOME": str(self._here), "RINGI_STATE_DIR": str(self._here / "states")}
        self.before, self.after = scenario.first, scenario.last
        (self.root / ".agent").mkdir(parents=True)
        laid_out(self.root, scenario.before)
        with self.open() as workspace:
            self.plan_id = approved(workspace.plan, scenario.specs)
            self._answer = ""
            if kind == "undo":
                assert workspace.plan.execute(self.plan_id).overall_success
                self.before = with_later(scenario.last, scenario.later)
                self.after = with_later(scenario.first, scenario.later)
                laid_out(self.root, {path: self.before.files[path] for path in scenario.later})
                self._answer = workspace.plan.ask_undo(self.plan_id)[0].digest
        assert taken(self.root) == self.before
        self._here.rename(self._template)

    def open(self) -> ringi.Workspace:
        return ringi.open_workspace(
            self.root, environment=self.environment, person=SeatedPerson(), at_once=True
        )

    def fresh(self, **more: object) -> dict[str, object]:
        """A task for the driver, on a workspace as it was at the beginning."""
        shutil.rmtree(self._here, ignore_errors=True)
        shutil.copytree(self._template, self._here)
        return {
            "root": str(self.root),
            "environment": self.environment,
            "plan": self.plan_id,
            "answer": self._answer,
            **more,
        }

    def reached(self, workspace: ringi.Workspace) -> bool:
        if self._kind == "execute":
            return workspace.plan.get_state(self.plan_id).status is PlanStatus.COMPLETED
        return ledger_of(workspace).plans.ref(self.plan_id).undone

    def problems(self) -> list[str]:
        """Opens the workspace, which recovers by itself, and looks at everything."""
        wrong = []
        with self.open() as workspace:
            done, found = self.reached(workspace), taken(self.root)
            if found != (self.after if done else self.before):
                wrong.append(f"the ledger says {'done' if done else 'undone'}, the files are {found}")
            if ledger_of(workspace).executions.list_unfinished():
                wrong.append("an execution has no result")
            wrong += [str(text) for text in workspace.verify_log()]
            workspace.upkeep._projection.rebuild(ledger_of(workspace))
            wrong += workspace.upkeep._projection.differences(ledger_of(workspace))
            all_there = self._all(workspace)
        with self.open() as workspace:
            if workspace.recovered or self._all(workspace) != all_there:
                wrong.append("a second opening changed something")
            if workspace.plan.recover() or self._stages():
                wrong.append(f"left over: {self._stages()}")
            if taken(self.root) != found:
                wrong.append("a second recovery changed something")
            if not wrong and not done:
                wrong += self._once_more(workspace)
        return wrong

    def _once_more(self, workspace: ringi.Workspace) -> list[str]:
        if self._kind == "execute":
            result = workspace.plan.execute(self.plan_id)
        else:
            result = workspace.plan.undo(self.plan_id, "person", answer_to(self._answer))
        if result.overall_success and taken(self.root) == self.after and self.reached(workspace):
            return []
        return [f"done again: {result}"]

    def _all(self, workspace: ringi.Workspace) -> tuple[Picture, dict[str, bytes], list[str]]:
        own = {str(path): path.read_bytes() for path in (self.root / ".agent").rglob("*") if path.is_file()}
        return taken(self.root), own, list(ledger_of(workspace).database.iterdump())

    def _stages(self) -> list[str]:
        return [path.name for path in (self.root / ".agent" / "tmp").glob("*")]
