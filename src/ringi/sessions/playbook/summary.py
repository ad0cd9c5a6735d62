"""The summary that a person approves: the request, what was agreed, the steps, and how it is checked."""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from ringi.models.prompt import PHRASE_AIM, SUMMARY_AIM, NewPath, NewStep, NewSummary
from ringi.sessions.document import HANDED_ON, Brief, Question
from ringi.sessions.playbook.book import ChangePlace, Kind
from ringi.sessions.playbook.case import Case, case_of, files_for, places
from ringi.sessions.playbook.instruction import read
from ringi.sessions.playbook.quote import cut, harmless, one_line

_MOST_LISTED: Final = 10
# Characters per quotation and lines per section; the first pair that fits is used.
_MEASURES: Final = ((400, 20), (140, 12), (60, 6), (30, 3))
_QUESTION_MARK: Final = re.compile(r"[?？]")  # noqa: RUF001
_ALONE: Final = frozenset([Kind.FEATURE, Kind.DOCS, Kind.TESTS, Kind.PERFORMANCE])
"""Several of them work without each other; a rename or a removal is one change, wherever it is made."""
_WITHOUT_TESTS: Final = frozenset([Kind.DOCS, Kind.BUILD, Kind.RELEASE])


class _SummaryDraft(NamedTuple):
    case: Case
    quotation: int
    """Its length at most."""
    shown: Callable[[str], str]
    """Escapes the words of others for where they are shown."""

    @property
    def brief(self) -> Brief:
        return self.case.brief

    def plain(self, text: str) -> str:
        return self.shown(one_line(text, self.quotation))

    def quote(self, text: str) -> str:
        return self.case.quote(self.plain(text))

    def sentence(self, key: str, **values: str) -> str:
        return self.case.sentence(key, **values)


def summary(brief: Brief) -> NewSummary:
    case = case_of(brief)
    text = ""
    for quotation, lines in _MEASURES:
        text = _compose(_SummaryDraft(case, quotation, harmless), lines)
        if len(text) <= SUMMARY_AIM:
            break
    draft = _SummaryDraft(case, _MEASURES[0][0], str)
    steps = tuple(_own_steps(case))
    return NewSummary(
        cut(text, SUMMARY_AIM),
        acceptance_criteria=tuple(case.criteria())[-_MOST_LISTED:],
        target_paths=tuple(map(NewPath, dict.fromkeys([*_paths(case), *_paths_of(steps)]))),
        test_commands=case.commands[:1],
        assumptions=tuple(_assumptions(draft)),
        out_of_scope=tuple(_beyond(draft)),
        open_points=tuple(_open(draft))[:_MOST_LISTED],
        steps=steps,
    )


def _compose(draft: _SummaryDraft, most: int) -> str:
    brief, title = draft.brief, draft.case.instruction.title
    sections = {
        "goal": [*([draft.quote(title)] if title else []), draft.case.chapter.meant],
        "agreed": [_answer(q, draft) for q in brief.questions if q.answer and q.type not in HANDED_ON],
        "feedback": [draft.quote(text) for text in brief.feedback],
        "steps": list(_steps(draft)),
    }
    return "\n\n".join(_section(key, lines, draft, most) for key, lines in sections.items() if lines)


def _section(key: str, lines: list[str], draft: _SummaryDraft, most: int) -> str:
    kept = lines[:most]
    if len(lines) > most:
        kept.append(draft.sentence("more", count=str(len(lines) - most)))
    if key == "steps":
        kept = [f"{number}. {line}" for number, line in enumerate(kept, 1)]
    elif key != "goal":
        kept = [f"- {line}" for line in kept]
    # One level below the summary's heading in the run's instruction.
    return f"### {draft.sentence(key)}\n" + "\n".join(kept)


def _answer(question: Question, draft: _SummaryDraft) -> str:
    return draft.sentence(
        "answer", question=_first_sentence(question, draft), answer=draft.quote(question.answer or "")
    )


def _first_sentence(question: Question, draft: _SummaryDraft) -> str:
    """Its first sentence; what follows says how to answer."""
    end = _QUESTION_MARK.search(question.question)
    return draft.plain(question.question[: end.end()] if end else question.question)


def _steps(draft: _SummaryDraft) -> Iterator[str]:
    if own := _own_steps(draft.case):
        yield from (draft.plain(step.title) for step in own)
    else:
        yield from (text for _, text in draft.case.steps())
    if draft.brief.feedback:
        yield draft.sentence("address")


# --- what a summary says, as data ------------------------------------------------------------------------


def _paths(case: Case) -> Iterator[str]:
    """Only what exists."""
    yield from places(case, ChangePlace.START)
    for entry, _ in case.steps():
        if entry.changes:
            yield from places(case, entry.changes)


def _own_steps(case: Case) -> Sequence[NewStep]:
    """One for each thing that the request lists, if all name files of their own; else it is one change."""
    steps, known = list[NewStep](), set[str]()
    wanted = [case.instruction, *map(read, case.instruction.goals)]
    if any(one.kind not in _ALONE for one in wanted):
        return ()
    for text, one in zip(case.instruction.goals, wanted[1:], strict=True):
        files = files_for(one, case.brief.project)
        paths = [file.path for file in files.start]
        if not files.named or not known.isdisjoint(paths):
            return ()
        known.update(paths)
        steps.append(NewStep(one_line(text, PHRASE_AIM), tuple(paths)))
    return steps


def _paths_of(steps: Sequence[NewStep]) -> Iterator[str]:
    return (path for step in steps for path in step.target_paths)


def _assumptions(draft: _SummaryDraft) -> Iterator[str]:
    files = draft.case.files
    if files.start and not files.told:
        yield draft.sentence("by_words", files=draft.case.slots["start"])
    yield draft.sentence("stays")


def _beyond(draft: _SummaryDraft) -> Iterator[str]:
    if draft.case.instruction.kept:
        yield draft.sentence("kept", text=draft.quote(draft.case.instruction.kept))
    if draft.case.files.start:
        yield draft.sentence("needless")


def _open(draft: _SummaryDraft) -> Iterator[str]:
    case = draft.case
    if not case.files.start and any(
        "{start}" in step.step or "{place}" in step.step for step in case.chapter.steps
    ):
        yield draft.sentence("not_found")
    if not case.commands and case.instruction.kind not in _WITHOUT_TESTS:
        yield draft.sentence("no_tests")
    for question in draft.brief.questions:
        if not question.answer:
            yield draft.sentence("skipped", question=_first_sentence(question, draft))
    for decision in draft.brief.decisions:
        if not decision.selected:
            yield draft.sentence("undecided", topic=draft.plain(decision.topic))
