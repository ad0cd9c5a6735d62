"""The summary that a person approves: the request, the answers, the decisions and the next steps."""

import re
from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final, NamedTuple

from ringi.domain.prompt import NewSummary
from ringi.domain.session import HANDED_ON, Brief, DecisionPoint, Question
from ringi.llm.playbook.book import Work
from ringi.llm.playbook.case import (
    Case,
    Slots,
    case_of,
    filled,
    leans_of,
    quoted,
    slots,
    test_command,
    test_folder,
)
from ringi.llm.playbook.quote import cut, harmless, one_line
from ringi.llm.playbook.words import SMALLER, contradicted, heard, wish

_MOST: Final = 4_000
# Characters per quotation and lines per section; the first pair that fits is used.
_MEASURES: Final = ((400, 20), (140, 12), (60, 6), (30, 3))
_QUESTION_MARK: Final = re.compile(r"[?？]")  # noqa: RUF001
_FEWEST_STEPS: Final = 3
_MOST_STEPS: Final = 6


class _Feedback(NamedTuple):
    """Feedback on a rejected design, and what came of it."""

    text: str
    wish: str
    """What it asks for, as an option of the decision about feedback."""
    spoken_of: bool
    """It mentions a decision."""
    against: tuple[tuple[str, str], ...]
    """Decisions that went against it: topic and choice."""

    @property
    def is_a_step(self) -> bool:
        """It mentions no decision and does not ask for less."""
        return not self.spoken_of and self.wish != SMALLER


class _Draft(NamedTuple):
    case: Case
    shown: Slots
    """Harmless as Markdown."""
    settled: tuple[str, ...]
    """Settled by an answer or a decision, for the main kind of change: bug.cause=rework."""
    unknown: frozenset[str]
    """Questions whose answer nobody knew."""
    feedback: tuple[_Feedback, ...]
    quotation: int

    @property
    def brief(self) -> Brief:
        return self.case.brief

    @property
    def work(self) -> Work:
        return self.case.book.chapters[self.case.instruction.main].work

    def said(self, text: str) -> str:
        return quoted(self.case.book, self.plain(text))

    def plain(self, text: str) -> str:
        return harmless(one_line(text, self.quotation))

    def sentence(self, key: str, **values: str) -> str:
        return self.case.sentence(key, **values)


def summary(brief: Brief) -> NewSummary:
    case = case_of(brief)
    shown = slots(brief, case.instruction, case.book, harmless)
    leans = leans_of(case)
    settled = [*leans.settled, *(f"{entry.key}={option.key}" for entry, option in case.chosen())]
    own = tuple(key for key in settled if key.startswith(f"{case.instruction.main}."))
    feedback = _feedback(case, settled)
    text = ""
    for quotation, lines in _MEASURES:
        text = _composed(_Draft(case, shown, own, leans.unknown, feedback, quotation), lines)
        if len(text) <= _MOST:
            break
    return NewSummary(cut(text, _MOST))


def _feedback(case: Case, settled: Sequence[str]) -> tuple[_Feedback, ...]:
    if not case.brief.feedback:
        return ()
    # The last choice counts.
    taken = dict(key.split("=", 1) for key in settled)
    # An instruction can settle a decision in a way that is not an option.
    decided = [
        (entry, option)
        for entry in case.book.decisions()
        if (option := entry.option(taken.get(entry.key, "")))
    ]
    found = []
    for words, text in zip(case.brief.feedback, heard(case.brief.feedback), strict=True):
        stances = {entry.key: case.stances(entry, (text,)) for entry, _ in decided}
        against = tuple(
            (case.phrase(entry.topic), case.phrase(option.name))
            for entry, option in decided
            if contradicted(stances[entry.key], option.key)
        )
        spoken_of = any(any(each.values()) for each in stances.values())
        wanted = case.feedback_choice(words) or wish(words, case.book.feedback.options)
        found.append(_Feedback(words, wanted, spoken_of, against))
    return tuple(found)


def _composed(draft: _Draft, most: int) -> str:
    sections = {
        "goal": [draft.said(draft.brief.instruction)],
        "agreed": [_answer(q, draft) for q in draft.brief.questions if q.answer and q.type in HANDED_ON],
        "bounds": [_answer(q, draft) for q in draft.brief.questions if q.answer and q.type not in HANDED_ON],
        "decisions": [_decision(d, draft) for d in draft.brief.decisions if d.selected],
        "feedback": list(_taken_in(draft)),
        "otherwise": list(_otherwise(draft)),
        "steps": list(_steps(draft)),
        "checks": list(_checks(draft)),
        "beyond": list(_beyond(draft)),
        "open": list(_open(draft)),
    }
    return "\n\n".join(_section(key, lines, draft, most) for key, lines in sections.items() if lines)


