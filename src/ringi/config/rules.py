"""What a key of the configuration may hold, and what a project's file may do with it."""

import re
import shlex
import warnings
from collections.abc import Callable
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

import msgspec

from ringi.kernel.text import Text, lazy_pattern

EXACT: Final = 2**53 - 1  # larger integers are not exact in every JSON parser
CENTURY_DAYS: Final = 36_500  # a date that far ahead still exists
LONGEST_WAIT_SEC: Final = 1_000_000  # poll() counts milliseconds in 32 bits

_LAST_PORT: Final = 65_535
_LONGEST_EXPRESSION: Final = 500
# No underscore: a tool's name is the server's, an underscore, and the rest.
_SERVER_NAME: Final = lazy_pattern(r"[a-z][a-z0-9-]{0,29}")
_VARIABLE: Final = lazy_pattern(r"[A-Za-z_][A-Za-z0-9_]*")

Value: TypeAlias = str | bool | int | float | tuple[str, ...]


class TextForm(NamedTuple):
    """What a text or a list item looks like."""

    normal: Callable[[str], str | None]
    """Its normal form; None if it is invalid."""
    words: Text
    """For people, after an invalid one."""
    usable: Callable[[str], bool] = lambda _: True
    """A second check for values that count; not run on values from an untrusted project."""


def _clean(item: str) -> bool:
    # Surrogates stand for bytes of a variable that are not UTF-8.
    return bool(item.strip()) and not any(c < " " or c == "\x7f" or "\ud800" <= c <= "\udfff" for c in item)


def _glob(item: str) -> str | None:
    # A glob that matches no path in the workspace would silently protect nothing.
    parts = item.rstrip("/").split("/")
    if parts[0] == "~" or {"", ".", ".."} & set(parts) or not _clean(item):
        return None
    return item.rstrip("/") + "/**" if item.endswith("/") else item


def _place(item: str) -> str | None:
    path = item.rstrip("/")
    anywhere = path.startswith(("/", "~/")) and not {"", ".", ".."} & set(path.split("/")[1:])
    return path if anywhere and _clean(item) else None


def _extension(item: str) -> str | None:
    normal = "." + item.strip().removeprefix(".").lower()
    return normal if _clean(normal) and re.fullmatch(r"(\.[^\s./\\*?\[\]]+)+", normal) else None


def _line(item: str) -> str | None:
    return item.strip() if _clean(item.strip()) else None


def _line_or_nothing(item: str) -> str | None:
    return _line(item) if item.strip() else ""


