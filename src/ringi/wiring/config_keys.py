"""Every key of the configuration: its type, its default, and what a project's file may do with it."""

import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from operator import attrgetter
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias, get_args

import msgspec

from ringi.policy.files import UNJUDGED
from ringi.text import Text

_EXACT: Final = 2**53 - 1  # larger integers are not exact in every JSON parser
_CENTURY_DAYS: Final = 36_500  # a date that far ahead still exists
_LONGEST_WAIT_SEC: Final = 1_000_000  # poll() counts milliseconds in 32 bits

_LAST_PORT: Final = 65_535
_LONGEST_EXPRESSION: Final = 500

Value: TypeAlias = str | int | float | tuple[str, ...]


class Form(NamedTuple):
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


def _address(item: str) -> str | None:
    """Without a password: keys belong in the environment. Empty means the default."""
    match = re.fullmatch(
        r"https?://(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(?::(\d{1,5}))?(?:/[^\s?#@]*)?", item
    )
    if item and not (match and _clean(item) and int(match[1] or 0) <= _LAST_PORT):
        return None
    return item.rstrip("/")


def _compiles(item: str) -> bool:
    try:
        with warnings.catch_warnings():  # warnings about future syntax do not help here
            warnings.simplefilter("ignore")
            re.compile(item)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


_IN_WORKSPACE: Final = Text("a path starts in the workspace, like docs/api, and has no . or .. in it")
_GLOB: Final = Form(_glob, _IN_WORKSPACE)
_FOLDER: Final = Form(lambda item: _glob(item.rstrip("/")), _IN_WORKSPACE)
_PLACE: Final = Form(
    _place,
    Text("a folder is named from the root or from ~, like ~/.cache/uv, and has no . or .. in it"),
)
_EXTENSION: Final = Form(_extension, Text("an extension looks like .exe"))
_COMMAND: Final = Form(_line, Text("a command is one line"))
_MODEL: Final = Form(
    _line, Text("a model is named like openai:gpt-5, ollama:llama3, command:claude or playbook")
)
_VARIABLE: Final = Form(
    lambda item: item if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", item) else None,
    Text("a variable's name has letters, digits and _"),
)
_ADDRESS: Final = Form(
    _address, Text("an address looks like http://127.0.0.1:8080/v1 and has no password in it")
)
# Compiled only if it counts: an untrusted project must not keep us busy.
EXPRESSION: Final = Form(
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
    most: float = _EXACT
    form: Form | None = None
    """Of a text or a list item."""
    strictest: bool = False
    """Whether the strictest of all sources counts, not the last."""


class Section(msgspec.Struct, frozen=True):
    pass


class Approval(Section, frozen=True):
    expires_sec: Annotated[int, Rule(Guard.SMALLER, least=1, most=_CENTURY_DAYS * 86_400)] = 86_400
    together: Annotated[Literal["medium", "low", "none"], Rule(Guard.LARGER)] = "none"
    """Up to which risk several plans can be approved with one answer."""
    proof: Annotated[Literal["any", "signed"], Rule(Guard.LARGER, strictest=True)] = "any"
    """Whether a typed answer suffices. What the ledger says counts too."""


class Risk(Section, frozen=True):
    large_overwrite_lines: Annotated[int, Rule(Guard.SMALLER)] = 300
    large_overwrite_bytes: Annotated[int, Rule(Guard.SMALLER)] = 65_536
    critical: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=_GLOB)] = ()
    """Globs in addition to the built-in ones."""
    mutable: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=_GLOB)] = ()


class Limits(Section, frozen=True):
    max_file_bytes: Annotated[int, Rule(Guard.SMALLER)] = 10_485_760
    max_specs: Annotated[int, Rule(Guard.SMALLER, least=1)] = 10_000
    forbidden_extensions: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=_EXTENSION)] = UNJUDGED
    """The built-in ones bind agents, others everybody."""


class Lock(Section, frozen=True):
    wait_sec: Annotated[float, Rule(most=_LONGEST_WAIT_SEC)] = 2.0


class Checks(Section, frozen=True):
    before: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=_COMMAND)] = ()
    after: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=_COMMAND)] = ()
    on_failure: Annotated[Literal["keep", "undo"], Rule(Guard.LARGER)] = "undo"
    timeout_sec: Annotated[float, Rule(least=0.1, most=_LONGEST_WAIT_SEC)] = 600.0


class Run(Section, frozen=True):
    """Specs of the kind run."""

    sandbox: Annotated[Literal["off", "auto", "required"], Rule(Guard.LARGER)] = "auto"
    allowed: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=_COMMAND)] = ()
    environment: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=_VARIABLE)] = ()
    """Variables that commands get in addition to the usual harmless ones."""
    timeout_sec: Annotated[int, Rule(least=1, most=_LONGEST_WAIT_SEC)] = 600
    output_bytes: Annotated[int, Rule(most=16 * 1024 * 1024)] = 65_536


class Diagnostics(Section, frozen=True):
    commands: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=_COMMAND)] = ()
    format: Annotated[Literal["auto", "sarif", "ruff", "lines"], Rule()] = "auto"
    timeout_sec: Annotated[float, Rule(least=0.1, most=_LONGEST_WAIT_SEC)] = 600.0


