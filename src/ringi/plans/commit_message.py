"""The message of a commit: what a person may write, and the trailers that say what it came from."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Final

from ringi.approvals.document import COMMIT_TRAILERS, STEP_TRAILERS, Approval
from ringi.errors import NoCommit
from ringi.kernel.text import Text, visible
from ringi.ledger.subject import StepOf

LONGEST: Final = 16384
"""Bytes of a message without its trailers."""
_OURS: Final = re.compile(r"\s*ringi-", re.IGNORECASE)
_TRAILER: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*\s*:\s|\s+\S")
_DIRECTING: Final = frozenset(["LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"])
_LONGEST_NAME: Final = 100


def proper_message(message: str) -> str:
    """Normalises line ends and strips blank lines; refuses what could pass for our own trailers."""
    lines = [line.rstrip(" \t\r") for line in message.split("\n")]
    text = "\n".join(lines).strip("\n")
    if not text.strip():
        raise NoCommit(why=Text("its message is empty"))
    # Git prints it without filtering.
    if any(map(_controls, text)):
        raise NoCommit(why=Text("its message holds control characters"))
    if len(text.encode()) > LONGEST:
        raise NoCommit(why=Text("its message is longer than {limit} bytes", limit=LONGEST))
    if any(map(_OURS.match, lines)):
        raise NoCommit(why=Text("a line of its message begins with Ringi-, as only ringi's own do"))
    return text


def _controls(character: str) -> bool:
    """Whether it controls the terminal or the direction of text, or is half a character."""
    if character in "\n\t":
        return False
    return (
        unicodedata.category(character) in {"Cc", "Cs"} or unicodedata.bidirectional(character) in _DIRECTING
    )


def step_message(title: str, body: str, assisted_by: Sequence[str]) -> str:
    """Of a step of a run. Text from a plan or a configuration cannot pass for a trailer of ours."""
    words = "\n\n".join(filter(str.strip, dict.fromkeys([title.strip(), body.strip()])))
    lines = [_plain(line) for line in words.split("\n")]
    text = "\n".join(f"> {line}" if _OURS.match(line) else line for line in lines)
    helpers = [f"Assisted-by: {_plain(who)[:_LONGEST_NAME]}" for who in dict.fromkeys(assisted_by) if who]
    return with_trailers(text.strip("\n"), helpers) if helpers else text


def _plain(text: str) -> str:
    return visible("".join(" " if one == "\n" or _controls(one) else one for one in text), keep="").rstrip()


def trailers(approval: Approval, step: StepOf | None = None) -> tuple[str, ...]:
    """The trailers of the commit; names are escaped so that they cannot add lines."""
    values = (approval.subject_id, approval.digest, approval.approver)
    of_step = _of_step(step) if step else ()
    return _lines([*zip(COMMIT_TRAILERS, values, strict=True), *zip(STEP_TRAILERS, of_step, strict=False)])


def message_of_offer(message: str, plan_id: str, step: StepOf) -> str:
    """Of a commit that is not approved yet: what it came from, and no approval."""
    named = zip((COMMIT_TRAILERS[0], *STEP_TRAILERS), (plan_id, *_of_step(step)), strict=True)
    return with_trailers(message, _lines(named))


def _of_step(step: StepOf) -> tuple[str, str, str]:
    return step.request_id, step.run_id, step.step_id


def _lines(named: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{name}: {visible(value, keep='')[:_LONGEST_NAME]}" for name, value in named if value)


def with_trailers(message: str, lines: Sequence[str]) -> str:
    """After the message's own trailers, or as a paragraph of their own."""
    first, *paragraphs = re.split(r"\n{2,}", message)
    last = paragraphs[-1].split("\n") if paragraphs else [first, ""]
    own = all(map(_TRAILER.match, last)) and not last[0][:1].isspace()
    return message + ("\n" if own else "\n\n") + "\n".join(lines) + "\n"
