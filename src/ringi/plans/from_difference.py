"""A difference, from an agent's copy or from git, as a plan or as the next version of one."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.errors import BadTransition, ChangeFixed, PathRefused, StorageFailed
from ringi.kernel.codec import digest
from ringi.kernel.text import Text, shorten_path, storable
from ringi.ledger.event import Actor
from ringi.plans.document import Overlap, PlanRef
from ringi.plans.effects import Rules, mode_after, pack, rules_of
from ringi.plans.propose import as_seen, set_specs
from ringi.plans.renames import with_renames
from ringi.plans.titles import title_of_specs
from ringi.plans.validate import Basis
from ringi.policy.spec_kind import SpecKind
from ringi.tree.action_spec import ActionSpec
from ringi.tree.check_result import CheckResult
from ringi.tree.difference import CopyChange, TreeDifference
from ringi.tree.file_state import FileState
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

GROUP: Final = "change"


class Taken(NamedTuple):
    """What became of a difference."""

    plan: PlanRef | None
    """None if nothing changed and there was no plan before."""
    left_out: tuple[tuple[str, Text], ...] = ()
    problems: tuple[Text, ...] = ()
    checks: tuple[CheckResult, ...] = ()
    again: bool = False
    """There was a plan before; this is a new version of it, unless nothing is new."""
    new: bool = True
    """False if the plan already contains all of it."""
    empty: bool = False
    """All changes were reverted; the plan stays as it was."""
    overlaps: tuple[Overlap, ...] = ()
    meanwhile: int = 0
    """A version the person made since the last one; the new one does not include it."""
    no_commit: Text | None = None
    """Why there will be no commit although one was requested."""


class DifferenceOrigin(NamedTuple):
    """Where a difference comes from, as its plan says it."""

    title: str
    """If it is empty, the plan gets one from what it changes."""
    made_by: str
    """The last line of the plan's text."""
    proposer: str
    requester: str
    tag: str
    reason: str
    """What the log says about the version."""
    rationale: str = ""
    checks: tuple[str, ...] = ()
    """Those about to run: they are known even if they are cut off."""
    agent_exit: int | UnsetType | None = UNSET
    """As in PlanState."""


def propose_difference(
    workspace: Workspace,
    difference: TreeDifference,
    origin: DifferenceOrigin,
    plan: PlanRef | None,
    on_plan: Callable[[str], None],
) -> tuple[str, bool, tuple[Text, ...]]:
    """The plan's id, whether it existed before, and what is wrong with it.

    `on_plan` is told the id before the plan has specs, so that after a crash the same plan goes on.
    """
    specs, basis = specs_of(difference, workspace.tree, rules_of(workspace))
    seen = bytes_before(difference)

    def set_proposed(plan_id: str) -> tuple[Text, ...]:
        return set_specs(
            workspace,
            plan_id,
            specs,
            basis=basis,
            actor=Actor.AI,
            requester=origin.requester,
            reason=origin.reason,
            seen=seen,
            check_commands=origin.checks,
            agent_exit=origin.agent_exit,
        ).problems

    if plan is not None:
        # The plan may be done by now; then the work becomes a new one.
        with contextlib.suppress(BadTransition, ChangeFixed):
            again = bool(workspace.plan.get_state(plan.id).action_specs)
            return plan.id, again, set_proposed(plan.id)
    plan_id = workspace.plan.propose(
        f"{origin.title or title_of_specs(specs)}\n\n{origin.made_by}",
        rationale=origin.rationale,
        tags=(origin.tag,),
        proposer=origin.proposer,
        left_out=format_left_out(difference),
        requester=origin.requester,
    )
    on_plan(plan_id)
    return plan_id, False, set_proposed(plan_id)


def format_left_out(difference: TreeDifference) -> list[str]:
    return [f"{storable(shorten_path(path))}: {why}" for path, why in difference.left_out]


def specs_of(
    difference: TreeDifference, tree: Tree, rules: Rules, *, step: bool = False
) -> tuple[list[ActionSpec], Basis]:
    """`step`: a step of a run, whose files are on its branch only when its turn comes."""
    specs = []
    basis: dict[str, FileState | None] = {}
    for change in difference.changes:
        basis[change.path] = seen = _as_seen(change, tree, rules)
        specs.append(_spec(change, seen))
    if step:
        tree = as_seen(tree, basis, bytes_before(difference))
    return with_renames(specs, tree, rules, basis), basis


def bytes_before(difference: TreeDifference) -> dict[str, bytes]:
    """The bytes before, by their hash."""
    return {
        digest(change.before): change.before for change in difference.changes if change.before is not None
    }


def _as_seen(change: CopyChange, tree: Tree, rules: Rules) -> FileState | None:
    """The file as the proposer saw it. Git stores one permission bit; the others come from the file now."""
    if change.before is None:
        return None
    executable = change.before_mode == "100755"
    try:
        found = tree.look(change.path)
    except (PathRefused, StorageFailed):
        found = None
    if found and bool(int(found.state.mode, 8) & 0o100) == executable:
        return FileState(digest(change.before), found.state.mode)
    new = rules.new_file_mode | (rules.new_file_mode & 0o444) >> 2 if executable else rules.new_file_mode
    return FileState(digest(change.before), f"{new:04o}")


def _spec(change: CopyChange, seen: FileState | None) -> ActionSpec:
    if change.after is None:
        return ActionSpec(SpecKind.DELETE, change.path, group=GROUP)
    content, encoding = pack(change.after)
    kind = SpecKind.CREATE if seen is None else SpecKind.WRITE
    mode = mode_after(seen.mode if seen else None, change.before_mode, change.after_mode)
    return ActionSpec(kind, change.path, content, encoding=encoding, mode=mode, group=GROUP)
