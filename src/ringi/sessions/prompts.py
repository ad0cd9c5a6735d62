"""What a model is told in each phase of a session: what stays, then the task of the call."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ringi.engine.design import Design
from ringi.models.prompt import (
    LINE_AIM,
    MOST_DECISIONS,
    MOST_FILES,
    MOST_QUESTIONS,
    PHRASE_AIM,
    Material,
    NewDecisions,
    NewFiles,
    NewQuestions,
    NewRevision,
    NewSummary,
    NewTargets,
    Prompt,
)
from ringi.models.usage import Purpose
from ringi.sessions.document import Brief, DecisionPoint
from ringi.sessions.operations import SessionState, questions_left

KINDS: Final[Mapping[Purpose, type[Any]]] = {
    Purpose.FILES: NewFiles,
    Purpose.DISCOVERY: NewQuestions,
    Purpose.DESIGN: NewDecisions,
    Purpose.REVISION: NewRevision,
    Purpose.REVIEW: NewSummary,
    Purpose.TARGETS: NewTargets,
}
_RULES: Final = (
    "You plan a change to a software project together with the person who asked for it; an engineer builds "
    "it afterwards. The data shows the project as it is: read it first, call files and definitions by the "
    "names they have there, and neither ask nor assume what it already answers. "
    f"Write in the language of the instruction. Aim for at most {LINE_AIM} characters in a sentence and "
    f"{PHRASE_AIM} in a name, topic, option, pro or con."
)
_PLANNER_RULES: Final = (
    "You plan a change to a software project; an engineer builds it afterwards. The data shows the project "
    "as it is: call files and definitions by the names they have there, and assume nothing that it answers. "
    f"Write in the language of the instruction, at most {LINE_AIM} characters in a sentence."
)
_PLANNER_TASK: Final = (
    "Describe the design to whoever approves and builds it. summary: Markdown, at most 300 words: the goal "
    "and what will be built; it repeats none of the lists. acceptance_criteria: what can be checked "
    "afterwards, at least one for each thing that is asked for. target_paths: every file to change or add; "
    "new: true only if it does not exist yet. test_commands: of this project, that check the change. steps: "
    "none if it is one commit, as most changes are; otherwise at least 2, in order, each complete in itself, "
    "code with its tests and docs; criteria: by number; test_commands: only if others check it. "
    "assumptions, out_of_scope, open_points: one sentence each, or none. Add nothing that the data does not "
    "say."
)
_OPTIONS: Final = "2 to 4 realistic options with short, honest pros and cons; recommend exactly one."
_TASKS: Final = {
    Purpose.FILES: (
        "Which files must you read before you plan, beyond what the data shows? "
        f"paths: at most {MOST_FILES}, relative to the project's root, most important first; "
        "none if you know enough."
    ),
    Purpose.DISCOVERY: (
        f"Ask at most {MOST_QUESTIONS} questions whose answers would change what gets built; fewer, or none, "
        "if the instruction is clear. "
        "type: clarification = what the person means, scope = what is included, technical = how it fits the "
        "existing code, priority = what matters most, constraint = what must not happen. "
        "context: one sentence on why the question matters. "
        "options: 2 to 5 short answers, or none if the question is open-ended."
    ),
    Purpose.DESIGN: (
        f"decisions: at most {MOST_DECISIONS} design decisions that a person should make before work starts. "
        f"Leave out what is already decided. Give each {_OPTIONS}"
    ),
    Purpose.REVISION: (
        "The person rejected the design in `summary`. Say only what the feedback changes. "
        "changed: decisions to make again, each with its id, topic and "
        f"{_OPTIONS} added: further decisions that it needs, at most {MOST_DECISIONS}. "
        "dropped: ids of decisions that no longer apply. Every decision you do not name stays as the person "
        "made it. Leave all three empty if only the summary has to change."
    ),
    Purpose.REVIEW: (
        "Describe the design to the person who approves it and the engineer who builds it. "
        "summary: Markdown, at most 300 words: the goal, what will be built, the steps, and how decisions, "
        "priorities and constraints shape them; it repeats none of the lists. "
        "acceptance_criteria: what can be checked afterwards, as given, when, then. "
        "target_paths: every file to change or add, as the project names it; new: true only if it does not "
        "exist yet. test_commands: commands of this project that check the change. "
        "steps: none if it is one commit, as most changes are; otherwise at least 2, in order, each complete "
        "in itself: code together with its tests and docs, and everything works after it. title; "
        "target_paths: those of the list that it changes; criteria: numbers of the acceptance_criteria that "
        "it meets; test_commands: only if it is checked by others. "
        "assumptions, out_of_scope, open_points: one sentence each, or none. "
        "Add nothing that the data does not say."
    ),
    Purpose.TARGETS: (
        "This project does not have what `problem` names. Give target_paths and test_commands of the design "
        "again, and steps if it had some, complete and corrected: paths that exist, or with new: true if "
        "they are to be added, and commands that work here."
    ),
}
_FURTHER: Final = (
    " further_questions: only if the answers leave open what must be known first; at most {count}, in the "
    "form of the earlier ones. Then give no decisions: they are asked for once more. Otherwise none."
)
_NONE_FURTHER: Final = " further_questions: none."
_SKIPPED: Final = "(left open)"


def prompt_for(state: SessionState, purpose: Purpose) -> Prompt:
    brief = brief_of(state)
    task = _TASKS[purpose]
    if purpose is Purpose.DESIGN:
        left = questions_left(state)
        task += _FURTHER.format(count=left) if left else _NONE_FURTHER
    material = tuple(Material(name, text) for name, text in _material(state, brief, purpose) if text)
    return Prompt(purpose, _RULES, material, brief, state.session.session_id, task)


def planner_prompt(state: SessionState) -> Prompt:
    """For a planner that brings the design at once: nothing was asked or decided."""
    whole = prompt_for(state, Purpose.REVIEW)
    talked = state.session.questions or state.session.decisions or state.facts.feedback
    return whole if talked else whole._replace(rules=_PLANNER_RULES, task=_PLANNER_TASK)


def brief_of(state: SessionState) -> Brief:
    session, facts = state
    return Brief(
        instruction=session.instruction,
        language=facts.language,
        project=facts.project,
        questions=session.questions,
        decisions=session.decisions,
        feedback=facts.feedback,
    )


def _material(state: SessionState, brief: Brief, purpose: Purpose) -> Iterator[tuple[str, str]]:
    """What stays the same comes first, so that a service can reuse what it has read."""
    facts = state.facts
    yield "project", facts.context
    yield "instruction", brief.instruction
    yield "code", facts.code
    yield "findings", "\n".join(facts.findings)
    yield "answers", _answers(brief)
    if purpose is Purpose.REVISION:
        yield "decisions", _decisions(brief, _with_options)
        yield "summary", facts.rejected
    elif purpose in {Purpose.REVIEW, Purpose.TARGETS} or brief.feedback:
        # Decisions from before a rejection show what was not wanted.
        yield "decisions", _decisions(brief, _describe_choice)
    if purpose is Purpose.TARGETS:
        yield "summary", facts.draft
        yield "steps", "\n".join(_steps(facts.design))
    yield "feedback", "\n".join(brief.feedback)
    if purpose is Purpose.TARGETS:
        yield "problem", "\n".join(facts.wrong)


def _steps(design: Design | None) -> Iterator[str]:
    for step in design.steps if design else ():
        yield f"{step.title}: {', '.join(step.target_paths)}"


def _answers(brief: Brief) -> str:
    return "\n".join(
        f"{question.question} → {_SKIPPED if question.answer is None else question.answer}"
        for question in brief.questions
        if question.done
    )


def _decisions(brief: Brief, told: Callable[[DecisionPoint], str]) -> str:
    return "\n".join(told(decision) for decision in brief.decisions if decision.selected)


def _describe_choice(decision: DecisionPoint) -> str:
    option = decision.selected
    reason = f" ({decision.rationale})" if decision.rationale else ""
    return f"{decision.topic} → {option.name}{reason}: {option.description}" if option else decision.topic


def _with_options(decision: DecisionPoint) -> str:
    others = "; ".join(o.name for o in decision.options if o.id != decision.selected_option_id)
    return f"{decision.id}: {_describe_choice(decision)}" + (f" Not chosen: {others}" if others else "")
