"""A configuration file as a tree of values with line numbers: strict YAML of limited size."""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple, NoReturn

from ringi.errors import BadConfiguration
from ringi.kernel.fs import EntryKind, OsFileSystem, open_for_block, read_bounded
from ringi.kernel.text import Text

MAX_FILE_BYTES: Final = 1024 * 1024
_MAX_DEPTH: Final = 8
_MAX_VALUES: Final = 10_000
MAX_SHOWN: Final = 80


class YamlNode(NamedTuple):
    """A value as written."""

    where: str
    value: "str | list[YamlNode] | dict[str, YamlNode] | None"
    plain: bool = False
    """Unquoted, so it may be a number."""
    text: bool = False


def plain_value(node: YamlNode) -> object:
    match node.value:
        case None:
            return Text("nothing")
        case list():
            return Text("a list")
        case dict():
            return Text("a section")
        case text:
            cut = text if len(text) <= MAX_SHOWN else text[:MAX_SHOWN] + "…"
            return cut if node.plain else f'"{cut}"'


def as_list(node: YamlNode) -> YamlNode:
    """A section of texts as a list with an item `key: text` for each."""
    if not isinstance(node.value, dict):
        return node
    items = [
        below._replace(value=f"{name}: {below.value}", plain=False, text=True)
        if isinstance(below.value, str) and below.text
        else below
        for name, below in node.value.items()
    ]
    return node._replace(value=items)


def wrong(node: YamlNode, problem: Text) -> NoReturn:
    raise BadConfiguration(where=node.where, problem=problem)


def nearest_of(name: str, known: list[str]) -> str:
    import difflib  # noqa: PLC0415  # only for a typo

    spelled = {one.lower(): one for one in known}
    name = name[:MAX_SHOWN].lower().replace("-", "_")
    same_end = [one for one in spelled if one.rpartition(".")[2] == name.rpartition(".")[2]]
    return spelled[difflib.get_close_matches(name, same_end or spelled, n=1, cutoff=0.0)[0]]


def read_guarded(path: Path, read: Callable[[Path], bytes | None]) -> bytes | None:
    try:
        return read(path)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise BadConfiguration(where=str(path), problem=Text("it cannot be read: {why}", why=why)) from None


def user_bytes(path: Path) -> bytes | None:
    # Links are allowed here: many users keep such files in a repository of their own.
    try:
        real = Path(os.path.realpath(path, strict=True))
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            raise
        return None
    fs = OsFileSystem()
    with open_for_block(fs, fs.open_root(real.parent)) as folder:
        return _bytes(fs, folder, real.name, path)


def project_bytes(path: Path) -> bytes | None:
    fs = OsFileSystem()
    try:
        root = fs.open_root(path.parent.parent)
    except FileNotFoundError:
        return None
    with open_for_block(fs, root):
        entry = fs.entry(root, path.parent.name)
        if entry is None:
            return None
        if entry.kind is not EntryKind.FOLDER:
            raise BadConfiguration(where=str(path.parent), problem=Text("it is not a folder"))
        with open_for_block(fs, fs.open_folder(root, path.parent.name)) as folder:
            return _bytes(fs, folder, path.name, path)


def _bytes(fs: OsFileSystem, folder: int, name: str, path: Path) -> bytes | None:
    entry = fs.entry(folder, name)
    if entry is None:
        return None
    if entry.kind is EntryKind.LINK:
        problem = Text("it is a symbolic link; a project's file must be a file of the project")
        raise BadConfiguration(where=str(path), problem=problem)
    if entry.kind is not EntryKind.FILE:
        raise BadConfiguration(where=str(path), problem=Text("it is not a regular file"))
    if entry.size > MAX_FILE_BYTES:
        problem = Text("it has {size} bytes, {limit} are allowed", size=entry.size, limit=MAX_FILE_BYTES)
        raise BadConfiguration(where=str(path), problem=problem)
    return read_bounded(name, MAX_FILE_BYTES, at=folder, follow=False)


# What YAML does not print; the two apart, because a set that reaches so far takes milliseconds to compile.
_NOT_YAML: Final = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f]|\ufffe|\uffff"


