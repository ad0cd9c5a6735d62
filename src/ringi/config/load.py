"""Merges the settings: defaults, the user's file, the project's file, the environment, in that order.

The project's file comes with the repository and is untrusted: it can only tighten safety settings.
"""

import contextlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final, NoReturn

from msgspec.structs import replace

from ringi.config.file import (
    MAX_SHOWN,
    YamlNode,
    as_list,
    nearest_of,
    plain_value,
    project_bytes,
    read_guarded,
    tree,
    user_bytes,
    wrong,
)
from ringi.config.keys import (
    DEFAULTS,
    KEYS,
    REPOSITORIES,
    SECTIONS,
    SERVER_TOKEN,
    TASK_SPECIFIC,
    TASKS,
    VARIABLES,
    Config,
    Key,
    KeyOrigin,
    ValueSource,
    build,
    key_of,
)
from ringi.config.pins import NO_COMMANDS, SIGNERS, PinnedPart, Trust, TrustState, TrustVerdict, commands_part
from ringi.config.rules import EXPRESSION, PLACE, Guard, TextForm, Value
from ringi.errors import BadConfiguration
from ringi.kernel import codec
from ringi.kernel.places import project_file, signers_file, user_file
from ringi.kernel.text import Text


def load(workspace: Path | None, environment: Mapping[str, str]) -> Config:
    notes: list[Text] = []
    files: list[Path] = []
    user: dict[str, YamlNode] = {}
    project: dict[str, YamlNode] = {}
    if (path := user_file(environment)) is not None:
        if (found := _settings(path, user_bytes, workspace, environment)) is not None:
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
    if workspace is not None and any(key_of(name).rule.guard.needs_trust for name in project):
        trust = Trust(workspace, environment).state(_executable(project, workspace))
        notes += [trust.note] if trust.note else []
    variables = _variables(environment, notes)
    sources: dict[str, ValueSource] = {}
    values: dict[tuple[str, ...], Value] = {}
    for name, key in KEYS.items():
        nodes = user.get(name), project.get(name), variables.get(name)
        values[key.path], sources[name] = _settle(key, *nodes, trust, notes)
    config = build(DEFAULTS, values)
    return replace(
        config,
        sources=sources,
        notes=tuple(notes),
        files=tuple(files),
        trust=trust,
        by_task=dict(_by_task(config, sources, user, project)),
    )


def _by_task(
    config: Config,
    sources: Mapping[str, ValueSource],
    user: Mapping[str, YamlNode],
    project: Mapping[str, YamlNode],
) -> Iterator[tuple[str, tuple[Value, ValueSource]]]:
    """What differs for a kind of task. A project may only tighten here too; variables count for all tasks."""
    names = [name for name in (*user, *project) if name.startswith(f"{TASK_SPECIFIC}.")]
    for name in dict.fromkeys(names):
        key = key_of(name)
        value, source = key.of(config), sources[key.name]
        if mine := user.get(name):
            wanted = _value(key, mine)
            if source.origin is not KeyOrigin.PROJECT or not _is_looser(key, value, wanted):
                value, source = _join(key, value, wanted), ValueSource(KeyOrigin.USER, mine.where)
        if theirs := project.get(name):
            if key.rule.guard.needs_trust:
                wrong(theirs, Text("a project sets {key} for all tasks, not for one kind", key=key.name))
            wanted = _value(key, theirs)
            _refuse_looser(key, value, wanted, theirs.where)
            value, source = _join(key, value, wanted), ValueSource(KeyOrigin.PROJECT, theirs.where)
        if sources[key.name].origin is not KeyOrigin.ENVIRONMENT:
            yield name, (value, source)


def _join(key: Key, value: Value, more: Value) -> Value:
    if key.rule.guard.adds and isinstance(value, tuple) and isinstance(more, tuple):
        return tuple(dict.fromkeys(value + more))
    return more


def executable(workspace: Path) -> tuple[PinnedPart, ...]:
    """What the project's own files would run or rely on."""
    return _executable(_settings(project_file(workspace), project_bytes) or {}, workspace)


def check_expressions(workspace: Path) -> None:
    """Raises BadConfiguration for an invalid regular expression of the project, even if it is not trusted.

    `load` leaves those of an untrusted project alone; here a child process compiles them.
    """
    from ringi.kernel.pattern_matcher import first_invalid  # noqa: PLC0415  # for one command only

    for name, node in (_settings(project_file(workspace), project_bytes) or {}).items():
        key = key_of(name)
        if key.rule.form is EXPRESSION and isinstance(node.value, list):
            at = first_invalid([str(item.value) for item in node.value])
            if at is not None:
                _refuse(key, node.value[at], EXPRESSION)


def _executable(project: Mapping[str, YamlNode], workspace: Path) -> tuple[PinnedPart, ...]:
    signers = _signers(workspace)
    commands = (
        commands_part(name, value if isinstance(value, tuple) else (str(value),))
        for name, key in KEYS.items()
        if name in project and key.rule.guard.needs_trust
        for value in [_value(key, project[name], counts=False)]
    )
    return (*commands, signers) if signers else tuple(commands)


