"""The reflection engine (PP-3, PP-8): what a result means for the plan, by rules or by a model.

A model can only propose: what it may not change, `revisions.revise` cuts off or refuses.
"""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from ringi.config.keys import Config, DecompositionLevel, Depth
from ringi.engine.answers import NewReflection, NewReplan
from ringi.engine.document import (
    ActionStatus,
    AddAction,
    ModifyAction,
    PlannedAction,
    PlanningBrief,
    PlanRevision,
    Reflection,
)
from ringi.engine.instruction import language_of
from ringi.engine.levels import Measure
from ringi.engine.plan_checks import PlanRules
from ringi.engine.plan_prompts import describe_plan, prompt_for
from ringi.engine.process import RUN, ActionRecord, ActionState, Process, RecoveryRecord, RunFeedback
from ringi.engine.revise import change_of, least, revision_of
from ringi.errors import ModelFailed
from ringi.kernel import codec
from ringi.kernel.text import Text, in_language
from ringi.kernel.tokens import tokens
from ringi.models.prompt import Material, Prompt
from ringi.models.usage import Purpose
from ringi.runs.process.evaluation import SOFT, judge_in_plan, judge_result, kind_of, short
from ringi.runs.process.strategies import (
    FailureCase,
    StrategyAttempt,
    advice_for,
    attempts,
    find_remembered,
    paths_of,
    rank,
    strategy_of,
    subtask_of,
)
from ringi.tools.effects import ErrorKind, ToolEffect
from ringi.tools.ports_process import ToolInfo

_E = ErrorKind
HUMAN: Final = "human"
AGENT: Final = "agent"
RULES: Final = "rules"
_RECOMMENDED: Final[Mapping[DecompositionLevel, int]] = {
    DecompositionLevel.MINIMAL: 0,
    DecompositionLevel.MODERATE: 5,
    DecompositionLevel.DETAILED: 3,
}
"""Actions between two reflections; 0: only on an error."""
_RESULT_TOKENS: Final = 800
_DONE_TOKENS: Final = 2_000
_SUMMARY: Final = 300
_LINE: Final = 200
_MOST: Final = 20
"""Of what one answer may list."""
_WATCH: Final = "You watch over the work on a task of a software project."
_TASK: Final = (
    "`result` came of `action`. Compare it with what was expected, and find the cause. If the plan still "
    "leads to the goal, give no changes. Otherwise change as little as possible: what you do not name "
    "stays, what is done cannot change. add_action: description, tool, before_task if it goes before one; "
    "modify_action, remove_action: action_id, a task. arguments: the whole call as a JSON object, if you "
    "know it. Only tools of the list; not what failed; what helped first. If it cannot be judged, say in "
    "missing what is unknown, and add an action that finds out. recommendations: only what a person has to"
    " decide. Short sentences in the language of the task."
)


class ReflectionTrigger(StrEnum):
    ERROR = "error"
    UNEXPECTED = "unexpected"
    IMPORTANT = "important"
    INTERVAL = "interval"


class Suggestion(NamedTuple):
    reflection: Reflection
    revision: PlanRevision | None
    """None: go on as planned."""
    strategy: str = ""
    """A word that can be remembered: `RecoveryRecord.strategy`."""
    by: str = RULES
    """Or the model's name, or who gave feedback."""
    recommendations: tuple[str, ...] = ()
    """Not empty: it cannot go on by itself."""


