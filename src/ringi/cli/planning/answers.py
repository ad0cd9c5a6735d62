"""A file of answers, for a session without a terminal. It is read strictly; every error names its line."""

from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple, NoReturn

from ringi.cli.arguments import STDIN
from ringi.config.file import MAX_FILE_BYTES, YamlNode, nearest_of, plain_value, tree
from ringi.errors import BadAnswers, BadConfiguration
from ringi.kernel.text import Text
from ringi.sessions.document import DecisionPoint, Question

_KEYS: Final = ("answers", "decisions", "otherwise")
_DECISION_KEYS: Final = ("option", "reason")


class Otherwise(StrEnum):
    """What to do with a question or decision that the file does not mention."""

    STOP = "stop"
    SKIP = "skip"
    """Skip questions; stop at decisions."""
    RECOMMENDED = "recommended"
    """Skip questions; take the recommended option of a decision, or stop if there is none."""


class GivenReply(NamedTuple):
    """To a question, or to a decision."""

    where: str
    text: str | None
    """None skips the question."""
    reason: str = ""


Replies = Mapping[str, GivenReply] | Sequence[GivenReply]
"""By question or decision id, or in order."""


class Answers(NamedTuple):
    answers: Replies
    decisions: Replies
    otherwise: Otherwise

    def to_question(self, questions: Sequence[Question], index: int) -> GivenReply | None:
        """Raises BadAnswers if the file answers a question that does not exist."""
        _require_known(self.answers, [question.id for question in questions], Text("question"))
        found = _pick_reply(self.answers, questions[index].id, index)
        if found is None and self.otherwise is not Otherwise.STOP:
            return GivenReply("", None)
        return found

    def to_decision(self, decisions: Sequence[DecisionPoint], index: int) -> GivenReply | None:
        _require_known(self.decisions, [decision.id for decision in decisions], Text("decision"))
        found = _pick_reply(self.decisions, decisions[index].id, index)
        if found is None and self.otherwise is Otherwise.RECOMMENDED:
            recommended = [option for option in decisions[index].options if option.recommendation]
            return GivenReply("", recommended[0].id) if len(recommended) == 1 else None
        return found


def read_answers(data: bytes, name: str) -> Answers:
    what = "standard input" if name == STDIN else name
    if len(data) > MAX_FILE_BYTES:
        raise BadAnswers(what=what, why=Text("it has more than {limit} bytes", limit=MAX_FILE_BYTES))
    try:
        return _answers(tree(data, Path(what)))
    except BadConfiguration as error:
        raise BadAnswers(what=error.details["where"], why=error.details["problem"]) from None


def refuse(where: str, problem: object) -> NoReturn:
    raise BadAnswers(what=where, why=problem)


def _answers(nodes: dict[str, YamlNode]) -> Answers:
    for key, node in nodes.items():
        if key not in _KEYS:
            _unknown(node, key, _KEYS)
    return Answers(
        _replies(nodes.get("answers"), _answer),
        _replies(nodes.get("decisions"), _decision),
        _otherwise(nodes.get("otherwise")),
    )


def _unknown(node: YamlNode, key: str, known: Sequence[str]) -> NoReturn:
    near = nearest_of(key, list(known))
    refuse(node.where, Text("there is no key {key}; did you mean {near}?", key=key[:80], near=near))


def _replies(node: YamlNode | None, read: Callable[[YamlNode], GivenReply]) -> Replies:
    match node:
        case None | YamlNode(value=None):
            return ()
        case YamlNode(value=list(items)):
            return tuple(read(item) for item in items)
        case YamlNode(value=dict(pairs)):
            return {key: read(value) for key, value in pairs.items()}
    refuse(node.where, Text("it must be a list, or keys and values; not {found}", found=plain_value(node)))


def _answer(node: YamlNode) -> GivenReply:
    if node.value is None:
        return GivenReply(node.where, None)
    return GivenReply(node.where, _words(node))


def _words(node: YamlNode) -> str:
    if not isinstance(node.value, str):
        refuse(node.where, Text("it must be a text, not {found}", found=plain_value(node)))
    if not node.value.strip():
        refuse(node.where, Text("an empty text is no answer; ~ skips a question"))
    return node.value


def _decision(node: YamlNode) -> GivenReply:
    if not isinstance(node.value, dict):
        return GivenReply(node.where, _words(node))
    for key, value in node.value.items():
        if key not in _DECISION_KEYS:
            _unknown(value, key, _DECISION_KEYS)
    if "option" not in node.value:
        refuse(node.where, Text("the option is missing"))
    reason = node.value.get("reason")
    why = _words(reason) if reason is not None and reason.value is not None else ""
    return GivenReply(node.where, _words(node.value["option"]), why)


def _otherwise(node: YamlNode | None) -> Otherwise:
    if node is None:
        return Otherwise.STOP
    if node.value not in list(Otherwise):
        known = ", ".join(Otherwise)
        refuse(
            node.where, Text("it must be one of {known}, not {found}", known=known, found=plain_value(node))
        )
    return Otherwise(str(node.value))


def _require_known(replies: Replies, ids: Sequence[str], what: Text) -> None:
    if isinstance(replies, Mapping):
        for key, reply in replies.items():
            if key not in ids:
                problem = Text("there is no {what} {id}; there are: {known}",
                               what=what, id=key[:80], known=", ".join(ids))  # fmt: skip
                refuse(reply.where, problem)
    elif len(replies) > len(ids):
        problem = Text("one too many: there are {count} of the kind {what}", count=len(ids), what=what)
        refuse(replies[len(ids)].where, problem)


def _pick_reply(replies: Replies, key: str, index: int) -> GivenReply | None:
    if isinstance(replies, Mapping):
        return replies.get(key)
    return replies[index] if index < len(replies) else None
