"""Runs of a plan made elsewhere, with small scripts in the role of the implementer."""

import json
from typing import Any

from tests.records.scene import FIX, Scene

RUN = "20260101-000000-a1b2c3"
ROLE = """\
case "$(head -n 5 "$RINGI_BRIEF")" in
*S01*) sed -i 's/a - b/a + b/' calc.py;;
*S02*) echo "It adds" > notes.md;;
esac
"""
TEST = "python3 test_calc.py"


def a_step(number: int, title: str, *criteria: str) -> dict[str, Any]:
    name = f"S{number:02}"
    return {
        "step_id": name,
        "title": title,
        "role": "implementer",
        "intent": "Make it right.",
        "scope": {"target_paths": ["calc.py", "notes.md"], "forbidden_paths": [], "max_diff_lines": 100},
        "inputs": {"request_path": "requests/RQ-20260101-001.md"},
        "commands": {"unit": [TEST]},
        "success_criteria": ["the tests pass"],
        "links_to_ac": list(criteria),
        "expected_diff": {"lines_max": 50, "files_max": 2, "risk_level": "low"},
        "outputs": {
            "patch_path": f"runs/RQ-20260101-001/r1/patches/{name}.patch",
            "log_prefix": f"runs/RQ-20260101-001/r1/logs/step.{name}",
        },
    }


def a_plan() -> dict[str, Any]:
    criteria = [
        {"id": f"AC-{n:02}", "given": "a calculator", "when": "it adds", "then": "it is right"}
        for n in (1, 2, 3)
    ]
    return {
        "version": "1.0",
        "request_id": "RQ-20260101-001",
        "run_id": RUN,
        "created_at": "2026-01-01T00:00:00+00:00",
        "base_branch": "main",
        "work_branch": "aiflow/RQ-20260101-001/20260101-000000",
        "limits": {
            "max_diff_lines": 100,
            "timeout_sec": 60,
            "max_steps_per_run": 99,
            "max_autofix_cycles": 1,
        },
        "context": {
            "summary": "Make it add.",
            "constraints": [],
            "acceptance_criteria": criteria,
            "test_instructions": {"unit": "", "e2e": ""},
        },
        "steps": [a_step(1, "Fix the sum", "AC-01", "AC-02"), a_step(2, "Note it", "AC-03")],
        "gates": {
            "require_clean_worktree": True,
            "require_work_branch": True,
            "require_unit_pass": True,
            "require_e2e_for_regression_ac": False,
            "forbid_gh": True,
            "max_step_too_large_retries": 1,
        },
        "outputs": {
            "planning_json": "runs/RQ-20260101-001/r1/planning.json",
            "stage_json": "runs/RQ-20260101-001/r1/stage.json",
            "report_md": "runs/RQ-20260101-001/r1/report.md",
        },
    }


def prepare(scene: Scene) -> tuple[str, str, str]:
    """The plan's file, who implements it, and a key that counts."""
    scene.make_project()
    plan = scene.write("planning.json", json.dumps(a_plan(), indent=1))
    scene.write("role.sh", ROLE, 0o755)
    return plan, f"sh {scene.world / 'role.sh'}", scene.list_key()


def whole(scene: Scene) -> None:
    """From a planning.json to commits and a report, and back."""
    plan, role, key = prepare(scene)
    scene.refuse("cli/run", "run", "--plan", scene.write("bad.json", "{}"), "--with", role)
    scene.refuse("cli/run", "run", "--plan", plan, "--with", role, form="not-approved")
    for command in ("report", "continue", "cancel"):
        scene.refuse(f"cli/{command}", command, "20990101-000000-ffffff")
    scene.refuse("cli/continue-retry", "continue", "--retry", "20990101-000000-ffffff")
    scene.refuse("cli/status", "status", "20990101-000000-ffffff")
    with scene.rewinding():
        scene.forms("cli/cancel", "cancel", RUN)
    scene.forms("cli/run", "run", RUN, "--with", role, "--sign", key)
    scene.forms("cli/status", "status")
    scene.record("cli/status/run", "status", RUN)
    with scene.rewinding():
        scene.forms("cli/feedback", "feedback", RUN, "Keep it short.")
        scene.refuse("cli/feedback", "feedback", "20990101-000000-ffffff", "x")
    with scene.rewinding():
        scene.forms("cli/continue-retry", "continue", "--retry", RUN)
    for name in ("p1", "p2"):
        if scene.record(f"cli/approve/step-{name}", "approve", name, "--sign", key).code == 0:
            scene.do("execute", name)
    scene.forms("cli/continue", "continue", RUN)
    scene.forms("cli/report", "report", RUN)
    scene.record("cli/verify/run", "verify", RUN)
    scene.record("cli/log/run", "log", RUN)
    scene.record("cli/list/run", "list")
    scene.record("cli/metrics/run", "metrics")
    scene.record("cli/undo/run", "undo", RUN, answers=[(r"\[y/n\]", "y")])


def unattended(scene: Scene) -> None:
    """With a standing approval for its steps, to the end and nobody asked."""
    plan, role, key = prepare(scene)
    scene.do("run", "--plan", plan, "--with", role, code=3)
    scene.record("cli/run/unattended", "run", RUN, "--with", role, "--unattended", key)
    scene.record("cli/grant-list/run", "grant", "list")
    scene.record("cli/report/unattended", "report")


def failing(scene: Scene) -> None:
    """A step whose implementer does nothing that helps."""
    plan, _, key = prepare(scene)
    scene.write("idle.sh", "echo '# nothing' >> calc.py\n")
    idle = f"sh {scene.world / 'idle.sh'}"
    scene.record("cli/run/failed", "run", "--plan", plan, "--with", idle, "--sign", key)
    scene.record("cli/status/failed", "status", RUN)
    scene.record("cli/report/failed", "report")
    scene.record(
        "cli/continue-retry/other", "continue", "--retry", RUN, "--with", f"sh {scene.world / 'role.sh'}"
    )
    scene.record("cli/run/again", "run", "--again", RUN)


MODEL = """\
prompt=$(cat)
case "$prompt" in
*acceptance_criteria*) cat "{folder}/design.json";;
*) cat "{folder}/patch.json";;
esac
"""
DESIGN = {
    "summary": "calc.py adds.",
    "acceptance_criteria": [{"given": "two numbers", "when": "they are added", "then": "the sum is right"}],
    "target_paths": [{"path": "calc.py"}],
    "test_commands": [TEST],
}


def task(scene: Scene) -> None:
    """A request for models alone; the model is a small script."""
    scene.make_project()
    scene.refuse("cli/run-models", "run", "--models", "Make add right in calc.py")
    scene.write("design.json", json.dumps(DESIGN))
    scene.write("patch.json", json.dumps({"patch": FIX}))
    scene.write("model.sh", MODEL.replace("{folder}", str(scene.world)))
    scene.configure(f"model: 'command:sh {scene.world}/model.sh'\n")
    key = scene.list_key()
    scene.forms("cli/run-models", "run", "--models", "Make add right in calc.py", "--sign", key)
    scene.record("cli/run-outline/model", "run", "--outline", "Make add right in calc.py")
    scene.refuse("cli/watch", "watch", "--once", "nothing")
    scene.forms("cli/watch", "watch", "--once")
    scene.refuse("cli/run", "run", "--issue", "#12", form="refusal-issue")
