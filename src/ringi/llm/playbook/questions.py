"""What to ask: questions that are still open, then decisions, each with a recommended option."""

from typing import Final

from ringi.domain.prompt import NewDecision, NewDecisions, NewOption, NewQuestions
from ringi.domain.session import Brief
from ringi.llm.playbook.book import DecisionEntry, OptionEntry
from ringi.llm.playbook.case import LINE, Case, case_of
from ringi.llm.playbook.quote import cut
from ringi.llm.playbook.words import FOR, stance

MOST_ASKED: Final = 2


def questions(brief: Brief) -> NewQuestions:
    """None that the request answers."""
    case = case_of(brief)
    due = [entry for entry in case.chapter.questions if case.is_open(entry)]
    return NewQuestions(tuple(map(case.question, due[:MOST_ASKED])))


def decisions(brief: Brief) -> NewDecisions:
    case = case_of(brief)
    return NewDecisions(tuple(_decision(entry, case) for entry in case.decisions()))


def _decision(entry: DecisionEntry, case: Case) -> NewDecision:
    best = case.recommended(entry)
    options = [_option(option, case, recommended=option.key == best) for option in entry.options]
    return NewDecision(case.phrase(entry.topic), tuple(options))


def _option(option: OptionEntry, case: Case, *, recommended: bool) -> NewOption:
    description = case.line(option.description)
    if recommended and case.brief.feedback:
        words = (case.phrase(option.name).lower(), *option.hints)
        wanted = stance(case.answers.feedback, words) == FOR
        description = case.sentence("asked_for" if wanted else "earlier", description=description)
    return NewOption(
        name=case.phrase(option.name),
        description=cut(description, LINE),
        pros=tuple(map(case.phrase, option.pros)),
        cons=tuple(map(case.phrase, option.cons)),
        recommendation=recommended,
    )
