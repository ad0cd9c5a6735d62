"""What we wrote is found again by an invisible last line."""

from collections.abc import Iterable
from typing import Final, Protocol, TypeVar

from ringi.forges.document import Account, mark_line
from ringi.kernel.text import lazy_pattern

MOST_CHARACTERS: Final = 65_000
"""A few less than GitHub takes; GitLab takes more."""

_COMMAND: Final = lazy_pattern(r"(?m)^(?=/)")


class Written(Protocol):
    @property
    def author(self) -> Account: ...
    @property
    def body(self) -> str: ...


W = TypeVar("W", bound=Written)


def marked(body: str, mark: str) -> str:
    end = f"\n\n{mark_line(mark)}"
    return as_body(body, MOST_CHARACTERS - len(end)) + end


def as_body(body: str, most: int = MOST_CHARACTERS) -> str:
    """Not too long, and without commands: what begins with a slash is carried out by GitLab, and by the bots
    of many projects, in the name of whoever wrote it. Words of others may be in our text. Behind a space it
    is no command.
    """
    text = _COMMAND.sub(" ", body.replace("\r", "")).rstrip()
    return text if len(text) <= most else text[: most - 2].rstrip() + "\n…"


def ours(written: Iterable[W], mark: str, me: Account) -> W | None:
    """Only a last line counts: a mark that somebody else wrote may be quoted above it."""
    end = mark_line(mark)
    return next((one for one in written if one.author.id == me.id and one.body.rstrip().endswith(end)), None)


def same(one: str, other: str) -> bool:
    """As a forge keeps it: line ends and spaces at the end may differ."""
    return one.replace("\r\n", "\n").rstrip() == other.replace("\r\n", "\n").rstrip()
