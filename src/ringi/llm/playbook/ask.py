from typing import Final

from ringi.domain.session import QuestionType
from ringi.llm.playbook.kinds import Ask, Lean, Reply, Said

_ALWAYS: Final = 99
# The last thing worth asking, and the first that a detailed instruction makes needless.
PRIORITY_UNTIL: Final = 3
EXTENT_UNTIL: Final = 4
KEEP_UNTIL: Final = 4


def means(*leans: Lean, settles: str = "") -> Reply:
    return Reply(frozenset(leans), settles)


def ask(
    key: str,
    kind: QuestionType,
    *replies: Reply,
    unless: tuple[Said, ...] = (),
    until: int = _ALWAYS,
    only: Said | None = None,
) -> Ask:
    return Ask(key, kind, frozenset(unless), until, replies, only)