def _section(key: str, lines: list[str], draft: _Draft, most: int) -> str:
    kept = lines[:most]
    if len(lines) > most:
        kept.append(draft.sentence("more", count=str(len(lines) - most)))
    if key == "goal":
        body = kept[0]
    elif key == "steps":
        body = "\n".join(f"{number}. {line}" for number, line in enumerate(kept, 1))
    else:
        body = "\n".join(f"- {line}" for line in kept)
    # One level below the summary's heading in the run's instruction.
    return f"### {draft.sentence(key)}\n{body}"


def _answer(question: Question, draft: _Draft) -> str:
    return draft.sentence(
        "answer", question=_asked(question, draft), answer=draft.said(question.answer or "")
    )


def _asked(question: Question, draft: _Draft) -> str:
    """Its first sentence; what follows says how to answer."""
    end = _QUESTION_MARK.search(question.question)
    return draft.plain(question.question[: end.end()] if end else question.question)


def _decision(decision: DecisionPoint, draft: _Draft) -> str:
    chosen = decision.selected
    if chosen is None:
        return draft.sentence("undecided", topic=draft.plain(decision.topic))
    line = draft.sentence("decision", topic=draft.plain(decision.topic), choice=draft.plain(chosen.name))
    if decision.rationale:
        return line + draft.sentence("reason", reason=draft.said(decision.rationale))
    return line + "".join(
        draft.sentence("because", reason=draft.plain(pro)) for pro in chosen.tradeoffs.pros[:1]
    )


def _taken_in(draft: _Draft) -> Iterator[str]:
    for feedback in draft.feedback:
        if feedback.is_a_step:
            yield draft.sentence("step_of_its_own", feedback=draft.said(feedback.text))
        elif not feedback.against:
            yield draft.said(feedback.text)


def _otherwise(draft: _Draft) -> Iterator[str]:
    for feedback in draft.feedback:
        for topic, choice in feedback.against:
            taken = draft.sentence("decision", topic=draft.plain(topic), choice=draft.plain(choice))
            yield draft.sentence("against", feedback=draft.said(feedback.text), decision=taken)


def _steps(draft: _Draft) -> Iterator[str]:
    steps = dict(enumerate(draft.work.steps))
    replacing = dict(draft.case.book.steps(draft.case.instruction.main))
    for key in draft.settled:
        steps |= replacing.get(key, {})
    listed = [filled(step, draft.shown) for _, step in sorted(steps.items()) if step]
    if any(feedback.wish == SMALLER for feedback in draft.feedback):
        listed = listed[:_FEWEST_STEPS]
    own = [draft.said(feedback.text) for feedback in draft.feedback if feedback.is_a_step]
    if own:
        listed = listed[: _MOST_STEPS - 1]
        text = reduce(lambda first, second: draft.sentence("both", first=first, second=second), own)
        listed.insert(-1, draft.sentence("by_feedback", text=text))
    yield from listed[:_MOST_STEPS]


def _checks(draft: _Draft) -> Iterator[str]:
    instruction, project = draft.case.instruction, draft.brief.project
    for kind in [instruction.main, *instruction.lenders]:
        yield filled(draft.case.book.chapters[kind].work.check, draft.shown)
    command, folder = test_command(project), test_folder(project)
    if command:
        yield draft.sentence("run", command=command)
    elif folder:
        yield draft.sentence("run_tests", folder=draft.shown["folder"])
    else:
        yield draft.sentence("run_some")


def _beyond(draft: _Draft) -> Iterator[str]:
    if draft.case.instruction.limit:
        yield draft.sentence("limit", text=draft.said(draft.case.instruction.limit))
    yield filled(draft.work.beyond, draft.shown)


def _open(draft: _Draft) -> Iterator[str]:
    for question in draft.brief.questions:
        if not question.answer:
            yield draft.sentence("skipped", question=_asked(question, draft))
        elif question.question in draft.unknown:
            yield draft.sentence("unknown", question=_asked(question, draft))
    for decision in draft.brief.decisions:
        if not decision.selected:
            yield draft.sentence("undecided", topic=draft.plain(decision.topic))
