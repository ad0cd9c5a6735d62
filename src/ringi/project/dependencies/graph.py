"""Which file of a snapshot uses which: parse what changed, then resolve all references again.

The language of a file follows from its extension, not from its first line.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Final, NamedTuple

from ringi.errors import PathRefused, Unreadable
from ringi.kernel.text import Text
from ringi.project.dependencies import grammars, manifests, parser, python
from ringi.project.dependencies.references import (
    ANALYSIS,
    GIVEN_UP,
    LARGEST,
    Extract,
    FoundReferences,
    ReferenceCache,
    ReferenceSnapshot,
    Resolver,
    SourceContent,
    holds,
    key,
    missing_extra,
    why,
)
from ringi.project.dependencies.resolvers import Includes, JavaScriptModules, JavaTypes
from ringi.project.state import Dependencies, Unanalysed, UnknownUsers

_PACKAGE: Final = "__init__.py"
_BATCH: Final = 256
_BATCH_BYTES: Final = 16 * 1024 * 1024

_CHANGED: Final = Text("it changed while it was being read")
_UNREADABLE: Final = str(Text("it cannot be read: {problem}", problem=""))

Read = Callable[[str], bytes]
Resolves = Callable[[ReferenceSnapshot], Resolver]


class Language(NamedTuple):
    name: str
    extract: Extract
    resolver: Resolves | None
    """The same for all languages that see each other's files; empty for a manifest, which uses nothing."""


_BY_SUFFIX: Final[dict[str, Language]] = {
    **dict.fromkeys(python.SUFFIXES, Language("python", python.extract, python.PythonModules)),
    **{
        suffix: Language(name, parser.extractor(name), grammar.resolver)
        for grammar in grammars.GRAMMARS
        for suffix, name in grammar.suffixes.items()
    },
}
# Languages that are not analysed, and whose files they use: those of a family of ours, or of their own.
_UNREAD: Final[Mapping[str, Resolves | str]] = {
    **dict.fromkeys((".pyx", ".pxd", ".ipynb"), python.PythonModules),
    **dict.fromkeys((".vue", ".svelte", ".astro", ".html", ".htm", ".coffee"), JavaScriptModules),
    **dict.fromkeys((".kt", ".kts", ".scala", ".groovy", ".clj"), JavaTypes),
    **dict.fromkeys((".m", ".mm", ".cu"), Includes),
    **{
        suffix: suffixes
        for suffixes in (
            ".rs", ".rb .rake .erb", ".php", ".cs .cshtml .razor", ".swift", ".dart", ".ex .exs", ".erl .hrl",
            ".hs", ".lua", ".pl .pm", ".r", ".jl", ".ml .mli", ".fs .fsi", ".zig", ".nim", ".cr", ".nix",
            ".sh .bash .zsh .fish", ".ps1 .psm1", ".css .scss .sass .less", ".tf", ".proto", ".sol", ".tex",
        )
        for suffix in suffixes.split()
    },
}  # fmt: skip


def language_of(path: str) -> Language | None:
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return _by_name(name) or (_BY_SUFFIX.get(dot + suffix) if stem else None)


@cache
def _manifest(name: str) -> Language | None:
    extract = manifests.extract_for(name)
    return Language(f"manifest {name}", extract, None) if extract else None


def _by_name(name: str) -> Language | None:
    return _manifest(name) if name.endswith((".json", ".mod")) else None


class SourceFile(NamedTuple):
    path: str
    oid: str
    """The git object id of its bytes."""


class _Wanted(NamedTuple):
    language: Language
    file: SourceFile


def analyse(files: Sequence[SourceFile], read: Read, cache: Path) -> Dependencies:
    """Files that use nothing of the snapshot are left out. `cache` is a folder for this workspace alone."""
    references = ReferenceCache(cache)
    languages = {file.path: language for file in files if (language := language_of(file.path))}
    known: dict[str, FoundReferences] = {}
    wanted: dict[str, _Wanted] = {}
    for file in files:
        if language := languages.get(file.path):
            at = key(language.name, file.oid)
            if hit := known.get(at) or references.get(at):
                known[at] = hit
            else:
                wanted[at] = _Wanted(language, file)
    fresh = dict(_extract(wanted, read))
    references.keep(known | {at: found for at, (found, lasts) in fresh.items() if lasts})
    known.update((at, found) for at, (found, _) in fresh.items())
    found = {
        file.path: known[key(languages[file.path].name, file.oid)] for file in files if file.path in languages
    }
    return _resolve(ReferenceSnapshot(frozenset(file.path for file in files), found), languages)


def is_final(dependencies: Dependencies) -> bool:
    """Whether another look at the same files by the same analyser (`analyser`) would find the same."""
    passing = {str(GIVEN_UP), str(_CHANGED)}
    return not any(one.why in passing or one.why.startswith(_UNREADABLE) for one in dependencies.unanalysed)