class ReflectionEngine:
    def __init__(
        self,
        *,
        ask: Callable[[Prompt, type], Any],
        config: Config,
        tools: Sequence[ToolInfo],
        rules: PlanRules,
        recoveries: Callable[[ErrorKind], tuple[RecoveryRecord, ...]],
        mask: Callable[[str], str],
        complexity: DecompositionLevel,
        model: str = "",
    ) -> None:
        """`ask` asks a model and raises ModelFailed; `model` is its name, empty if there is none. The
        complexity decides the recommended interval.
        """
        self._ask = ask
        self._config = config
        self._settings = config.planning.reflection
        self._tools = {one.name: one for one in tools}
        self._rules = rules
        self._recoveries = recoveries
        self._mask = mask
        self._complexity = complexity
        self._model = model

    # --- when ----------------------------------------------------------------------------------------------

    @property
    def interval(self) -> int:
        if self._config.is_set("planning.reflection.trigger_interval"):
            return self._settings.trigger_interval
        return _RECOMMENDED[self._complexity]

    def trigger(self, record: ActionRecord, since: int) -> ReflectionTrigger | None:
        """`since`: actions since the last reflection, this one included."""
        if not self._settings.enabled or record.state is ActionState.SKIPPED:
            return None
        kind = kind_of(record)
        if kind is not None and kind not in SOFT and self._settings.trigger_on_error:
            return ReflectionTrigger.ERROR
        if kind in SOFT or record.state is ActionState.PARTIAL:
            return ReflectionTrigger.UNEXPECTED
        if record.effect is ToolEffect.COPY and (record.changed or record.tool == RUN) and kind is None:
            return ReflectionTrigger.IMPORTANT
        return ReflectionTrigger.INTERVAL if 0 < self.interval <= since else None

    # --- what came -----------------------------------------------------------------------------------------

    def evaluate_action(self, action: PlannedAction, result: ActionRecord) -> Reflection:
        """By rules; no call."""
        return judge_result(action, result, self._mask)

    def identify_issues(self, evaluation: Reflection) -> tuple[str, ...]:
        named = evaluation.issues_identified or ()
        if named or not evaluation.plan_revision_needed:
            return tuple(named)
        return tuple(filter(None, [evaluation.error or evaluation.evaluation or ""]))

    # --- what to do about it -------------------------------------------------------------------------------

    def suggest_revision(
        self,
        process: Process,
        records: Sequence[ActionRecord],
        evaluation: Reflection,
        *,
        ask: bool = True,
        trigger: ReflectionTrigger | None = None,
    ) -> Suggestion:
        """What helped before comes first, then a model's proposal, then the rules; at last a person.

        With `ask` false no model is asked. Without a problem one is asked only by interval, or if reflections
        are deep.
        """
        record = _find_record(records, evaluation)
        if record is None:
            return Suggestion(evaluation, None)
        evaluation, kind = judge_in_plan(process, record, evaluation)
        case = self._case(process, record, kind or _E.UNEXPECTED)
        remembered = self._recoveries(case.kind) if kind else ()
        needed = bool(evaluation.plan_revision_needed)
        if needed and (known := find_remembered(case, remembered)):
            return _suggest_attempt(case, evaluation, known)
        if ask and self._asks(trigger, needed=needed):
            found = self._ask_about_failure(case, records, evaluation, remembered)
            if found is not None:
                return found
        if not needed:
            return Suggestion(evaluation, None)
        for attempt in attempts(case, remembered):
            return _suggest_attempt(case, evaluation, attempt)
        return Suggestion(evaluation, None, recommendations=(advice(case.kind, process),))

    def _asks(self, trigger: ReflectionTrigger | None, *, needed: bool) -> bool:
        depth = self._settings.depth
        if not self._model or depth is Depth.SHALLOW:
            return False
        return needed or trigger is ReflectionTrigger.INTERVAL or depth is Depth.DEEP

    def _case(self, process: Process, record: ActionRecord, kind: ErrorKind) -> FailureCase:
        return FailureCase(kind, record, process, self._tools, in_language(language_of(process.task)))

    # --- by a model ----------------------------------------------------------------------------------------

    def _ask_about_failure(
        self,
        case: FailureCase,
        records: Sequence[ActionRecord],
        evaluation: Reflection,
        remembered: Sequence[RecoveryRecord],
    ) -> Suggestion | None:
        """None if it did not answer, or nothing of the answer is left: the rules go on."""
        try:
            found: NewReflection = self._ask(
                self._prompt(case, records, evaluation, remembered), NewReflection
            )
        except ModelFailed:
            return None
        error = kind_of(case.record)
        hard = error is not None and error not in SOFT
        reflection = replace(
            evaluation,
            status=ActionStatus.FAILURE if hard else found.status,
            evaluation=found.evaluation,
            root_cause_analysis=found.root_cause_analysis or evaluation.root_cause_analysis,
        )
        reason = found.root_cause_analysis or found.evaluation
        asked = PlanRevision(reason=reason, changes=tuple(change_of(one) for one in found.changes[:_MOST]))
        revision = least(case.process.plan, _without_the_same(case, asked), case.process.done)
        by = self._model
        if revision is not None:
            reflection = replace(reflection, plan_revision_needed=True)
            return Suggestion(reflection, revision, strategy_of(revision), by)
        if found.recommendations:
            return Suggestion(reflection, None, by=by, recommendations=found.recommendations[:_MOST])
        if hard or found.missing or found.status is ActionStatus.FAILURE:
            return None
        return Suggestion(replace(reflection, plan_revision_needed=False), None, by=by)

    def _prompt(
        self,
        case: FailureCase,
        records: Sequence[ActionRecord],
        evaluation: Reflection,
        remembered: Sequence[RecoveryRecord],
    ) -> Prompt:
        process = case.process
        best, worst = rank(case, remembered)
        helped = [f"helped after {case.kind}: {one}" for one in best]
        helped += [f"did not help after {case.kind}: {one}" for one in sorted(worst)]
        material = {
            "task": process.task,
            "tools": ", ".join(self._tools),
            "plan": describe_plan(process.plan, process.done),
            "earlier revisions": "\n".join(_earlier_revisions(process)),
            "done": _summarise_actions(records, case.record) if self._settings.depth is Depth.DEEP else "",
            "action": _call(case.record),
            "result": _result(case.record, evaluation),
            "helped before": "\n".join(helped),
        }
        given = tuple(Material(name, self._mask(text)) for name, text in material.items() if text)
        return Prompt(Purpose.REFLECTION, _WATCH, given, session=process.process_id, task=_TASK)

    # --- what people say -----------------------------------------------------------------------------------

    def incorporate_human_feedback(self, process: Process, feedback: RunFeedback) -> Suggestion:
        """A revision by the model; without one the words go to the task at hand. It is never an approval."""
        words = self._mask(feedback.text.strip())
        reflection = Reflection(
            feedback_type=AGENT if feedback.agent else HUMAN,
            feedback_source=feedback.source,
            feedback_summary=short(words, _SUMMARY),
            plan_revision_needed=True,
        )
        if self._model and self._settings.depth is not Depth.SHALLOW:
            found = self._ask_replan(process, words)
            revision = found and least(process.plan, revision_of(found), process.done)
            if found and revision:
                summary = replace(reflection, feedback_summary=short(found.reason, _SUMMARY))
                return Suggestion(summary, revision, by=feedback.who)
        revision = least(process.plan, _pass_on_words(process, feedback, words), process.done)
        return Suggestion(reflection, revision, by=feedback.who)

    def _ask_replan(self, process: Process, words: str) -> NewReplan | None:
        brief = PlanningBrief(
            process.task,
            language_of(process.task),
            tools=tuple(self._tools),
            plan=process.plan,
            feedback=words,
        )
        most = self._rules.most_subtasks
        measure = Measure(self._complexity, 1, most, hierarchical=False, reasoned=False, at_once=False)
        prompt = prompt_for(Purpose.REPLAN, measure, brief, "")
        done = Material("done", ", ".join(process.done))
        if process.done:
            prompt = prompt._replace(material=(*prompt.material, done))
        try:
            found: NewReplan = self._ask(prompt, NewReplan)
        except ModelFailed:
            return None
        return found


