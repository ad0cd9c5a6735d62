"""The summary that a person approves: what was asked for, agreed and decided, and how it goes on."""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from ringi.domain.model_output import NewSummary
from ringi.domain.session import HANDED_ON, Brief, DecisionPoint, Question
from ringi.llm.playbook.asking import LENDING
from ringi.llm.playbook.deciding import chosen_options
from ringi.llm.playbook.following import Followed, followed
from ringi.llm.playbook.kinds import Words
from ringi.llm.playbook.leaning import leaning
from ringi.llm.playbook.quoting import cut, harmless, one_line
from ringi.llm.playbook.reading import Reading, read
from ringi.llm.playbook.slots import WORDS, Slots, filled, quoted, slots, test_command, test_folder

_MOST: Final = 4_000
# Characters of each quotation and lines of each section; the first that fit are taken.
_MEASURES: Final = ((400, 20), (140, 12), (60, 6), (30, 3))
_QUESTION_MARK: Final = re.compile(r"[?？]")  # noqa: RUF001
_FEWEST_STEPS: Final = 3
_MOST_STEPS: Final = 6


class _Case(NamedTuple):
    brief: Brief
    reading: Reading
    shown: Slots
    decided: tuple[str, ...]
    """By an answer or by choice, for the kind of work that this mainly is: bug.cause=rework."""
    unknown: frozenset[str]
    """Questions to which nobody knew the answer."""
    followed: tuple[Followed, ...]
    """What became of each feedback."""
    quotation: int

    @property
    def words(self) -> Words:
        return WORDS[self.brief.language]

    def said(self, text: str) -> str:
        return quoted(self.words.sentences, self.plain(text))

    def plain(self, text: str) -> str:
        return harmless(one_line(text, self.quotation))

    def sentence(self, key: str, **values: str) -> str:
        return self.words.sentences[key].format(**values)


def summary(brief: Brief) -> NewSummary:
    reading = read(brief)
    values, shown = slots(brief, reading), slots(brief, reading, harmless)
    lean = leaning(brief, reading, values)
    chosen = [f"{topic}={option}" for topic, option in chosen_options(brief, values)]
    decided = [*lean.settled, *chosen]
    heard = followed(brief, values, decided)
    own = tuple(key for key in decided if key.startswith(f"{reading.main}."))
    text = ""
    for quotation, lines in _MEASURES:
        text = _composed(_Case(brief, reading, shown, own, lean.unknown, heard, quotation), lines)
        if len(text) <= _MOST:
            break
    return NewSummary(cut(text, _MOST))


def _composed(case: _Case, most: int) -> str:
    sections = {
        "goal": [case.said(case.brief.instruction)],
        "agreed": [_answer(q, case) for q in case.brief.questions if q.answer and q.type in HANDED_ON],
        "bounds": [_answer(q, case) for q in case.brief.questions if q.answer and q.type not in HANDED_ON],
        "decisions": [_decision(d, case) for d in case.brief.decisions if d.selected],
        "feedback": list(_taken_in(case)),
        "otherwise": list(_otherwise(case)),
        "steps": list(_steps(case)),
        "checks": list(_checks(case)),
        "beyond": list(_beyond(case)),
        "open": list(_open(case)),
    }
    return "\n\n".join(_section(key, lines, case, most) for key, lines in sections.items() if lines)


def _section(key: str, lines: list[str], case: _Case, most: int) -> str:
    kept = lines[:most]
    if len(lines) > most:
        kept.append(case.sentence("more", count=str(len(lines) - most)))
    if key == "goal":
        body = kept[0]
    elif key == "steps":
        body = "\n".join(f"{number}. {line}" for number, line in enumerate(kept, 1))
    else:
        body = "\n".join(f"- {line}" for line in kept)
    # Below the heading that the run's instruction gives to the summary.
    return f"### {case.sentence(key)}\n{body}"


def _answer(question: Question, case: _Case) -> str:
    return case.sentence("answer", question=_asked(question, case), answer=case.said(question.answer or ""))


def _asked(question: Question, case: _Case) -> str:
    """Its first sentence; what follows says how to answer."""
    end = _QUESTION_MARK.search(question.question)
    return case.plain(question.question[: end.end()] if end else question.question)


def _decision(decision: DecisionPoint, case: _Case) -> str:
    chosen = decision.selected
    if chosen is None:
        return case.sentence("undecided", topic=case.plain(decision.topic))
    line = case.sentence("decision", topic=case.plain(decision.topic), choice=case.plain(chosen.name))
    if decision.rationale:
        return line + case.sentence("reason", reason=case.said(decision.rationale))
    return line + "".join(
        case.sentence("because", reason=case.plain(pro)) for pro in chosen.tradeoffs.pros[:1]
    )


def _taken_in(case: _Case) -> Iterator[str]:
    own_step = _own_steps(case)
    for text, heard in zip(case.brief.feedback, case.followed, strict=True):
        if text in own_step:
            yield case.sentence("step_of_its_own", feedback=case.said(text))
        elif not heard.against:
            yield case.said(text)


def _otherwise(case: _Case) -> Iterator[str]:
    for text, heard in zip(case.brief.feedback, case.followed, strict=True):
        for topic, choice in heard.against:
            taken = case.sentence("decision", topic=case.plain(topic), choice=case.plain(choice))
            yield case.sentence("against", feedback=case.said(text), decision=taken)


def _own_steps(case: _Case) -> list[str]:
    """Feedback that no decision speaks of, and that is no wish for less."""
    return [
        text
        for text, heard in zip(case.brief.feedback, case.followed, strict=True)
        if not heard.spoken_of and heard.kind != "smaller"
    ]


def _steps(case: _Case) -> Iterator[str]:
    steps = dict(enumerate(case.words.work[case.reading.main].steps))
    for key in case.decided:
        steps |= case.words.ways.get(key, {})
    listed = [filled(step, case.shown) for _, step in sorted(steps.items()) if step]
    if any(heard.kind == "smaller" for heard in case.followed):
        listed = listed[:_FEWEST_STEPS]
    own = _own_steps(case)
    if own:
        listed = listed[: _MOST_STEPS - 1]
        listed.insert(
            -1, case.sentence("by_feedback", text=case.words.sentences["gap"].join(map(case.said, own)))
        )
    yield from listed[:_MOST_STEPS]


def _checks(case: _Case) -> Iterator[str]:
    others = [trait for trait in case.reading.traits[1:] if trait in LENDING]
    for trait in [case.reading.main, *others]:
        yield filled(case.words.work[trait].check, case.shown)
    command, folder = test_command(case.brief.project), test_folder(case.brief.project)
    if command:
        yield case.sentence("run", command=command)
    elif folder:
        yield case.sentence("run_tests", folder=case.shown["folder"])
    else:
        yield case.sentence("run_some")


def _beyond(case: _Case) -> Iterator[str]:
    if case.reading.limit:
        yield case.sentence("limit", text=case.said(case.reading.limit))
    yield filled(case.words.work[case.reading.main].beyond, case.shown)


def _open(case: _Case) -> Iterator[str]:
    for question in case.brief.questions:
        if not question.answer:
            yield case.sentence("skipped", question=_asked(question, case))
        elif question.question in case.unknown:
            yield case.sentence("unknown", question=_asked(question, case))
    for decision in case.brief.decisions:
        if not decision.selected:
            yield case.sentence("undecided", topic=case.plain(decision.topic))
