"""What would be done about a request: context, goal, subtasks and action plan. Nothing is carried out."""

from typing import Final, NamedTuple

from ringi.context.tokens import tokens
from ringi.domain.planning import Outline, OutlineOutcome
from ringi.domain.prompt import OnProgress
from ringi.errors import BadInstruction
from ringi.planning.engine import (
    EngineServices,
    Outcome,
    Planned,
    PlanningEngine,
    Refused,
    Unclear,
    Undecomposed,
)
from ringi.planning.operations import LONGEST_INSTRUCTION, unfit
from ringi.ports import Gathered
from ringi.text import Text
from ringi.usecases.workspace import OpenWorkspace

_NAMES: Final[dict[type, OutlineOutcome]] = {
    Planned: OutlineOutcome.PLANNED,
    Unclear: OutlineOutcome.UNCLEAR_GOAL,
    Undecomposed: OutlineOutcome.DECOMPOSITION_FAILED,
    Refused: OutlineOutcome.REFUSED,
}


class Outlined(NamedTuple):
    document: Outline
    outcome: Outcome
    notes: tuple[Text, ...]


def engine_of(workspace: OpenWorkspace, on_progress: OnProgress = lambda _: None) -> PlanningEngine:
    """For one task."""
    services = workspace.services
    if services.model is None or services.model_budget is None:
        raise TypeError("a workspace without a model cannot plan")
    return PlanningEngine(
        EngineServices(
            model=services.model,
            budget=services.model_budget,
            settings=workspace.settings.planning,
            count=tokens,
            code=services.code(),
            on_progress=on_progress,
        )
    )


def outline(workspace: OpenWorkspace, request: str, on_progress: OnProgress = lambda _: None) -> Outlined:
    """Raises BadInstruction, and ModelFailed if the model does not answer."""
    words = request.strip()
    if why := unfit(words, LONGEST_INSTRUCTION):
        raise BadInstruction(why=why)
    gathered = workspace.code.gather(words) if workspace.settings.planning.enabled else None
    engine = engine_of(workspace, on_progress)
    outcome = engine.plan(words, gathered)
    notes = outcome.notes if isinstance(outcome, Planned | Unclear) else ()
    return Outlined(_document(words, gathered, engine, outcome, notes), outcome, notes)


def _document(
    request: str,
    gathered: Gathered | None,
    engine: PlanningEngine,
    outcome: Outcome,
    notes: tuple[Text, ...],
) -> Outline:
    return Outline(
        request=request,
        outcome=_NAMES[type(outcome)],
        model=engine.asked[-1].model if engine.asked else "",
        context=gathered.context.files if gathered else (),
        context_tokens=gathered.context.tokens if gathered else 0,
        plan=outcome.document,
        findings=outcome.findings if isinstance(outcome, Refused) else (),
        notes=tuple(map(str, notes)),
        calls=len(engine.asked),
        usage={str(purpose): usage for purpose, usage in engine.spent.items()},
    )
