"""What is set, and where: defaults, the user's file, the project's file, the environment, in that order.

The project's file arrives with the repository and may be anybody's: what guards, it can only tighten.
"""

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final, Literal, NamedTuple, NoReturn, TypeAlias, get_args

import msgspec

from ringi.errors import BadConfiguration
from ringi.text import Text
from ringi.wiring.config_file import (
    MAX_SHOWN,
    Node,
    guarded,
    nearest_of,
    project_bytes,
    shown,
    tree,
    user_bytes,
    wrong,
)
from ringi.wiring.config_items import command, extension, folder, glob, rule_of
from ringi.wiring.places import project_file, user_file
from ringi.wiring.trust import Part, Trust, TrustState, Verdict, commands_part, signers_part

_EXACT: Final = 2**53 - 1  # larger whole numbers are not exact in every reader of JSON
_CENTURY_DAYS: Final = 36_500  # a date that far ahead still exists
_LONGEST_WAIT_SEC: Final = 1_000_000  # poll() counts milliseconds in 32 bits

Value: TypeAlias = str | int | float | tuple[str, ...]


class Guard(StrEnum):
    """What the project's file may do with a key."""

    NONE = "none"
    SMALLER = "smaller"
    LARGER = "larger"
    ADDED = "added"
    TRUSTED = "trusted"  # commands: nothing, until a person has trusted the project


class Rule(NamedTuple):
    guard: Guard = Guard.NONE
    least: float = 0
    most: float = _EXACT
    item: Callable[[str], str | None] | None = None
    """One item of a list in its normal form; None when it is no such thing."""


class Section(msgspec.Struct, frozen=True):
    pass


class Approval(Section, frozen=True):
    expires_sec: Annotated[int, Rule(Guard.SMALLER, least=1, most=_CENTURY_DAYS * 86_400)] = 86_400


class Risk(Section, frozen=True):
    large_overwrite_lines: Annotated[int, Rule(Guard.SMALLER)] = 300
    large_overwrite_bytes: Annotated[int, Rule(Guard.SMALLER)] = 65_536
    critical: Annotated[tuple[str, ...], Rule(Guard.ADDED, item=glob)] = ()
    """Globs beside the built-in ones."""
    mutable: Annotated[tuple[str, ...], Rule(Guard.ADDED, item=glob)] = ()


class Limits(Section, frozen=True):
    max_file_bytes: Annotated[int, Rule(Guard.SMALLER)] = 10_485_760
    max_specs: Annotated[int, Rule(Guard.SMALLER, least=1)] = 10_000
    forbidden_extensions: Annotated[tuple[str, ...], Rule(Guard.ADDED, item=extension)] = ()


class Lock(Section, frozen=True):
    wait_sec: Annotated[float, Rule(most=_LONGEST_WAIT_SEC)] = 2.0


class Checks(Section, frozen=True):
    timeout_sec: Annotated[float, Rule(least=0.1, most=_LONGEST_WAIT_SEC)] = 600.0


class Diagnostics(Section, frozen=True):
    commands: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, item=command)] = ()
    format: Annotated[Literal["auto", "sarif", "ruff", "lines"], Rule()] = "auto"
    timeout_sec: Annotated[float, Rule(least=0.1, most=_LONGEST_WAIT_SEC)] = 600.0


class Keep(Section, frozen=True):
    replaced_days: Annotated[int, Rule(Guard.LARGER, most=_CENTURY_DAYS)] = 30


class Beside(Section, frozen=True):
    carry: Annotated[tuple[str, ...], Rule(item=folder)] = ()
    checks: Annotated[tuple[str, ...], Rule(Guard.TRUSTED, item=command)] = ()


# The one table of keys: type, default and guard stand together; `KEYS` is read from it.
class Config(msgspec.Struct, frozen=True, rename={"beside": "with"}):
    language: Annotated[Literal["auto", "en", "ja"], Rule()] = "auto"
    approval: Approval = Approval()
    risk: Risk = Risk()
    limits: Limits = Limits()
    lock: Lock = Lock()
    checks: Checks = Checks()
    diagnostics: Diagnostics = Diagnostics()
    keep: Keep = Keep()
    beside: Beside = Beside()


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
# Variables of ours that are no keys.
VARIABLES: Final = frozenset(
    ["RINGI_STATE_DIR", "RINGI_CACHE_DIR", "RINGI_MODEL", "RINGI_WITH", "RINGI_CONFIG"]
)


class Origin(StrEnum):
    DEFAULT = "default"
    USER = "user"
    PROJECT = "project"
    ENVIRONMENT = "environment"
    IGNORED = "project (not trusted, ignored)"


