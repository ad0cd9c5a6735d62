"""What would be done about a request, up to planning.json. Nothing is carried out."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from msgspec.structs import replace

from ringi.engine import run_parts
from ringi.engine.call_log import LoggedCall, call_text, why_it_failed
from ringi.engine.compile import RunNames, compile_run_plan
from ringi.engine.document import Outline, OutlineOutcome, PlanningDocument
from ringi.engine.engine import (
    EngineContext,
    Outcome,
    Planned,
    PlanningEngine,
    RefusedPlan,
    Unclear,
    Undecomposed,
    adopt_plan,
)
from ringi.engine.instruction import language_of
from ringi.engine.phases import Phases
from ringi.engine.run_plan import MAIN_BRANCH, RunPlan
from ringi.engine.run_state import run_id
from ringi.errors import BadInstruction, ModelFailed, OutlineFailed
from ringi.kernel import codec
from ringi.kernel.fs import replace_file
from ringi.kernel.telemetry.port import OPERATION, WORKFLOW
from ringi.kernel.text import Text
from ringi.kernel.tokens import tokens
from ringi.models.cache import PlanKind
from ringi.models.prompt import OnProgress
from ringi.models.usage import Purpose
from ringi.project.context import Gathered, ProjectFacts
from ringi.sessions import plan_cache
from ringi.sessions.operations import LONGEST_INSTRUCTION, why_unfit
from ringi.sessions.plan_cache import CachedPlanOffer
from ringi.sessions.view import restless_words
from ringi.tree.copy_layout import branch_of

if TYPE_CHECKING:
    from ringi.app.workspace import Workspace

_NAMES: Final[dict[type, OutlineOutcome]] = {
    Planned: OutlineOutcome.PLANNED,
    Unclear: OutlineOutcome.UNCLEAR_GOAL,
    Undecomposed: OutlineOutcome.DECOMPOSITION_FAILED,
    RefusedPlan: OutlineOutcome.REFUSED,
}


class Outlined(NamedTuple):
    document: Outline
    outcome: Outcome
    notes: tuple[Text, ...]


def engine_of(workspace: Workspace, on_progress: OnProgress = lambda _: None) -> PlanningEngine:
    """For one task."""
    return PlanningEngine(
        EngineContext(
            model=workspace.model,
            budget=workspace.budget,
            config=workspace.config,
            count=tokens,
            code=workspace.code,
            on_progress=on_progress,
            telemetry=workspace.telemetry,
        )
    )


def outline(
    workspace: Workspace,
    request: str,
    on_progress: OnProgress = lambda _: None,
    *,
    similar: CachedPlanOffer | None = None,
    use_it: bool = False,
) -> Outlined:
    """`similar` was offered to a person, who may have said to use it.

    Raises BadInstruction, and OutlineFailed if the model does not answer.
    """
    workspace.permits.require_allowed(workspace.person.user())
    words = request.strip()
    if why := why_unfit(words, LONGEST_INSTRUCTION):
        raise BadInstruction(why=why)
    planned = workspace.config.planning.enabled
    gathered = workspace.code.gather(words) if planned else None
    engine = engine_of(workspace, on_progress)
    if similar is not None and use_it:
        outcome = _reuse_plan(workspace, engine, similar)
    else:
        outcome = _plan_anew(workspace, engine, words, gathered)
    notes = outcome.notes if isinstance(outcome, Planned | Unclear) else ()
    if gathered and gathered.restless:
        notes = (restless_words(gathered.restless), *notes)
    run_plan = _run_plan(workspace, words, gathered, outcome) if isinstance(outcome, Planned) else None
    document = _document(words, gathered, engine, outcome, notes, run_plan)
    if similar is not None:
        document = replace(document, similar=similar.describe(used=use_it))
    return Outlined(document, outcome, notes)


def similar_outline(workspace: Workspace, request: str) -> CachedPlanOffer | None:
    """The plan for a similar request, for a person to decide about."""
    if not workspace.config.planning.enabled:
        return None
    return plan_cache.find(workspace, PlanKind.OUTLINE, request.strip())


def _reuse_plan(workspace: Workspace, engine: PlanningEngine, offer: CachedPlanOffer) -> Outcome:
    plan = codec.decode_foreign(offer.plan.value.encode(), PlanningDocument, "plan")
    workspace.cache.took(offer)
    engine.asked.append(LoggedCall(Purpose.OUTLINE, offer.plan.model, workspace.cache.usage(offer)))
    return adopt_plan(engine.context, offer.plan.task, plan)


def _plan_anew(
    workspace: Workspace, engine: PlanningEngine, words: str, gathered: Gathered | None
) -> Outcome:
    log = workspace.places.state / "outline.log"
    telemetry, about = workspace.telemetry, {OPERATION: "invoke_workflow", WORKFLOW: "outline"}
    Phases(telemetry).log_start("outline")
    try:
        with telemetry.spans.root("ringi.outline", workspace.ids(), about):
            outcome = engine.plan(words, gathered)
    except ModelFailed as error:
        why = why_it_failed(error, workspace.mask)
        raise OutlineFailed(why=why, log=str(log)) from error
    finally:
        _write_log(workspace, engine, log)
    used = [call.usage for call in engine.asked]
    if isinstance(outcome, Planned) and gathered and any(one.requests for one in used):
        plan_cache.remember_outline(
            workspace, words, gathered, outcome.document, engine.asked[-1].model, used
        )
    return outcome


def _write_log(workspace: Workspace, engine: PlanningEngine, log: Path) -> None:
    """Instead of that of the outline before; without it nothing else is missing."""
    logs = workspace.config.logs
    now = workspace.clock.now()
    texts = [
        call_text(call, now, workspace.mask, detailed=logs.detailed, confidential=logs.confidential)
        for call in engine.asked
    ]
    with suppress(OSError):
        replace_file(log, "".join(texts).encode("utf-8", "backslashreplace"), synced=False)


def _run_plan(workspace: Workspace, request: str, gathered: Gathered | None, outcome: Planned) -> RunPlan:
    """As a run would get it now; nothing is stored under these names."""
    document = outcome.document
    now = workspace.clock.now()
    run = run_id(now, workspace.ids())
    found = run_parts.PartsInput(
        request,
        goal=document.goal_understanding or None,
        subtasks=document.subtasks,
        actions=document.action_plan or None,
        project=gathered.project if gathered else ProjectFacts(),
        language=language_of(request),
    )
    names = RunNames(f"RQ-{run[:8]}-000", run, now, branch_of(workspace.places.root) or MAIN_BRANCH)
    wishes = run_parts.RunWishes(timeout_sec=workspace.config.checks.timeout_sec)
    return compile_run_plan(found, names, wishes)


def _document(
    request: str,
    gathered: Gathered | None,
    engine: PlanningEngine,
    outcome: Outcome,
    notes: tuple[Text, ...],
    run_plan: RunPlan | None,
) -> Outline:
    return Outline(
        request=request,
        outcome=_NAMES[type(outcome)],
        model=engine.asked[-1].model if engine.asked else "",
        context=gathered.context.files if gathered else (),
        context_tokens=gathered.context.tokens if gathered else 0,
        plan=outcome.document,
        planning_json=run_plan,
        findings=outcome.findings if isinstance(outcome, RefusedPlan) else (),
        notes=tuple(map(str, notes)),
        calls=sum(1 for call in engine.asked if not call.usage.reused),
        usage={str(purpose): usage for purpose, usage in engine.spent.items()},
    )
