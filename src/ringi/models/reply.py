"""Finds the JSON in a model's answer and validates it strictly."""

import re
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Final, TypeVar

from ringi.errors import BadDocument, NewerVersion
from ringi.kernel import codec
from ringi.kernel.problems import decode_or_explain
from ringi.kernel.text import Text

T = TypeVar("T")

MAX_ANSWER_BYTES: Final = 1024 * 1024
_MOST_TRIES: Final = 10
_DEEPEST: Final = 64
_THINKING: Final = re.compile(r"\s*<(think|thinking|reasoning|thought)>(?:.*?</\1>|.*)", re.DOTALL)
_FENCE: Final = re.compile(r"^[ \t]*```[\w-]*[ \t]*\n(.*?)^[ \t]*```", re.DOTALL | re.MULTILINE)
# Match whole strings, so that braces inside them do not count.
_PIECE: Final = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|[{}]', re.DOTALL)


class Unusable(Exception):
    """What is wrong with the answer, in words that help the model fix it.

    Our own problems are a Text; those from validating JSON against the kind are a str.
    """

    def __init__(self, why: Text | str, *, empty: bool = False) -> None:
        super().__init__(str(why))
        self.why = why
        self.empty = empty


def read(text: str, kind: type[T]) -> T:
    """The first object in the text that is of this kind.

    Raises Unusable with the problem of the closest candidate: valid JSON first, then the longest.
    """
    if len(text) > MAX_ANSWER_BYTES:
        raise Unusable(Text("it is longer than {limit} bytes", limit=MAX_ANSWER_BYTES))
    spoken = _without_thinking(text)
    if not spoken:
        raise Unusable(Text("it is empty"), empty=True)
    problems: list[tuple[bool, int, Unusable]] = []
    for candidate in _candidates(spoken):
        try:
            return _decode(candidate, kind)
        except Unusable as problem:
            problems.append((isinstance(problem.why, str), len(candidate), problem))
    if not problems:
        raise Unusable(Text("there is no JSON object in it"))
    raise max(problems, key=itemgetter(0, 1))[2]


def _without_thinking(text: str) -> str:
    """Some models put their thinking before the answer."""
    text = text.lstrip("\ufeff")
    while match := _THINKING.match(text):
        text = text[match.end() :]
    return text.strip()


def _candidates(text: str) -> Iterator[str]:
    if text.startswith("["):
        yield text
    for match in islice(_FENCE.finditer(text), _MOST_TRIES):
        if match[1].lstrip().startswith("{"):
            yield match[1]
    yield from _find_objects(text)


def _find_objects(text: str) -> Iterator[str]:
    start = text.find("{")
    for _ in range(_MOST_TRIES):
        if start < 0:
            return
        end = _end(text, start)
        if end < 0:
            yield text[start:]  # incomplete, which is the problem to report
        else:
            yield text[start:end]
        start = text.find("{", start + 1 if end < 0 else end)


def _end(text: str, start: int) -> int:
    depth = 0
    for match in _PIECE.finditer(text, start):
        depth += {"{": 1, "}": -1}.get(match[0], 0)
        if depth == 0:
            return match.end()
        if depth > _DEEPEST:
            break
    return -1


def _decode(candidate: str, kind: type[T]) -> T:
    try:
        data = candidate.encode()
    except UnicodeEncodeError:
        raise Unusable(codec.NOT_TEXT) from None
    try:
        return decode_or_explain(data, kind, "answer")
    except BadDocument as error:
        why = error.details["why"]
        raise Unusable(why if isinstance(why, Text) else str(why)) from None
    except NewerVersion as error:
        raise Unusable(str(error)) from None
