"""Which files are read, and by whom. A file without an ending is not, whatever its first line says."""

from collections.abc import Callable
from functools import cache
from typing import Final, NamedTuple

from ringi.workspace.dependencies import (
    c_includes,
    golang,
    java,
    javascript,
    manifests,
    parsing,
    python_imports,
    python_modules,
    rust,
    rust_modules,
)
from ringi.workspace.dependencies.found import Extract, Resolver, Snapshot


class Language(NamedTuple):
    name: str
    extract: Extract
    resolver: Callable[[Snapshot], Resolver] | None
    """The same for all languages that see each other's files; nothing for a manifest, which uses nothing."""


def _python(snapshot: Snapshot) -> Resolver:
    return python_modules.PythonModules(snapshot.paths)


_BY_SUFFIX: Final[dict[str, Language]] = {
    **dict.fromkeys(python_modules.SUFFIXES, Language("python", python_imports.extract, _python)),
    **{
        suffix: Language(name, parsing.extractor(name), javascript.JavaScriptModules)
        for suffix, name in javascript.SUFFIXES.items()
    },
    **{
        suffix: Language(name, parsing.extractor(name), c_includes.Includes)
        for suffix, name in c_includes.SUFFIXES.items()
    },
    golang.SUFFIX: Language("go", parsing.extractor("go"), golang.GoPackages),
    java.SUFFIX: Language("java", parsing.extractor("java"), java.JavaTypes),
    rust.SUFFIX: Language("rust", parsing.extractor("rust"), rust_modules.RustModules),
}


def language_of(path: str) -> Language | None:
    name = path.rpartition("/")[2]
    stem, dot, suffix = name.rpartition(".")
    return _by_name(name) or (_BY_SUFFIX.get(dot + suffix) if stem else None)


@cache
def _manifest(name: str) -> Language | None:
    extract = manifests.extract_for(name)
    return Language(f"manifest {name}", extract, None) if extract else None


def _by_name(name: str) -> Language | None:
    return _manifest(name) if name.endswith((".json", ".toml", ".mod")) else None
