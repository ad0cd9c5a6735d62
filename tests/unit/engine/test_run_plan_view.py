"""planning.json as a person sees it before they approve it."""

import pytest

from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.design import Criterion, Design, DesignStep, TargetPath
from ringi.engine.run_parts import PartsInput
from ringi.sessions.run_plan_view import step_lines

NAMES = RunNames("RQ-20251214-008", "20251214-210501-a1b2c3", "2025-12-14T21:05:01+09:00", "main")


def shown(*steps: DesignStep) -> list[str]:
    design = Design(
        acceptance_criteria=tuple(Criterion("g", "w", f"t{n}") for n in (1, 2, 3)),
        target_paths=(TargetPath("a.py"), TargetPath("b.py")),
        test_commands=("make test",),
        steps=steps,
    )
    plan = compile_run_plan(PartsInput("It", design=design), NAMES)
    return [line.mark + "".join(str(span.text) for span in line.spans) for line in step_lines(plan)]


@pytest.mark.req("RN-3", "RN-16")
def test_each_step_has_its_files_criteria_and_commands():
    first = DesignStep(title="A", target_paths=("a.py",), criteria=(2,), test_commands=("pytest a",))
    second = DesignStep(title="B", target_paths=("b.py",))
    assert shown(first, second) == [
        "S01  A", "a.py", "done if: t2", "tested with: pytest a",
        "S02  B", "b.py", "done if: t1", "done if: t3", "tested with: make test",
    ]  # fmt: skip


@pytest.mark.req("RN-3")
def test_what_is_alike_in_all_steps_is_said_once():
    steps = [DesignStep(title=name.upper(), target_paths=(f"{name}.py",)) for name in "ab"]
    assert [line for line in shown(*steps) if line.startswith("tested")] == ["tested with: make test"]
    assert shown()[-1] == "tested with: make test"
