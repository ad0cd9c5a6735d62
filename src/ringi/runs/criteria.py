"""The acceptance criteria of a run, with what is known about each: facts, and no verdict.

A command that ended with exit code 0 says that it passed on these bytes, not that a criterion holds:
one more comment line passes every test that passed before. Nothing checks a criterion by itself yet. So each
is *not checked*, and beside it is what a person needs to judge it: its steps, their commits, the commands
that ran after them and how they ended.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from ringi.engine.run_plan import AcceptanceCriterion, CriterionType, RunPlan, RunRole, RunStep, e2e_commands
from ringi.engine.run_state import StepStatus
from ringi.kernel.text import Text, visible
from ringi.runs.document import Evidence, Run, StepState
from ringi.runs.gates import unit_commands

_E2E: Final = "e2e"
_LONGEST: Final = 300
_SHOWN: Final = 3
"""Commands named in one line."""


class CriterionVerdict(StrEnum):
    NOT_CHECKED = "not_checked"


class StepResult(NamedTuple):
    """A step as planned and as it is; both have the same id."""

    step: RunStep
    state: StepState
    lacks: Text | None
    """What is missing or red about it, as a fact; None if it is committed and each of its commands passed."""


class CriterionResult(NamedTuple):
    criterion: AcceptanceCriterion
    steps: tuple[StepResult, ...]
    lacks: Text | None
    """The same about its steps."""
    verdict: CriterionVerdict = CriterionVerdict.NOT_CHECKED

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        return tuple(one for step in self.steps for one in results_of(step.state))


def results_of(state: StepState) -> tuple[Evidence, ...]:
    """The newest result of each command on exactly what the step left."""
    found = {(one.kind, one.command): one for one in state.evidence if one.tree == state.tree}
    return tuple(found.values())


def steps(run: Run, plan: RunPlan) -> tuple[StepResult, ...]:
    states = {state.step_id: state for state in run.steps}
    found: list[StepResult] = []
    for step in plan.steps:
        state = states.get(step.step_id) or StepState(step_id=step.step_id)
        earlier_done = all(one.state.status is StepStatus.DONE for one in found)
        found.append(StepResult(step, state, _lacks(run, plan, step, state, earlier_done=earlier_done)))
    return tuple(found)


def _lacks(run: Run, plan: RunPlan, step: RunStep, state: StepState, *, earlier_done: bool) -> Text | None:
    name = step.step_id
    if state.status is not StepStatus.DONE:
        return Text("{step} is not done", step=name)
    if not state.commit and (step.role is RunRole.IMPLEMENTER or state.tree != state.base_tree):
        return Text("{step} is not committed", step=name)
    if not state.commit and not earlier_done:
        return Text("{step} looked at steps that are not done", step=name)
    if state.changed_since_tested:
        return Text("{step} changed since it was tested", step=name)
    found = results_of(state)
    for one in found:
        if not one.passed or one.timed_out:
            return Text("{command} did not pass after {step}", command=as_code(one.command), step=name)
    ran = {one.command for one in found}
    # A command that a person gives counts from then on: a step that was done before ran those of the plan.
    planned = (*(step.commands.unit or ()), *(step.commands.e2e or ()))
    given = (*unit_commands(run, plan, step), *e2e_commands(plan, step))
    for command in planned if ran.issuperset(planned) else given:
        if command not in ran:
            return Text("{command} did not run after {step}", command=as_code(command), step=name)
    return None if found else Text("no command ran after {step}", step=name)


def criteria(run: Run, plan: RunPlan) -> tuple[CriterionResult, ...]:
    results = steps(run, plan)
    return tuple(_result_of(one, plan, results) for one in plan.context.acceptance_criteria)


def _result_of(
    criterion: AcceptanceCriterion, plan: RunPlan, results: Sequence[StepResult]
) -> CriterionResult:
    linked = tuple(one for one in results if criterion.id in one.step.links_to_ac)
    found = CriterionResult(criterion, linked, next((one.lacks for one in linked if one.lacks), None))
    if not linked:
        return found._replace(lacks=Text("no step is linked to it"))
    needs = plan.gates.require_e2e_for_regression_ac and criterion.type is CriterionType.REGRESSION
    if needs and not found.lacks and not any(one.kind == _E2E for one in found.evidence):
        return found._replace(lacks=Text("no end-to-end test ran"))
    return found


def summary(results: Sequence[CriterionResult], quote: Callable[[str], str] = str) -> Text:
    """How many there are, that none was checked, and what ran instead."""
    ran = dict.fromkeys((one.command, one.exit_code) for result in results for one in result.evidence)
    if not ran:
        return Text("Acceptance criteria: {count}, not checked (no command ran)", count=len(results))
    shown = [Text("{command}, exit code {code}", command=quote(command), code=code) for command, code in ran]
    words = shown[0]
    for one in shown[1:_SHOWN]:
        words = Text("{before}; {more}", before=words, more=one)
    if len(shown) > _SHOWN:
        words = Text("{before}; {count} more", before=words, count=len(shown) - _SHOWN)
    return Text(
        "Acceptance criteria: {count}, not checked (ran: {commands})", count=len(results), commands=words
    )


def one_line(text: str) -> str:
    """Text from outside on one line, cut."""
    shown = visible(" ".join(text.split()), keep="")
    return shown if len(shown) <= _LONGEST else f"{shown[:_LONGEST]}…"


def as_code(text: str) -> str:
    """As Markdown code, with any content."""
    shown, ticks = one_line(text), "`"
    while ticks in shown:
        ticks += "`"
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}"
