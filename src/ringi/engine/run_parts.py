"""Which subtasks belong into one step of a run, and how large a step may be (RN-7, RN-16)."""

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import msgspec

from ringi.engine.design import Design
from ringi.engine.document import ActionPlan, Complexity, GoalUnderstanding, Subtask
from ringi.engine.order import Order, normal, order_subtasks
from ringi.engine.request import Request
from ringi.engine.run_plan import LONGEST_LINE, MOST_STEPS, Path
from ringi.kernel.document import prepare
from ringi.models.usage import Language
from ringi.policy.globs import inside
from ringi.project.context import FileKind, ProjectFacts
from ringi.project.kinds import kinds_of

LINES: Final = {Complexity.LOW: 80, Complexity.MEDIUM: 200, Complexity.HIGH: 350}
"""That a step is expected to change."""
_HARDER: Final = tuple(LINES)
_FILES_PER_STEP: Final = 8
MOST_PATHS: Final = 200
_LOOKING: Final = re.compile(
    r"(?:^|_)(?:get|read|list|search|find|view|fetch|grep|look|inspect|analy[sz]e|run|test|check)(?:_|$)"
)


class RunWishes(NamedTuple):
    max_diff_lines: int = 400
    max_files_changed: int = 10
    timeout_sec: float = 600
    """Of one test command."""
    max_autofix_cycles: int = 1
    max_steps: int | None = None
    """None: all steps, one after the other."""
    forbidden_paths: tuple[str, ...] = ()


class PartsInput(NamedTuple):
    """What there is; the instruction alone becomes one step."""

    instruction: str
    goal: GoalUnderstanding | None = None
    subtasks: Sequence[Subtask] = ()
    actions: ActionPlan | None = None
    design: Design | None = None
    project: ProjectFacts = ProjectFacts()
    language: Language = "en"
    request: Request | None = None
    """The file it began with; what it says comes first."""


class RunPart(NamedTuple):
    """A step in the making."""

    title: str
    tasks: frozenset[str]
    paths: tuple[str, ...]
    complexity: Complexity
    hints: tuple[str, ...] = ()
    outcomes: tuple[str, ...] = ()
    criteria: frozenset[int] = frozenset()
    """By number, from 1."""
    commands: tuple[str, ...] = ()
    """That test it; empty: those of the design."""


class _PartDraft(NamedTuple):
    part: RunPart
    needs: frozenset[str] = frozenset()
    """The tasks that it depends on."""


def parts_of(planned: PartsInput) -> Iterator[RunPart]:
    tasks = [_PartDraft(_part(one, planned), frozenset(one.dependencies or ())) for one in
             _in_order(planned.subtasks)]  # fmt: skip
    # What has no path only looks at something, or runs the tests.
    drafts = [one for one in tasks or _own_steps(planned.design or Design()) if one.part.paths]
    nothing_else = all(only_tests(draft.part.paths) for draft in drafts)
    found: list[RunPart] = []
    for draft in drafts:
        place = _place(draft, found, nothing_else=nothing_else)
        if place is None:
            found.append(draft.part)
        else:
            found[place] = _merge(found[place], draft.part)
    if len(found) > 1 and only_tests(found[0].paths) and not nothing_else:
        found[:2] = [_merge(found[1], found[0])]
    if not found:
        found = [_whole(planned)]
    yield from (part._replace(paths=tuple(_with_tests(part.paths, found, planned.project))) for part in found)


def _in_order(subtasks: Sequence[Subtask]) -> Iterator[Subtask]:
    """Those that are carried out; a task with parts is not."""
    order = order_subtasks(subtasks)
    by_id = {task.id: task for task in subtasks}
    return (by_id[id_] for id_ in (order.tasks if isinstance(order, Order) else by_id))


def _part(task: Subtask, planned: PartsInput) -> RunPart:
    actions = (
        [one for one in (planned.actions.actions or ()) if one.task_id == task.id] if planned.actions else []
    )
    written = [target.path for target in task.writes or ()]
    if not written:
        written = [one.file for one in actions if one.file and not _LOOKING.search((one.tool or "").lower())]
    return RunPart(
        title=task.description,
        tasks=frozenset([task.id]),
        paths=keep_valid_paths(written),
        complexity=task.estimated_complexity or Complexity.MEDIUM,
        hints=keep_valid_paths(task.reads or ()),
        outcomes=tuple(one.expected_outcome for one in actions if one.expected_outcome),
        criteria=frozenset(task.criteria or ()),
    )


def _own_steps(design: Design) -> Iterator[_PartDraft]:
    """Those of the design; a file that none of them names goes with the last, a test with what it tests."""
    for step in design.steps:
        thens = [one.then for at, one in enumerate(design.acceptance_criteria, 1) if at in step.criteria]
        part = RunPart(
            title=step.title,
            tasks=frozenset(),
            paths=keep_valid_paths(step.target_paths),
            complexity=Complexity.MEDIUM,
            outcomes=tuple(thens),
            criteria=frozenset(step.criteria),
            commands=step.test_commands,
        )
        yield _PartDraft(part)
    if not design.steps:
        return
    named = [path for step in design.steps for path in step.target_paths]
    left = [target.path for target in design.target_paths if not inside(target.path, named)]
    yield from (
        _PartDraft(RunPart("", frozenset(), keep_valid_paths([path]), Complexity.LOW)) for path in left
    )


