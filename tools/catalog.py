"""The message catalogues: compile them, check that they are complete, bring them up to date.

There are two: `ringi`, of the sentences in the sources, and `playbook`, of those in the playbook's content;
there the name of a file is the context of its sentences.

Standard library alone, because a build runs it; only `check` and `update` look at click and the playbook.
"""

import argparse
import ast
import importlib.util
import inspect
import os
import re
import string
import struct
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
REQUIRED: Final = ("ja",)  # English is in the sources
SOURCES: Final = "ringi"
PLAYBOOK: Final = "playbook"
CONTENT: Final = Path("src/ringi/sessions/playbook/content")

HEADER: Final = (
    "Language: {language}\n"
    "MIME-Version: 1.0\n"
    "Content-Type: text/plain; charset=UTF-8\n"
    "Content-Transfer-Encoding: 8bit\n"
    "Plural-Forms: nplurals=1; plural=0;\n"
)


Key = tuple[str, str]
"""Of a message: its context, empty if it has none, and its words."""


class CatalogueError(Exception):
    """The catalogue, or the way a message is written in the sources, is wrong."""


# --- the .po file ---------------------------------------------------------------------------------


@dataclass
class Entry:
    id: str
    context: str = ""
    plural: str | None = None
    strings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)  # a translator's comment lines, as they stand
    flags: list[str] = field(default_factory=list)

    @property
    def key(self) -> Key:
        return self.context, self.id

    @property
    def translated(self) -> bool:
        return bool(self.strings) and all(self.strings) and "fuzzy" not in self.flags


_STRING: Final = re.compile(
    r'(?:(?P<key>msgctxt|msgid|msgid_plural|msgstr)(?:\[(?P<form>\d+)\])?\s*)?"(?P<text>(?:[^"\\]|\\.)*)"'
)
_ESCAPE: Final = re.compile(r"\\(?:x(?P<hex>[0-9A-Fa-f]{1,2})|(?P<octal>[0-7]{1,3})|(?P<letter>.))")
_LETTERS: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_ESCAPED: Final = {"\\": "\\\\", '"': '\\"'} | {plain: "\\" + letter for letter, plain in _LETTERS.items()}


