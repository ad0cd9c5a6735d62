"""What a role is asked to do, what came of it, and why a role cannot be asked."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.config.keys import Config
from ringi.engine.run_plan import RunRole
from ringi.kernel.text import Text
from ringi.models.usage import Spent
from ringi.runs.document import Stop, StopCode, stop_for

if TYPE_CHECKING:
    from ringi.config.keys import RoleHow
    from ringi.engine.run_plan import RunPlan, RunStep
    from ringi.runs.document import Finding, Run, StepState, Stop
    from ringi.tree.copy import WorkCopy


def _unheard(_: bytes) -> None:
    pass


def _not_kept(_name: str, _text: str) -> None:
    pass


class RoleTask(NamedTuple):
    """What a role is asked to do."""

    run: Run
    plan: RunPlan
    step: RunStep
    state: StepState
    role: RunRole
    copy: WorkCopy
    base_tree: str
    """What the step begins with."""
    feedback: str
    """What was wrong last time, or the person's words."""
    commits: tuple[tuple[str, str], ...]
    """The earlier ones of this run: id and subject."""
    diff: str = ""
    """For a role that judges: what the step changed, bounded."""
    log: Callable[[bytes], None] = _unheard
    """Gets what the role prints, as it comes, within the limit of the role."""
    keep: Callable[[str, str], None] = _not_kept
    """Writes a text for people beside the run, by its name there: briefs/S01-implementer-1.md"""


class RoleWork(NamedTuple):
    how: RoleHow
    who: str
    exit_code: int | None
    """None if a person has to do it."""
    timed_out: bool = False
    problem: Text | None = None
    """Why there is no result, and what to do."""
    code: StopCode | None = None
    """If the problem has one of its own."""
    spent: Spent = Spent()
    findings: tuple[Finding, ...] = ()
    waits: str = ""
    """The turn is not over. It goes on once this is done: the next action."""


_AGENT: Final = "claude"


def example_of(role: RunRole, command: str = "") -> str:
    """A line for a configuration."""
    named = command or _AGENT
    return f"roles: {{{role}: {{command: {named if named.isalnum() else json.dumps(named)}}}}}"


def time_key(role: RunRole) -> str:
    return f"roles.{role}.timeout_sec"


def describe_timeout(who: str, role: RunRole, timeout_sec: float) -> Text:
    seconds = f"{timeout_sec:g}"
    return Text("{who} did not end within {seconds} s ({key}).", who=who, seconds=seconds, key=time_key(role))


def gh_stop(command: str, then: Text) -> Stop:
    message = Text("A command of the run uses gh, which is never allowed in one: {command}", command=command)
    return stop_for(StopCode.GH_FORBIDDEN, message, then)


def no_role_stop(role: RunRole, config: Config) -> Stop:
    if any(config.is_untrusted(f"roles.{role}.{key}") for key in ("how", "command", "model")):
        message = Text("roles.{role} comes from the project, and nobody has trusted it yet.", role=role)
        return stop_for(StopCode.NO_ROLE, message, Text("ringi trust"))
    message = Text("Nobody has the role {role}.", role=role)
    if role is RunRole.IMPLEMENTER:
        then = Text(
            "ringi continue --retry --with claude; or in your configuration: {example}",
            example=example_of(role),
        )
    else:
        then = Text("In your configuration: {example}", example=example_of(role))
    return stop_for(StopCode.NO_ROLE, message, then)
