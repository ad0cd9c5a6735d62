"""The documents of the planning process (PP-1): from the goal to the completion.

The specification shows them as examples, so they are open, and most fields may be absent (UNSET, which is
false): write `subtask.dependencies or ()`. Fields marked as ours are in no example.
"""

from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec import UNSET, UnsetType

from ringi.engine.design import TargetPath
from ringi.engine.run_plan import RunPlan
from ringi.kernel.document import Document, OpenDocument
from ringi.models.cache import SimilarPlan
from ringi.models.usage import Language, TokenUsage
from ringi.project.context import ContextFile, ProjectFacts
from ringi.tools.effects import FindingKind

_Text = str | UnsetType
_Texts = tuple[str, ...] | UnsetType


class Complexity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class GoalUnderstanding(OpenDocument, frozen=True, kw_only=True):
    main_objective: str
    success_criteria: _Texts = UNSET
    constraints: _Texts = UNSET
    context: _Text = UNSET
    goals: _Texts = UNSET
    """Ours: every goal of the task, if it has several."""
    reasoning: _Text = UNSET
    """Ours."""


class Subtask(OpenDocument, frozen=True, kw_only=True):
    id: str
    description: str
    dependencies: _Texts = UNSET
    """Ids of subtasks that come before it."""
    estimated_complexity: Complexity | UnsetType = UNSET
    required_tools: _Texts = UNSET
    parent: _Text = UNSET
    """Ours: the id of the subtask that it is a part of; that one is done when its parts are."""
    reads: _Texts = UNSET
    """Ours: paths."""
    writes: tuple[TargetPath, ...] | UnsetType = UNSET
    """Ours: what it changes, creates or deletes; `new` if it does not exist yet."""
    criteria: tuple[int, ...] | UnsetType = UNSET
    """Ours: which success criteria it serves, by number from 1."""


class TaskDecomposition(OpenDocument, frozen=True, kw_only=True):
    reasoning: _Text = UNSET
    subtasks: tuple[Subtask, ...]


class PlannedAction(OpenDocument, frozen=True, kw_only=True):
    task_id: _Text = UNSET
    action_type: _Text = UNSET
    tool: _Text = UNSET
    purpose: _Text = UNSET
    expected_outcome: _Text = UNSET
    fallback_strategy: _Text = UNSET
    parallel_group: int | UnsetType = UNSET
    can_parallelize: bool | UnsetType = UNSET
    dependencies: _Texts = UNSET
    before_task: _Text = UNSET
    """In a revision: the task that it is put before."""
    file: _Text = UNSET
    description: _Text = UNSET
    arguments: dict[str, Any] | UnsetType = UNSET


class ActionPlan(OpenDocument, frozen=True, kw_only=True):
    execution_order: _Texts = UNSET
    actions: tuple[PlannedAction, ...] | UnsetType = UNSET
    total_steps: int | UnsetType = UNSET
    estimated_complexity: Complexity | UnsetType = UNSET
    reasoning: _Text = UNSET
    """Ours."""


class UnclearGoal(OpenDocument, frozen=True, kw_only=True, tag_field="type", tag="unclear_goal"):
    """Beside it the planning document has a provisional plan to confirm, if one is possible."""

    message: str
    clarification_needed: tuple[str, ...]


class PartialPlan(OpenDocument, frozen=True, kw_only=True):
    feasible_subtasks: tuple[Subtask | str, ...] | UnsetType = UNSET
    infeasible_subtasks: tuple[Subtask | str, ...] | UnsetType = UNSET
    alternative_approaches: _Texts = UNSET


class DecompositionFailed(
    OpenDocument, frozen=True, kw_only=True, tag_field="type", tag="decomposition_failed"
):
    message: str
    partial_plan: PartialPlan | UnsetType = UNSET


PlanningError = UnclearGoal | DecompositionFailed


class PlanningDocument(OpenDocument, frozen=True, kw_only=True, tag_field="phase", tag="planning"):
    goal_understanding: GoalUnderstanding | UnsetType = UNSET
    task_decomposition: TaskDecomposition | UnsetType = UNSET
    action_plan: ActionPlan | UnsetType = UNSET
    error: PlanningError | UnsetType = UNSET
    comment: _Text = UNSET

    @property
    def subtasks(self) -> tuple[Subtask, ...]:
        return self.task_decomposition.subtasks if self.task_decomposition else ()

    @property
    def actions(self) -> tuple[PlannedAction, ...]:
        return (self.action_plan.actions or ()) if self.action_plan else ()

    @property
    def execution_order(self) -> tuple[str, ...]:
        return (self.action_plan.execution_order or ()) if self.action_plan else ()