def _unescape(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        if found["hex"]:
            return chr(int(found["hex"], 16))
        if found["octal"]:
            return chr(int(found["octal"], 8))
        return _LETTERS.get(found["letter"], found["letter"])

    return _ESCAPE.sub(plain, text)


def _quote(text: str) -> str:
    def escaped(character: str) -> str:
        if character in _ESCAPED:
            return _ESCAPED[character]
        return character if ord(character) >= ord(" ") else f"\\{ord(character):03o}"

    return '"' + "".join(map(escaped, text)) + '"'


@dataclass
class _Token:
    key: str  # msgctxt, msgid, msgid_plural, msgstr, or # for a comment
    value: str
    where: str
    form: int = 0


def _tokens(text: str, name: str) -> Iterator[_Token]:
    last: _Token | None = None
    for number, raw in enumerate(text.removeprefix("\ufeff").split("\n"), 1):
        line, where = raw.strip(), f"{name}:{number}"
        if not line or line.startswith(("#~", "#|")):
            continue
        found = _STRING.fullmatch(line)
        if found and not found["key"]:
            if last is None:
                raise CatalogueError(f"{where}: a string that belongs to nothing")
            last.value += _unescape(found["text"])
            continue
        if last:
            yield last
            last = None
        if line.startswith("#"):
            yield _Token("#", line, where)
        elif found:
            last = _Token(found["key"], _unescape(found["text"]), where, int(found["form"] or 0))
        else:
            raise CatalogueError(f"{where}: neither a comment nor a string")
    if last:
        yield last


def parse(text: str, name: str = "catalogue") -> list[Entry]:
    entries: list[Entry] = []
    seen: set[Key] = set()
    for token in _tokens(text, name):
        if not entries or (token.key in ("#", "msgctxt", "msgid") and entries[-1].strings):
            entries.append(Entry(id=""))
        entry = entries[-1]
        match token.key:
            case "#":
                _comment(entry, token.value)
            case "msgctxt":
                entry.context = token.value
            case "msgid":
                entry.id = token.value
                if entry.key in seen:
                    raise CatalogueError(f"{token.where}: twice the same message: {token.value!r}")
                seen.add(entry.key)
            case "msgid_plural":
                entry.plural = token.value
            case _:
                if token.form != len(entry.strings):
                    raise CatalogueError(f"{token.where}: plural forms out of order")
                entry.strings.append(token.value)
    broken = next((entry for entry in entries if not entry.strings and any(entry.key)), None)
    if broken:
        raise CatalogueError(f"{name}: a message without a translation: {broken.id or broken.context!r}")
    return [entry for entry in entries if entry.strings]


def _comment(entry: Entry, line: str) -> None:
    if line.startswith("#,"):
        entry.flags += [flag.strip() for flag in line[2:].split(",")]
    elif not line.startswith("#:"):  # places in the sources would change with every move
        entry.notes.append(line)


def render(entries: Iterable[Entry]) -> str:
    return "\n".join("".join(f"{line}\n" for line in _lines(entry)) for entry in entries)


def _lines(entry: Entry) -> Iterator[str]:
    yield from entry.notes
    if entry.flags:
        yield "#, " + ", ".join(entry.flags)
    if entry.context:
        yield from _field("msgctxt", entry.context)
    yield from _field("msgid", entry.id)
    if entry.plural is None:
        yield from _field("msgstr", entry.strings[0])
        return
    yield from _field("msgid_plural", entry.plural)
    for form, text in enumerate(entry.strings):
        yield from _field(f"msgstr[{form}]", text)


def _field(key: str, text: str) -> Iterator[str]:
    pieces = [line + "\n" for line in text.split("\n")]
    pieces[-1] = pieces[-1][:-1]
    if len(pieces) == 1:
        yield f"{key} {_quote(text)}"
        return
    yield f'{key} ""'
    yield from (_quote(piece) for piece in pieces if piece)


# --- the .mo file ---------------------------------------------------------------------------------


def binary(entries: Iterable[Entry]) -> bytes:
    """The catalogue as the standard library's gettext reads it."""
    pairs = sorted(
        (_original(entry).encode(), "\0".join(entry.strings).encode())
        for entry in entries
        if entry.translated or (not entry.id and entry.strings)
    )
    tables_at = 7 * 4
    text_at = tables_at + len(pairs) * 16
    originals, translations, text = b"", b"", b""
    for original, translation in pairs:
        originals += struct.pack("<II", len(original), text_at + len(text))
        text += original + b"\0"
        translations += struct.pack("<II", len(translation), text_at + len(text))
        text += translation + b"\0"
    count = len(pairs)
    head = struct.pack("<7I", 0x950412DE, 0, count, tables_at, tables_at + count * 8, 0, text_at)
    return head + originals + translations + text


def _original(entry: Entry) -> str:
    words = "\0".join(filter(None, (entry.id, entry.plural)))
    return f"{entry.context}\4{words}" if entry.context else words


# --- the messages in the sources ------------------------------------------------------------------


@dataclass(frozen=True)
class Found:
    line: int
    id: str
    plural: str | None = None


_TEXT: Final = "Text"
_SINGULAR: Final = frozenset({"_", "gettext", _TEXT})
_PLURAL: Final = "ngettext"


def extract(source: str, name: str) -> list[Found]:
    """The messages of one module, in the order they stand in it; `name` is its path in the project."""
    tree = ast.parse(source, name)
    found = [message for node in ast.walk(tree) for message in _from_call(node, name)]
    if name == "src/ringi/errors.py":
        found += [message for node in ast.walk(tree) for message in _from_error(node)]
    if name.startswith("src/ringi/cli/"):
        found += [message for node in ast.walk(tree) for message in _from_command(node)]
    return sorted((message for message in found if _has_words(message.id)), key=lambda message: message.line)


def _from_call(node: ast.AST, name: str) -> Iterator[Found]:
    if not isinstance(node, ast.Call) or not node.args:
        return
    called = _name(node.func)
    if called == _PLURAL or (called == _TEXT and len(node.args) > 1):
        forms = [*_literals(node.args[0], name), *_literals(node.args[1], name)]
        if len(forms) == 2:  # noqa: PLR2004  # one and many
            yield Found(node.lineno, *forms)
        elif forms:
            raise CatalogueError(f"{name}:{node.lineno}: one message for one thing and one for several")
    elif called in _SINGULAR:
        yield from (Found(node.lineno, text) for text in _literals(node.args[0], name))


def _from_error(node: ast.AST) -> Iterator[Found]:
    if not isinstance(node, ast.ClassDef):
        return
    for statement in node.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id="message" | "hint")], value=ast.Constant(value=str(text))):
                yield Found(statement.lineno, text)
            case ast.AnnAssign(target=ast.Name(id="message" | "hint"), value=ast.Constant(value=str(text))):
                yield Found(statement.lineno, text)