class Source(NamedTuple):
    origin: Origin
    where: str = ""
    """File and line, or the variable."""
    added: str = ""
    """Where the project's part of a list stands, when the rest comes from elsewhere."""


class Loaded(NamedTuple):
    config: Config
    sources: Mapping[str, Source]
    notes: tuple[Text, ...]
    files: tuple[Path, ...]
    trust: Verdict | None = None
    """On the project's commands; None where its file names none."""


def load(workspace: Path | None, environment: Mapping[str, str]) -> Loaded:
    notes: list[Text] = []
    files: list[Path] = []
    user: dict[str, Node] = {}
    project: dict[str, Node] = {}
    if (path := user_file(environment)) is not None:
        if (data := guarded(path, user_bytes)) is not None:
            files.append(path)
            user = _settings(data, path)
        elif environment.get("RINGI_CONFIG"):
            notes.append(Text("RINGI_CONFIG names {path}, which is not there", path=path))
    if workspace is not None:
        path = project_file(workspace)
        if (data := guarded(path, project_bytes)) is not None:
            files.append(path)
            project = _settings(data, path)
    trust = None
    if workspace is not None and any(KEYS[name].rule.guard is Guard.TRUSTED for name in project):
        trust = Trust(workspace, environment).state(_executable(project, workspace))
        notes += [trust.note] if trust.note else []
    variables = _variables(environment, notes)
    sources: dict[str, Source] = {}
    changed: dict[str, dict[str, Value]] = {}
    for name, key in KEYS.items():
        nodes = user.get(name), project.get(name), variables.get(name)
        value, sources[name] = _settle(key, *nodes, trust, notes)
        changed.setdefault(".".join(key.path[:-1]), {})[key.path[-1]] = value
    top: dict[str, Any] = changed.pop("")
    for section, fields in changed.items():
        top[section] = msgspec.structs.replace(getattr(DEFAULTS, section), **fields)
    return Loaded(Config(**top), sources, tuple(notes), tuple(files), trust)


def executable(workspace: Path) -> tuple[Part, ...]:
    """What the project's own files would have run or believed."""
    path = project_file(workspace)
    data = guarded(path, project_bytes)
    return _executable({} if data is None else _settings(data, path), workspace)


def _executable(project: Mapping[str, Node], workspace: Path) -> tuple[Part, ...]:
    signers = signers_part(workspace)
    commands = (
        commands_part(name, value)
        for name, key in KEYS.items()
        if name in project and key.rule.guard is Guard.TRUSTED
        if isinstance(value := _value(key, project[name]), tuple)
    )
    return (*commands, signers) if signers else tuple(commands)


# One key, from its four places.


def _settle(
    key: Key,
    user: Node | None,
    project: Node | None,
    variable: Node | None,
    trust: Verdict | None,
    notes: list[Text],
) -> tuple[Value, Source]:
    value, source = key.default, Source(Origin.DEFAULT)
    guard = key.rule.guard
    if user is not None:
        value, source = _value(key, user), Source(Origin.USER, user.where)
    theirs = value if project is None else _value(key, project)
    if project is not None and guard is Guard.TRUSTED and not (trust and trust.trusted):
        notes.append(_ignored(project.where, key.name, trust))
        if user is None:
            source = Source(Origin.IGNORED, project.where)
    elif project is not None and guard is not Guard.ADDED:
        _refuse_looser(key, value, theirs, project.where)
        value, source = theirs, Source(Origin.PROJECT, project.where)
    if variable is not None:
        value, source = _value(key, variable), Source(Origin.ENVIRONMENT, variable.where)
    if (
        project is not None
        and guard is Guard.ADDED
        and isinstance(value, tuple)
        and isinstance(theirs, tuple)
    ):
        # After the environment: what the project forbids stays forbidden.
        value = tuple(dict.fromkeys(value + theirs))
        alone = source.origin is Origin.DEFAULT
        source = Source(Origin.PROJECT, project.where) if alone else source._replace(added=project.where)
    return value, source


def _ignored(where: str, key: str, trust: Verdict | None) -> Text:
    if trust is not None and trust.state is TrustState.CHANGED:
        return Text("{where}: {key} is ignored; what was trusted here changed since", where=where, key=key)
    return Text(
        "{where}: {key} is ignored; commands from a project count once it is trusted", where=where, key=key
    )


def _refuse_looser(key: Key, value: Value, theirs: Value, where: str) -> None:
    if isinstance(value, str | tuple) or isinstance(theirs, str | tuple):
        return
    guard = key.rule.guard
    if (guard is Guard.SMALLER and theirs > value) or (guard is Guard.LARGER and theirs < value):
        problem = Text(
            "{key} guards: a project may only tighten it, and {theirs} is looser than {value}",
            key=key.name,
            theirs=theirs,
            value=value,
        )
        raise BadConfiguration(where=where, problem=problem)


