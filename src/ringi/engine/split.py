"""A step that was too large becomes several (RN-7): by the files that were really changed, never cut down."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from msgspec.structs import replace

from ringi.engine.run_parts import keep_valid, keep_valid_paths, line, together
from ringi.engine.run_plan import LONGEST_LINE, LONGEST_TEXT, MOST_STEPS, Command, RunLimits, RunPlan, RunStep
from ringi.models.prompt import NewStep
from ringi.models.usage import Language

_FEWEST: Final = 2
_WORDS: Final[Mapping[Language, tuple[str, str]]] = {
    "en": ("{title} ({number} of {of})", "This step is part {number} of {of}: {paths}"),
    "ja": ("{title} ({number}/{of})", "このステップは {of} 個に分けたうちの {number} 番目です: {paths}"),
}


def split(
    plan: RunPlan,
    step_id: str,
    changed: Mapping[str, int],
    language: Language = "en",
    planned: Sequence[NewStep] = (),
) -> RunPlan | None:
    """With more steps in place of this one, as they are planned; None if that would be too many.

    `changed` has the lines of each file that was changed; it is empty if that is not known.
    """
    steps: list[RunStep] = []
    for step in plan.steps:
        if step.step_id != step_id:
            steps.append(step)
        elif planned:
            steps += _as_planned(step, planned)
        else:
            steps += _pieces(step, changed, plan.limits, language)
    if not len(plan.steps) < len(steps) <= MOST_STEPS:
        return None
    folder = f"runs/{plan.request_id}/{plan.run_id}"
    most = plan.limits.max_steps_per_run
    numbered = tuple(_renumber(step, number, folder) for number, step in enumerate(steps, 1))
    everything = len(steps) if most >= len(plan.steps) else most
    return replace(plan, steps=numbered, limits=replace(plan.limits, max_steps_per_run=everything))


def _pieces(
    step: RunStep, changed: Mapping[str, int], limits: RunLimits, language: Language
) -> Iterator[RunStep]:
    most = min(step.scope.max_diff_lines, limits.max_diff_lines)
    pieces = list(_measure_pieces(step, changed, most))
    if len(pieces) < _FEWEST:
        pieces = list(_halves(step, changed))
    title, intent = _WORDS[language]
    for number, (paths, lines) in enumerate(pieces, 1):
        names = {"number": number, "of": len(pieces), "paths": ", ".join(paths) or "…"}
        part = line(intent.format(**names), LONGEST_TEXT // 2)
        yield replace(
            step,
            title=title.format(title=line(step.title, LONGEST_LINE - 20), **names),
            intent=f"{step.intent[: LONGEST_TEXT // 2 - 1]}\n{part}",
            scope=replace(step.scope, target_paths=paths),
            expected_diff=replace(
                step.expected_diff, lines_max=min(lines, most), files_max=max(1, len(paths))
            ),
        )


def _as_planned(step: RunStep, planned: Sequence[NewStep]) -> Iterator[RunStep]:
    for number, one in enumerate(planned, 1):
        paths, last = keep_valid_paths(one.target_paths), number == len(planned)
        own = keep_valid(one.test_commands, Command)
        # With the last piece the step is done, and passes what it had to pass.
        unit = tuple(dict.fromkeys([*own, *((step.commands.unit or ()) if last or not own else ())]))[:20]
        yield replace(
            step,
            title=line(one.title),
            intent=f"{step.intent[: LONGEST_TEXT // 2 - 1]}\n{line(one.title)}",
            scope=replace(step.scope, target_paths=paths),
            commands=replace(step.commands, unit=unit) if unit else step.commands,
            expected_diff=replace(step.expected_diff, files_max=max(1, len(paths))),
        )


def _measure_pieces(
    step: RunStep, changed: Mapping[str, int], most: int
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Files with their tests, as many as fit; one that is too large alone is made in several steps."""
    files = step.scope.max_files_changed or len(changed)
    found: list[tuple[list[str], int]] = []
    for group in _fitting(changed, most, files):
        lines = sum(changed[path] for path in group)
        if found and found[-1][1] + lines <= most and len(found[-1][0]) + len(group) <= files:
            found[-1] = ([*found[-1][0], *group], found[-1][1] + lines)
        else:
            found.append((group, lines))
    if found:  # what the step may change beyond that stays possible
        found[-1] = (
            [*found[-1][0], *(one for one in step.scope.target_paths if one not in changed)],
            found[-1][1],
        )
    for paths, lines in found:
        for _ in range(max(1, math.ceil(lines / most))):
            yield tuple(dict.fromkeys(paths)), min(lines, most)


def _fitting(changed: Mapping[str, int], most: int, files: int) -> Iterator[list[str]]:
    for group in together(tuple(changed)):
        if sum(changed[path] for path in group) <= most and len(group) <= files:
            yield group
        else:
            yield from ([path] for path in group)


def _halves(step: RunStep, changed: Iterable[str]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Two steps with half of the paths each, or with the same: the changes do not say where to split."""
    paths = tuple(dict.fromkeys([*step.scope.target_paths, *changed])) if step.scope.target_paths else ()
    lines = max(1, step.expected_diff.lines_max // _FEWEST)
    groups: Sequence[list[str]] = list(together(paths))
    if len(groups) < _FEWEST:
        yield from ((paths, lines) for _ in range(_FEWEST))
        return
    middle = math.ceil(len(groups) / _FEWEST)
    for half in (groups[:middle], groups[middle:]):
        yield tuple(path for group in half for path in group), lines


def _renumber(step: RunStep, number: int, folder: str) -> RunStep:
    """Files of its own, also if it had another number before."""
    id_ = f"S{number:02}"
    if id_ == step.step_id:
        return step
    outputs = replace(
        step.outputs, patch_path=f"{folder}/patches/{id_}.patch", log_prefix=f"{folder}/logs/step.{id_}"
    )
    return replace(step, step_id=id_, outputs=outputs)
