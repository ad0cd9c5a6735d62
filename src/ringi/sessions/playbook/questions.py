"""What to ask: questions that are still open, then decisions, each with a recommended option."""

from typing import Final

from ringi.models.prompt import (
    ChangedDecision,
    NewDecision,
    NewDecisions,
    NewOption,
    NewQuestions,
    NewRevision,
)
from ringi.sessions.document import Brief, DecisionPoint
from ringi.sessions.playbook.book import DecisionEntry, OptionEntry
from ringi.sessions.playbook.case import Case, case_of
from ringi.sessions.playbook.words import FOR, stance

MOST_ASKED: Final = 2


def questions(brief: Brief) -> NewQuestions:
    """None that the request answers."""
    case = case_of(brief)
    due = [entry for entry in case.chapter.questions if case.is_open(entry)]
    return NewQuestions(tuple(map(case.question, due[:MOST_ASKED])))


def decisions(brief: Brief) -> NewDecisions:
    case = case_of(brief)
    return NewDecisions(tuple(_decision(entry, case) for entry in case.decisions()))


def revision(brief: Brief) -> NewRevision:
    """Decides again only where another option suits better now; a decision about the feedback is new."""
    before = {decision.topic: decision for decision in brief.decisions if decision.selected}
    changed, added = [], []
    for new in decisions(brief).decisions:
        earlier = before.get(new.topic)
        if earlier is None:
            added.append(new)
        elif not any(_is_chosen(option, earlier) for option in new.options):
            changed.append(ChangedDecision(new.topic, new.options, id=earlier.id))
    return NewRevision(tuple(changed), tuple(added))


def _is_chosen(option: NewOption, earlier: DecisionPoint) -> bool:
    return option.recommendation and earlier.selected is not None and option.name == earlier.selected.name


def _decision(entry: DecisionEntry, case: Case) -> NewDecision:
    best = case.recommend(entry)
    options = [_option(option, case, recommended=option.key == best) for option in entry.options]
    return NewDecision(case.phrase(entry.topic), tuple(options))


def _option(option: OptionEntry, case: Case, *, recommended: bool) -> NewOption:
    words = (case.phrase(option.name).lower(), *option.hints)
    wanted = recommended and stance(case.answers.feedback, words) == FOR
    reasons = [case.sentence("asked_for")] if wanted else []
    return NewOption(
        name=case.phrase(option.name),
        description=case.line(option.description),
        pros=(*reasons, *map(case.phrase, option.pros)),
        cons=tuple(map(case.phrase, option.cons)),
        recommendation=recommended,
    )
