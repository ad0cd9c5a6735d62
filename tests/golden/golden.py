"""Makes the golden files: one plan's whole life, with a clock and ids that are always the same.

Files that people have must stay readable. A new format gets a folder of its own, and the old one stays:
PYTHONPATH=src python -m tests.golden.golden plan-2
"""

import itertools
import shutil
import sys
import tempfile
from pathlib import Path

from ringi.api import Workspace
from ringi.domain.plan import ALL_SPECS, CheckResult, Encoding, MessageRef
from ringi.plans.tool import PlanTool
from tests.helpers import answer, create, delete, open_scratch, set_clock, undo, write

HERE = Path(__file__).parent


def make(tmp_path: Path) -> Path:
    """The plan's folder below .agent."""
    with open_scratch(tmp_path) as workspace:
        for path in ("README.md", "app/hello.py"):
            (workspace.places.root / path).chmod(0o644)
        plan_id = live(workspace)
    return tmp_path / "ws" / ".agent" / "logs" / "plans" / plan_id


def live(workspace: Workspace) -> str:
    clock = set_clock(workspace)
    numbers = itertools.count(1)
    workspace.parts.ledger._ids = lambda: f"00000000-0000-4000-8000-{next(numbers):012}"
    workspace.plan = PlanTool(workspace.plan._parts._replace(ids=workspace.parts.ledger._ids))
    plan = workspace.plan
    plan_id = plan.propose(
        "# 挨拶を増やす\n\nSay more \u2013 in two languages.",
        [MessageRef("m-1", "2026-01-01T00:00:00Z")],
        "People asked for it",
        ["greeting", "日本語"],
        proposer="claude",
    )
    clock.pass_by(1)
    specs = [
        write("app/hello.py", 'def hello():\n    return "こんにちは"\n', description="the greeting"),
        create("bin/run", "#!/bin/sh\n", mode="0755", group="change"),
        create("data.bin", "AAEC", mode="0644", encoding=Encoding.BASE64),
        delete("README.md"),
    ]
    plan.set_action_specs(plan_id, specs)
    plan.add_checks(plan_id, [CheckResult("make test", 0, 1.5, "tree", "ok\n")])
    clock.pass_by(1)
    plan.reject(plan_id, "Please say why.")
    plan.set_action_specs(plan_id, specs)
    clock.pass_by(1)
    request = plan.ask(plan_id)
    plan.approve(plan_id, "Hanako", ALL_SPECS, answer(request), "fine")
    clock.pass_by(1)
    assert plan.execute(plan_id).overall_success
    clock.pass_by(1)
    undo(workspace, plan_id)
    return plan_id


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(
            make(Path(folder)), HERE / sys.argv[1], ignore=shutil.ignore_patterns(".*"), dirs_exist_ok=True
        )
