"""What a model is asked in each phase. Short: every word is paid for, three times a session."""

from collections.abc import Mapping
from typing import Any, Final

from ringi.domain.model_output import MOST_DECISIONS, MOST_QUESTIONS, NewDecisions, NewQuestions, NewSummary
from ringi.domain.prompt import Material, Prompt, Purpose
from ringi.domain.session import Brief, ProjectFacts
from ringi.planning.state import State

KINDS: Final[Mapping[Purpose, type[Any]]] = {
    Purpose.DISCOVERY: NewQuestions,
    Purpose.DESIGN: NewDecisions,
    Purpose.REVIEW: NewSummary,
}
_RULES: Final = {
    Purpose.DISCOVERY: (
        f"A change to a software project is planned. Ask at most {MOST_QUESTIONS} questions whose answers "
        "would change what gets built, fewer where the instruction is clear, none that it or the project "
        "answers. type: clarification = what is meant, scope = what belongs to it, technical = how it fits, "
        "priority = what matters most, constraint = what must not happen. context: why it matters, in one "
        "sentence. options: 2 to 5 short answers where they are natural."
    ),
    Purpose.DESIGN: (
        f"A change to a software project is planned. Name at most {MOST_DECISIONS} design decisions that a "
        "person should take before it is built, with 2 to 4 real options each; none that is settled already. "
        "pros and cons: short and honest. Recommend exactly one option of each."
    ),
    Purpose.REVIEW: (
        "A change to a software project is planned. Summarise the design for the person who approves it and "
        "the engineer who builds it: Markdown, at most 300 words: goal, what is built, decisions and why, "
        "priorities and constraints, steps, how it is checked, what stays open. Only what the material says."
    ),
}
_REJECTED: Final = (
    " The person rejected the earlier design: make the decisions anew and mend what the feedback says."
)
_LANGUAGES: Final = {"en": " Write in English.", "ja": " Write in Japanese."}


def prompt_for(state: State, purpose: Purpose) -> Prompt:
    brief = brief_of(state)
    again = _REJECTED if purpose is Purpose.DESIGN and brief.feedback else ""
    rules = _RULES[purpose] + again + _LANGUAGES[brief.language]
    return Prompt(purpose, rules, _material(brief, purpose), brief)


def brief_of(state: State) -> Brief:
    session, facts = state
    return Brief(
        instruction=session.instruction,
        language=facts.language,
        project=facts.project,
        questions=session.questions,
        decisions=session.decisions,
        feedback=facts.feedback,
    )


def _material(brief: Brief, purpose: Purpose) -> tuple[Material, ...]:
    texts = {"instruction": brief.instruction, "project": _project(brief.project), "answers": _answers(brief)}
    # Decisions of before a reject say what was not wanted.
    if purpose is Purpose.REVIEW or brief.feedback:
        texts["decisions"] = _decisions(brief)
    texts["feedback"] = "\n".join(brief.feedback)
    return tuple(Material(name, text) for name, text in texts.items() if text)


def _project(facts: ProjectFacts) -> str:
    named = {
        "languages": facts.languages,
        "manifests": facts.manifests,
        "tests": facts.tests,
        "top": facts.entries,
    }
    return "\n".join(f"{name}: {', '.join(values)}" for name, values in named.items() if values)


def _answers(brief: Brief) -> str:
    return "\n".join(
        f"{question.question} → {question.answer}"
        for question in brief.questions
        if question.answer is not None
    )


def _decisions(brief: Brief) -> str:
    return "\n".join(
        f"{decision.topic} → {decision.selected.name}"
        + (f" ({decision.rationale})" if decision.rationale else "")
        for decision in brief.decisions
        if decision.selected
    )