class Keep(Section, frozen=True):
    """What is removed in time. The ledger keeps every plan, approval and event."""

    replaced_days: Annotated[int, Rule(Guard.LARGER, most=_CENTURY_DAYS)] = 30
    """Replaced bytes, which an undo needs."""
    copies_days: Annotated[int, Rule(most=_CENTURY_DAYS)] = 14
    """The copy of an open plan, for `ringi with --resume`."""
    copies_mb: Annotated[int, Rule()] = 10_000
    """All copies of a workspace."""
    projections: Annotated[int, Rule()] = 1_000
    """So many of the newest plans, and of the newest sessions, have files in `.agent/`."""


class Beside(Section, frozen=True):
    carry: Annotated[tuple[str, ...], Rule(form=_FOLDER)] = ()
    checks: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=_COMMAND)] = ()
    sandbox: Annotated[Literal["off", "auto", "required"], Rule(Guard.LARGER)] = "auto"
    writable: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, form=_PLACE)] = ()
    """Folders outside the copy that the agent may write to in its sandbox, such as package caches."""


class Notify(Section, frozen=True):
    """How to tell a person that something waits."""

    how: Annotated[Literal["off", "bell", "desktop"], Rule()] = "bell"


class Llm(Section, frozen=True):
    """Language models. Their keys come only from the environment."""

    base_url: Annotated[str, Rule(Guard.TRUSTED, form=_ADDRESS)] = ""
    """The address of an openai: model's service, if it is not OpenAI."""
    timeout_sec: Annotated[float, Rule(least=0.1, most=_LONGEST_WAIT_SEC)] = 120.0
    """For one question, retries included."""
    max_output_tokens: Annotated[int, Rule(Guard.SMALLER, least=64, most=1_000_000)] = 4_096
    """They cost money, so a project may not raise the limit."""


class Planning(Section, frozen=True):
    skip_after_sec: Annotated[float, Rule(most=_LONGEST_WAIT_SEC)] = 300.0
    """Seconds without an answer until skipping the question is offered; 0 means never."""


class Context(Section, frozen=True):
    """What models are shown of the project."""

    tokens: Annotated[int, Rule(Guard.SMALLER, least=100, most=1_000_000)] = 3_000
    """They cost money, so a project may not raise the limit."""
    never_send: Annotated[tuple[str, ...], Rule(Guard.ADDED, form=_GLOB)] = ()
    """Globs in addition to files that may hold credentials."""


class Logs(Section, frozen=True):
    detail: Annotated[Literal["on", "off"], Rule(Guard.LARGER)] = "on"
    """Keep prompts and answers in the logs."""
    mask: Annotated[tuple[str, ...], Rule(Guard.ADDED_ONCE_TRUSTED, form=EXPRESSION)] = ()
    """Regular expressions for more secrets; matched in a separate process that can be killed."""


# The one table of keys, with type, default and guard; `KEYS` is derived from it.
class Config(msgspec.Struct, frozen=True, rename={"beside": "with"}):
    language: Annotated[Literal["auto", "en", "ja"], Rule()] = "auto"
    model: Annotated[str, Rule(Guard.TRUSTED, form=_MODEL)] = "playbook"
    """The language model; the playbook needs none."""
    approval: Approval = Approval()
    risk: Risk = Risk()
    limits: Limits = Limits()
    lock: Lock = Lock()
    checks: Checks = Checks()
    run: Run = Run()
    diagnostics: Diagnostics = Diagnostics()
    keep: Keep = Keep()
    beside: Beside = Beside()
    notify: Notify = Notify()
    llm: Llm = Llm()
    planning: Planning = Planning()
    context: Context = Context()
    logs: Logs = Logs()


DEFAULTS: Final = Config()


class Key(NamedTuple):
    name: str
    """As people write it, with a dot: with.carry."""
    path: tuple[str, ...]
    default: Value
    rule: Rule
    choices: tuple[str, ...]

    @property
    def variable(self) -> str:
        return "RINGI_" + self.name.replace(".", "_").upper()

    def of(self, config: Config) -> Value:
        value: Value = attrgetter(".".join(self.path))(config)
        return value


def _keys(struct: msgspec.Struct, name: str = "", path: tuple[str, ...] = ()) -> Iterator[Key]:
    for attribute, written in zip(struct.__struct_fields__, struct.__struct_encode_fields__, strict=True):
        default = getattr(struct, attribute)
        if isinstance(default, Section):
            yield from _keys(default, f"{written}.", (attribute,))
        else:
            annotation: Any = type(struct).__annotations__[attribute]
            choices = get_args(annotation.__origin__) if isinstance(default, str) else ()
            yield Key(name + written, (*path, attribute), default, annotation.__metadata__[0], choices)


KEYS: Final[Mapping[str, Key]] = {key.name: key for key in _keys(DEFAULTS)}
SECTIONS: Final = frozenset(name.partition(".")[0] for name in KEYS if "." in name)
# Variables of ours that are not keys.
VARIABLES: Final = frozenset(
    [
        "RINGI_STATE_DIR",
        "RINGI_CACHE_DIR",
        "RINGI_WITH",
        "RINGI_MCP_SOCKET",
        "RINGI_FEEDBACK",
        "RINGI_CONFIG",
    ]
)