def _signers(workspace: Path) -> PinnedPart | None:
    data = read_guarded(signers_file(workspace), project_bytes)
    if data is None:
        return None
    lines = data.decode("utf-8", "backslashreplace").removesuffix("\n").split("\n")
    return PinnedPart(SIGNERS, tuple(lines), codec.digest(data))


# One key from its four sources.


def _settle(
    key: Key,
    user: YamlNode | None,
    project: YamlNode | None,
    variable: YamlNode | None,
    trust: TrustVerdict | None,
    notes: list[Text],
) -> tuple[Value, ValueSource]:
    value, source = key.default, ValueSource(KeyOrigin.DEFAULT)
    guard = key.rule.guard
    if user is not None:
        value, source = _value(key, user), ValueSource(KeyOrigin.USER, user.where)
    counts = not guard.needs_trust or (trust is not None and trust.trusted)
    theirs = value if project is None else _value(key, project, counts=counts)
    if project is not None and not counts:
        notes.append(_explain_ignored(project.where, key, trust))
        if user is None:
            source = ValueSource(KeyOrigin.IGNORED, project.where)
    elif project is not None and not guard.adds:
        _refuse_looser(key, value, theirs, project.where)
        value, source = theirs, ValueSource(KeyOrigin.PROJECT, project.where)
    if variable is not None:
        wanted = _value(key, variable)
        if key.rule.strictest and _is_looser(key, value, wanted):
            notes.append(Text("{where} is ignored: {key} is {value}, and the strictest counts",
                              where=variable.where, key=key.name, value=value))  # fmt: skip
        else:
            value, source = wanted, ValueSource(KeyOrigin.ENVIRONMENT, variable.where)
    if (
        project is not None
        and counts
        and guard.adds
        and isinstance(value, tuple)
        and isinstance(theirs, tuple)
    ):
        # After the environment, so that what the project forbids stays forbidden.
        value = tuple(dict.fromkeys(value + theirs))
        alone = source.origin is KeyOrigin.DEFAULT
        source = (
            ValueSource(KeyOrigin.PROJECT, project.where) if alone else source._replace(added=project.where)
        )
    return value, source


def _explain_ignored(where: str, key: Key, trust: TrustVerdict | None) -> Text:
    name = key.name
    if trust is not None and trust.state is TrustState.CHANGED:
        return Text("{where}: {key} is ignored; what was trusted here changed since", where=where, key=name)
    if name in NO_COMMANDS or isinstance(key.default, str | bool):
        return Text("{where}: {key} is ignored until the project is trusted", where=where, key=name)
    return Text(
        "{where}: {key} is ignored; commands from a project count once it is trusted", where=where, key=name
    )


def _is_looser(key: Key, value: Value, theirs: Value) -> bool:
    guard, order = key.rule.guard, _order(key)
    if isinstance(value, tuple) or isinstance(theirs, tuple):
        return guard is Guard.NARROWED and _is_wider(value, theirs)
    if guard not in {Guard.SMALLER, Guard.LARGER}:
        return False
    now, wanted = order(value), order(theirs)
    return wanted > now if guard is Guard.SMALLER else wanted < now


def _is_wider(value: Value, theirs: Value) -> bool:
    """Of lists in which nothing stands for everything."""
    if not (isinstance(value, tuple) and isinstance(theirs, tuple)):
        return False
    return bool(value) and not (theirs and set(theirs) <= set(value))


def _refuse_looser(key: Key, value: Value, theirs: Value, where: str) -> None:
    if _is_looser(key, value, theirs):
        problem = Text(
            "{key} guards: a project may only tighten it, and {theirs} is looser than {value}",
            key=key.name,
            theirs=in_words(theirs),
            value=in_words(value),
        )
        raise BadConfiguration(where=where, problem=problem)


def in_words(value: Value) -> str:
    """As it is written in a file."""
    if isinstance(value, tuple):
        return ", ".join(value) or "—"
    return str(value).lower() if isinstance(value, bool) else str(value)


def _order(key: Key) -> Callable[[str | int | float], float]:
    """Choices are listed from the loosest to the strictest."""
    return lambda value: key.choices.index(value) if isinstance(value, str) else value


_MOST_ITEMS: Final = 500
"""Globs and patterns are tried one by one, on every file or every log."""


def _value(key: Key, node: YamlNode, *, counts: bool = True) -> Value:
    """`counts` is False for a value from an untrusted project."""
    name, found = key.name, plain_value(node)
    if isinstance(key.default, tuple):
        node = as_list(node) if key.rule.pairs == ":" else node
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
        return type(key.default)(node.value)
    if isinstance(key.default, bool):
        return _truth(key, node)
    return _number(key, node)


_TRUTHS: Final = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def _truth(key: Key, node: YamlNode) -> bool:
    if isinstance(node.value, str) and node.plain:
        # Only in a variable: in YAML it is a number.
        numbers = {"1": True, "0": False} if node.text else {}
        words = _TRUTHS | numbers
        if node.value.lower() in words:
            return words[node.value.lower()]
    return wrong(node, Text("{key} is true or false, not {found}", key=key.name, found=plain_value(node)))