def analyser() -> str:
    """What the result depends on beside the files."""
    return f"{ANALYSIS} {parser.is_installed()}"


def dependents(
    dependencies: Dependencies, targets: Iterable[str], files: Iterable[str] = ()
) -> tuple[str, ...]:
    """Every file that uses a target, or something that does, sorted; the targets themselves left out.

    A package's `__init__.py` runs before each of its modules, though they do not name it: with the `files`
    of the project, all of them count as its users.
    """
    used_by: dict[str, list[str]] = {}
    for file, uses in dependencies.uses.items():
        for used in uses:
            used_by.setdefault(used, []).append(file)
    left = list(targets)
    seen = set(left)
    packages = tuple(path[: -len(_PACKAGE)] for path in left if path.endswith(f"/{_PACKAGE}"))
    result = [
        path for path in files if path.startswith(packages) and path.endswith(".py") and path not in seen
    ]
    seen.update(result)
    left += result
    while left:
        fresh = [file for file in used_by.get(left.pop(), ()) if file not in seen]
        seen.update(fresh)
        left.extend(fresh)
        result.extend(fresh)
    return tuple(sorted(result))


def unknown_users(
    dependencies: Dependencies, targets: Iterable[str], files: Iterable[str]
) -> UnknownUsers | None:
    """Files that may use a target: what they use is not known."""
    wanted = set(targets)
    families = {_family(path) for path in wanted}
    reasons = {missing.file: missing.why for missing in dependencies.unanalysed}
    # A file that is no source may be used by any, and a manifest says what others mean.
    found = {
        path: why
        for path, why in reasons.items()
        if (family := _family(path)) in families or None in {family, *families}
    } | {
        path: str(Text("its language cannot be analysed"))
        for path in files
        if path not in reasons and _suffix(path) in _UNREAD and _family(path) in families
    }
    left = sorted(found.keys() - wanted)
    return UnknownUsers(len(left), left[0], found[left[0]]) if left else None


def _suffix(path: str) -> str:
    return PurePosixPath(path).suffix.lower()


def _family(path: str) -> object:
    """What the files of a language that see each other have in common; None if it is no source."""
    language = language_of(path)
    return language.resolver if language else _UNREAD.get(_suffix(path))


def _extract(wanted: dict[str, _Wanted], read: Read) -> Iterator[tuple[str, tuple[FoundReferences, bool]]]:
    """For each, whether it depends on the bytes alone and may be cached under their id."""
    by_language: dict[str, list[str]] = {}
    for at, (language, _) in wanted.items():
        by_language.setdefault(language.name, []).append(at)
    for keys in by_language.values():
        extract = wanted[keys[0]].language.extract
        sources: list[SourceContent] = []
        size = 0
        for at in keys:
            source = _source(at, wanted[at].file, read)
            if not isinstance(source, SourceContent):
                yield at, source
                continue
            sources.append(source)
            size += len(source.data)
            if len(sources) == _BATCH or size > _BATCH_BYTES:
                yield from _mark_lasting(extract(sources))
                sources, size = [], 0
        yield from _mark_lasting(extract(sources))


def _mark_lasting(
    results: Iterable[tuple[str, FoundReferences]],
) -> Iterator[tuple[str, tuple[FoundReferences, bool]]]:
    passing = why(GIVEN_UP)
    return ((at, (found, found not in {passing, missing_extra()})) for at, found in results)


def _source(at: str, file: SourceFile, read: Read) -> SourceContent | tuple[FoundReferences, bool]:
    try:
        data = read(file.path)
    except OSError as error:
        return why(Text("it cannot be read: {problem}", problem=error.strerror or str(error))), False
    except (PathRefused, Unreadable) as error:
        problem = error.details.get("why", str(error))
        return why(Text("it cannot be read: {problem}", problem=problem)), False
    if not holds(file.oid, data):
        return why(_CHANGED), False
    if len(data) > LARGEST:
        text = Text("it has {size} bytes; up to {limit} are analysed", size=len(data), limit=LARGEST)
        return why(text), True
    return SourceContent(at, data)


def _resolve(snapshot: ReferenceSnapshot, languages: dict[str, Language]) -> Dependencies:
    resolvers: dict[object, Resolver] = {}
    uses: dict[str, tuple[str, ...]] = {}
    for path in sorted(snapshot.found):
        refs, make = snapshot.found[path].refs, languages[path].resolver
        # A Python test uses conftest.py even without an import.
        if make is None:
            continue
        if make not in resolvers:
            resolvers[make] = make(snapshot)
        used = set(resolvers[make].uses(path, refs))
        used.discard(path)
        if used:
            uses[path] = tuple(sorted(used))
    unanalysed = (Unanalysed(path, found.why) for path, found in sorted(snapshot.found.items()) if found.why)
    return Dependencies(uses, tuple(unanalysed))
