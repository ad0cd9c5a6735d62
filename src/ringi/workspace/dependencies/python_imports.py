"""What a Python file imports: `a.b` for `import a.b` and for `from a import b`, with leading dots where
relative.

Grimp's scanner checks the syntax and says where import statements are; their text is read here. Where that
does not agree with the scanner, as in `try: import a`, and for large files, Python's own parser is asked.
"""

import ast
import codecs
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from typing import Final

from ringi.text import Text
from ringi.workspace.dependencies.found import Found, Source, why
from ringi.workspace.dependencies.python_scanner import RELATIVE, Broken, Lines, fits, scan

_TOO_DEEP: Final = Text("it is nested too deeply")
_CODING: Final = re.compile(rb"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
_BLANK: Final = re.compile(rb"[ \t\f]*(?:#.*)?")
# They take the square of the length, and nobody writes programs in them.
_SLOW_CODECS: Final = frozenset({"punycode", "idna"})
_NEWLINE: Final = re.compile(r"\r\n?")

_IMPORT: Final = re.compile(r"[ \t\f]*import[ \t\f]+([^#;\\]+)(?:#.*)?")
_FROM: Final = re.compile(
    r"[ \t\f]*from[ \t\f]*(\.*)[ \t\f]*([\w.]*)[ \t\f]*\bimport\b[ \t\f]*([^#;\\]*)(?:#.*)?"
)
_NAME: Final = re.compile(r"[ \t\f]*(\*|[\w.]+)(?:[ \t\f]+as[ \t\f]+\w+)?[ \t\f]*")
_STATEMENTS: Final = ("body", "orelse", "finalbody", "handlers", "cases")


def extract(sources: Iterable[Source]) -> Iterator[tuple[str, Found]]:
    asked: list[tuple[str, str]] = []
    for key, data in sources:
        source = _decoded(data)
        if isinstance(source, Text):
            yield key, why(source)
        elif fits(source):
            asked.append((key, source))
        else:
            yield key, _parsed(source)
    for (key, source), result in zip(
        asked, scan([source for _, source in asked]) if asked else (), strict=True
    ):
        yield key, _from_scan(source, result)


def _decoded(data: bytes) -> str | Text:
    if b"\0" in data:
        return Text("it contains a null byte")
    encoding = _encoding(data)
    unknown = Text("its encoding is not known: {encoding}", encoding=encoding)
    try:
        if codecs.lookup(encoding).name in _SLOW_CODECS:
            return unknown
        source = data.decode("utf-8-sig" if encoding == "utf-8" else encoding)
        if encoding != "utf-8":
            source.encode()  # some encodings can spell half a character
    except LookupError:
        return unknown
    except UnicodeError:
        return Text("it is not {encoding}", encoding=encoding)
    return _NEWLINE.sub("\n", source) if "\r" in source else source


def _encoding(data: bytes) -> str:
    """As PEP 263 says it: a comment in one of the first two lines."""
    if b"coding" in data[:2000]:
        for line in data[:2000].splitlines()[:2]:
            if found := _CODING.match(line):
                return found[1].decode("ascii", "replace").lower().replace("_", "-")
            if not _BLANK.fullmatch(line):
                break
    return "utf-8"


def _from_scan(source: str, result: Lines | Broken) -> Found:
    if isinstance(result, Broken):
        return _broken(result.line)
    if not result.statements:
        return Found()
    refs: set[str] = set()
    seen: set[tuple[int, str]] = set()
    lines = source.split("\n")
    for line in {line for line, _ in result.statements}:
        for name in _statement(lines, line - 1):
            refs.add(name)
            seen.add((line, RELATIVE if name[0] == "." else name.partition(".")[0]))
    return Found(tuple(sorted(refs))) if seen == result.statements else _parsed(source)


def _statement(lines: list[str], at: int) -> Iterator[str]:
    """The names of the import statement that begins in the line; not all of them where it is no plain one."""
    text = lines[at]
    if found := _FROM.fullmatch(text):
        dots, module, names = found.groups()
        before = f"{dots}{module}." if module else dots
        if names.startswith("("):
            names = _in_brackets(lines, at, names[1:])
    elif found := _IMPORT.fullmatch(text):
        before, names = "", found[1]
    else:
        return
    if not names.isascii():
        names = unicodedata.normalize("NFKC", names)
    if not before.isascii():
        before = unicodedata.normalize("NFKC", before)
    for name in names.split(","):
        if found := _NAME.fullmatch(name):
            yield before + found[1]
        elif name.strip():
            return


def _in_brackets(lines: list[str], at: int, first: str) -> str:
    """All names on one line, without comments. Empty where something follows the bracket."""
    parts = [first]
    while ")" not in parts[-1]:
        at += 1
        if at == len(lines):
            return ""
        parts.append(lines[at].partition("#")[0])
    parts[-1], _, after = parts[-1].partition(")")
    return "" if after.strip() else " ".join(parts)


def _broken(line: int) -> Found:
    return why(Text("line {line} is no Python that can be read", line=line))


def _parsed(source: str) -> Found:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except SyntaxError as error:
        return _broken(error.lineno or 1)
    except (RecursionError, MemoryError):
        return why(_TOO_DEEP)
    return Found(tuple(sorted(set(_imported(tree)))))


def _imported(tree: ast.Module) -> Iterator[str]:
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            before = "." * node.level + (f"{node.module}." if node.module else "")
            yield from (before + alias.name for alias in node.names)
        else:
            for field in _STATEMENTS:
                left.extend(getattr(node, field, ()))
