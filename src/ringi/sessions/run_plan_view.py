"""planning.json as lines: the steps, each a commit, and what must be true afterwards."""

from collections.abc import Iterable, Iterator

from msgspec import UNSET

from ringi.approvals.forge import ForgeTerms
from ringi.approvals.view import terms_lines
from ringi.engine.run_plan import AcceptanceCriterion, CriterionType, RunPlan, RunStep, commands_after
from ringi.kernel.lines import EMPTY, Line, Style, line, prose
from ringi.kernel.text import Text


def plan_lines(plan: RunPlan, told: str = "", forge: ForgeTerms | None = None) -> Iterator[Line]:
    """Criteria that `told` says already are not repeated. `forge`: what it does there."""
    yield EMPTY
    yield line(Text("How it would be done"), Style.STRONG)
    yield from step_lines(plan)
    branch = Text(
        "Each step is a commit on {branch}, which begins at {base}.",
        branch=plan.work_branch,
        base=plan.base_branch,
    )
    yield prose(branch, Style.FAINT, indent=2)
    added = [one for one in plan.context.acceptance_criteria if one.then not in told]
    if added:
        yield prose(Text("It is also done only if:") if told else Text("It is done if:"), indent=2)
    yield from (prose(_criterion(one), indent=2, mark="- ") for one in added)
    if forge is not None:
        yield from terms_lines(forge, plan)


def step_lines(plan: RunPlan) -> Iterator[Line]:
    tests = dict.fromkeys(commands_after(plan, one) for one in plan.steps)
    claimed = any(True for one in plan.steps[:-1] for _ in _thens(plan, one))
    alike = len(tests) < 2  # noqa: PLR2004  # each step is tested with the same commands
    for one in plan.steps:
        yield prose(one.title, indent=2, mark=f"{one.step_id}  ")
        if one.scope.target_paths:
            yield prose(", ".join(one.scope.target_paths), Style.PLACE, indent=7)
        if claimed:
            yield from (prose(Text("done if: {what}", what=then), indent=7) for then in _thens(plan, one))
        if not alike:
            yield from _test_lines(commands_after(plan, one), indent=7)
    if alike:
        yield from _test_lines([command for commands in tests for command in commands], indent=2)


def _thens(plan: RunPlan, step: RunStep) -> Iterator[str]:
    """What is true after this step, beyond what is of every one."""
    for one in plan.context.acceptance_criteria:
        if one.id in step.links_to_ac and one.type in {UNSET, CriterionType.FUNCTIONAL}:
            yield one.then


def _test_lines(commands: Iterable[str], indent: int) -> Iterator[Line]:
    for command in commands:
        yield line(Text("tested with: {command}", command=command), Style.FAINT, indent=indent)


def _criterion(one: AcceptanceCriterion) -> Text:
    return Text("Given {given}; when {when}; then {then}", given=one.given, when=one.when, then=one.then)
