"""Merges the settings: defaults, the user's file, the project's file, the environment, in that order.

The project's file comes with the repository and is untrusted: it can only tighten safety settings.
"""

import contextlib
import math
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

import msgspec

from ringi.domain import codec
from ringi.errors import BadConfiguration
from ringi.store.lock import FileLock
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
from ringi.wiring.config_keys import (
    DEFAULTS,
    EXPRESSION,
    KEYS,
    SECTIONS,
    VARIABLES,
    Config,
    Form,
    Guard,
    Key,
    Value,
)
from ringi.workspace.pins import SIGNERS, Part, Trust, TrustState, Verdict, commands_part
from ringi.workspace.places import project_file, signers_file, user_file


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
    """File and line of the project's part of a list that also has other parts."""


class Loaded(NamedTuple):
    config: Config
    sources: Mapping[str, Source]
    notes: tuple[Text, ...]
    files: tuple[Path, ...]
    trust: Verdict | None = None
    """The verdict on the project's commands; None if its file names none."""


def load(workspace: Path | None, environment: Mapping[str, str]) -> Loaded:
    notes: list[Text] = []
    files: list[Path] = []
    user: dict[str, Node] = {}
    project: dict[str, Node] = {}
    if (path := user_file(environment)) is not None:
        if (found := _settings(path, user_bytes)) is not None:
            files.append(path)
            user = found
        elif environment.get("RINGI_CONFIG"):
            notes.append(Text("RINGI_CONFIG names {path}, which is not there", path=path))
    if workspace is not None:
        path = project_file(workspace)
        if (found := _settings(path, project_bytes)) is not None:
            files.append(path)
            project = found
    trust = None
    if workspace is not None and any(KEYS[name].rule.guard.needs_trust for name in project):
        trust = Trust(workspace, environment, FileLock).state(_executable(project, workspace))
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
    """What the project's own files would run or rely on."""
    return _executable(_settings(project_file(workspace), project_bytes) or {}, workspace)


def check_expressions(workspace: Path) -> None:
    """Raises BadConfiguration for an invalid regular expression of the project, even if it is not trusted.

    `load` leaves those of an untrusted project alone; here a child process compiles them.
    """
    from ringi.integrations.pattern_matcher import first_invalid  # noqa: PLC0415  # for one command only

    for name, node in (_settings(project_file(workspace), project_bytes) or {}).items():
        key = KEYS[name]
        if key.rule.form is EXPRESSION and isinstance(node.value, list):
            at = first_invalid([str(item.value) for item in node.value])
            if at is not None:
                _refuse(key, node.value[at], EXPRESSION)


def _executable(project: Mapping[str, Node], workspace: Path) -> tuple[Part, ...]:
    signers = _signers(workspace)
    commands = (
        commands_part(name, value if isinstance(value, tuple) else (str(value),))
        for name, key in KEYS.items()
        if name in project and key.rule.guard.needs_trust
        for value in [_value(key, project[name], counts=False)]
    )
    return (*commands, signers) if signers else tuple(commands)


def _signers(workspace: Path) -> Part | None:
    data = guarded(signers_file(workspace), project_bytes)
    if data is None:
        return None
    lines = data.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n")
    return Part(SIGNERS, tuple(lines), codec.digest(data))


# One key from its four sources.


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
    counts = not guard.needs_trust or (trust is not None and trust.trusted)
    theirs = value if project is None else _value(key, project, counts=counts)
    if project is not None and not counts:
        notes.append(_ignored(project.where, key, trust))
        if user is None:
            source = Source(Origin.IGNORED, project.where)
    elif project is not None and not guard.adds:
        _refuse_looser(key, value, theirs, project.where)
        value, source = theirs, Source(Origin.PROJECT, project.where)
    if variable is not None:
        wanted = _value(key, variable)
        if key.rule.strictest and _is_looser(key, value, wanted):
            notes.append(Text("{where} is ignored: {key} is {value}, and the strictest counts",
                              where=variable.where, key=key.name, value=value))  # fmt: skip
        else:
            value, source = wanted, Source(Origin.ENVIRONMENT, variable.where)
    if (
        project is not None
        and counts
        and guard.adds
        and isinstance(value, tuple)
        and isinstance(theirs, tuple)
    ):
        # After the environment, so that what the project forbids stays forbidden.
        value = tuple(dict.fromkeys(value + theirs))
        alone = source.origin is Origin.DEFAULT
        source = Source(Origin.PROJECT, project.where) if alone else source._replace(added=project.where)
    return value, source


def _ignored(where: str, key: Key, trust: Verdict | None) -> Text:
    name = key.name
    if trust is not None and trust.state is TrustState.CHANGED:
        return Text("{where}: {key} is ignored; what was trusted here changed since", where=where, key=name)
    if isinstance(key.default, str) or key.rule.guard is Guard.ADDED_ONCE_TRUSTED:
        return Text("{where}: {key} is ignored until the project is trusted", where=where, key=name)
    return Text(
        "{where}: {key} is ignored; commands from a project count once it is trusted", where=where, key=name
    )


