"""A step that was too large: more steps, the same work, each within the limits."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.design import Design, TargetPath
from ringi.engine.run_parts import PartsInput, RunWishes
from ringi.engine.run_plan import RunPlan
from ringi.engine.run_plan_rules import run_plan_problems
from ringi.engine.split import split
from ringi.kernel import codec
from ringi.kernel.problems import Level
from ringi.policy.globs import inside

NAMES = RunNames("RQ-20251214-008", "20251214-210501-a1b2c3", "2025-12-14T21:05:01+09:00", "main")


def plan_of(*paths: str, **wishes: Any) -> RunPlan:
    design = Design(target_paths=tuple(map(TargetPath, paths)), test_commands=("make test",))
    return compile_run_plan(PartsInput("Sort the report", design=design), NAMES, RunWishes(**wishes))


def checked(plan: RunPlan | None) -> RunPlan:
    assert plan is not None
    found = run_plan_problems(codec.parse_json(codec.canonical(plan), "it"))
    assert [one for one in found if one.level is Level.FAIL] == []
    assert [step.step_id for step in plan.steps] == [f"S{n:02}" for n in range(1, len(plan.steps) + 1)]
    for step in plan.steps:
        assert step.outputs.patch_path.endswith(f"patches/{step.step_id}.patch")
    return plan


@pytest.mark.req("RN-7", "RN-14")
def test_files_stay_with_their_tests():
    before = plan_of("src/a.py", "tests/test_a.py", "src/b.py", "tests/test_b.py")
    changed = {"src/a.py": 300, "tests/test_a.py": 50, "src/b.py": 300, "tests/test_b.py": 50}
    after = checked(split(before, "S01", changed))
    assert [step.scope.target_paths for step in after.steps] == [
        ("src/a.py", "tests/test_a.py"),
        ("src/b.py", "tests/test_b.py"),
    ]
    assert [step.title for step in after.steps] == ["Sort the report (1 of 2)", "Sort the report (2 of 2)"]
    assert all(step.links_to_ac == before.steps[0].links_to_ac for step in after.steps)
    assert after.limits.max_steps_per_run == 2


@pytest.mark.req("RN-7")
def test_one_large_file_is_made_in_several_steps():
    after = checked(split(plan_of("a.py"), "S01", {"a.py": 1000}))
    assert [step.scope.target_paths for step in after.steps] == [("a.py",)] * 3
    assert [step.expected_diff.lines_max for step in after.steps] == [400] * 3


@pytest.mark.req("RN-7")
def test_if_nobody_knows_what_was_changed():
    assert [one.scope.target_paths for one in checked(split(plan_of("a.py", "b.py"), "S01", {})).steps] == [
        ("a.py",),
        ("b.py",),
    ]
    assert len(checked(split(plan_of(), "S01", {})).steps) == 2


@pytest.mark.req("RN-7")
def test_the_other_steps_stay_and_99_are_the_most():
    before = plan_of(*(f"m{n}.py" for n in range(20)), max_files_changed=2)
    assert len(before.steps) == 10
    after = checked(split(before, "S03", {"m4.py": 400, "m5.py": 400}))
    assert len(after.steps) == 11
    assert [step.title for step in after.steps][:2] == [step.title for step in before.steps][:2]
    assert [one.scope for one in after.steps][4:] == [one.scope for one in before.steps][3:]
    assert split(before, "S03", {"m4.py": 400 * 100}) is None
    assert split(before, "S99", {}) is None


NAMES_OF_FILES = st.sampled_from(
    ["a.py", "src/b.py", "tests/test_b.py", "src/c.py", "tests/test_c.py", "d.md", "src/new.py"]
)


@pytest.mark.req("RN-7", "RN-16")
@given(
    changed=st.dictionaries(NAMES_OF_FILES, st.integers(0, 3000), max_size=7),
    lines=st.integers(50, 500),
    files=st.integers(1, 8),
)
def test_nothing_is_cut_down(changed: dict[str, int], lines: int, files: int):
    whole = plan_of("a.py", "src", "tests/test_b.py", max_diff_lines=lines)
    [first, *rest] = whole.steps
    step = replace(first, scope=replace(first.scope, max_files_changed=files))
    before = replace(whole, steps=(step, *rest))
    after = split(before, step.step_id, changed)
    if after is None:
        assert sum(changed.values()) > 90 * lines
        return
    checked(after)
    pieces = after.steps[: len(after.steps) - len(rest)]
    targets = [path for one in pieces for path in one.scope.target_paths]
    assert all(inside(path, targets) for path in (*changed, *step.scope.target_paths))
    for path, count in changed.items():
        room = sum(one.scope.max_diff_lines for one in pieces if path in one.scope.target_paths)
        assert count <= room
