"""planning.json as lines: the steps, each a commit, and what must be true afterwards."""

from collections.abc import Iterator

from ringi.domain.run_plan import AcceptanceCriterion, RunPlan
from ringi.text import Text
from ringi.views.lines import EMPTY, Line, Style, line, prose


def plan_lines(plan: RunPlan, told: str = "") -> Iterator[Line]:
    """Criteria that `told` says already are not repeated."""
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


def step_lines(plan: RunPlan) -> Iterator[Line]:
    for one in plan.steps:
        yield prose(one.title, indent=2, mark=f"{one.step_id}  ")
        if one.scope.target_paths:
            yield prose(", ".join(one.scope.target_paths), Style.PLACE, indent=7)
    for command in dict.fromkeys(command for one in plan.steps for command in one.commands.unit or ()):
        yield line(Text("tested with: {command}", command=command), Style.FAINT, indent=2)


def _criterion(one: AcceptanceCriterion) -> Text:
    return Text("Given {given}; when {when}; then {then}", given=one.given, when=one.when, then=one.then)
