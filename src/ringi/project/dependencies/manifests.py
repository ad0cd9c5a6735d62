"""What the files that describe a project say about names: package.json, tsconfig.json, go.mod.

Each fact is a kind and its words, separated by null characters.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from ringi.kernel.text import Text
from ringi.project.dependencies.references import Extract, FoundReferences, SourceContent, why

_BROKEN: Final = Text("it cannot be read")
# Keeps strings and drops comments; an unclosed one ends with the file.
_COMMENT: Final = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL)
_LAST_COMMA: Final = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\Z))|,(?=\s*[}\]])', re.DOTALL)
_GO_MODULE: Final = re.compile(r'^[ \t]*module[ \t]+"?([^\s"]+)', re.MULTILINE)
_DEEPEST: Final = 8

Facts = Iterator[tuple[str, ...]]


def extract_for(name: str) -> Extract | None:
    """The reader for a file of that name; None if it is not a manifest."""
    if re.fullmatch(r"(?:tsconfig|jsconfig)(?:\.[\w.-]+)?\.json", name):
        return _extractor(_tsconfig)
    reader = {"package.json": _package, "go.mod": _go_mod}.get(name)
    return _extractor(reader) if reader else None


def _extractor(reader: Callable[[str], Facts]) -> Extract:
    def extract(sources: Iterable[SourceContent]) -> Iterator[tuple[str, FoundReferences]]:
        for key, data in sources:
            try:
                facts = tuple(fact for fact in reader(data.decode("utf-8-sig")) if "\0" not in "".join(fact))
            except (ValueError, RecursionError):  # also invalid JSON or UTF-8
                yield key, why(_BROKEN)
            else:
                yield key, FoundReferences(tuple("\0".join(fact) for fact in facts))

    return extract


def _package(text: str) -> Facts:
    document = _table(json.loads(text))
    yield from _strings("name", document.get("name"))
    for key in ("types", "typings", "module", "main", "source"):
        yield from _strings("main", document.get(key))
    exports = document.get("exports")
    subpaths = isinstance(exports, dict) and all(str(key).startswith(".") for key in exports)
    for pattern, target in (_table(exports) if subpaths else {".": exports}).items():
        yield from (("export", pattern, path) for path in _leaves(target))
    for pattern, target in _table(document.get("imports")).items():
        yield from (("import", pattern, path) for path in _leaves(target))


def _tsconfig(text: str) -> Facts:
    plain = _LAST_COMMA.sub(lambda found: found[1] or "", _COMMENT.sub(lambda found: found[1] or " ", text))
    document = _table(json.loads(plain))
    extends = document.get("extends")
    for other in extends if isinstance(extends, list) else [extends]:
        yield from _strings("extends", other)
    options = _table(document.get("compilerOptions"))
    yield from _strings("base", options.get("baseUrl"))
    for pattern, targets in _table(options.get("paths")).items():
        for target in targets if isinstance(targets, list) else ():
            yield from (("path", pattern, path) for _, path in _strings("", target))


def _go_mod(text: str) -> Facts:
    if found := _GO_MODULE.search(text):
        yield "module", found[1]


def _table(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _strings(kind: str, value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, str) and value:
        yield kind, value


def _leaves(value: Any, depth: int = 0) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth < _DEEPEST:
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _leaves(inner, depth + 1)
