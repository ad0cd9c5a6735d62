"""A plan without a model: the steps of the kind of change, as tasks with the files that each one changes.

It is the same case that questions and summary are written from, so that a plan and an outline of the same
request name the same files.
"""

import re
import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

from ringi.engine.answers import (
    NewAction,
    NewActionPlan,
    NewChange,
    NewDecomposition,
    NewGoal,
    NewOutline,
    NewReplan,
    NewSubtask,
    NewWrite,
)
from ringi.engine.document import Complexity, PlanningBrief
from ringi.sessions.document import Brief
from ringi.sessions.playbook.book import ChangePlace, book
from ringi.sessions.playbook.case import Case, case_of, places
from ringi.sessions.playbook.quote import one_line

_LINE: Final = 300
_NOT_A_WORD: Final = re.compile(r"[\W\d_]+")
_FEWEST_LETTERS: Final = 4
_NOTHING: Final = "…"


class _OutlineStep(NamedTuple):
    text: str
    tool: str
    place: ChangePlace | None = None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    argv: tuple[str, ...] = ()


def goal(brief: PlanningBrief) -> NewGoal:
    case = _case(brief)
    return NewGoal(
        main_objective=case.instruction.title or one_line(brief.task, _LINE) or _NOTHING,
        success_criteria=tuple(_criteria(case)),
        context=case.sentence("without_model"),
        goals=case.instruction.goals,
        clarification_needed=(case.sentence("what"),) if _is_empty(brief) else (),
    )


def subtasks(brief: PlanningBrief) -> NewDecomposition:
    if _is_empty(brief):
        return NewDecomposition(())
    case = _case(brief)
    served = tuple(range(1, len(list(_criteria(case))) + 1))
    tasks = [
        NewSubtask(
            id=f"task_{at}",
            description=step.text,
            dependencies=(f"task_{at - 1}",) if at > 1 else (),
            estimated_complexity=Complexity.MEDIUM if step.place is ChangePlace.START else Complexity.LOW,
            required_tools=(step.tool,),
            reads=step.reads,
            writes=tuple(map(NewWrite, step.writes)),
            criteria=served
            if step.place in {ChangePlace.START, ChangePlace.TEST, ChangePlace.MANIFEST}
            else (),
        )
        for at, step in enumerate(_steps(brief, case), 1)
    ]
    return NewDecomposition(tuple(tasks), reasoning=case.chapter.meant)


def actions(brief: PlanningBrief) -> NewActionPlan:
    case = _case(brief)
    return NewActionPlan(
        tuple(
            NewAction(
                task_id=f"task_{at}",
                tool=step.tool,
                purpose=step.text,
                fallback_strategy=case.sentence("undo" if step.tool == "patch" else "ask"),
                argv=step.argv,
            )
            for at, step in enumerate(_steps(brief, case), 1)
        )
    )


def outline(brief: PlanningBrief) -> NewOutline:
    return NewOutline(goal(brief), subtasks(brief), actions(brief))


def replan(brief: PlanningBrief) -> NewReplan:
    """One more task before the last, which checks the result."""
    feedback = one_line(brief.feedback, _LINE)
    words = book(brief.language).sentences["again"].format(feedback=feedback)
    known = brief.plan.subtasks
    tool = "patch" if "patch" in brief.tools or not brief.tools else brief.tools[0]
    before = known[-1].id if known else ""
    change = NewChange("add_action", before_task=before, description=words, tool=tool, purpose=words)
    return NewReplan(reason=feedback or _NOTHING, changes=(change,))


def _case(brief: PlanningBrief) -> Case:
    return case_of(Brief(instruction=brief.task, language=brief.language, project=brief.project))


def _criteria(case: Case) -> Iterator[str]:
    yield from (case.sentence("there", text=text) for text in case.instruction.goals)
    for one in case.criteria():
        yield case.sentence("criterion", given=one.given, when=one.when, then=one.then)


def _steps(brief: PlanningBrief, case: Case) -> list[_OutlineStep]:
    steps = []
    for entry, text in case.steps():
        looked_at = {"{start}": case.files.start, "{others}": case.files.others}
        reads = [file.path for slot, some in looked_at.items() if slot in entry.step for file in some]
        if entry.changes:
            step = _OutlineStep(text, "patch", entry.changes, writes=places(case, entry.changes))
        else:
            step = _OutlineStep(text, "read" if reads else "analyze", reads=tuple(reads))
        steps.append(step)
    command = next((one for one in case.commands if _argv(one)), "")
    text = case.sentence("check", command=command) if command else case.sentence("check_by_hand")
    steps.append(_OutlineStep(text, "run" if command else "analyze", argv=_argv(command)))
    return _fewer(steps, brief.most)


def _fewer(steps: list[_OutlineStep], most: int) -> list[_OutlineStep]:
    """The change itself is the last to go, the check before it."""
    *kept, check = steps
    for place in (ChangePlace.DOCS, None, ChangePlace.CHANGELOG, ChangePlace.TEST):
        for one in [step for step in reversed(kept) if step.place is place]:
            if len(kept) >= most:
                kept.remove(one)
    return [*kept, check][:most]


def _is_empty(brief: PlanningBrief) -> bool:
    """Nothing to go by: hardly a letter."""
    return len(_NOT_A_WORD.sub("", brief.task)) < _FEWEST_LETTERS


def _argv(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command))
    except ValueError:
        return ()
