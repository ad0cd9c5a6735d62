"""The rules of planning.json (RN-2): all problems at once, each with its reason code."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any, Final

from ringi.engine.run_plan import FEWEST_CRITERIA, STEP_ID, VERSION, RunPlan
from ringi.kernel.problems import Level, Problem, ReasonCode, problem, schema_problems
from ringi.kernel.text import Text

MANY_STEPS: Final = 10
MANY_FILES: Final = 10
MANY_ASSUMPTIONS: Final = 8
_MOST_PROBLEMS: Final = 500
_SHOWN: Final = 80


_C = ReasonCode


def run_plan_problems(raw: object) -> tuple[Problem, ...]:
    """Of a parsed planning.json, failures first; a rule is applied wherever its values can be compared."""
    found = list(islice(_rules(raw), _MOST_PROBLEMS)) if isinstance(raw, dict) else []
    named = {one.path for one in found if one.level is Level.FAIL}
    # A rule says it better than the schema.
    found += [one for one in schema_problems(raw, RunPlan) if one.path not in named]
    return tuple(sorted(found, key=lambda one: one.level is Level.WARN))


def _rules(raw: Mapping[str, Any]) -> Iterator[Problem]:
    context, steps = _object(raw, "context"), _list(raw, "steps")
    criteria = [(at, one["id"]) for at, one in enumerate(_list(context, "acceptance_criteria"))
                if isinstance(one, dict) and isinstance(one.get("id"), str)]  # fmt: skip
    yield from _of_top(raw)
    yield from _of_criteria(context, [id_ for _, id_ in criteria])
    yield from _of_step_ids(raw, steps)
    largest, known = _object(raw, "limits").get("max_diff_lines"), {id_ for _, id_ in criteria}
    for at, step in enumerate(steps):
        if isinstance(step, dict):
            yield from _of_step(step, f"$.steps[{at}]", largest, known)
    objects = [step for step in steps if isinstance(step, dict)]
    linked = {link for step in objects for link in _list(step, "links_to_ac") if isinstance(link, str)}
    for at, id_ in criteria:
        if id_ not in linked:
            message = Text("no step is linked to {id}, so nothing is done for it", id=id_[:_SHOWN])
            yield problem(_C.AC_UNLINKED, f"$.context.acceptance_criteria[{at}]", message)


def _of_top(raw: Mapping[str, Any]) -> Iterator[Problem]:
    version, created = raw.get("version"), raw.get("created_at")
    if isinstance(version, str) and version != VERSION:
        message = Text(
            "version {found} is unknown, {known} is supported", found=version[:_SHOWN], known=VERSION
        )
        yield problem(_C.VERSION_UNSUPPORTED, "$.version", message)
    if isinstance(created, str) and created and not _is_moment(created):
        message = Text("it must be a time such as 2025-12-14T21:05:01+09:00")
        yield problem(_C.SCHEMA_INVALID, "$.created_at", message)
    if raw.get("work_branch") and raw.get("work_branch") == raw.get("base_branch"):
        message = Text("it is the base branch, and a run never works on that")
        yield problem(_C.SCHEMA_INVALID, "$.work_branch", message)
    if _object(raw, "gates").get("forbid_gh") is False:
        yield problem(_C.GH_NOT_FORBIDDEN, "$.gates.forbid_gh", Text("it must be true: gh is forbidden"))
    count = len(_list(raw, "assumptions"))
    if count > MANY_ASSUMPTIONS:
        message = Text("1 assumption; more than {most} are a sign of an unclear request",
        "{count} assumptions; more than {most} are a sign of an unclear request",
                       count=count, most=MANY_ASSUMPTIONS)  # fmt: skip
        yield problem(_C.TOO_MANY_ASSUMPTIONS, "$.assumptions", message)


def _is_moment(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True


def _of_criteria(context: Mapping[str, Any], ids: Sequence[str]) -> Iterator[Problem]:
    path, criteria = "$.context.acceptance_criteria", context.get("acceptance_criteria")
    if isinstance(criteria, list) and len(criteria) < FEWEST_CRITERIA:
        message = Text("1 acceptance criterion; at least {least} are needed",
        "{count} acceptance criteria; at least {least} are needed",
                       count=len(criteria), least=FEWEST_CRITERIA)  # fmt: skip
        yield problem(_C.AC_TOO_FEW, path, message)
    yield from check_unique_ids(ids, path)


def check_unique_ids(criteria: Sequence[str], path: str) -> Iterator[Problem]:
    for twice in (id_ for id_, count in Counter(criteria).items() if count > 1):
        yield problem(_C.SCHEMA_INVALID, path, Text("two criteria have the id {id}", id=twice[:_SHOWN]))


def _of_step_ids(raw: Mapping[str, Any], steps: Sequence[object]) -> Iterator[Problem]:
    if raw.get("steps") == []:
        yield problem(_C.STEPS_EMPTY, "$.steps", Text("there is no step"))
    if len(steps) > MANY_STEPS:
        message = Text("{count} steps; more than {most} may be split too finely",
                       count=len(steps), most=MANY_STEPS)  # fmt: skip
        yield problem(_C.TOO_MANY_STEPS, "$.steps", message)
    seen: dict[str, int] = {}
    for at, step in enumerate(steps):
        id_ = step.get("step_id") if isinstance(step, dict) else None
        if not isinstance(id_, str):
            continue
        path = f"$.steps[{at}].step_id"
        if not re.search(STEP_ID, id_):
            message = Text("{id} is not S and two digits, such as S01", id=id_[:_SHOWN])
            yield problem(_C.STEP_ID_INVALID, path, message)
        if id_ in seen:
            message = Text("{id} is the id of {first} too", id=id_[:_SHOWN], first=f"$.steps[{seen[id_]}]")
            yield problem(_C.STEP_ID_DUPLICATE, path, message)
        seen.setdefault(id_, at)


def _of_step(step: Mapping[str, Any], path: str, largest: object, known: set[str]) -> Iterator[Problem]:
    expected = _object(step, "expected_diff")
    lines, files = expected.get("lines_max"), expected.get("files_max")
    scope = _object(step, "scope").get("max_diff_lines")
    if _is_more(lines, largest):
        message = Text("{lines} lines are expected, limits.max_diff_lines is {most}; split the step",
                       lines=lines, most=largest)  # fmt: skip
        yield problem(_C.EXPECTED_DIFF_TOO_LARGE, f"{path}.expected_diff.lines_max", message)
    if _is_more(scope, largest):
        message = Text("{lines} lines are more than limits.max_diff_lines, {most}", lines=scope, most=largest)
        yield problem(_C.SCOPE_DIFF_TOO_LARGE, f"{path}.scope.max_diff_lines", message)
    if _is_more(files, MANY_FILES):
        message = Text("{count} files in one step; {most} or fewer are better", count=files, most=MANY_FILES)
        yield problem(_C.FILES_MAX_HIGH, f"{path}.expected_diff.files_max", message)
    for at, link in enumerate(_list(step, "links_to_ac")):
        if isinstance(link, str) and link not in known:
            message = Text("there is no criterion {id}", id=link[:_SHOWN])
            yield problem(_C.AC_UNKNOWN, f"{path}.links_to_ac[{at}]", message)


def _is_more(value: Any, most: Any) -> bool:
    return {type(value), type(most)} <= {int, float} and bool(value > most)


def _object(raw: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = raw.get(key)
    return value if isinstance(value, dict) else {}


def _list(raw: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = raw.get(key)
    return value if isinstance(value, list) else ()
