"""A plan without a model: from the instruction and what is known of the project.

Everything it names was found in the project: the file that the request is likely about, the tests beside it,
the change log that is there, the command that runs the tests.
"""

import re
import shlex
from typing import Final, NamedTuple

from ringi.domain.context import FileKind, FoundFile
from ringi.domain.plan_answers import (
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
from ringi.domain.planning import Complexity, PlanningBrief
from ringi.llm.playbook.case import told_in

_LINE: Final = 300
_NOT_A_WORD: Final = re.compile(r"[\W\d_]+")
_BULLET: Final = re.compile(r"^\s*(?:[-*・]|\d{1,2}[.)])\s+(.+)$", re.MULTILINE)
_FEWEST_LETTERS: Final = 4
_MOST_GOALS: Final = 8
_MOST_FILES: Final = 3
_WORDS: Final = {
    "en": {
        "done": "What was asked for is there: {task}",
        "tests": "The tests pass: {command}",
        "no_tests": "The change was tried, and what was tried is written down",
        "rest": "Everything else behaves as before",
        "read": "Read {path} and see where the change belongs",
        "look": "Find the files that this is about",
        "change": "Make the change in {path}: {task}",
        "change_somewhere": "Make the change: {task}",
        "test": "Write or adapt the tests in {path}",
        "note": "Add a line to {path}",
        "check": "Run the tests: {command}",
        "check_by_hand": "Try the result and compare it with the request",
        "what": "What should be different afterwards, and where can it be seen?",
        "context": "Without a model; files were chosen by the words of the request.",
        "reason": "What is there is read first, then changed, then tested.",
        "ask": "Stop and ask",
        "undo": "Leave the files as they are and report why",
        "again": "Address the feedback: {feedback}",
    },
    "ja": {
        "done": "依頼された内容が実現している: {task}",
        "tests": "テストが通る: {command}",
        "no_tests": "変更を試し、試した内容を記録している",
        "rest": "それ以外の動作は変わらない",
        "read": "{path} を読み、変更箇所を確認する",
        "look": "対象のファイルを探す",
        "change": "{path} を変更する: {task}",
        "change_somewhere": "変更する: {task}",
        "test": "{path} のテストを追加または修正する",
        "note": "{path} に一行追加する",
        "check": "テストを実行する: {command}",
        "check_by_hand": "結果を試し、依頼と比べる",
        "what": "完了後に何が変わっているべきですか。どこで確認できますか。",
        "context": "モデルなし。ファイルは依頼の言葉から選びました。",
        "reason": "まず現状を読み、次に変更し、最後にテストします。",
        "ask": "中断して確認する",
        "undo": "ファイルをそのままにして理由を報告する",
        "again": "フィードバックに対応する: {feedback}",
    },
}


class _Step(NamedTuple):
    key: str
    tool: str
    path: str = ""
    argv: tuple[str, ...] = ()
    complexity: Complexity = Complexity.LOW
    after: tuple[int, ...] = ()
    """Steps before it, by place."""


def goal(brief: PlanningBrief) -> NewGoal:
    words = _WORDS[brief.language]
    goals = _goals(brief.task)
    command = _command(brief)
    tests = words["tests"].format(command=command) if command else words["no_tests"]
    done = [words["done"].format(task=_short(one)) for one in goals or [brief.task or "…"]]
    return NewGoal(
        main_objective=_short(brief.task) or "…",
        success_criteria=(*done, tests, words["rest"]),
        context=words["context"],
        goals=tuple(goals),
        clarification_needed=(words["what"],) if _is_empty(brief) else (),
    )


def subtasks(brief: PlanningBrief) -> NewDecomposition:
    words, count = _WORDS[brief.language], len(_goals(brief.task)) or 1
    if _is_empty(brief):
        return NewDecomposition(())
    tasks = []
    steps = _steps(brief)
    for at, step in enumerate(steps, 1):
        served = {
            "change": tuple(range(1, count + 1)),
            "change_somewhere": tuple(range(1, count + 1)),
            "note": (count + 2,),
            "read": (),
            "look": (),
        }.get(step.key, (count + 1,))
        tasks.append(
            NewSubtask(
                id=f"task_{at}",
                description=_short(_told(step, brief, words)),
                dependencies=tuple(f"task_{place}" for place in step.after),
                estimated_complexity=step.complexity,
                required_tools=(step.tool,),
                reads=(step.path,) if step.path and step.tool == "read" else (),
                writes=(NewWrite(step.path),) if step.path and step.tool == "patch" else (),
                criteria=served,
            )
        )
    return NewDecomposition(tuple(tasks), reasoning=words["reason"])


def actions(brief: PlanningBrief) -> NewActionPlan:
    words = _WORDS[brief.language]
    return NewActionPlan(
        tuple(
            NewAction(
                task_id=f"task_{at}",
                tool=step.tool,
                purpose=_short(_told(step, brief, words)),
                fallback_strategy=words["undo" if step.tool == "patch" else "ask"],
                argv=step.argv,
            )
            for at, step in enumerate(_steps(brief), 1)
        )
    )


def outline(brief: PlanningBrief) -> NewOutline:
    return NewOutline(goal(brief), subtasks(brief), actions(brief))


def replan(brief: PlanningBrief) -> NewReplan:
    """One more task before the last, which checks the result."""
    words = _short(_WORDS[brief.language]["again"].format(feedback=brief.feedback))
    known = brief.plan.task_decomposition.subtasks if brief.plan.task_decomposition else ()
    tool = "patch" if "patch" in brief.tools or not brief.tools else brief.tools[0]
    before = known[-1].id if known else ""
    change = NewChange("add_action", before_task=before, description=words, tool=tool, purpose=words)
    return NewReplan(reason=_short(brief.feedback) or "…", changes=(change,))


def _steps(brief: PlanningBrief) -> list[_Step]:
    files = _files(brief)
    steps = [_Step("read", "read", one.path) for one in files] or [_Step("look", "analyze")]
    first = tuple(range(1, len(steps) + 1))
    changes = [_Step("change", "patch", one.path, (), Complexity.MEDIUM, first) for one in files]
    steps += changes or [_Step("change_somewhere", "patch", "", (), Complexity.MEDIUM, first)]
    changed = tuple(range(first[-1] + 1, len(steps) + 1))
    written = {one.path for one in files}
    tests = [path for one in files for path in one.tests[:1] if path not in written][:1]
    steps += [_Step("test", "patch", path, after=changed) for path in tests]
    log = brief.project.changelog
    if log and log not in written and any(one.kind is FileKind.SOURCE for one in files):
        steps.append(_Step("note", "patch", log, after=changed))
    everything = tuple(range(len(first) + 1, len(steps) + 1))
    command = _command(brief)
    argv = _argv(command)
    last = _Step("check", "run", "", argv, after=everything) if argv else None
    steps.append(last or _Step("check_by_hand", "analyze", after=everything))
    return steps if len(steps) <= brief.most else _fewer(steps, brief.most)


def _fewer(steps: list[_Step], most: int) -> list[_Step]:
    """The change itself is the last to go, each after the one before."""
    order = ("note", "read", "look", "test", "check_by_hand", "check")
    kept = list(steps)
    for key in order:
        for one in [step for step in reversed(kept) if step.key == key]:
            if len(kept) > most:
                kept.remove(one)
    kept = kept[:most]
    return [step._replace(after=(at,) if at else ()) for at, step in enumerate(kept)]


def _files(brief: PlanningBrief) -> list[FoundFile]:
    """Those that the request names; otherwise the best one."""
    found = [one for one in brief.project.found if one.kind is not FileKind.TEST] or list(brief.project.found)
    return told_in(brief.task, found)[:_MOST_FILES] or found[:1]


def _goals(task: str) -> list[str]:
    """The items of a list; one alone is the task itself."""
    items = [_short(item.strip()) for item in _BULLET.findall(task) if item.strip()]
    return items[:_MOST_GOALS] if len(items) > 1 else []


def _is_empty(brief: PlanningBrief) -> bool:
    """Nothing to go by: hardly a letter, or no word that the project has."""
    return len(_NOT_A_WORD.sub("", brief.task)) < _FEWEST_LETTERS


def _command(brief: PlanningBrief) -> str:
    return next((one for one in brief.project.test_commands if _argv(one)), "")


def _argv(command: str) -> tuple[str, ...]:
    try:
        return tuple(shlex.split(command)) if "\n" not in command else ()
    except ValueError:
        return ()


def _told(step: _Step, brief: PlanningBrief, words: dict[str, str]) -> str:
    return words[step.key].format(path=step.path, task=_short(brief.task), command=_command(brief))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LINE else f"{line[: _LINE - 1]}…"