def _is_looser(key: Key, value: Value, theirs: Value) -> bool:
    guard, order = key.rule.guard, _order(key)
    if isinstance(value, tuple) or isinstance(theirs, tuple):
        return False
    now, wanted = order(value), order(theirs)
    return (guard is Guard.SMALLER and wanted > now) or (guard is Guard.LARGER and wanted < now)


def _refuse_looser(key: Key, value: Value, theirs: Value, where: str) -> None:
    if key.rule.guard in {Guard.SMALLER, Guard.LARGER} and _is_looser(key, value, theirs):
        problem = Text(
            "{key} guards: a project may only tighten it, and {theirs} is looser than {value}",
            key=key.name,
            theirs=theirs,
            value=value,
        )
        raise BadConfiguration(where=where, problem=problem)


def _order(key: Key) -> Callable[[str | int | float], float]:
    """Choices are listed from the loosest to the strictest."""
    return lambda value: key.choices.index(value) if isinstance(value, str) else value


_MOST_ITEMS: Final = 500
"""Globs and patterns are tried one by one, on every file or every log."""


def _value(key: Key, node: Node, *, counts: bool = True) -> Value:
    """`counts` is False for a value from an untrusted project."""
    name, found = key.name, shown(node)
    if isinstance(key.default, tuple):
        if not isinstance(node.value, list):
            wrong(node, Text("{key} must be a list, not {found}", key=name, found=found))
        if len(node.value) > _MOST_ITEMS:
            count = len(node.value)
            wrong(node, Text("{key} has {count} items, {limit} are allowed", key=name, count=count,
                             limit=_MOST_ITEMS))  # fmt: skip
        return tuple(dict.fromkeys(_item(key, item, counts) for item in node.value))
    if isinstance(key.default, str) and not key.choices:
        return _item(key, node, counts)
    if isinstance(key.default, str):
        # YAML reads `off` as a boolean; people mean the word.
        if not (isinstance(node.value, str) and node.value in key.choices):
            known = ", ".join(key.choices)
            wrong(node, Text("{key} is one of {known}, not {found}", key=name, known=known, found=found))
        return node.value
    return _number(key, node)


# No octal, no minutes:seconds, no infinity: YAML 1.1 reads them in surprising ways.
# Compiled on first use: most calls read no value at all.
_WHOLE: Final = r"-?(0|[1-9][0-9_]{0,30})"
_DECIMAL: Final = r"-?(0|[1-9][0-9_]{0,30})?(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?"


def _number(key: Key, node: Node) -> int | float:
    whole = isinstance(key.default, int)
    name, found = key.name, shown(node)
    number: int | float = math.nan
    pattern = _WHOLE if whole else _DECIMAL
    if isinstance(node.value, str) and node.plain and re.fullmatch(pattern, node.value):
        # The patterns allow a little more than Python: 1__0
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


def _item(key: Key, node: Node, counts: bool) -> str:
    name, found = key.name, shown(node)
    if not (isinstance(node.value, str) and node.text):
        if isinstance(key.default, str):
            wrong(node, Text("{key} is a text, not {found}; quotes make a text", key=name, found=found))
        wrong(node, Text("{key} holds texts, not {found}; quotes make a text", key=name, found=found))
    form = key.rule.form
    if form is None:
        return node.value
    item = form.normal(node.value)
    if item is None or (counts and not form.usable(item)):
        _refuse(key, node, form)
    return item


def _refuse(key: Key, node: Node, form: Form) -> NoReturn:
    wrong(node, Text("{key} cannot hold {found}: {why}", key=key.name, found=shown(node), why=form.words))


# The environment.


def _variables(environment: Mapping[str, str], notes: list[Text]) -> dict[str, Node]:
    known = {key.variable: key for key in KEYS.values()}
    found = {}
    for variable in sorted(name for name in environment if name.startswith("RINGI_")):
        text = environment[variable]
        if (key := known.get(variable)) is None:
            if variable not in VARIABLES:
                # A note, not an error: somebody else's variable must not break the program.
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


def _settings(path: Path, read: Callable[[Path], bytes | None]) -> dict[str, Node] | None:
    """The file's values by dotted name; None if there is no file."""
    data = guarded(path, read)
    if data is None:
        return None
    found: dict[str, Node] = {}
    for name, node in tree(data, path).items():
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
            wrong(node, Text("{section} is a section: its keys go below it, indented", section=name))
    return found


def _unknown(node: Node, name: str, known: list[str]) -> NoReturn:
    key, nearest = name[:MAX_SHOWN], nearest_of(name, known)
    wrong(node, Text("there is no key {key}; the nearest known one is {nearest}", key=key, nearest=nearest))