class Finding(Document, frozen=True):
    kind: FindingKind
    task: str
    """Its id; empty if it is about the whole plan."""
    subject: str
    """The tool, path, command or words in question; a secret is not repeated."""


class FunctionCall(OpenDocument, frozen=True, kw_only=True):
    name: str
    arguments: dict[str, Any] | UnsetType = UNSET


class ExecutionDocument(OpenDocument, frozen=True, kw_only=True, tag_field="phase", tag="execution"):
    current_task: _Text = UNSET
    function_call: FunctionCall | UnsetType = UNSET
    comment: _Text = UNSET


class ActionStatus(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"
    PARTIAL = "partial"


class Reflection(OpenDocument, frozen=True, kw_only=True):
    """Automatic, about an action; or human, about somebody's feedback."""

    action_id: _Text = UNSET
    action_evaluated: _Text = UNSET
    """Another name for action_id."""
    status: ActionStatus | UnsetType = UNSET
    evaluation: _Text = UNSET
    alignment_with_plan: _Text = UNSET
    issues_identified: _Texts = UNSET
    error: _Text = UNSET
    root_cause_analysis: _Text = UNSET
    plan_revision_needed: bool | UnsetType = UNSET
    feedback_type: _Text = UNSET
    feedback_source: _Text = UNSET
    feedback_summary: _Text = UNSET

    @property
    def action(self) -> str:
        return self.action_id or self.action_evaluated or ""


class AddAction(OpenDocument, frozen=True, kw_only=True, tag_field="type", tag="add_action"):
    action: PlannedAction


class ModifyAction(OpenDocument, frozen=True, kw_only=True, tag_field="type", tag="modify_action"):
    action_id: str
    """Of the action, or of its task."""
    updates: dict[str, Any]


class RemoveAction(OpenDocument, frozen=True, kw_only=True, tag_field="type", tag="remove_action"):
    action_id: str


Change = AddAction | ModifyAction | RemoveAction


class PlanRevision(OpenDocument, frozen=True, kw_only=True):
    reason: _Text = UNSET
    changes: tuple[str | AddAction | ModifyAction | RemoveAction, ...] | UnsetType = UNSET
    """A string only tells what changed."""
    updated_action_plan: ActionPlan | UnsetType = UNSET


class ReflectionDocument(OpenDocument, frozen=True, kw_only=True, tag_field="phase", tag="reflection"):
    reflection: Reflection
    plan_revision: PlanRevision | UnsetType = UNSET
    comment: _Text = UNSET


class CompletionSummary(OpenDocument, frozen=True, kw_only=True):
    goal_achieved: bool
    tasks_completed: int | UnsetType = UNSET
    tasks_failed: int | UnsetType = UNSET
    key_outcomes: _Texts = UNSET
    lessons_learned: _Texts = UNSET
    revision_attempts: int | UnsetType = UNSET
    reason: _Text = UNSET
    current_state: _Text = UNSET
    recommendations: _Texts = UNSET


class CompletionDocument(OpenDocument, frozen=True, kw_only=True, tag_field="phase", tag="completion"):
    status: _Text = UNSET
    """requires_human_intervention, if a person has to go on."""
    summary: CompletionSummary
    done: bool | UnsetType = UNSET
    comment: _Text = UNSET


NEEDS_PERSON: Final = "requires_human_intervention"


class PlanningBrief(NamedTuple):
    """The input for goal, subtasks, action plan and revision."""

    task: str
    language: Language = "en"
    project: ProjectFacts = ProjectFacts()
    least: int = 2
    most: int = 5
    """How many subtasks are expected."""
    tools: tuple[str, ...] = ()
    plan: PlanningDocument = PlanningDocument()
    """As far as it is made."""
    feedback: str = ""
    """What a revision is about."""


class OutlineOutcome(StrEnum):
    PLANNED = "planned"
    UNCLEAR_GOAL = "unclear_goal"
    DECOMPOSITION_FAILED = "decomposition_failed"
    REFUSED = "refused"


class Outline(OpenDocument, frozen=True, kw_only=True):
    """What would be done about a request; nothing of it is carried out."""

    request: str
    outcome: OutlineOutcome
    model: str
    """The one that answered; empty if none was asked."""
    context: tuple[ContextFile, ...]
    """What the model was shown, best first."""
    context_tokens: int
    plan: PlanningDocument
    planning_json: RunPlan | None
    """Of a run that would do it; None if it is not planned."""
    findings: tuple[Finding, ...]
    """Why it is refused."""
    notes: tuple[str, ...]
    """What was put right."""
    calls: int
    usage: dict[str, TokenUsage]
    """What each phase took."""
    similar: SimilarPlan | UnsetType = UNSET
    """A plan for a similar request, offered to a person; whether they used it."""