def advice(kind: ErrorKind, process: Process) -> str:
    """What a person can do."""
    return in_language(language_of(process.task))(advice_for(kind))


def _find_record(records: Sequence[ActionRecord], evaluation: Reflection) -> ActionRecord | None:
    found = [one for one in records if one.action_id == evaluation.action] or list(records)
    return found[-1] if found else None


def _suggest_attempt(case: FailureCase, evaluation: Reflection, attempt: StrategyAttempt) -> Suggestion:
    reason = evaluation.root_cause_analysis or evaluation.evaluation or ""
    revision = least(
        case.process.plan, PlanRevision(reason=reason, changes=attempt.changes), case.process.done
    )
    return Suggestion(evaluation, revision, attempt.strategy)


def _without_the_same(case: FailureCase, revision: PlanRevision) -> PlanRevision:
    """What was refused is not proposed again in other words."""
    if case.kind not in {_E.NOT_ALLOWED, _E.DECLINED}:
        return revision

    def same(change: object) -> bool:
        match change:
            case AddAction():
                return change.action.tool == case.record.tool
            case ModifyAction():
                return change.updates.get("tool") == case.record.tool
        return False

    return replace(revision, changes=tuple(one for one in revision.changes or () if not same(one)))


def _pass_on_words(process: Process, feedback: RunFeedback, words: str) -> PlanRevision:
    """Mechanical: the words are added to the next task."""
    say = in_language(language_of(process.task))
    quoted = replace(feedback, text=words).quoted
    reason = say(Text("Feedback from {who}", who=feedback.who))
    order = process.plan.execution_order or [task.id for task in process.plan.subtasks]
    left = [one for one in order if one not in process.done]
    named = [one for one in left if one in words.split()]
    task = subtask_of(process.plan, (named or left or [""])[0])
    if task is None:
        new = PlannedAction(description=say(quoted), purpose=reason)
        return PlanRevision(reason=reason, changes=(AddAction(action=new),))
    if say(quoted) in task.description:
        return PlanRevision(reason=reason)
    updates = {"description": f"{task.description}\n{say(quoted)}", "arguments": None}
    return PlanRevision(reason=reason, changes=(ModifyAction(action_id=task.id, updates=updates),))


