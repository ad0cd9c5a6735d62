"""What to ask: questions that are still open, then decisions, each with a recommended option."""

from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Final, NamedTuple

import msgspec

from ringi.domain.prompt import (
    MOST_DECISIONS,
    MOST_QUESTIONS,
    NewDecision,
    NewDecisions,
    NewOption,
    NewQuestions,
)
from ringi.domain.session import Brief, QuestionType
from ringi.llm.playbook.book import DecisionEntry, OptionEntry, QuestionEntry
from ringi.llm.playbook.case import LINE, Case, Leans, case_of, leans_of, quoted
from ringi.llm.playbook.instruction import Instruction
from ringi.llm.playbook.quote import cut
from ringi.llm.playbook.words import AGAINST, FOR, Searched, heard, resolved, stance, wish

_ORDER: Final = (
    QuestionType.CLARIFICATION,
    QuestionType.SCOPE,
    QuestionType.TECHNICAL,
    QuestionType.CONSTRAINT,
    QuestionType.PRIORITY,
)
_BINDING: Final = frozenset([QuestionType.TECHNICAL, QuestionType.CONSTRAINT])


def questions(brief: Brief) -> NewQuestions:
    """At most one of each type, none that is already answered."""
    case = case_of(brief)
    asked = [case.question(entry) for entry in _asked(case)]
    return NewQuestions(tuple(asked[:MOST_QUESTIONS]))


def _asked(case: Case) -> Iterator[QuestionEntry]:
    main = case.book.chapters[case.instruction.main]
    lenders = [case.book.chapters[kind] for kind in case.instruction.lenders]
    for kind in _ORDER:
        own = [entry for entry in main.questions if entry.type is kind]
        lent = [entry for chapter in lenders for entry in chapter.questions if entry.type is kind]
        # If the main kind leaves nothing open, ask about another; something new depends on the others.
        both = [*lent, *own] if main.new and kind in _BINDING else [*own, *lent]
        yield from [entry for entry in both if _is_due(entry, case.instruction)][:1]


def _is_due(entry: QuestionEntry, instruction: Instruction) -> bool:
    meant = entry.only is None or entry.only in instruction.said
    return meant and not entry.unless & instruction.said and instruction.details < entry.until


# --- decisions ---------------------------------------------------------------------------------------------

_BASE: Final = 2
_SUITS: Final = 3
_BREAKS: Final = 8
_FREELY_SAID: Final = 4
_EARLIER: Final = 20
_BY_FEEDBACK: Final = 40


class _Design(NamedTuple):
    case: Case
    leans: Leans
    earlier: Mapping[str, str]
    """What was chosen before the design was rejected, by decision."""
    heard: tuple[Searched, ...]
    """The feedback."""


def decisions(brief: Brief) -> NewDecisions:
    case = case_of(brief)
    earlier = {entry.key: option.key for entry, option in case.chosen()}
    design = _Design(case, leans_of(case), earlier, heard(brief.feedback))
    known = {entry.key: entry for entry, _ in case.known()}
    before = dict(list(known.items())[:MOST_DECISIONS])
    entries = before | {entry.key: entry for entry in _candidates(case) if entry.key not in before}
    spoken_of = [
        key
        for key, entry in entries.items()
        if resolved(case.stances(entry, design.heard[-1:]), earlier.get(key, ""))
    ]
    # Consider all feedback, also on earlier designs.
    mentioned = [key for key, entry in entries.items() if any(case.stances(entry, design.heard).values())]
    due = dict.fromkeys(chain(spoken_of, mentioned, before, _due(case, design.leans)))
    # A decision that was made stays, even if others matter more.
    about = [text for text in dict.fromkeys(brief.feedback) if case.feedback_choice(text)]
    room = MOST_DECISIONS - len(before) - len(about)
    if brief.feedback and not spoken_of and room > 0:
        about = list(dict.fromkeys([brief.feedback[-1], *about]))
        room = MOST_DECISIONS - len(before) - len(about)
    first = {made.topic: made for made in (_about_feedback(text, case) for text in about)}
    added = [key for key in due if key not in before][: max(room, 0)]
    made = [_decision(entries[key], design) for key in due if key in before or key in added]
    return NewDecisions((*first.values(), *made)[:MOST_DECISIONS])


def _candidates(case: Case) -> Iterator[DecisionEntry]:
    """Most important first: how the work is done, what else it endangers, then the rest."""
    chapters = case.book.chapters
    own = [
        entry
        for entry in chapters[case.instruction.main].decisions
        if entry.only is None or entry.only in case.instruction.said
    ]
    yield own[0]
    yield from (chapters[kind].decisions[0] for kind in case.instruction.lenders)
    yield from own[1:]


def _due(case: Case, leans: Leans) -> Iterator[str]:
    settled = {key.partition("=")[0] for key in leans.settled}
    for entry in _candidates(case):
        answered = entry.key in settled or entry.unless & leans.said or entry.needless in leans.leans
        if not answered and case.instruction.details < entry.until:
            yield entry.key


def _decision(entry: DecisionEntry, design: _Design) -> NewDecision:
    case = design.case
    stances, earlier = case.stances(entry, design.heard), design.earlier.get(entry.key, "")
    scores = [_score(option, design.leans, stances[option.key], earlier) for option in entry.options]
    best = scores.index(max(scores))
    options = [_option(option, case, recommended=at == best) for at, option in enumerate(entry.options)]
    if case.brief.feedback:
        options[best] = _explained(options[best], entry, entry.options[best].key, design)
    return NewDecision(case.phrase(entry.topic), tuple(options))


def _score(option: OptionEntry, leans: Leans, stand: int, earlier: str) -> int:
    score = _BASE * option.base
    score += _SUITS * len(option.suits & leans.leans)
    score -= _BREAKS * len(option.breaks & leans.leans)
    score += _FREELY_SAID * stance(leans.free, option.hints, option.key)
    score += _BY_FEEDBACK * stand
    return score + (_EARLIER if option.key == earlier else 0)


def _explained(option: NewOption, entry: DecisionEntry, key: str, design: _Design) -> NewOption:
    """Adds why it is recommended after feedback."""
    case = design.case
    stances = case.stances(entry, design.heard)
    spared = next((other for other in entry.options if stances[other.key] == AGAINST), None)
    if stances[key] == FOR:
        note = "wanted"
    elif key == design.earlier.get(entry.key):
        note = "earlier"
    elif spared:
        note = "spared"
    else:
        return option
    other = quoted(case.book, case.phrase(spared.name)) if spared else ""
    description = case.sentence(note, description=option.description, other=other)
    return msgspec.structs.replace(option, description=cut(description, LINE))


def _about_feedback(text: str, case: Case) -> NewDecision:
    options = case.book.feedback.options
    wanted = case.feedback_choice(text) or wish(text, options)
    return NewDecision(
        case.feedback_topic(text),
        tuple(_option(option, case, recommended=option.key == wanted) for option in options),
    )


def _option(option: OptionEntry, case: Case, *, recommended: bool) -> NewOption:
    return NewOption(
        name=case.phrase(option.name),
        description=case.line(option.description),
        pros=tuple(map(case.phrase, option.pros)),
        cons=tuple(map(case.phrase, option.cons)),
        recommendation=recommended,
    )