def _from_command(node: ast.AST) -> Iterator[Found]:
    """Help as click keeps it: cleaned of its indentation."""
    match node:
        case ast.keyword(arg="help" | "short_help", value=ast.Constant(value=str(text))):
            yield Found(node.value.lineno, inspect.cleandoc(text))
        case ast.FunctionDef() if any(map(_makes_command, node.decorator_list)):
            text = ast.get_docstring(node)
            if text:
                yield Found(node.lineno, text)


def _makes_command(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        given = {keyword.arg for keyword in decorator.keywords}
        return "help" not in given and _makes_command(decorator.func)
    return isinstance(decorator, ast.Attribute) and decorator.attr in ("command", "group")


def _name(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def _literals(node: ast.expr, name: str) -> list[str]:
    match node:
        case ast.Constant(value=str(text)):
            return [text]
        case ast.IfExp():
            return [*_literals(node.body, name), *_literals(node.orelse, name)]
        case ast.JoinedStr() | ast.BinOp():  # put together before it is looked up, so never found
            raise CatalogueError(f"{name}:{node.lineno}: a message must be one plain string")
    return []


def _has_words(text: str) -> bool:
    return any(character.isalpha() for character in _PLACEHOLDER.sub("", text))


@dataclass
class Message:
    id: str
    plural: str | None
    sources: list[str]
    context: str = ""


def messages(root: Path, domain: str) -> dict[Key, Message]:
    return _in_playbook(root) if domain == PLAYBOOK else _in_sources(root)


def _in_sources(root: Path) -> dict[Key, Message]:
    """Ours by file and line, then click's."""
    result: dict[Key, Message] = {}
    for source, name, path in [*_our_files(root), *_click_files()]:
        for found in extract(path.read_text(encoding="utf-8"), name):
            message = result.setdefault(("", found.id), Message(found.id, found.plural, []))
            if found.plural and message.plural not in (None, found.plural):
                raise CatalogueError(f"{name}:{found.line}: another plural elsewhere: {found.id!r}")
            message.plural = message.plural or found.plural
            if source not in message.sources:
                message.sources.append(source)
    return result


def _in_playbook(root: Path) -> dict[Key, Message]:
    """In the order of its files."""
    if not (root / CONTENT).is_dir():
        return {}
    from ringi.sessions.playbook import book  # noqa: PLC0415  # not there when a build runs this

    found = book.list_sentences(root / CONTENT)
    return {(file, text): Message(text, None, [f"playbook: {file}"], file) for file, text in found}


def _our_files(root: Path) -> Iterator[tuple[str, str, Path]]:
    for path in sorted(root.glob("src/ringi/**/*.py")):
        name = path.relative_to(root).as_posix()
        yield name, name, path


def _click_files() -> Iterator[tuple[str, str, Path]]:
    spec = importlib.util.find_spec("click")
    if spec is None or spec.origin is None:
        raise CatalogueError("click is not installed here; run: make catalog")
    for path in sorted(Path(spec.origin).parent.glob("*.py")):
        yield "click", f"click/{path.name}", path


# --- commands -------------------------------------------------------------------------------------

_PLACEHOLDER: Final = re.compile(r"\{[^{}]*\}|%\(\w+\)[a-z]")
_PERCENT: Final = re.compile(r"%\((\w+)\)[a-z]")


def placeholders(text: str) -> frozenset[str] | None:
    """The names a text is filled with; None when its braces are broken."""
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(text) if name is not None}
    except ValueError:
        return None
    return frozenset(names) | set(_PERCENT.findall(text))


def _misfit(entry: Entry) -> bool:
    """Does a translation lack a name of the original, or ask for another one?

    A plural's first form of several may be filled like the singular.
    """
    for form, text in enumerate(entry.strings):
        allowed = {placeholders(entry.plural or entry.id)}
        if form == 0 and len(entry.strings) > 1:
            allowed.add(placeholders(entry.id))
        if placeholders(text) not in allowed:
            return True
    return False


def _plural_forms(entries: Iterable[Entry]) -> int:
    header = next((entry.strings[0] for entry in entries if not entry.id), "")
    found = re.search(r"nplurals\s*=\s*(\d+)", header)
    return int(found[1]) if found else 1


@dataclass(frozen=True)
class Catalogue:
    language: str
    domain: str
    path: Path


def _catalogues(root: Path) -> Iterator[Catalogue]:
    locales = root / "src/ringi/locale"
    domains = [SOURCES, PLAYBOOK] if (root / CONTENT).is_dir() else [SOURCES]
    for language in sorted({*REQUIRED, *(path.parts[-3] for path in locales.glob("*/LC_MESSAGES/*.po"))}):
        for domain in domains:
            yield Catalogue(language, domain, locales / language / "LC_MESSAGES" / f"{domain}.po")


def _read(path: Path) -> list[Entry]:
    return parse(path.read_text(encoding="utf-8"), path.name) if path.exists() else []


def _replace(path: Path, content: bytes) -> None:
    """By rename: parallel test processes may read the old one meanwhile."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
    Path(temporary).chmod(0o644)
    Path(temporary).replace(path)


def compile_all(root: Path = ROOT) -> None:
    for catalogue in _catalogues(root):
        path, target = catalogue.path, catalogue.path.with_suffix(".mo")
        if not path.exists():
            continue
        if target.exists() and target.stat().st_mtime_ns > path.stat().st_mtime_ns:
            continue
        _replace(target, binary(_read(path)))


def check(root: Path = ROOT) -> list[str]:
    """What is missing, wrong or superfluous, one line each."""
    return [problem for catalogue in _catalogues(root) for problem in _problems(root, catalogue)]


def _problems(root: Path, catalogue: Catalogue) -> Iterator[str]:
    language = catalogue.language
    known = messages(root, catalogue.domain)
    entries = {entry.key: entry for entry in _read(catalogue.path)}
    forms = _plural_forms(entries.values())
    for key, message in known.items():
        entry = entries.get(key)
        where = f"{message.id!r} ({', '.join(message.sources)})"
        if entry is None or not entry.translated or entry.plural != message.plural:
            yield f"{language}: not translated: {where}"
        elif len(entry.strings) != (1 if message.plural is None else forms):
            yield f"{language}: wrong number of plural forms: {where}"
        elif _misfit(entry):
            yield f"{language}: other placeholders than the original: {where}"
    yield from (f"{language}: no longer used: {key[1]!r}" for key in entries if key[1] and key not in known)


def update(root: Path = ROOT) -> None:
    for catalogue in _catalogues(root):
        known = messages(root, catalogue.domain).values()
        if catalogue.domain == SOURCES:  # so that a move changes nothing
            known = sorted(known, key=lambda message: message.id)
        text = render(_updated(_read(catalogue.path), known, catalogue.language)).encode()
        if not catalogue.path.exists() or catalogue.path.read_bytes() != text:
            _replace(catalogue.path, text)


def _updated(old: Iterable[Entry], known: Iterable[Message], language: str) -> Iterator[Entry]:
    there = {entry.key: entry for entry in old}
    header = there.get(("", "")) or Entry(id="", strings=[HEADER.format(language=language)])
    forms = _plural_forms([header])
    yield header
    for message in known:
        entry = there.get((message.context, message.id)) or Entry(message.id, message.context)
        count = 1 if message.plural is None else forms
        entry.strings = (entry.strings + [""] * count)[:count]
        entry.plural = message.plural
        yield entry


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("command", choices=["compile", "check", "update"])
    parser.add_argument("--root", type=Path, default=ROOT, help="the project's folder")
    options = parser.parse_args(arguments)
    try:
        if options.command == "check":
            problems = check(options.root)
            print(*problems, sep="\n", end="\n" if problems else "")
            return 1 if problems else 0
        (compile_all if options.command == "compile" else update)(options.root)
    except CatalogueError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
