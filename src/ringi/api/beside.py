"""An agent works in a copy of the repository; what it changed becomes a plan."""

import contextlib
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from ringi.api.workspace import Workspace
from ringi.domain.codec import digest
from ringi.domain.events import Actor
from ringi.domain.plan import ActionSpec, CheckResult, FileState, PlanRef, SpecKind
from ringi.errors import PathRefused, RingiError, StorageFailed
from ringi.integrations.person import process_start
from ringi.integrations.supervise import Ended, run_captured, run_in_terminal
from ringi.plans.effects import mode_after, packed
from ringi.plans.validation import Basis
from ringi.text import Text
from ringi.wiring.checks import environment_in
from ringi.workspace.copy import CopyChange, Difference, WorkCopy
from ringi.workspace.tree import Tree

GROUP: Final = "change"
_INTERPRETER: Final = re.compile(r"python[0-9.]*|node|ruby|perl|(ba|z|da)?sh|env|npx|uvx")


class Taken(NamedTuple):
    """What became of an agent's work."""

    plan: PlanRef | None
    """None where nothing changed."""
    left_out: tuple[tuple[str, Text], ...]
    problems: tuple[Text, ...]
    checks: tuple[CheckResult, ...]
    checks_changed_files: bool


def make_copy(
    workspace: Workspace, argv: Sequence[str], carry: Sequence[str], on_progress: Callable[[Text], None]
) -> WorkCopy:
    places = workspace.places
    copy = WorkCopy.make(places.root, places.state, places.copies, carry=carry, on_progress=on_progress)
    copy.mark_running(os.getpid(), process_start(os.getpid()) or "", argv)
    return copy


def run_agent(
    copy: WorkCopy, argv: Sequence[str], environment: Mapping[str, str], *, output: int = 1
) -> Ended:
    """The command works in the copy, in a terminal of its own; its leftover processes are ended."""
    return run_in_terminal(argv, cwd=copy.tree, env=environment_in(copy, environment), output=output)


def take(
    workspace: Workspace,
    copy: WorkCopy,
    argv: Sequence[str],
    *,
    checks: Sequence[str] = (),
    environment: Mapping[str, str],
    on_check: Callable[[str], None] = lambda _: None,
) -> Taken:
    """Make the difference a plan. The checks run in the copy, on exactly the bytes of the plan."""
    difference = copy.difference()
    if not difference.changes:
        return Taken(None, difference.left_out, (), (), checks_changed_files=False)
    command = shlex.join(argv)
    title = copy.head_subject() or command
    plan_id = workspace.plan.propose(
        f"{title}\n\nChanged in a work copy by: {command}",
        rationale="",
        tags=("with",),
        proposer=proposer_of(argv),
        left_out=[f"{path}: {why}" for path, why in difference.left_out],
        requester=f"with:{proposer_of(argv)}",
    )
    specs, basis = specs_of(difference, workspace.parts.tree)
    validated = workspace.plan.set_specs_on(plan_id, specs, basis, actor=Actor.AI, reason=copy.id)
    results = []
    for check in checks:
        on_check(check)
        results.append(_run_check(workspace, copy, check, difference.tree, environment))
    if results:
        workspace.plan.add_checks(plan_id, results)
    changed = bool(results) and copy.difference().tree != difference.tree
    if all(result.exit_code == 0 for result in results):
        _ask_standing(workspace, plan_id)
    plan = workspace.parts.ledger.ref(plan_id)
    return Taken(plan, difference.left_out, validated.problems, tuple(results), changed)


def _ask_standing(workspace: Workspace, plan_id: str) -> None:
    """Where a standing approval may cover it, nobody need be asked; a person can be asked all the same."""
    if any(state.revoked_at is None for state in workspace.plan.grants()):
        with contextlib.suppress(RingiError):
            workspace.plan.request_approval(plan_id)


def proposer_of(argv: Sequence[str]) -> str:
    """The program's name; for an interpreter, that of the script it runs."""
    name = PurePosixPath(argv[0]).name
    runs_a_file = len(argv) > 1 and not argv[1].startswith("-") and _INTERPRETER.fullmatch(name)
    return PurePosixPath(argv[1]).name if runs_a_file else name


def _run_check(
    workspace: Workspace, copy: WorkCopy, command: str, tree: str, environment: Mapping[str, str]
) -> CheckResult:
    timeout = workspace.configuration.config.checks.timeout_sec
    ended = run_captured(command, cwd=copy.tree, env=environment_in(copy, environment), timeout_sec=timeout)
    return CheckResult(command, ended.exit_code, round(ended.duration_sec, 3), tree, ended.output)


def specs_of(difference: Difference, tree: Tree) -> tuple[list[ActionSpec], Basis]:
    specs = []
    basis: dict[str, FileState | None] = {}
    for change in difference.changes:
        basis[change.path] = seen = _as_seen(change, tree)
        specs.append(_spec(change, seen))
    return specs, basis


def _as_seen(change: CopyChange, tree: Tree) -> FileState | None:
    """The file as the agent saw it. Git keeps one permission bit; the others are those of the file now."""
    if change.before is None:
        return None
    executable = change.before_mode == "100755"
    try:
        found = tree.look(change.path)
    except (PathRefused, StorageFailed):
        found = None
    if found and bool(int(found.state.mode, 8) & 0o100) == executable:
        return FileState(digest(change.before), found.state.mode)
    return FileState(digest(change.before), "0755" if executable else "0644")


def _spec(change: CopyChange, seen: FileState | None) -> ActionSpec:
    if change.after is None:
        return ActionSpec(SpecKind.DELETE, change.path, group=GROUP)
    content, encoding = packed(change.after)
    kind = SpecKind.CREATE if seen is None else SpecKind.WRITE
    mode = mode_after(seen.mode if seen else None, change.before_mode, change.after_mode)
    return ActionSpec(kind, change.path, content, encoding=encoding, mode=mode, group=GROUP)
