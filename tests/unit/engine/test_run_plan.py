"""planning.json: its fields, the specification's sample, and each rule by itself and with the others."""

import copy
import json
import subprocess
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.engine import run_plan
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_plan_rules import run_plan_problems
from ringi.kernel import codec
from ringi.kernel.problems import WARNINGS, Level, ReasonCode
from tests.tables import each

SAMPLE = (Path(__file__).parent / "planning-sample.json").read_bytes()
FIELDS = {
    run_plan.RunPlan: "version request_id run_id created_at base_branch work_branch limits context steps"
    " gates outputs assumptions risks",
    run_plan.RunLimits: "max_diff_lines max_files_changed timeout_sec max_steps_per_run max_autofix_cycles",
    run_plan.RunContext: "summary constraints acceptance_criteria test_instructions project_facts",
    run_plan.AcceptanceCriterion: "id given when then type",
    run_plan.RunStep: "step_id title role intent scope inputs commands success_criteria links_to_ac"
    " expected_diff outputs fallback stop_conditions",
    run_plan.StepScope: "target_paths forbidden_paths max_diff_lines max_files_changed",
    run_plan.StepInputs: "request_path context_files code_files_hint",
    run_plan.StepCommands: "unit e2e",
    run_plan.ExpectedDiff: "lines_max files_max risk_level",
    run_plan.StepOutputs: "patch_path log_prefix",
    run_plan.RunGates: "require_clean_worktree require_work_branch require_unit_pass"
    " require_e2e_for_regression_ac forbid_gh max_step_too_large_retries",
    run_plan.RunOutputs: "planning_json stage_json report_md errors_json",
}
OPTIONAL = {
    "RunPlan": "assumptions risks",
    "RunLimits": "max_files_changed",
    "RunContext": "project_facts",
    "AcceptanceCriterion": "type",
    "RunStep": "fallback stop_conditions",
    "StepScope": "forbidden_paths max_files_changed",
    "StepInputs": "context_files code_files_hint",
    "StepCommands": "unit e2e",
    "RunOutputs": "errors_json",
}


def sample() -> dict[str, Any]:
    return json.loads(SAMPLE)


def codes(raw: object) -> list[str]:
    return [f"{one.code} {one.path}" for one in run_plan_problems(raw)]


@pytest.mark.req("RN-1")
@each("kind", FIELDS)
def test_fields_have_the_names_of_the_specification(kind: type[msgspec.Struct]):
    fields = msgspec.structs.fields(kind)
    assert " ".join(field.encode_name for field in fields) == FIELDS[kind]
    optional = " ".join(field.encode_name for field in fields if not field.required)
    assert optional == OPTIONAL.get(kind.__name__, "")


@pytest.mark.req("RN-1", "RN-16")
def test_the_sample_of_the_specification_passes():
    plan = codec.decode_foreign(SAMPLE, RunPlan, "planning.json")
    assert json.loads(codec.canonical(plan)) == sample()
    assert plan.work_branch == "aiflow/RQ-20251214-008/20251214-210501"
    assert plan.context.test_instructions["unit"] == "php artisan test"
    assert plan.steps[0].commands.unit == ("php artisan test",)
    [warning] = run_plan_problems(sample())
    assert (warning.code, warning.level) == (ReasonCode.AC_UNLINKED, Level.WARN)
    assert str(warning.message) == "no step is linked to AC-01, so nothing is done for it"


@pytest.mark.req("RN-1")
def test_optional_fields_are_optional_and_empty_commands_fine():
    raw = sample()
    del raw["assumptions"], raw["limits"]["max_files_changed"]
    step = raw["steps"][0]
    step["commands"] = {}
    del step["scope"]["forbidden_paths"], step["scope"]["max_files_changed"]
    del step["inputs"]["context_files"], step["inputs"]["code_files_hint"]
    raw["context"]["test_instructions"] = {"unit": ["pytest", "ruff check"]}
    raw["context"]["project_facts"] = {"framework": {"name": "flask"}}
    raw["context"]["acceptance_criteria"][0]["type"] = "regression"
    step["fallback"] = {"role": "qa"}
    step["stop_conditions"] = ["the tests hang"]
    raw["outputs"]["errors_json"] = "runs/x/errors.json"
    raw["risks"] = []
    assert codes(raw) == ["AC_UNLINKED $.context.acceptance_criteria[0]"]
    assert json.loads(codec.canonical(codec.decode_foreign(json.dumps(raw).encode(), RunPlan, "it"))) == raw


def changed(path: str, value: object) -> dict[str, Any]:
    raw = sample()
    *way, last = path.split(".")
    at: Any = raw
    for key in way:
        at = at[int(key) if key.isdigit() else key]
    at[int(last) if last.isdigit() else last] = value
    return raw