# --- what a model reads ---


def _call(record: ActionRecord) -> str:
    lines = [f"{record.task_id}: {record.tool} {codec.canonical(record.arguments).decode()}"]
    lines += [f"purpose: {record.purpose}"] if record.purpose else []
    lines += [f"expected: {record.expect}"] if record.expect else []
    return _fit("\n".join(lines), _RESULT_TOKENS)


def _result(record: ActionRecord, evaluation: Reflection) -> str:
    head = [str(record.state) + (f", {record.error}" if record.error else "")]
    head += [record.message] if record.message else []
    head += list(evaluation.issues_identified or ())
    head += [f"changed: {', '.join(record.changed)}"] if record.changed else []
    return _fit("\n".join([*head, record.result]), _RESULT_TOKENS)


def _summarise_actions(records: Sequence[ActionRecord], last: ActionRecord) -> str:
    """All that was done, a line each; the oldest go first if they are too many."""
    lines = [
        short(
            f"{one.number} {one.task_id} {one.tool} {', '.join(paths_of(one))}: {one.error or one.state}",
            _LINE,
        )
        for one in records
        if one.number != last.number
    ]
    budget = _DONE_TOKENS
    kept: list[str] = []
    for line in reversed(lines):
        budget -= tokens(line)
        if budget < 0:
            kept.append(f"… {len(lines) - len(kept)} more before")
            break
        kept.append(line)
    return "\n".join(reversed(kept))


def _earlier_revisions(process: Process) -> list[str]:
    found = list(process.history)
    found += [
        short(f"{one.number} {one.strategy}: {one.revision.reason or ''}", _LINE) for one in process.revisions
    ]
    return found[-5:]


def _fit(text: str, most: int) -> str:
    """The beginning and the end of what is too long."""
    if tokens(text) <= most:
        return text
    size = max(1, len(text) * most // tokens(text) // 2)
    return f"{text[:size]}\n…\n{text[-size:]}"
