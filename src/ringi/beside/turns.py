"""The turns of an agent that lives on between them: each ends with a plan, and the next begins with what the
person made of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from ringi.beside.copies import agent_copies, plan_of
from ringi.beside.message import (
    AFTER_TURN,
    APPLIED,
    DISCARDED,
    LACKS_IGNORED,
    UNDONE,
    describe_moves,
    has_news,
    message_of,
)
from ringi.beside.resume import lay_in
from ringi.errors import CopyFailed, RingiError
from ringi.kernel.fs import OsFileSystem
from ringi.kernel.text import Text
from ringi.plans.document import ENDED, PlanDocument, PlanStatus
from ringi.plans.effects import Effect
from ringi.plans.merge import find_changed_files
from ringi.plans.preview import effects_proposed
from ringi.policy.risk_level import Risk
from ringi.tree.copy import Supervisor, WorkCopy
from ringi.tree.copy_rebase import Followed, files_of, follow_workspace, rebase
from ringi.tree.copy_run import lay_over
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace


class AgentTurn(NamedTuple):
    """What an agent begins with."""

    copy: WorkCopy
    message: str = ""
    """Empty if there is nothing new."""
    laid: tuple[str, ...] = ()
    """Files the person dropped or edited, now updated in the copy."""
    not_laid: tuple[str, ...] = ()
    """Such files that were not updated, because the agent had changed them since."""
    torn: tuple[str, ...] = ()
    """Files that the agent and the project both changed; so it works on with the project as it was."""
    hidden: tuple[str, ...] = ()
    """New files of the agent that git ignores since."""


def begin_turn(workspace: Workspace, copy: WorkCopy) -> AgentTurn:
    """Prepares the copy, in which the agent's process may live already. Raises CopyFailed."""
    plan, places = plan_of(workspace, copy), workspace.places
    now = workspace.clock.now()
    mine = {"supervisor": Supervisor.this_process(), "taken": False}
    since = copy.record.told_at
    if plan is None:
        found = follow_workspace(copy, places.root, places.state, **mine, told_at=now)
        # In its first turn it has looked at nothing yet.
        first = LACKS_IGNORED if copy.left_behind else ""
        return AgentTurn(found.copy, _describe_moves(found) if since else first, torn=found.torn)
    answer = workspace.plan.answer(plan.id)
    checks = workspace.plan.get_state(plan.id).checks
    if plan.status not in ENDED:
        planned = copy.record.planned_tree
        # What it wrote after its last turn is in no plan yet.
        late = bool(planned) and copy.difference(living=True).tree != planned
        laid, not_laid = lay_in(workspace, copy, answer)
        news = has_news(answer, since)
        message = message_of(answer, checks, since=since, then=AFTER_TURN) if news else ""
        tree = planned if late else copy.difference(living=True).tree
        copy.note(**mine, planned_tree=tree, planned_version=plan.version)
        found = follow_workspace(copy, places.root, places.state, told_at=now)
        message = "\n".join(filter(None, [message, _describe_moves(found)]))
        return AgentTurn(found.copy, message, laid, not_laid, found.torn, found.hidden)
    done = UNDONE if plan.undone else APPLIED if plan.status is PlanStatus.COMPLETED else DISCARDED
    known = copy.record.planned_tree or copy.difference(living=True).tree
    none = {"plan_id": "", "planned_tree": "", "planned_version": 0, "left_out": False}
    again = rebase(copy, places.root, places.state, known, **mine, **none, told_at=now)
    if again is None:
        raise CopyFailed(why=Text("the project became a repository of another kind"))
    message = message_of(answer, checks, since=since, applied=done, then=AFTER_TURN)
    return AgentTurn(again, message)


def _describe_moves(found: Followed) -> str:
    return describe_moves(found.changed, found.torn) if found.changed else ""


def copy_of(workspace: Workspace, conversation: str) -> WorkCopy | None:
    """The copy in which a conversation was held, if it can be continued there."""
    for copy in reversed(agent_copies(workspace)):
        if conversation and copy.record.conversation == conversation:
            return None if copy.is_running or copy.is_gone or copy.record.emptied else copy
    return None


def bring(source: WorkCopy, target: WorkCopy) -> None:
    """Lays what an agent changed in its copy into another, in which nobody works yet."""
    lay_over(Tree(OsFileSystem(), target.tree), files_of(source.difference(living=True)))


def changes_of(workspace: Workspace, plan_id: str) -> list[Effect]:
    """What a plan does to the files that its proposer saw, riskiest first.

    Nothing if that cannot be known any more.
    """
    document = workspace.plan.get(plan_id)
    try:
        found = effects_proposed(workspace, document)
    except RingiError:
        return []
    levels = tuple(Risk)
    pairs = sorted(
        zip(document.state.action_specs, found, strict=True),
        key=lambda pair: levels.index(pair[0].risk),
        reverse=True,
    )
    return [effect for _, some in pairs for effect in some]


def find_changed_meanwhile(workspace: Workspace, document: PlanDocument) -> tuple[str, ...]:
    """Files of a plan that changed in the project since its proposer saw them."""
    return find_changed_files(workspace, document)
