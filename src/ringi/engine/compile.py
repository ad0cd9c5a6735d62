"""A goal, its subtasks and a design become planning.json (RN-1, RN-16): pure, the same for the same input.

Each step is complete in itself: tests are in the step of what they test, what only looks becomes no step, and
a step that would be too large is split by files, never cut down.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from ringi.engine.design import Design
from ringi.engine.document import Complexity
from ringi.engine.run_parts import (
    LINES,
    MOST_PATHS,
    PartsInput,
    RunPart,
    RunWishes,
    keep_valid,
    keep_valid_paths,
    line,
    parts_of,
    split_to_limits,
)
from ringi.engine.run_plan import (
    FEWEST_CRITERIA,
    LONGEST_TEXT,
    REQUEST_FILE,
    VERSION,
    AcceptanceCriterion,
    Command,
    CriterionType,
    ExpectedDiff,
    RiskLevel,
    RunContext,
    RunGates,
    RunLimits,
    RunOutputs,
    RunPlan,
    RunRole,
    RunStep,
    StepCommands,
    StepInputs,
    StepOutputs,
    StepScope,
)
from ringi.policy.globs import inside

_RISKS: Final = {
    Complexity.LOW: RiskLevel.LOW,
    Complexity.MEDIUM: RiskLevel.MID,
    Complexity.HIGH: RiskLevel.HIGH,
}
_NEVER: Final = (".git", ".agent")
_BROUGHT: Final = ("vendor", "node_modules", "third_party")
_MOST_ITEMS: Final = 50
_FUNCTIONAL: Final = CriterionType.FUNCTIONAL
_MOST_CRITERIA: Final = 100
_MOST_HINTS: Final = 20


class RunNames(NamedTuple):
    """What the caller knows: a pure function has no clock and makes no ids."""

    request_id: str
    run_id: str
    created_at: str
    base_branch: str
    request_path: str = ""
    """Where the request is; empty if there is none but the instruction, which is kept beside the run."""


_WORDS: Final[Mapping[str, Mapping[str, str]]] = {
    "en": {
        "made": "the change is made",
        "used": "it is used as the request describes",
        "passing": "the tests that pass today",
        "ran": "{command} runs after the last step",
        "same": "they still pass",
        "steps": "the steps of this plan",
        "done": "the run is done",
        "only": "only files that the steps name have changed",
        "commit": "the commit of any step",
        "looked": "a person compares it with the step's title",
        "complete": "it contains that change, whole, and nothing else",
        "exits": "{command} exits with 0",
        "out": "Out of scope: {what}",
        "unknown": "Which files change is not known yet.",
        "part": "{title} ({number} of {of})",
        "beyond": "The request does not allow a change of {path}, so no step makes one.",
    },
    "ja": {
        "made": "変更が行われている",
        "used": "要望のとおりに使う",
        "passing": "現在成功しているテスト",
        "ran": "最後のステップの後に {command} を実行する",
        "same": "引き続き成功する",
        "steps": "この計画のステップ",
        "done": "実行が完了する",
        "only": "ステップに挙げたファイルだけが変わっている",
        "commit": "任意のステップのコミット",
        "looked": "ステップの題名と見比べる",
        "complete": "その変更がすべて含まれ、それ以外は含まれない",
        "exits": "{command} が終了コード 0 で終わる",
        "out": "対象外: {what}",
        "unknown": "変更するファイルはまだ決まっていません。",
        "part": "{title} ({number}/{of})",
        "beyond": "要望は {path} の変更を許していないため、どのステップも変更しません。",
    },
}  # fmt: skip


def compile_run_plan(planned: PartsInput, names: RunNames, wishes: RunWishes = RunWishes()) -> RunPlan:  # noqa: B008
    words = _WORDS[planned.language]
    commands = _commands(planned)
    drafts = list(parts_of(planned))
    parts = split_to_limits(_keep_allowed(drafts, planned), wishes, words["part"])
    criteria = _criteria(planned, commands, words)
    links = _links(parts, criteria, planned)
    steps = tuple(
        _step(number, part, link, _Around(planned, names, wishes, tests))
        for number, (part, link, tests) in enumerate(
            zip(parts, links, _each(parts, commands, planned), strict=True), 1
        )
    )
    folder = _folder(names)
    design = planned.design or Design()
    unknown = () if all(part.paths for part in parts) else (words["unknown"],)
    return RunPlan(
        version=VERSION,
        request_id=names.request_id,
        run_id=names.run_id,
        created_at=names.created_at,
        base_branch=names.base_branch,
        work_branch=f"aiflow/{names.request_id}/{names.run_id}",
        limits=RunLimits(
            max_diff_lines=wishes.max_diff_lines,
            max_files_changed=wishes.max_files_changed,
            timeout_sec=float(wishes.timeout_sec),
            max_steps_per_run=min(wishes.max_steps or len(steps), len(steps)),
            max_autofix_cycles=wishes.max_autofix_cycles,
        ),
        context=_context(planned, criteria, commands, words),
        steps=steps,
        gates=RunGates(
            require_clean_worktree=True,
            require_work_branch=True,
            require_unit_pass=all(step.commands.unit for step in steps),
            require_e2e_for_regression_ac=False,
            forbid_gh=True,
            max_step_too_large_retries=1,
        ),
        outputs=RunOutputs(
            planning_json=f"{folder}/planning.json",
            stage_json=f"{folder}/stage.json",
            report_md=f"{folder}/report.md",
        ),
        assumptions=_proses(design.assumptions) or UNSET,
        risks=_proses((*design.open_points, *_beyond(drafts, planned, words), *unknown)) or UNSET,
    )


# What the request allows.


def _keep_allowed(parts: Sequence[RunPart], planned: PartsInput) -> Sequence[RunPart]:
    """Without paths that the request does not allow, and steps that have none left; one has all it allows."""
    allowed = planned.request.allowed_paths if planned.request else ()
    if not allowed:
        return parts
    kept = [part._replace(paths=tuple(one for one in part.paths if inside(one, allowed))) for part in parts]
    return [part for part in kept if part.paths] or [parts[0]._replace(paths=keep_valid_paths(allowed))]


def _beyond(parts: Iterable[RunPart], planned: PartsInput, words: Mapping[str, str]) -> Iterator[str]:
    allowed = planned.request.allowed_paths if planned.request else ()
    for path in dict.fromkeys(path for part in parts for path in part.paths):
        if allowed and not inside(path, allowed):
            yield words["beyond"].format(path=path)


# Criteria.


def _criteria(
    planned: PartsInput, commands: Sequence[str], words: Mapping[str, str]
) -> tuple[AcceptanceCriterion, ...]:
    """Those of the request keep their ids, and come first."""
    asked = planned.request.acceptance_criteria if planned.request else ()
    said = planned.design.acceptance_criteria if planned.design else ()
    known = {one.then for one in asked}
    found: list[tuple[str, str, str, CriterionType]] = [
        (one.given, one.when, one.then, one.type or _FUNCTIONAL) for one in asked
    ]
    found += [(one.given, one.when, one.then, _FUNCTIONAL) for one in said if one.then not in known]
    if not found and planned.goal:
        goal = planned.goal.success_criteria or ()
        found = [
            (words["made"], words["used"], then, CriterionType.FUNCTIONAL) for then in goal if line(then)
        ]
    found = found[:_MOST_CRITERIA]
    for one in _honest(commands, words):
        if len(found) < FEWEST_CRITERIA:
            found.append(one)
    ids = [one.id for one in asked[:_MOST_CRITERIA]]
    free = (id_ for number in count(1) if (id_ := f"AC-{number:02}") not in ids)
    ids += [next(free) for _ in found[len(ids) :]]
    return tuple(
        AcceptanceCriterion(
            id=id_,
            given=_prose(given) or "—",
            when=_prose(when) or "—",
            then=_prose(then) or "—",
            type=kind,
        )
        for id_, (given, when, then, kind) in zip(ids, found, strict=True)
    )


def _honest(
    commands: Sequence[str], words: Mapping[str, str]
) -> Iterator[tuple[str, str, str, CriterionType]]:
    """True of any good change, and something that can be looked at."""
    if commands:
        ran = words["ran"].format(command=commands[0])
        yield words["passing"], ran, words["same"], CriterionType.REGRESSION
    yield words["steps"], words["done"], words["only"], CriterionType.NONFUNCTIONAL
    yield words["commit"], words["looked"], words["complete"], CriterionType.NONFUNCTIONAL
    yield words["made"], words["used"], words["complete"], CriterionType.FUNCTIONAL


def _links(
    parts: Sequence[RunPart], criteria: Sequence[AcceptanceCriterion], planned: PartsInput
) -> list[tuple[str, ...]]:
    """What no task claims is met with the last step; what is true of any change, with every step."""
    said = _criterion_texts(planned)
    links: list[set[str]] = [set() for _ in parts]
    for one in criteria:
        numbers = {number for number, then in enumerate(said, 1) if (_prose(then) or "—") == one.then}
        claimed = [at for at, part in enumerate(parts) if numbers & part.criteria]
        if one.type is not CriterionType.FUNCTIONAL:
            claimed = list(range(len(parts)))
        for at in claimed or [len(parts) - 1]:
            links[at].add(one.id)
    for part, link in zip(parts, links, strict=True):
        if not link:
            link.add(_nearest(part, criteria))
    return [tuple(sorted(link)) for link in links]


def _criterion_texts(planned: PartsInput) -> Sequence[str]:
    """What the numbers of a part mean: criteria of the design, else of the goal."""
    if planned.design and planned.design.acceptance_criteria:
        return [one.then for one in planned.design.acceptance_criteria]
    goal = (planned.goal.success_criteria if planned.goal else None) or ()
    return [then for then in goal if line(then)]


def _nearest(part: RunPart, criteria: Sequence[AcceptanceCriterion]) -> str:
    """The criterion that speaks of the same things."""
    mine = _words_in(f"{part.title} {' '.join(part.paths)}")
    return max(criteria, key=lambda one: len(mine & _words_in(f"{one.given} {one.when} {one.then}"))).id


def _words_in(text: str) -> set[str]:
    return set(re.findall(r"\w{3,}", text.lower()))


# The document.


class _Around(NamedTuple):
    planned: PartsInput
    names: RunNames
    wishes: RunWishes
    commands: Sequence[str]


def _step(number: int, part: RunPart, links: tuple[str, ...], around: _Around) -> RunStep:
    planned, names, wishes, commands = around
    id_, words = f"S{number:02}", _WORDS[planned.language]
    most = wishes.max_diff_lines
    brought = [name for name in _BROUGHT if name in planned.project.entries]
    asked = planned.request.forbidden_paths if planned.request else ()
    forbidden = keep_valid_paths([*_NEVER, *brought, *wishes.forbidden_paths, *asked])
    hints = dict.fromkeys([*part.hints, *(file.path for file in planned.project.found)])
    exits = [words["exits"].format(command=command) for command in commands]
    title = line(part.title) or id_
    return RunStep(
        step_id=id_,
        title=title,
        role=RunRole.IMPLEMENTER,
        intent=_prose("\n".join(dict.fromkeys([part.title, *part.outcomes]))) or title,
        scope=StepScope(
            target_paths=part.paths[:MOST_PATHS],
            forbidden_paths=tuple(one for one in forbidden if one in asked or one not in part.paths),
            max_diff_lines=most,
            max_files_changed=max(wishes.max_files_changed, len(part.paths)),
        ),
        inputs=StepInputs(
            request_path=names.request_path or f"{_folder(names)}/{REQUEST_FILE}",
            context_files=keep_valid_paths(planned.project.rules) or UNSET,
            code_files_hint=keep_valid_paths(one for one in hints if one not in part.paths)[:_MOST_HINTS]
            or UNSET,
        ),
        commands=StepCommands(unit=tuple(commands)) if commands else StepCommands(),
        success_criteria=_proses([*part.outcomes, *exits]) or (title,),
        links_to_ac=links,
        expected_diff=ExpectedDiff(
            lines_max=min(LINES[part.complexity], most),
            files_max=min(max(1, len(part.paths)), 1_000_000),
            risk_level=_RISKS[part.complexity],
        ),
        outputs=StepOutputs(
            patch_path=f"{_folder(names)}/patches/{id_}.patch", log_prefix=f"{_folder(names)}/logs/step.{id_}"
        ),
    )


def _context(
    planned: PartsInput,
    criteria: tuple[AcceptanceCriterion, ...],
    commands: Sequence[str],
    words: Mapping[str, str],
) -> RunContext:
    goal, design, project = planned.goal, planned.design or Design(), planned.project
    asked = planned.request.constraints if planned.request else ()
    wanted = goal.main_objective if goal else planned.instruction
    outside = [words["out"].format(what=one) for one in design.out_of_scope]
    facts: dict[str, Any] = {
        "about": _prose(project.about),
        "languages": list(project.languages),
        "manifests": list(project.manifests),
        "changelog": project.changelog,
    }
    return RunContext(
        summary=_prose("\n".join(wanted.strip().split("\n")[:3])) or _prose(planned.instruction) or "—",
        constraints=_proses([*asked, *((goal.constraints or ()) if goal else ()), *outside]),
        acceptance_criteria=criteria,
        test_instructions=_tests(planned, commands),
        project_facts={key: value for key, value in facts.items() if value} or UNSET,
    )


def _tests(planned: PartsInput, commands: Sequence[str]) -> dict[str, str | tuple[str, ...]]:
    found = dict(planned.request.test_instructions) if planned.request else {}
    unit = tuple(commands) if len(commands) > 1 else "".join(commands)
    return {"e2e": "", **found, "unit": unit}


def _commands(planned: PartsInput) -> tuple[str, ...]:
    """Those of the request, else of the design, else the project's own best one."""
    asked = planned.request.test_instructions.get("unit", ()) if planned.request else ()
    named = (asked,) if isinstance(asked, str) and asked.strip() else tuple(asked)
    named = named or (planned.design.test_commands if planned.design else ())
    return keep_valid(named or planned.project.test_commands[:1], Command)[:20]


def _each(
    parts: Sequence[RunPart], commands: Sequence[str], planned: PartsInput
) -> Iterator[tuple[str, ...]]:
    """For each step its own; with the last one everything is done, and all of them have to pass."""
    asked = planned.request.test_instructions.get("unit") if planned.request else ()
    for number, part in enumerate(parts, 1):
        own = () if asked else keep_valid(part.commands, Command)
        common = commands if number == len(parts) or not own else ()
        yield tuple(dict.fromkeys([*own, *common]))[:20]


def _folder(names: RunNames) -> str:
    return f"runs/{names.request_id}/{names.run_id}"


def _prose(text: str) -> str:
    text = text.strip()
    return text if len(text) <= LONGEST_TEXT else text[: LONGEST_TEXT - 1].rstrip() + "…"


def _proses(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(prose for text in texts if (prose := _prose(text))))[:_MOST_ITEMS]
