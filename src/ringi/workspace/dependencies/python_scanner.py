"""The one place that knows grimp's scanner, which reads Python 6 times faster than `ast`.

Grimp's own way in, `build_graph`, looks packages up with `importlib`: it imports the parents of a dotted
name, wants the workspace on `sys.path`, and gives up a whole package for one file it cannot read. The
scanner below it runs nothing, and takes sources from memory.
"""

import re
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

RELATIVE: Final = "+"
"""Stands for whatever a relative import is relative to. No module of a source can have this name."""

LARGEST: Final = 128 * 1024
"""Characters. Many more can be `a.b.b.b…`, whose tree is so deep that freeing it overflows the stack."""

_FEWER: Final = 16
_DEPTH: Final = 64
_PACKAGE: Final = ".".join("-" * _DEPTH)
_FOLDER: Final = ".".join(RELATIVE * _DEPTH)
# More dots than the made-up package is deep would make the scanner panic.
_TOO_MANY_DOTS: Final = re.compile(r"from[.\s\\]{60}")


class Lines(NamedTuple):
    """Where import statements begin: (line, first part of the name, or RELATIVE)."""

    statements: frozenset[tuple[int, str]]


class Broken(NamedTuple):
    line: int


def fits(source: str) -> bool:
    return len(source) <= LARGEST and not _TOO_MANY_DOTS.search(source)


def scan(sources: Sequence[str]) -> list[Lines | Broken]:
    """Each source must fit. One with an error spoils the whole call, so then fewer are asked at a time."""
    from grimp.exceptions import SourceSyntaxError  # noqa: PLC0415  # 50 ms that only a changed file needs

    try:
        return list(_scan(sources))
    except SourceSyntaxError as error:
        if len(sources) == 1:
            return [Broken(error.lineno or 1)]
    fewer = _FEWER if len(sources) > _FEWER else 1
    return [result for at in range(0, len(sources), fewer) for result in scan(sources[at : at + fewer])]


def _scan(sources: Sequence[str]) -> list[Lines | Broken]:
    from grimp import _rustgrimp  # type: ignore[attr-defined]  # noqa: PLC0415
    from grimp.application.ports.modulefinder import FoundPackage, ModuleFile  # noqa: PLC0415
    from grimp.domain.valueobjects import Module  # noqa: PLC0415

    file_system: Any = _rustgrimp.FakeBasicFileSystem()
    for number, source in enumerate(sources):
        file_system.write(f"/{number}.py", source)
    modules = [ModuleFile(Module(f"{_FOLDER}.{number}"), 0.0) for number in range(len(sources))]
    # Every import is an external one to it, and is named by its first part.
    found: dict[Any, Any] = _rustgrimp.scan_for_imports(
        module_files=tuple(modules),
        found_packages={FoundPackage(_PACKAGE, "/", frozenset(modules))},
        include_external_packages=True,
        exclude_type_checking_imports=False,
        file_system=file_system,
    )
    return [
        Lines(frozenset((item.line_number, item.imported.name) for item in found[module.module]))
        for module in modules
    ]