def _place(draft: _PartDraft, found: Sequence[RunPart], *, nothing_else: bool) -> int | None:
    """The step it belongs into: that of what its tests test, or the one before if the files are the same."""
    if not found:
        return None
    part, last = draft.part, len(found) - 1
    if not part.title:  # no step names it
        tested = _find_tested(part, found) if only_tests(part.paths) else None
        return last if tested is None else tested
    if only_tests(part.paths) and not nothing_else:
        needed = (at for at in reversed(range(len(found))) if found[at].tasks & draft.needs)
        place = next(needed, _find_tested(part, found))
        return last if place is None else place
    return last if set(part.paths) == set(found[-1].paths) else None


def _find_tested(part: RunPart, found: Sequence[RunPart]) -> int | None:
    """The last step with a file that these tests are called after."""
    names = set(map(_stem, part.paths))
    places = (at for at in reversed(range(len(found))) if names & set(map(_stem, found[at].paths)))
    return next(places, None)


def _merge(one: RunPart, other: RunPart) -> RunPart:
    return RunPart(
        title=one.title,
        tasks=one.tasks | other.tasks,
        paths=tuple(dict.fromkeys(one.paths + other.paths)),
        complexity=max(one.complexity, other.complexity, key=_HARDER.index),
        hints=tuple(dict.fromkeys(one.hints + other.hints)),
        outcomes=tuple(filter(None, dict.fromkeys((*one.outcomes, other.title, *other.outcomes)))),
        criteria=one.criteria | other.criteria,
        commands=tuple(dict.fromkeys(one.commands + other.commands)),
    )


def _whole(planned: PartsInput) -> RunPart:
    """Everything in one step: no task names its files."""
    design, actions = planned.design or Design(), planned.actions.actions or () if planned.actions else ()
    paths = [target.path for target in design.target_paths] or [one.file for one in actions if one.file]
    harder = [task.estimated_complexity for task in planned.subtasks if task.estimated_complexity]
    return RunPart(
        title=planned.goal.main_objective if planned.goal else planned.instruction,
        tasks=frozenset(task.id for task in planned.subtasks),
        paths=keep_valid_paths(paths),
        complexity=max(harder, key=_HARDER.index, default=Complexity.MEDIUM),
        outcomes=tuple(task.description for task in planned.subtasks),
    )


def only_tests(paths: Sequence[str]) -> bool:
    return all(kind is FileKind.TEST for kind in kinds_of(paths).values())


def _with_tests(paths: Sequence[str], parts: Sequence[RunPart], project: ProjectFacts) -> Iterator[str]:
    """The test files beside what changes may change too, unless another step has them."""
    taken = {path for part in parts for path in part.paths}
    beside = {file.path: file.tests for file in project.found}
    yield from paths
    yield from dict.fromkeys(
        test for path in paths for test in keep_valid_paths(beside.get(path, ())) if test not in taken
    )


# Limits.


def split_to_limits(parts: Sequence[RunPart], wishes: RunWishes, numbered: str) -> Sequence[RunPart]:
    """Split by files until each is small enough; `numbered` is the title of a piece."""
    found = [piece for part in parts for piece in _split(part, wishes, numbered)]
    while len(found) > MOST_STEPS:  # neighbours go together, however large they become
        pairs = [found[at : at + 2] for at in range(0, len(found), 2)]
        found = [_merge(*pair) if len(pair) > 1 else pair[0] for pair in pairs]
    return found


def _split(part: RunPart, wishes: RunWishes, numbered: str) -> Iterator[RunPart]:
    groups = list(together(part.paths))
    files = min(_FILES_PER_STEP, wishes.max_files_changed)
    wanted = max(
        math.ceil(LINES[part.complexity] / wishes.max_diff_lines), math.ceil(len(part.paths) / files)
    )
    size = max(1, math.ceil(len(groups) / max(1, min(wanted, len(groups)))))
    pieces = [groups[at : at + size] for at in range(0, len(groups), size)]
    if len(pieces) < 2:  # noqa: PLR2004
        yield part
        return
    easier = _HARDER[max(0, _HARDER.index(part.complexity) - 1)]
    for number, piece in enumerate(pieces, 1):
        title = numbered.format(title=line(part.title, LONGEST_LINE - 20), number=number, of=len(pieces))
        paths = tuple(path for group in piece for path in group)
        yield part._replace(title=title, paths=paths, complexity=easier)


def together(paths: Sequence[str]) -> Iterator[list[str]]:
    """Each file with the tests that are called after it."""
    kinds = kinds_of(paths)
    groups = {path: [path] for path in paths if kinds[path] is not FileKind.TEST}
    names = {_stem(path): path for path in reversed(groups)}
    for path in paths:
        if kinds[path] is FileKind.TEST:
            groups.setdefault(names.get(_stem(path), path), []).append(path)
    yield from (list(dict.fromkeys(group)) for group in groups.values())


def _stem(path: str) -> str:
    name = path.rpartition("/")[2].partition(".")[0].lower()
    return re.sub(r"^tests?[_-]|[_-]?(?:tests?|spec)$", "", name)


def keep_valid_paths(paths: Iterable[str]) -> tuple[str, ...]:
    """Those that can be in a plan, in one spelling each."""
    return keep_valid(dict.fromkeys(normal(path) for path in paths if path.strip()), Path)[:MOST_PATHS]


def keep_valid(texts: Iterable[str], kind: Any) -> tuple[str, ...]:
    def fits(text: str) -> bool:
        try:
            msgspec.convert(text, prepare(kind))
        except msgspec.ValidationError:
            return False
        return True

    return tuple(text for text in texts if fits(text))


def line(text: str, most: int = LONGEST_LINE) -> str:
    plain = "".join(one if unicodedata.category(one)[0] != "C" else " " for one in text)
    joined = " ".join(plain.split())
    return joined if len(joined) <= most else joined[: most - 1].rstrip() + "…"