STEP = sample()["steps"][0]
CASES = [
    ("version", "1.1", "VERSION_UNSUPPORTED $.version"),
    ("version", 1.0, "SCHEMA_INVALID $.version"),
    ("request_id", "../up", "SCHEMA_INVALID $.request_id"),
    ("created_at", "yesterday", "SCHEMA_INVALID $.created_at"),
    ("work_branch", "main", "SCHEMA_INVALID $.work_branch"),
    ("steps", [], "STEPS_EMPTY $.steps"),
    ("steps.0.step_id", "S1", "STEP_ID_INVALID $.steps[0].step_id"),
    ("steps.0.step_id", "S01\n", "STEP_ID_INVALID $.steps[0].step_id"),
    ("steps.0.step_id", "S\u0660\u0661", "STEP_ID_INVALID $.steps[0].step_id"),
    ("steps.0.step_id", 1, "SCHEMA_INVALID $.steps[0].step_id"),
    ("steps", [STEP, STEP], "STEP_ID_DUPLICATE $.steps[1].step_id"),
    ("steps.0.expected_diff.lines_max", 401, "EXPECTED_DIFF_TOO_LARGE $.steps[0].expected_diff.lines_max"),
    ("steps.0.scope.max_diff_lines", 401, "SCOPE_DIFF_TOO_LARGE $.steps[0].scope.max_diff_lines"),
    ("steps.0.scope.target_paths", ["a/../../b"], "SCHEMA_INVALID $.steps[0].scope.target_paths[0]"),
    ("steps.0.outputs.patch_path", "src/a.py", "SCHEMA_INVALID $.steps[0].outputs.patch_path"),
    ("steps.0.outputs.patch_path", "runs/../a.py", "SCHEMA_INVALID $.steps[0].outputs.patch_path"),
    ("steps.0.title", "two\nlines", "SCHEMA_INVALID $.steps[0].title"),
    ("steps.0.intent", "x" * 2001, "SCHEMA_INVALID $.steps[0].intent"),
    ("steps.0.role", "boss", "SCHEMA_INVALID $.steps[0].role"),
    ("gates.forbid_gh", False, "GH_NOT_FORBIDDEN $.gates.forbid_gh"),
    ("context.acceptance_criteria", sample()["context"]["acceptance_criteria"][1:],
     "AC_TOO_FEW $.context.acceptance_criteria"),
    ("steps.0.links_to_ac.0", "AC-09", "AC_UNKNOWN $.steps[0].links_to_ac[0]"),
    ("context.acceptance_criteria.2.id", "AC-01", "SCHEMA_INVALID $.context.acceptance_criteria"),
    ("steps.0.expected_diff.files_max", 11, "FILES_MAX_HIGH $.steps[0].expected_diff.files_max"),
    ("steps", [STEP | {"step_id": f"S{at:02}"} for at in range(1, 12)], "TOO_MANY_STEPS $.steps"),
    ("assumptions", ["it works"] * 9, "TOO_MANY_ASSUMPTIONS $.assumptions"),
    ("steps", [STEP | {"step_id": f"S{at:02}"} for at in range(100)], "SCHEMA_INVALID $.steps"),
]  # fmt: skip


@pytest.mark.req("RN-2")
@each(("path", "value", "expected"), CASES)
def test_each_rule(path: str, value: object, expected: str):
    found = run_plan_problems(changed(path, copy.deepcopy(value)))
    assert expected in [f"{one.code} {one.path}" for one in found]
    same = [one for one in found if f" {one.path}" == expected[expected.index(" ") :]]
    assert len([one for one in same if one.level is Level.FAIL]) <= 1, "said twice"
    for one in found:
        assert (one.level is Level.WARN) == (one.code in WARNINGS)


@pytest.mark.req("RN-2")
def test_all_at_once():
    raw = changed("steps", [copy.deepcopy(STEP) for _ in range(3)])
    raw |= {"version": "9", "gates": raw["gates"] | {"forbid_gh": False, "more": 1}}
    raw["context"]["acceptance_criteria"].pop()
    raw["steps"][0]["expected_diff"]["lines_max"] = 1_000
    raw["steps"][1] |= {"step_id": "one", "links_to_ac": ["AC-77"]}
    del raw["steps"][2]["title"], raw["outputs"]
    assert codes(raw) == [
        "VERSION_UNSUPPORTED $.version",
        "GH_NOT_FORBIDDEN $.gates.forbid_gh",
        "AC_TOO_FEW $.context.acceptance_criteria",
        "STEP_ID_INVALID $.steps[1].step_id",
        "STEP_ID_DUPLICATE $.steps[2].step_id",
        "EXPECTED_DIFF_TOO_LARGE $.steps[0].expected_diff.lines_max",
        "AC_UNKNOWN $.steps[0].links_to_ac[1]",
        "AC_UNKNOWN $.steps[1].links_to_ac[0]",
        "AC_UNKNOWN $.steps[2].links_to_ac[1]",
        "SCHEMA_INVALID $.steps[2].title",
        "SCHEMA_INVALID $.gates.more",
        "SCHEMA_INVALID $.outputs",
        "AC_UNLINKED $.context.acceptance_criteria[0]",
    ]


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def damaged(draw: st.DrawFn) -> object:
    """The sample, with some values replaced or taken away."""
    raw: Any = sample()
    for _ in range(draw(st.integers(1, 3))):
        at = raw
        while True:
            keys = list(at) if isinstance(at, dict) else list(range(len(at)))
            if not keys:
                break
            key = draw(st.sampled_from(keys))
            if isinstance(at[key], dict | list) and draw(st.booleans()):
                at = at[key]
                continue
            if draw(st.booleans()):
                del at[key]
            else:
                at[key] = draw(values)
            break
    return raw


@pytest.mark.req("RN-2")
@given(raw=damaged())
def test_what_passes_can_be_decoded_and_nothing_breaks_the_check(raw: object):
    failed = [one for one in run_plan_problems(raw) if one.level is Level.FAIL]
    if not failed:
        assert msgspec.convert(raw, RunPlan).steps


NAMES = [
    *("main", "a/b", "a..b", "-a", "a.lock", "a/b.lock/c", "a/", "/a", "a//b", "a b", "a~1", "a^", "a:b"),
    *(".a", "a/.b", "a.", "a@{1}", "日本", "a\\b", "a[b", "a?", "a*", "@a", "a@b", "aiflow/RQ-1/2025-a1b2c3"),
]


@each("name", NAMES)
def test_branch_names_are_those_git_takes(name: str):
    git = subprocess.run(["git", "check-ref-format", "--branch", name], capture_output=True, check=False)
    found = codes(changed("work_branch", name))
    assert ("SCHEMA_INVALID $.work_branch" in found) == (git.returncode != 0 or name == "main")