# No octal, no minutes:seconds, no infinity: YAML 1.1 reads them in surprising ways.
# Compiled on first use: most calls read no value at all.
_WHOLE: Final = r"-?(0|[1-9][0-9_]{0,30})"
_DECIMAL: Final = r"-?(0|[1-9][0-9_]{0,30})?(\.[0-9]{0,30})?([eE][+-]?[0-9]{1,3})?"


def _number(key: Key, node: YamlNode) -> int | float:
    whole = isinstance(key.default, int)
    name, found = key.name, plain_value(node)
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


def _item(key: Key, node: YamlNode, counts: bool) -> str:
    node = _of_pair(key.rule.pairs, node)
    name, found = key.name, plain_value(node)
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


def _of_pair(wanted: str, node: YamlNode) -> YamlNode:
    """`- name: x` stands for x, and where any key is taken, `- x: what it is` does."""
    if wanted and isinstance(node.value, dict) and len(node.value) == 1:
        key, below = next(iter(node.value.items()))
        if wanted == key:
            return YamlNode(*below)
        if wanted == "*":
            return node._replace(value=key, plain=False, text=True)
    return node


def _refuse(key: Key, node: YamlNode, form: TextForm) -> NoReturn:
    wrong(
        node, Text("{key} cannot hold {found}: {why}", key=key.name, found=plain_value(node), why=form.words)
    )


# The environment.


def _variables(environment: Mapping[str, str], notes: list[Text]) -> dict[str, YamlNode]:
    known = {key.variable: key for key in KEYS.values()}
    found = {}
    for variable in sorted(name for name in environment if name.startswith("RINGI_")):
        text = environment[variable]
        if (key := known.get(variable)) is None:
            if variable not in VARIABLES and not SERVER_TOKEN.fullmatch(variable):
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
            items = [YamlNode(variable, item.strip(), plain=True, text=True) for item in text.split(",")]
            found[key.name] = YamlNode(variable, items)
        elif text:  # an empty one counts as not set
            found[key.name] = YamlNode(variable, text, plain=True, text=True)
    for key in KEYS.values():
        name = key.rule.variable
        if name and environment.get(name) and key.name not in found:
            found[key.name] = YamlNode(name, environment[name], plain=True, text=True)
    return found


def _settings(
    path: Path,
    read: Callable[[Path], bytes | None],
    workspace: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> dict[str, YamlNode] | None:
    """The file's values by dotted name; None if there is no file.

    With an environment it is the user's file: then the values for this repository come last.
    """
    data = read_guarded(path, read)
    if data is None:
        return None
    top = tree(data, path)
    repositories = top.pop(REPOSITORIES, None)
    found = dict(_flat(top, ""))
    if repositories is not None and environment is None:
        wrong(
            repositories, Text("{section} belongs in your own file, not in a project's", section=REPOSITORIES)
        )
    if repositories is not None and environment is not None:
        for name, node in _section(repositories, REPOSITORIES).items():
            values = dict(_flat(_section(node, REPOSITORIES), ""))
            if _is_meant(name, node, workspace, environment):
                found |= values
    return found


def _is_meant(name: str, node: YamlNode, workspace: Path | None, environment: Mapping[str, str]) -> bool:
    """Whether the name, a folder or a glob of folders, is this workspace's."""
    normal = PLACE.normal(name)
    if normal is None:
        wrong(node, Text("{section}: {name} is no repository: {why}", section=REPOSITORIES,
                         name=name[:MAX_SHOWN], why=PLACE.words))  # fmt: skip
    place = environment.get("HOME", "~") + normal[1:] if normal.startswith("~/") else normal
    return workspace is not None and fnmatchcase(str(workspace), place)


def _section(node: YamlNode, name: str) -> dict[str, YamlNode]:
    if node.value is None:
        return {}
    if not isinstance(node.value, dict):
        wrong(node, Text("{section} is a section: its keys go below it, indented", section=name))
    return node.value


def _flat(values: Mapping[str, YamlNode], above: str) -> Iterator[tuple[str, YamlNode]]:
    for word, node in values.items():
        name = above + word
        if name == TASK_SPECIFIC:
            for task, below in _section(node, name).items():
                if task not in TASKS:
                    _unknown(below, f"{name}.{task}", [f"{name}.{known}" for known in TASKS])
                for key, value in _flat(_section(below, f"{name}.{task}"), "planning."):
                    yield f"{name}.{task}.{key.removeprefix('planning.')}", value
        elif name in SECTIONS and "." not in word:
            yield from _flat(_section(node, name), f"{name}.")
        elif name not in KEYS:
            _unknown(node, name, [*SECTIONS, *KEYS] if not above else list(KEYS))
        elif "." in word:
            section, _, key = name.rpartition(".")
            wrong(node, Text("write {key} below {section}:, indented", key=f"{key}:", section=section))
        else:
            yield name, node


def _unknown(node: YamlNode, name: str, known: list[str]) -> NoReturn:
    key, nearest = name[:MAX_SHOWN], nearest_of(name, known)
    wrong(node, Text("there is no key {key}; the nearest known one is {nearest}", key=key, nearest=nearest))
