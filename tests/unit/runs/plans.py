"""Plans of runs for tests, made from the specification's sample."""

from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from ringi.engine.run_plan import RunPlan, RunStep
from ringi.kernel import codec

SAMPLE = Path(__file__).parents[1] / "engine" / "planning-sample.json"


def a_plan(*steps: RunStep, **limits: Any) -> RunPlan:
    plan = codec.decode_own(SAMPLE.read_bytes(), RunPlan, "planning.json")
    return replace(plan, steps=steps or plan.steps, limits=replace(plan.limits, **limits))


def a_step(number: int = 1, **fields: Any) -> RunStep:
    """`scope`, `commands` and the like as dictionaries of what differs."""
    step = a_plan().steps[0]
    known = {name: getattr(step, name) for name in fields}
    changed = {
        name: replace(known[name], **value)
        if isinstance(known[name], msgspec.Struct) and isinstance(value, dict)
        else value
        for name, value in fields.items()
    }
    return replace(step, step_id=f"S{number:02}", **changed)
