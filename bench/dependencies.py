"""Which file uses which, after an edit: against grimp, which keeps a cache of its own."""

import hashlib
import random
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Self

import grimp

from bench.measure import Figure, ratio, size, take_turns
from ringi.project.dependencies import SourceFile, analyse, dependents

MODULES = size(900, 60)
PER_PACKAGE = 30
EDITED = 25
PACKAGE = "bench_package"

FUNCTION = '''

def {name}(value, *, factor={number}):
    """Work on a value, {number} times."""
    total = 0
    for index in range(factor):
        if index % 3 == 0:
            total += value * index
        elif index % 5 == 0:
            total -= len(str(value))
        else:
            total += {{"a": 1, "b": [2, 3]}}.get("b", [0])[0]
    return f"{{total}} of {{factor}}"
'''


def module_source(number: int, chance: random.Random) -> str:
    lines = [
        "import json",
        "import os.path",
        "from typing import TYPE_CHECKING, Any",
        "",
        "import requests",
        "",
    ]
    for other in chance.sample(range(MODULES), 8):
        package, name = f"{PACKAGE}.part{other // PER_PACKAGE}", f"module{other}"
        lines.append(
            chance.choice(
                [
                    f"from {package} import {name}",
                    f"from {package}.{name} import work0, work1",
                    f"import {package}.{name}",
                    f"from ..part{other // PER_PACKAGE}.{name} import (\n    work0,\n    work1 as other,\n)",
                ]
            )
        )
    lines += ["", "if TYPE_CHECKING:", f"    from . import module{number // PER_PACKAGE * PER_PACKAGE}"]
    functions = (FUNCTION.format(name=f"work{n}", number=n + 3) for n in range(chance.randint(7, 14)))
    return "\n".join(lines) + "\n" + "".join(functions)


def make_package(root: Path) -> None:
    chance = random.Random(1)
    top = root / PACKAGE
    top.mkdir()
    (top / "__init__.py").write_text("")
    for number in range(MODULES):
        folder = top / f"part{number // PER_PACKAGE}"
        if not folder.exists():
            folder.mkdir()
            (folder / "__init__.py").write_text(f"from .module{number} import work0\n")
        (folder / f"module{number}.py").write_text(module_source(number, chance))


class Package:
    """The generated package, which both sides are asked about after each edit."""

    def __init__(self, root: Path) -> None:
        self.root = root
        make_package(root)
        self.paths = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))
        # The object ids come with the snapshot; they are no part of the question.
        self.oids = {path: self.oid(path) for path in self.paths}
        self.edits = 0

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def oid(self, path: str) -> str:
        data = self.read(path)
        return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()

    def edit(self) -> None:
        self.edits += 1
        for path in self.paths[5 : 5 + EDITED * 30 : 30]:
            with (self.root / path).open("a") as file:
                file.write(f"\n\nimport bench_package.part1.module{self.edits + 30}\n")
            self.oids[path] = self.oid(path)

    def ours(self, cache: Path) -> tuple[str, ...]:
        files = [SourceFile(path, oid) for path, oid in self.oids.items()]
        return dependents(analyse(files, self.read, cache), [f"{PACKAGE}/part0/module7.py"])

    def theirs(self, cache: Path | None) -> set[str]:
        graph = grimp.build_graph(PACKAGE, cache_dir=str(cache) if cache else None)
        return graph.find_downstream_modules(f"{PACKAGE}.part0.module7")

    @classmethod
    @contextmanager
    def importable(cls) -> Iterator[tuple[Self, Path]]:
        """Made in a folder that Python imports from; with a folder for caches."""
        with tempfile.TemporaryDirectory(prefix="ringi-bench-") as folder:
            root = Path(folder, "root")
            root.mkdir()
            sys.path.insert(0, str(root))
            try:
                yield cls(root), Path(folder)
            finally:
                sys.path.remove(str(root))

    def compared(
        self, what: str, ours: Callable[[Path], object], folder: Path, *, cold: float, warm: float
    ) -> Iterator[Figure]:
        """With grimp's build: with nothing known, and with `folder/ours` and `folder/theirs` as caches."""
        colds = count()
        fresh = [lambda: ours(folder / f"cold{next(colds)}"), lambda: self.theirs(None)]
        take_turns(1, *fresh)
        yield ratio(f"{what}, nothing known ÷ grimp's", take_turns(7, *fresh), cold)

        known = [lambda: ours(folder / "ours"), lambda: self.theirs(folder / "theirs")]
        take_turns(1, self.edit, *known)
        _, *pair = take_turns(15, self.edit, *known)
        yield ratio(f"{what} after editing {EDITED} ÷ grimp's", pair, warm)


def figures() -> Iterator[Figure]:
    with Package.importable() as (package, folder):
        yield from package.compared(f"dependents in {MODULES} files", package.ours, folder, cold=2, warm=2)
