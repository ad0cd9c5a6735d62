"""What a role really changed, against what its step allows (RN-6)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import UNSET

from ringi.engine.run_plan import RunLimits, RunStep
from ringi.kernel.text import Text
from ringi.policy.globs import inside
from ringi.runs.document import StopCode

_SHOWN: Final = 5


class TreeChanges(NamedTuple):
    """The difference between two trees."""

    tree: str
    lines: Mapping[str, int]
    """By path: lines added plus lines removed; of a binary file one for each 100 bytes."""
    left_out: tuple[tuple[str, Text], ...] = ()
    """What no plan can hold, with the reason."""

    @property
    def total(self) -> int:
        return sum(self.lines.values())


class Violation(NamedTuple):
    code: StopCode
    message: Text
    paths: tuple[str, ...] = ()
    """Which a person could allow."""


def violations(
    step: RunStep, limits: RunLimits, changes: TreeChanges, allowed: Sequence[str] = ()
) -> tuple[Violation, ...]:
    """`allowed` are paths that a person added to the step's own."""
    return tuple(_violations(step, limits, changes, allowed))


def _violations(
    step: RunStep, limits: RunLimits, changes: TreeChanges, allowed: Sequence[str]
) -> Iterator[Violation]:
    scope = step.scope
    forbidden = tuple(path for path in changes.lines if inside(path, scope.forbidden_paths or ()))
    if forbidden:
        message = Text("the step must not change {paths}", paths=shown(forbidden))
        yield Violation(StopCode.OUT_OF_SCOPE, message)
    targets = (*scope.target_paths, *allowed)
    beyond = tuple(path for path in changes.lines if path not in forbidden and not inside(path, targets))
    if beyond and scope.target_paths:
        message = Text(
            "the step may change only {targets}; it also changed {paths}",
            targets=shown(targets),
            paths=shown(beyond),
        )
        yield Violation(StopCode.OUT_OF_SCOPE, message, beyond)
    if changes.left_out:
        path, why = changes.left_out[0]
        message = Text("{path} cannot be part of a commit: {why}", path=path, why=why)
        yield Violation(StopCode.UNFIT_CHANGES, message)
    most = min(scope.max_diff_lines, limits.max_diff_lines)
    if changes.total > most:
        message = Text("{lines} lines changed, {most} are allowed", lines=changes.total, most=most)
        yield Violation(StopCode.STEP_TOO_LARGE, message)
    if scope.max_files_changed is not UNSET and len(changes.lines) > scope.max_files_changed:
        message = Text(
            "{files} files changed, {most} are allowed",
            files=len(changes.lines),
            most=scope.max_files_changed,
        )
        yield Violation(StopCode.STEP_TOO_LARGE, message)


def shown(paths: Sequence[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join([*paths[:_SHOWN], *([f"+{more}"] if more > 0 else [])])
