"""Answers to a session's questions in comments on its issue (PP-10).

A comment answers if it begins with the number of a question, or has lines that begin with `/ringi answer`:

    1. Only the report                   /ringi answer 1 Only the report
    2. 3                                 /ringi skip 2
    d1. In a file
    because it survives a restart

Numbers are questions, numbers after a d are decisions. Options are chosen by number or name. Lines below an
answer belong to it; below a decision they are the reason. Quotations and code are not read. A comment is used
once: the log says which were.
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from ringi.forges.document import Comment, own_lines
from ringi.kernel.text import lazy_pattern
from ringi.ledger.event import LoggedEvent
from ringi.sessions.document import PlanningSession

_COMMAND: Final = lazy_pattern(
    r"/ringi\s+(?P<act>answer|skip)\s+(?P<to>d?\d{1,3})\b[.:)]?(?P<rest>.*)", re.IGNORECASE
)
_NUMBERED: Final = lazy_pattern(r"(?P<to>d?\d{1,3})[.:)](?=\s|$)(?P<rest>.*)", re.IGNORECASE)
_OTHER: Final = lazy_pattern(r"/ringi\b", re.IGNORECASE)
_HEARD: Final = lazy_pattern(r"comment (\S+) by \S+")


class ForgeAnswer(NamedTuple):
    """An answer to a question or decision."""

    to: str
    """The id of the question or decision: q-1, d-1."""
    text: str
    """Words or an option; empty if the question is skipped."""
    reason: str
    comment: Comment

    @property
    def source(self) -> str:
        """For the log, which says so which comments were used."""
        return f"comment {self.comment.id} by {self.comment.author.login}"


def open_ids(session: PlanningSession) -> tuple[str, ...]:
    """What is asked now: all questions of the round, or all decisions."""
    questions = session.questions[session.current_question_index :]
    decisions = session.decisions[session.current_decision_index :]
    return tuple(one.id for one in questions) or tuple(one.id for one in decisions)


def find_used_comments(events: Iterable[LoggedEvent]) -> frozenset[str]:
    """The ids of the comments that were used already."""
    found = (_HEARD.fullmatch(logged.event.reason or "") for logged in events)
    return frozenset(one[1] for one in found if one)


def collect_answers(
    comments: Iterable[Comment],
    asked: Sequence[str],
    *,
    since: str,
    used: Collection[str],
    counts: Callable[[str], bool],
) -> Sequence[ForgeAnswer]:
    """The newest answer to each of what is asked, in the order in which it is asked.

    `since`: when the session's comment was made, by the clock of the forge. `counts`: whether an account
    may write to the project; asked only about those who answer something.
    """
    found: dict[str, ForgeAnswer] = {}
    for comment in comments:
        if comment.id in used or comment.author.bot or comment.created_at < since:
            continue
        given = [one for one in parse_comment(comment) if one.to in asked]
        if given and counts(comment.author.login):
            found |= {one.to: one for one in given}
    return [found[id_] for id_ in asked if id_ in found]


def parse_comment(comment: Comment) -> Iterator[ForgeAnswer]:
    """Whatever it answers, asked or not."""
    to, act, lines = "", "", list[str]()
    numbered: bool | None = None
    for line in own_lines(comment.body):
        words = line.strip()
        command = _COMMAND.fullmatch(words)
        begins = command or (_NUMBERED.match(words) if numbered is not False else None)
        if numbered is None and words:  # its first line decides
            numbered = begins is not None and command is None
        if begins or _OTHER.match(words):
            yield from _make_answer(comment, to, act, lines)
            to, act, lines = "", "", []
        if begins:
            to, act = _parse_id(begins["to"]), command["act"].lower() if command else ""
            lines = [begins["rest"]]
        elif to:
            lines.append(line)
    yield from _make_answer(comment, to, act, lines)


def _parse_id(written: str) -> str:
    number = int(written.lstrip("dD"))
    return f"d-{number}" if written[0] in "dD" else f"q-{number}"


def _make_answer(comment: Comment, to: str, act: str, lines: Sequence[str]) -> Iterator[ForgeAnswer]:
    text = "\n".join(line.rstrip() for line in lines).strip()
    if not to or (not text and act != "skip"):
        return
    if act == "skip":
        yield ForgeAnswer(to, "", "", comment)
    elif to.startswith("d-"):
        option, _, reason = text.partition("\n")
        yield ForgeAnswer(to, option.strip(), reason.strip(), comment)
    else:
        yield ForgeAnswer(to, text, "", comment)