def tree(data: bytes, path: Path) -> dict[str, YamlNode]:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadConfiguration(where=f"{path}:{line}", problem=Text("it is not UTF-8 here")) from None
    if bad := re.search(_NOT_YAML, text):
        line = text.count("\n", 0, bad.start()) + 1
        problem = Text("a character that YAML does not allow: {code}", code=f"U+{ord(bad.group()):04X}")
        raise BadConfiguration(where=f"{path}:{line}", problem=problem)
    root = _YamlReader(text, path).document()
    if root.value is None:
        return {}
    if not isinstance(root.value, dict):
        wrong(root, Text("it must be made of keys and values, not be {found}", found=plain_value(root)))
    return root.value


class _YamlReader:
    """Reads YAML events: constructs nothing unchecked, and every value knows its line."""

    def __init__(self, text: str, path: Path) -> None:
        import yaml  # noqa: PLC0415  # 15 ms, only needed if there is a configuration file

        self._yaml = yaml
        self._text = text
        self._path = path
        self._count = 0
        resolver: Any = yaml.resolver.Resolver
        self._resolve = resolver().resolve
        loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self._events: Iterator[Any] = yaml.parse(text, Loader=loader)

    def document(self) -> YamlNode:
        yaml = self._yaml
        root = YamlNode(str(self._path), None)
        documents = 0
        try:
            for event in self._events:
                if isinstance(event, yaml.DocumentStartEvent):
                    documents += 1
                    if documents > 1:
                        wrong(self._at(event), Text("a second document begins here; only one is read"))
                elif isinstance(event, yaml.NodeEvent):
                    root = self._node(event, 1)
        except yaml.MarkedYAMLError as error:
            raise BadConfiguration(
                where=self._where(error.problem_mark), problem=self._problem(error)
            ) from None
        return root

    def _node(self, event: Any, depth: int) -> YamlNode:
        yaml = self._yaml
        at = self._at(event)
        self._admit(event, at, depth)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event, at)
        if isinstance(event, yaml.SequenceStartEvent):
            items = []
            while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
                items.append(self._node(event, depth + 1))
            return at._replace(value=items)
        pairs: dict[str, YamlNode] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            key = self._node(event, depth + 1)
            if not isinstance(key.value, str):
                wrong(key, Text("a key must be a word"))
            if key.value in pairs:
                wrong(key, Text("the key {key} is here for the second time", key=key.value[:MAX_SHOWN]))
            # Show the key's line, even if its list begins further down.
            pairs[key.value] = self._node(next(self._events), depth + 1)._replace(where=key.where)
        return at._replace(value=pairs)

    def _admit(self, event: Any, at: YamlNode, depth: int) -> None:
        self._count += 1
        if depth > _MAX_DEPTH:
            wrong(at, Text("it is nested too deeply"))
        if self._count > _MAX_VALUES:
            wrong(at, Text("it has too many values; {limit} are allowed", limit=_MAX_VALUES))
        if event.anchor is not None:
            wrong(at, Text("anchors (&) and aliases (*) are not allowed; a text that begins so needs quotes"))
        if event.tag is not None:
            wrong(at, Text("tags (!) are not allowed; a text that begins so needs quotes"))

    def _scalar(self, event: Any, at: YamlNode) -> YamlNode:
        plain = not event.style  # one loader says None, the other ""
        kind = self._resolve(self._yaml.ScalarNode, event.value, (plain, not plain)).rpartition(":")[2]
        if kind == "null":
            return at
        return at._replace(
            value=event.value, plain=plain, text=kind not in {"int", "float", "bool", "timestamp"}
        )

    def _at(self, event: Any) -> YamlNode:
        return YamlNode(self._where(event.start_mark), None)

    def _where(self, mark: Any) -> str:
        return str(self._path) if mark is None else f"{self._path}:{mark.line + 1}"

    def _problem(self, error: Any) -> Text:
        mark = error.problem_mark
        line = self._text.splitlines()[mark.line : mark.line + 1] if mark is not None else []
        if line and line[0][mark.column :].startswith("\t"):
            return Text("only spaces are allowed here, not a tab")
        if error.context == "while scanning an alias":
            return Text("a text that begins with * needs quotes")
        return Text("this is not YAML: {problem}", problem=error.problem or error.context)
