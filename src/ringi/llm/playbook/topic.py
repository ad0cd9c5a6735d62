from typing import Final

from ringi.llm.playbook.kinds import Choice, Lean, Said, Topic

_ALWAYS: Final = 99
FEW_LEFT: Final = 5
"""Where this much is said, only the decision that shapes the work is left."""


def choice(
    key: str, base: int, hints: str, suits: tuple[Lean, ...] = (), breaks: tuple[Lean, ...] = ()
) -> Choice:
    """Hints have bars between them."""
    return Choice(key, base, frozenset(suits), frozenset(breaks), tuple(hints.split("|")))


def topic(
    key: str, *choices: Choice, unless: tuple[Said, ...] = (), until: int = _ALWAYS, only: Said | None = None
) -> Topic:
    return Topic(key, frozenset(unless), until, choices, only)