def _value(key: Key, node: Node) -> Value:
    name, found = key.name, shown(node)
    if isinstance(key.default, tuple):
        if not isinstance(node.value, list):
            wrong(node, Text("{key} must be a list, not {found}", key=name, found=found))
        return tuple(dict.fromkeys(_item(key, item) for item in node.value))
    if isinstance(key.default, str):
        if not (isinstance(node.value, str) and node.text and node.value in key.choices):
            known = ", ".join(key.choices)
            wrong(node, Text("{key} is one of {known}, not {found}", key=name, known=known, found=found))
        return node.value
    return _number(key, node)


# No octal, no minutes:seconds, no infinity: what YAML 1.1 would read in a way nobody expects.
# Patterns are compiled where they are used: most starts read no value at all.
_WHOLE: Final = r"-?(0|[1-9][0-9_]{0,30})"
_DECIMAL: Final = r"-?(0|[1-9][0-9_]{0,30})?(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?"


def _number(key: Key, node: Node) -> int | float:
    whole = isinstance(key.default, int)
    name, found = key.name, shown(node)
    number: int | float = math.nan
    pattern = _WHOLE if whole else _DECIMAL
    if isinstance(node.value, str) and node.plain and re.fullmatch(pattern, node.value):
        # The patterns are a little wider than the language: 1__0
        with contextlib.suppress(ValueError):
            number = int(node.value) if whole else float(node.value)
    if not math.isfinite(number):
        if whole:
            wrong(node, Text("{key} must be a whole number, not {found}", key=name, found=found))
        wrong(node, Text("{key} must be a number, not {found}", key=name, found=found))
    least, most = key.rule.least, key.rule.most
    if not least <= number <= most:
        problem = Text(
            "{key} must be from {least} to {most}, not {found}", key=name, least=least, most=most, found=found
        )
        wrong(node, problem)
    return number


def _item(key: Key, node: Node) -> str:
    name, found = key.name, shown(node)
    if not (isinstance(node.value, str) and node.text):
        wrong(node, Text("{key} holds texts, not {found}; quotes make a text", key=name, found=found))
    item = node.value if key.rule.item is None else key.rule.item(node.value)
    if item is None:
        why = rule_of(key.rule.item)
        wrong(node, Text("{key} cannot hold {found}: {why}", key=name, found=found, why=why))
    return item


# The environment.


def _variables(environment: Mapping[str, str], notes: list[Text]) -> dict[str, Node]:
    known = {key.variable: key for key in KEYS.values()}
    found = {}
    for variable in sorted(name for name in environment if name.startswith("RINGI_")):
        text = environment[variable]
        if (key := known.get(variable)) is None:
            if variable not in VARIABLES:
                # A note, no error: a stranger's variable must not break the program.
                nearest = nearest_of(variable, [*known, *VARIABLES])
                notes.append(
                    Text(
                        "{variable} means nothing here; the nearest known one is {nearest}",
                        variable=variable,
                        nearest=nearest,
                    )
                )
        elif text and isinstance(key.default, tuple):
            items = [Node(variable, item.strip(), plain=True, text=True) for item in text.split(",")]
            found[key.name] = Node(variable, items)
        elif text:  # an empty one counts as not set
            found[key.name] = Node(variable, text, plain=True, text=True)
    return found


def _settings(data: bytes, path: Path) -> dict[str, Node]:
    """The file as dotted names."""
    root = tree(data, path)
    found: dict[str, Node] = {}
    for name, node in root.items():
        if name in KEYS and "." not in name:
            found[name] = node
        elif name not in SECTIONS:
            if name in KEYS:
                section, _, key = name.partition(".")
                wrong(node, Text("write {key} below {section}:, indented", key=f"{key}:", section=section))
            _unknown(node, name, [*SECTIONS, *KEYS])
        elif isinstance(node.value, dict):
            for key, below in node.value.items():
                if f"{name}.{key}" not in KEYS:
                    _unknown(below, f"{name}.{key}", list(KEYS))
                found[f"{name}.{key}"] = below
        elif node.value is not None:
            wrong(node, Text("{section} is a section: its keys stand below it, indented", section=name))
    return found


def _unknown(node: Node, name: str, known: list[str]) -> NoReturn:
    key, nearest = name[:MAX_SHOWN], nearest_of(name, known)
    wrong(node, Text("there is no key {key}; the nearest known one is {nearest}", key=key, nearest=nearest))
