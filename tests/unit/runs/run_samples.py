"""Plans of runs and runs, as small as a test wants them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from ringi.engine.run_plan import RunPlan, RunRole
from ringi.engine.run_state import RunPhase, StepStatus
from ringi.kernel import codec
from ringi.runs.document import Evidence, Run, StepState, Stop, StopCode

_SAMPLE = Path(__file__).parents[1] / "engine" / "planning-sample.json"
RUN_ID = "20251214-210501-a1b2c3"
REQUEST_ID = "RQ-20251214-008"
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
BEFORE = "b" * 40


def step_of(number: int, links: Sequence[str], **changes: Any) -> dict[str, Any]:
    raw = msgspec.json.decode(_SAMPLE.read_bytes())["steps"][0]
    name = f"S{number:02}"
    return {
        **raw,
        "step_id": name,
        "title": f"Step {number}",
        "links_to_ac": list(links),
        "commands": {"unit": ["make test"]},
        "outputs": {
            "patch_path": f"runs/{REQUEST_ID}/{RUN_ID}/patches/{name}.patch",
            "log_prefix": f"runs/{REQUEST_ID}/{RUN_ID}/logs/step.{name}",
        },
        **changes,
    }


def plan_of(*steps: dict[str, Any], **changes: Any) -> RunPlan:
    raw = msgspec.json.decode(_SAMPLE.read_bytes())
    return msgspec.convert({**raw, "steps": list(steps), **changes}, RunPlan)


def passed(command: str = "make test", *, code: int = 0, kind: str = "unit", tree: str = TREE) -> Evidence:
    return Evidence(
        command=command,
        kind=kind,
        exit_code=code,
        duration_sec=1.25,
        tree=tree,
        output_sha256="ab" * 32,
        log=f"runs/{REQUEST_ID}/{RUN_ID}/logs/step.S01.unit.1.log",
    )


def done(number: int, *evidence: Evidence, commit: str = "c" * 40, **changes: Any) -> StepState:
    facts: dict[str, Any] = {
        "status": StepStatus.DONE, "base_tree": BEFORE, "tree": TREE, "lines": 12, "files": 2,
        "evidence": evidence, "commit": commit, "plan_id": "p", "plan_version": 1,
        "started_at": "2026-01-01T10:00:00Z", "ended_at": "2026-01-01T10:01:00Z", **changes,
    }  # fmt: skip
    return StepState(step_id=f"S{number:02}", **facts)


def run_of(plan: RunPlan, *steps: StepState, **changes: Any) -> Run:
    current = next((at for at, step in enumerate(steps) if step.status is not StepStatus.DONE), len(steps))
    facts: dict[str, Any] = {
        "phase": RunPhase.EXECUTING, "request_id": REQUEST_ID, "work_branch": plan.work_branch,
        "base_branch": "main", "base_commit": "d" * 40, "current_step_index": current, "steps": steps,
        "plan_sha256": codec.digest(codec.canonical(plan)), "planning_session_id": "",
        "instruction": "Add --json to the report", **changes,
    }  # fmt: skip
    return Run(
        run_id=plan.run_id,
        created_at="2026-01-01T10:00:00Z",
        updated_at="2026-01-01T10:05:00Z",
        **facts,
    )


def stopped(code: StopCode = StopCode.UNIT_TEST_FAILED, **changes: Any) -> Stop:
    return Stop(
        reason_code=code,
        message="The unit tests of S01 failed.",
        next_action="ringi continue --retry",
        step_id="S01",
        **changes,
    )


ROLES = tuple(RunRole)
