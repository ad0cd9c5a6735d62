"""Plans for similar requests: kept once approved, offered to a person, used only if that person says so."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import TYPE_CHECKING, Final

import msgspec

from ringi.approvals.forge import ForgeTerms
from ringi.engine.design import Design
from ringi.engine.document import PlanningDocument
from ringi.errors import BadBrought, RingiError
from ringi.kernel import codec
from ringi.ledger.event import Actor
from ringi.ledger.subject import short
from ringi.models.cache import AnswerOrigin, KeptPlan, PlanKind
from ringi.models.prompt import NewCriterion, NewPath, NewStep, NewSummary
from ringi.models.usage import Language, TokenUsage
from ringi.project.context import Gathered
from ringi.sessions.design import CACHE, summary_alone
from ringi.sessions.document import PlanningSession, SessionView, StoredSession
from ringi.sessions.plan_cache import CachedPlanOffer
from ringi.tree.tree import Tree

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_MOST_FILES: Final = 64
_NONE_FIRST: Final = ("questions", "decisions")
"""Nobody is asked anything before a design that is there already."""


def find(workspace: Workspace, kind: PlanKind, task: str) -> CachedPlanOffer | None:
    """The plan for a similar request."""
    tree = workspace.tree
    return workspace.cache.similar(kind, task, lambda path: _digest(tree, path), workspace.code.snapshot)


def remember_approved(workspace: Workspace, stored: StoredSession) -> None:
    """A person approved this design."""
    if workspace.caching.keeps_designs_of(stored.facts.model):
        with suppress(RingiError):  # the approval counts, whatever becomes of this
            _remember_design(workspace, stored)


def _remember_design(workspace: Workspace, stored: StoredSession) -> None:
    session, facts = stored.session, stored.facts
    design = facts.design
    # What a request file or feedback says is not in the instruction.
    if design is None or facts.request or facts.feedback or not _is_current(workspace, facts.snapshot):
        return
    found = (one.path for one in facts.project.found)
    named = (one.path for one in design.target_paths if not one.new)
    plan = KeptPlan(
        made_at=workspace.clock.now(),
        task=session.instruction,
        kind=PlanKind.DESIGN,
        value=codec.canonical(_brought(session, design, facts.language)).decode(),
        model=facts.model,
        snapshot=facts.snapshot,
        reads={},
        origin=AnswerOrigin(subject=session.session_id),
        calls=facts.usage.requests,
        tokens=facts.usage.input_tokens + facts.usage.output_tokens,
    )
    _keep(workspace, plan, (*found, *facts.files, *named))


def _brought(session: PlanningSession, design: Design, language: Language) -> NewSummary:
    """As a planner would bring it."""
    return NewSummary(
        summary=summary_alone(session.design_summary or "", language) or session.instruction,
        acceptance_criteria=tuple(NewCriterion(c.given, c.when, c.then) for c in design.acceptance_criteria),
        target_paths=tuple(NewPath(one.path, one.new) for one in design.target_paths),
        test_commands=design.test_commands,
        assumptions=design.assumptions,
        out_of_scope=design.out_of_scope,
        open_points=design.open_points,
        steps=tuple(NewStep(s.title, s.target_paths, s.criteria, s.test_commands) for s in design.steps),
    )


def remember_outline(
    workspace: Workspace, task: str, gathered: Gathered, document: PlanningDocument, model: str,
    used: Iterable[TokenUsage],
) -> None:  # fmt: skip
    taken = [*used]
    if not _is_current(workspace, gathered.snapshot):
        return
    plan = KeptPlan(
        made_at=workspace.clock.now(),
        task=task,
        kind=PlanKind.OUTLINE,
        value=codec.canonical(document).decode(),
        model=model,
        snapshot=gathered.snapshot,
        reads={},
        calls=sum(one.requests for one in taken),
        tokens=sum(one.input_tokens + one.output_tokens for one in taken),
    )
    _keep(workspace, plan, (one.path for one in gathered.context.files))


def start_with(
    workspace: Workspace, words: str, offer: CachedPlanOffer, actor: Actor, forge: ForgeTerms | None = None
) -> SessionView:
    """A session whose design is the one that was offered; a person reviews it like any other.

    Raises BadBrought if the project has no place for it any more; then there is no session.
    """
    tool, plan = workspace.planning, offer.plan
    session_id = tool.start(words, actor=actor, agent_brings=True, forge=forge).session_id
    try:
        design = codec.decode_foreign(plan.value.encode(), NewSummary, "design")
        brought = {**{name: [] for name in _NONE_FIRST}, "design": msgspec.to_builtins(design)}
        who = f"{CACHE}{short(plan.origin.subject)}"
        view = tool.bring(session_id, brought, who, workspace.cache.usage(offer))
    except RingiError as error:
        tool.cancel(session_id)
        why = error.details.get("why") or str(error)
        raise BadBrought(what=plan.task, why=why) from None
    workspace.cache.took(offer)
    return view


def _keep(workspace: Workspace, plan: KeptPlan, paths: Iterable[str]) -> None:
    """Unless it is about more than files that can be compared later."""
    reads = {path: _digest(workspace.tree, path) for path in sorted({*paths})}
    known = {path: digest for path, digest in reads.items() if digest is not None}
    if len(known) == len(reads) <= _MOST_FILES:
        workspace.cache.remember(msgspec.structs.replace(plan, reads=known))


def _is_current(workspace: Workspace, snapshot: str) -> bool:
    return bool(snapshot) and workspace.code.snapshot() == snapshot


def _digest(tree: Tree, path: str) -> str | None:
    """Empty if there is nothing; None for a folder, or what cannot be read."""
    try:
        found = tree.look(path)
    except (RingiError, OSError):
        return None
    return found.state.sha256 if found else ""
