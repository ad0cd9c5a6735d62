"""The planning engine (PP-2): from a task to its goal, subtasks and action plan, and to a revised plan.

What goes wrong is an outcome, not an exception: an unclear goal, a task that cannot be decomposed, a plan
that is refused. Only a model that does not answer raises ModelFailed.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from ringi.config.keys import Config
from ringi.engine.answers import NewAction, NewActionPlan, NewDecomposition, NewGoal, NewOutline, NewReplan
from ringi.engine.call_log import LoggedCall, failure_end
from ringi.engine.decompose import (
    SubtaskDraft,
    action_plan,
    decomposition,
    draft_subtasks,
    safe_ids,
    settle_paths,
)
from ringi.engine.document import (
    ActionPlan,
    DecompositionFailed,
    Finding,
    GoalUnderstanding,
    PartialPlan,
    PlanningBrief,
    PlanningDocument,
    PlanRevision,
    Subtask,
    TaskDecomposition,
    UnclearGoal,
)
from ringi.engine.instruction import language_of
from ringi.engine.levels import Measure, measure_of, subtask_limit
from ringi.engine.order import Order, Unordered, order_subtasks
from ringi.engine.phases import Phases
from ringi.engine.plan_checks import PlanRules, findings
from ringi.engine.plan_prompts import prompt_for
from ringi.engine.revise import apply_revision, revision_of
from ringi.errors import ModelFailed
from ringi.kernel.telemetry.port import SILENT, Phase, Span, Telemetry
from ringi.kernel.text import Text
from ringi.models.prompt import Budget, LanguageModel, OnProgress
from ringi.models.usage import Language, Purpose, TokenUsage
from ringi.project.context import CodeContext, Gathered, ProjectFacts
from ringi.tools.rules import ToolRules

T = TypeVar("T")
TOOLS: Final = ("read", "analyze", "create", "write", "patch", "delete", "move", "mkdir", "run")
"""What the plan tool can do itself."""
_WORDS: Final[dict[str, dict[Language, str]]] = {
    "unclear": {"en": "The goal of the task is not clear.", "ja": "タスクの目標が明確ではありません。"},
    "failed": {
        "en": "The task could not be decomposed completely.",
        "ja": "タスクを完全には分解できませんでした。",
    },
    "split": {
        "en": "Ask for one part of it at a time.",
        "ja": "一部分ずつ依頼してください。",
    },
    "name": {
        "en": "Name the files and the result that you want.",
        "ja": "対象のファイルと期待する結果を具体的に書いてください。",
    },
}


class EngineContext(NamedTuple):
    model: Callable[[], LanguageModel]
    budget: Budget
    config: Config
    count: Callable[[str], int]
    """The tokens of a text, estimated."""
    code: CodeContext | None = None
    """Without it no path is compared with the project."""
    on_progress: OnProgress = lambda _: None
    tools: tuple[str, ...] = TOOLS
    """What a plan can name."""
    telemetry: Telemetry = SILENT


class Planned(NamedTuple):
    document: PlanningDocument
    order: Order
    notes: tuple[Text, ...] = ()
    """What was put right."""


class Unclear(NamedTuple):
    """Questions have to be answered; the document has a provisional plan if one was possible."""

    document: PlanningDocument
    error: UnclearGoal
    notes: tuple[Text, ...] = ()


class Undecomposed(NamedTuple):
    document: PlanningDocument
    error: DecompositionFailed


class RefusedPlan(NamedTuple):
    document: PlanningDocument
    findings: tuple[Finding, ...]


Outcome = Planned | Unclear | Undecomposed | RefusedPlan


class PlanningEngine:
    """For one task; `spent` and `asked` tell what it took."""

    def __init__(self, given: EngineContext) -> None:
        self.context = given
        self._has = given.code.has if given.code else _everything
        self._phases = Phases(given.telemetry)
        self.asked: list[LoggedCall] = []
        self._unsettled: list[Callable[[bool], None]] = []
        """Wants to know whether what was answered became a plan."""

    @property
    def spent(self) -> dict[Purpose, TokenUsage]:
        """By phase, failed calls too."""
        spent: dict[Purpose, TokenUsage] = {}
        for call in self.asked:
            spent[call.purpose] = spent.get(call.purpose, TokenUsage()).plus(call.usage)
        return spent

    # --- the four operations of the specification ----------------------------------------------------------

    def understand_goal(
        self, task_prompt: str, context: Gathered | None = None
    ) -> GoalUnderstanding | UnclearGoal:
        brief = _brief(self.context, task_prompt, context)
        found = self._understand(brief, self._measure(task_prompt), context)
        return _unclear(found, brief.language) if found.clarification_needed else _goal(found)

    def decompose_task(
        self,
        goal: GoalUnderstanding,
        available_tools: Sequence[str] = (),
        *,
        task_prompt: str = "",
        context: Gathered | None = None,
    ) -> TaskDecomposition | DecompositionFailed:
        task = task_prompt or goal.main_objective
        brief = _brief(self.context, task, context, PlanningDocument(goal_understanding=goal))
        measure = self._measure(task)
        if available_tools:
            brief = brief._replace(tools=tuple(available_tools))
        ask = partial(self._ask, Purpose.SUBTASKS, NewDecomposition, brief, measure, context)
        found, draft = self._decompose(None, ask, brief, measure)
        if isinstance(draft, DecompositionFailed):
            return draft
        return decomposition(settle_paths(draft.subtasks, self._has)[0], found.reasoning)

    def generate_action_plan(
        self, subtasks: Sequence[Subtask], context: Gathered | None = None, *, task_prompt: str = ""
    ) -> ActionPlan | DecompositionFailed:
        order = order_subtasks(subtasks)
        brief = _brief(
            self.context, task_prompt or subtasks[0].description if subtasks else task_prompt, context
        )
        if isinstance(order, Unordered):
            return _decomposition_failure(subtasks, order, 0, NewDecomposition(()), brief.language)
        plan = PlanningDocument(task_decomposition=decomposition(subtasks, ""))
        measure = self._measure(brief.task)
        with self._phases.of(Phase.GENERATE_ACTION_PLAN) as span:
            found = self._ask(Purpose.ACTIONS, NewActionPlan, brief._replace(plan=plan), measure, context)
            made = action_plan(subtasks, order, found.actions, _tools(self.context), found.reasoning)
            self._phases.log_plan(span, made)
        return made

    def revise_plan(
        self, current_plan: PlanningDocument, feedback: str, context: Gathered | None = None
    ) -> tuple[Outcome, PlanRevision]:
        """Changes as little as possible; the revision says what."""
        goal = current_plan.goal_understanding
        task = goal.main_objective if goal else feedback
        brief = _brief(self.context, task, context, current_plan)._replace(feedback=feedback)
        measure = self._measure(task)
        with self._phases.of(Phase.REVISE_PLAN):
            found = self._ask(Purpose.REPLAN, NewReplan, brief, measure, context)
        revision = revision_of(found)
        plan = apply_revision(current_plan, revision)
        order = order_subtasks(plan.subtasks)
        if isinstance(order, Unordered):
            failed = _decomposition_failure(plan.subtasks, order, 0, NewDecomposition(()), brief.language)
            return Undecomposed(replace(current_plan, error=failed), failed), revision
        return _check_plan(self.context, plan, order, measure, ()), revision

    # --- all at once ---------------------------------------------------------------------------------------

    def plan(self, task_prompt: str, context: Gathered | None = None) -> Outcome:
        """One call for a small task, otherwise one for each document."""
        if not self.context.config.planning.enabled:
            return one_step(task_prompt)
        outcome = self._plan_in_phases(task_prompt, context)
        while self._unsettled:
            self._unsettled.pop()(isinstance(outcome, Planned))
        return outcome

    def _plan_in_phases(self, task_prompt: str, context: Gathered | None) -> Outcome:
        brief, measure = _brief(self.context, task_prompt, context), self._measure(task_prompt)
        if measure.at_once:
            return self._plan_at_once(brief, measure, context)
        goal = self._understand(brief, measure, context)
        known = PlanningDocument(goal_understanding=_goal(goal))
        brief = brief._replace(plan=known)
        ask = partial(self._ask, Purpose.SUBTASKS, NewDecomposition, brief, measure, context)
        found, draft = self._decompose(None, ask, brief, measure)
        if isinstance(draft, DecompositionFailed):
            return _outcome_of(goal, replace(known, error=draft), draft, brief.language)
        subtasks, notes = settle_paths(draft.subtasks, self._has)
        known = replace(known, task_decomposition=decomposition(subtasks, found.reasoning))
        with self._phases.of(Phase.GENERATE_ACTION_PLAN) as span:
            brief = brief._replace(plan=known)
            actions = self._ask(Purpose.ACTIONS, NewActionPlan, brief, measure, context)
            return self._finish(goal, known, actions, measure, brief.language, notes, span)

    def _understand(self, brief: PlanningBrief, measure: Measure, context: Gathered | None) -> NewGoal:
        with self._phases.of(Phase.UNDERSTAND_GOAL) as span:
            found = self._ask(Purpose.GOAL, NewGoal, brief, measure, context)
            self._phases.log_goal(span, found)
        return found

    def _plan_at_once(self, brief: PlanningBrief, measure: Measure, context: Gathered | None) -> Outcome:
        answers: list[NewOutline] = []

        def ask(problems: Sequence[str]) -> NewDecomposition:
            answers.append(self._ask(Purpose.OUTLINE, NewOutline, brief, measure, context, problems))
            return answers[-1].task_decomposition

        # One call answers all three; it is part of the first.
        with self._phases.of(Phase.UNDERSTAND_GOAL) as span:
            first = ask(())
            self._phases.log_goal(span, answers[-1].goal_understanding)
        found, draft = self._decompose(first, ask, brief, measure)
        goal = answers[-1].goal_understanding
        known = PlanningDocument(goal_understanding=_goal(goal))
        if isinstance(draft, DecompositionFailed):
            return _outcome_of(goal, replace(known, error=draft), draft, brief.language)
        subtasks, notes = settle_paths(draft.subtasks, self._has)
        known = replace(known, task_decomposition=decomposition(subtasks, found.reasoning))
        with self._phases.of(Phase.GENERATE_ACTION_PLAN) as span:
            actions = _with_ids(answers[-1].action_plan, found)
            return self._finish(goal, known, actions, measure, brief.language, notes, span)

    def _decompose(
        self,
        first: NewDecomposition | None,
        ask: Callable[[Sequence[str]], NewDecomposition],
        brief: PlanningBrief,
        measure: Measure,
    ) -> tuple[NewDecomposition, SubtaskDraft | DecompositionFailed]:
        """Twice at most: the second time for a coarser plan, with the problems of the first (PP-10)."""
        tools, failed = _tools(self.context, brief.tools), None
        with self._phases.of(Phase.DECOMPOSE_TASK) as span:
            found = first or ask(())
            draft = draft_subtasks(found, measure.most, tools, self._has)
            if draft.problems and not found.infeasible_subtasks:
                self._unsettled.pop()(False)
                found = ask(draft.problems)
                draft = draft_subtasks(found, measure.most, tools, self._has)
            if found.infeasible_subtasks or not draft.usable:
                failed = _decomposition_failure(
                    draft.subtasks, draft.order, draft.too_many, found, brief.language
                )
            self._phases.log_subtasks(span, len(draft.subtasks), failed)
        return found, failed or draft

    def _finish(
        self,
        goal: NewGoal,
        known: PlanningDocument,
        actions: NewActionPlan,
        measure: Measure,
        language: Language,
        notes: tuple[Text, ...],
        span: Span,
    ) -> Outcome:
        subtasks = known.subtasks
        order = order_subtasks(subtasks)
        if isinstance(order, Unordered):  # a reader that came to nothing cannot make one
            failed = _decomposition_failure(subtasks, order, 0, NewDecomposition(()), language)
            return Undecomposed(replace(known, error=failed), failed)
        plan = action_plan(subtasks, order, actions.actions, _tools(self.context), actions.reasoning)
        document = replace(known, action_plan=plan)
        outcome = _check_plan(self.context, document, order, measure, notes)
        wrong = outcome.findings if isinstance(outcome, RefusedPlan) else ()
        self._phases.log_plan(span, plan, len(wrong))
        if goal.clarification_needed and isinstance(outcome, Planned):
            error = _unclear(goal, language)
            return Unclear(replace(document, error=error), error, notes)
        return outcome

    # --- asking --------------------------------------------------------------------------------------------

    def _ask(
        self,
        purpose: Purpose,
        kind: type[T],
        brief: PlanningBrief,
        measure: Measure,
        context: Gathered | None,
        problems: Sequence[str] = (),
    ) -> T:
        text = context.context.text if context else ""
        brief = brief._replace(least=measure.least, most=measure.most)
        prompt = prompt_for(purpose, measure, brief, text, problems)
        given, model = self.context, self.context.model()
        try:
            answer = model.ask(prompt, kind, given.budget, given.on_progress)
        except ModelFailed as error:
            spent, end = error.usage or TokenUsage(), failure_end(error)
            self.asked.append(LoggedCall(purpose, model.name, spent, error.exchanges, end=end))
            raise
        self.asked.append(LoggedCall(purpose, answer.model, answer.usage, answer.exchanges))
        self._unsettled.append(answer.settle)
        return answer.value

    def _measure(self, task: str) -> Measure:
        return measure_of(self.context.count(task), self.context.config)


def _tools(given: EngineContext, known: Sequence[str] = ()) -> ToolRules:
    security = given.config.planning.security
    return ToolRules(tuple(known) or given.tools, security.allowed_tools, security.forbidden_tools)


def _brief(
    given: EngineContext, task: str, context: Gathered | None, plan: PlanningDocument | None = None
) -> PlanningBrief:
    return PlanningBrief(
        task=task,
        language=language_of(task),
        project=context.project if context else ProjectFacts(),
        tools=given.tools,
        plan=plan or PlanningDocument(),
    )


def adopt_plan(given: EngineContext, task_prompt: str, document: PlanningDocument) -> Outcome:
    """A plan that was made before, checked like a new one; no model is asked."""
    subtasks = document.subtasks
    order = order_subtasks(subtasks)
    if isinstance(order, Unordered):
        failed = _decomposition_failure(subtasks, order, 0, NewDecomposition(()), language_of(task_prompt))
        return Undecomposed(replace(document, error=failed), failed)
    measure = measure_of(given.count(task_prompt), given.config)
    return _check_plan(given, document, order, measure, ())


def _check_plan(
    given: EngineContext,
    document: PlanningDocument,
    order: Order,
    measure: Measure,
    notes: tuple[Text, ...],
) -> Outcome:
    most = max(measure.most, subtask_limit(given.config) or 0)
    found = findings(document, PlanRules(_tools(given), most))
    return RefusedPlan(document, found) if found else Planned(document, order, notes)


def _everything(_path: str) -> bool:
    """Nothing is compared with the project."""
    return True


def _goal(found: NewGoal) -> GoalUnderstanding:
    return GoalUnderstanding(
        main_objective=found.main_objective.strip(),
        success_criteria=found.success_criteria,
        constraints=found.constraints,
        context=found.context,
        goals=found.goals if len(found.goals) > 1 else UNSET,
        reasoning=found.reasoning or UNSET,
    )


def _with_ids(plan: NewActionPlan, found: NewDecomposition) -> NewActionPlan:
    names = safe_ids(found.subtasks)
    if not names:
        return plan
    actions = tuple(_rename_action(action, names.get(action.task_id, "")) for action in plan.actions)
    return replace(plan, actions=actions)


def _rename_action(action: NewAction, name: str) -> NewAction:
    return replace(action, task_id=name or action.task_id)


def _unclear(goal: NewGoal, language: Language) -> UnclearGoal:
    return UnclearGoal(message=_WORDS["unclear"][language], clarification_needed=goal.clarification_needed)


def _outcome_of(
    goal: NewGoal, document: PlanningDocument, error: DecompositionFailed, language: Language
) -> Outcome:
    """An unclear goal is why nothing could be decomposed."""
    if goal.clarification_needed:
        unclear = _unclear(goal, language)
        return Unclear(replace(document, error=unclear), unclear)
    return Undecomposed(document, error)


def _decomposition_failure(
    subtasks: Sequence[Subtask],
    order: Order | Unordered,
    too_many: int,
    found: NewDecomposition,
    language: Language,
) -> DecompositionFailed:
    """At most as many as a plan could have: a reader needs no ten thousand."""
    wrong = order.tasks if isinstance(order, Unordered) else frozenset()
    feasible = [task for task in subtasks if task.id not in wrong]
    infeasible: list[Subtask | str] = [task for task in subtasks if task.id in wrong]
    infeasible += found.infeasible_subtasks
    words = [_WORDS[key][language] for key in (("split",) if too_many else ("split", "name"))]
    kept = 15
    return DecompositionFailed(
        message=_WORDS["failed"][language],
        partial_plan=PartialPlan(
            feasible_subtasks=tuple(feasible[:kept]),
            infeasible_subtasks=tuple(infeasible[:kept]),
            alternative_approaches=found.alternative_approaches or tuple(words),
        ),
    )


def one_step(task: str) -> Planned:
    """Without planning: the request is the only task, and its actions are found when it is carried out."""
    words = task.strip()
    subtask = Subtask(id="task_1", description=words, dependencies=())
    document = PlanningDocument(
        goal_understanding=GoalUnderstanding(main_objective=words.partition("\n")[0]),
        task_decomposition=TaskDecomposition(subtasks=(subtask,)),
        action_plan=ActionPlan(execution_order=("task_1",), total_steps=1),
    )
    return Planned(document, Order(("task_1",), (("task_1",),)))