def _address(item: str) -> str | None:
    """Without a password: keys belong in the environment. Empty means the default."""
    match = re.fullmatch(
        r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?(?:/[^\s?#@]*)?", item
    )
    if item and not (match and _clean(item) and int(match[1] or 0) <= _LAST_PORT):
        return None
    return item.rstrip("/")


def _server(item: str) -> str | None:
    """`name: command` or `name: URL`."""
    name, _, rest = (part.strip() for part in item.partition(":"))
    if not _SERVER_NAME.fullmatch(name) or not _clean(rest):
        return None
    if re.match(r"https?:", rest, re.IGNORECASE):
        address = _address(rest)
        return f"{name}: {address}" if address else None
    try:
        words = shlex.split(rest)
    except ValueError:  # a quote that is not closed
        return None
    return f"{name}: {rest}" if words else None


def _variables_of_server(item: str) -> str | None:
    name, _, rest = (part.strip() for part in item.partition(":"))
    names = rest.split()
    if not _SERVER_NAME.fullmatch(name) or not names or not all(_VARIABLE.fullmatch(one) for one in names):
        return None
    return f"{name}: {' '.join(names)}"


def _compiles(item: str) -> bool:
    try:
        with warnings.catch_warnings():  # warnings about future syntax do not help here
            warnings.simplefilter("ignore")
            re.compile(item)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


_IN_WORKSPACE: Final = Text("a path starts in the workspace, like docs/api, and has no . or .. in it")
GLOB: Final = TextForm(_glob, _IN_WORKSPACE)
FOLDER: Final = TextForm(lambda item: _glob(item.rstrip("/")), _IN_WORKSPACE)
OPTIONAL_PATH: Final = TextForm(lambda item: _glob(item) if item.strip() else "", _IN_WORKSPACE)
PLACE: Final = TextForm(
    _place,
    Text("a folder is named from the root or from ~, like ~/.cache/uv, and has no . or .. in it"),
)
OPTIONAL_PLACE: Final = TextForm(lambda item: _place(item) if item.strip() else "", PLACE.words)
EXTENSION: Final = TextForm(_extension, Text("an extension looks like .exe"))
COMMAND: Final = TextForm(_line, Text("a command is one line"))
OPTIONAL_COMMAND: Final = TextForm(_line_or_nothing, COMMAND.words)
MODEL: Final = TextForm(
    _line, Text("a model is named like openai:gpt-5, ollama:llama3, command:claude or playbook")
)
OPTIONAL_MODEL: Final = TextForm(_line_or_nothing, MODEL.words)
VARIABLE: Final = TextForm(
    lambda item: item if _VARIABLE.fullmatch(item) else None,
    Text("a variable's name has letters, digits and _"),
)
ADDRESS: Final = TextForm(
    _address, Text("an address looks like http://127.0.0.1:8080/v1 and has no password in it")
)
SERVER: Final = TextForm(
    _server,
    Text("a server is a name of small letters, digits and -, and its command line or address: "
         "files: npx -y @modelcontextprotocol/server-filesystem ."),
)  # fmt: skip
SERVER_VARIABLES: Final = TextForm(
    _variables_of_server,
    Text("name a server and the variables it gets, such as tracker: TRACKER_URL TRACKER_KEY"),
)
WORDS: Final = TextForm(_line, Text("a text is one line"))
OPTIONAL_WORDS: Final = TextForm(_line_or_nothing, WORDS.words)
TARGET: Final = TextForm(
    lambda item: item if re.fullmatch(r"[<>]?=?[0-9]{1,6}(\.[0-9]{1,6})?%?", item) else None,
    Text("a target looks like 80%, >90% or <1.5"),
)
TOOL: Final = TextForm(
    lambda item: item if re.fullmatch(r"[^\s\x00-\x1f\x7f\ud800-\udfff]{1,200}", item) else None,
    Text("a tool or a glob of tools has no spaces, like github_get_*"),
)
PRICE: Final = TextForm(
    lambda item: item if re.fullmatch(r"[^\s\x00-\x1f\x7f]+( [0-9]{1,6}(\.[0-9]{1,6})?){2}", item) else None,
    Text("a price looks like openai:gpt-5 1.25 10: the model, dollars for a million tokens in and out"),
)
USER: Final = TextForm(_line, Text("a user or a group is one line"))
# Compiled only if it counts: an untrusted project must not keep us busy.
EXPRESSION: Final = TextForm(
    lambda item: item if len(item) <= _LONGEST_EXPRESSION and _clean(item) else None,
    Text("it is no regular expression of at most {most} characters", most=_LONGEST_EXPRESSION),
    _compiles,
)


class Guard(StrEnum):
    """What the project's file may do with a key."""

    NONE = "none"
    SMALLER = "smaller"
    LARGER = "larger"
    ADDED = "added"
    NARROWED = "narrowed"  # a list in which nothing stands for everything
    TRUSTED = "trusted"  # ignored until a person has trusted the project
    ADDED_ONCE_TRUSTED = "added once trusted"

    @property
    def needs_trust(self) -> bool:
        return self in {Guard.TRUSTED, Guard.ADDED_ONCE_TRUSTED}

    @property
    def adds(self) -> bool:
        return self in {Guard.ADDED, Guard.ADDED_ONCE_TRUSTED}


class Rule(NamedTuple):
    guard: Guard = Guard.NONE
    least: float = 0
    most: float = EXACT
    form: TextForm | None = None
    """Of a text or a list item."""
    strictest: bool = False
    """Whether the strictest of all sources counts, not the last."""
    variable: str = ""
    """Its name in the specification of the planning process, beside RINGI_…."""
    pairs: str = ""
    """An item of the list may be a pair: of this key its value counts; of any (*) the key itself. With a
    colon the list may be a section: its items are then its keys with their values."""


class Section(msgspec.Struct, frozen=True):
    pass
