"""Whether what was generated can be parsed: the files of plans, as their proposers made them."""

from __future__ import annotations

import ast
import json
import tomllib
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from ringi.errors import RingiError
from ringi.kernel.text import Text
from ringi.patch.apply import outcome
from ringi.patch.parse import parse_patch
from ringi.plans.effects import Invalid, content_of
from ringi.policy.spec_kind import SpecKind
from ringi.project.dependencies import grammars, parser, python
from ringi.project.dependencies.python import Broken
from ringi.project.dependencies.references import SourceContent
from ringi.tree.action_spec import ActionSpecExt
from ringi.tree.file_state import FileState

if TYPE_CHECKING:
    from ringi.app.store import Store

MOST_FILES: Final = 2_000
MOST_BYTES: Final = 8 * 1024 * 1024
"""Of all files together; the newest count."""
_LARGEST: Final = python.LARGEST
_PYTHON: Final = "python"
_WITH_COMMENTS: Final = ("tsconfig", "jsconfig", ".eslintrc", "devcontainer", ".jshintrc")
"""JSON files in which comments are usual."""


_SUFFIXES: Final = {
    **dict.fromkeys(python.SUFFIXES, _PYTHON),
    ".json": "json",
    ".toml": "toml",
    ".yaml": "yaml",
    ".yml": "yaml",
}
# Not C and C++: what a macro stands for looks like a mistake.
_PARSED: Final = {
    suffix: name
    for grammar in grammars.GRAMMARS
    if grammar.strict
    for suffix, name in grammar.suffixes.items()
}
_MADE: Final = frozenset([SpecKind.CREATE, SpecKind.WRITE, SpecKind.PATCH])


class Generated(NamedTuple):
    """A plan, in the version that was proposed."""

    plan_id: str
    version: int


class Syntax(NamedTuple):
    files: int
    broken: int
    unknown: int
    """Files whose bytes are no longer kept, or that are too large."""
    whole: bool = True
    """False if there were too many, and only the newest were looked at."""


class _CodeFile(NamedTuple):
    after: bytes
    before: bytes | None


def syntax_of(history: Store, plans: Iterable[Generated]) -> Syntax:
    """The newest plans first. What could not be parsed before either, such as a template, is not counted."""
    by_language: dict[str, list[_CodeFile]] = defaultdict(list)
    unknown = count = size = 0
    whole = True
    for language, made in _files(history, plans):
        if made is None:
            unknown += 1
            continue
        count, size = count + 1, size + len(made.after)
        if count > MOST_FILES or size > MOST_BYTES:
            whole = False
            break
        by_language[language].append(made)
    files = broken = 0
    for language, found in by_language.items():
        wrong = [made for made, bad in zip(found, _find_broken(language, found), strict=True) if bad]
        seen = [_CodeFile(made.before, None) for made in wrong if made.before is not None]
        already = sum(_find_broken(language, seen))
        files += len(found) - already
        broken += len(wrong) - already
    return Syntax(files, broken, unknown, whole)


def _language(path: str, *, parsed: bool) -> str:
    """Empty if it is not known how to parse it here."""
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    suffix = dot + suffix.lower()
    if not stem or (suffix == ".json" and (name.startswith(_WITH_COMMENTS) or "/.vscode/" in f"/{path}")):
        return ""
    return _SUFFIXES.get(suffix) or (_PARSED.get(suffix, "") if parsed else "")


def _files(history: Store, plans: Iterable[Generated]) -> Iterator[tuple[str, _CodeFile | None]]:
    parsed = parser.is_installed()
    for plan_id, version in plans:
        for spec in history.plans.specs(plan_id, version):
            language = _language(spec.base.path, parsed=parsed)
            if not language or not spec.validated or spec.base.kind not in _MADE or spec.after is None:
                continue
            data = _after(history, spec, spec.after)
            fits = data is not None and len(data) <= _LARGEST
            before = _read_kept(history, spec.before)
            yield language, _CodeFile(data, before) if data is not None and fits else None


def _after(history: Store, spec: ActionSpecExt, after: FileState) -> bytes | None:
    """From the spec itself, or from what the ledger keeps."""
    try:
        content = content_of(spec.base)
        if spec.base.kind is not SpecKind.PATCH or content is None:
            return content
        if (kept := history.get_bytes(after.sha256)) is not None:
            return kept
        before = {file.path: _read_kept(history, file.before) for file in spec.touched}
        made = outcome(parse_patch(content), before.get)
        return next((one.after for one in made if one.path == spec.base.path), None)
    except (RingiError, Invalid):
        return None


def _read_kept(history: Store, before: FileState | None) -> bytes | None:
    return history.get_bytes(before.sha256) if before and not before.folder else None


# ---------------------------------------------------------------------------------------- by language


def _find_broken(language: str, files: Sequence[_CodeFile]) -> list[bool]:
    if language == _PYTHON:
        return _find_broken_python([made.after for made in files])
    if parse := _PARSERS.get(language):
        return [_is_refused(parse, made.after) for made in files]
    sources = [SourceContent(str(at), made.after) for at, made in enumerate(files)]
    return [parser.is_partial(found) for _, found in parser.extractor(language)(sources)]


def _is_refused(parse: Callable[[bytes], None], data: bytes) -> bool:
    try:
        parse(data)
    except (ValueError, RecursionError, MemoryError):
        return True
    return False


def _find_broken_python(files: Sequence[bytes]) -> list[bool]:
    """The fast scanner first; Python's own parser has the last word."""
    sources = [python.decode(data) for data in files]
    fitting = [at for at, one in enumerate(sources) if isinstance(one, str) and python.fits(one)]
    fine = set()
    if fitting:
        answers = python.scan([str(sources[at]) for at in fitting])
        fine = {at for at, one in zip(fitting, answers, strict=True) if not isinstance(one, Broken)}
    return [at not in fine and _unparsable(one) for at, one in enumerate(sources)]


def _unparsable(source: str | Text) -> bool:
    if isinstance(source, Text):
        return True
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(source)
    except (SyntaxError, ValueError):
        return True
    except (RecursionError, MemoryError):  # deep, not wrong
        return False
    return False


def _json(data: bytes) -> None:
    json.loads(data)


def _toml(data: bytes) -> None:
    tomllib.loads(data.decode())


def _yaml(data: bytes) -> None:
    """Its events only: nothing is built, so that aliases cannot grow."""
    import yaml  # noqa: PLC0415  # 15 ms, only needed for a YAML file

    try:
        for _ in yaml.parse(data.decode(), Loader=yaml.SafeLoader):
            pass
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from None


_PARSERS: Final[Mapping[str, Callable[[bytes], None]]] = {"json": _json, "toml": _toml, "yaml": _yaml}
