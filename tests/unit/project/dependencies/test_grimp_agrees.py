"""For a package, the files and their uses are the modules and the imports that grimp finds."""

import importlib
import sys
import tempfile
from pathlib import Path

import grimp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.helpers import make_files
from tests.unit.project.dependencies.trees import Files

NAMES = ("a", "b", "c")
FOLDERS = ("", "a/", "b/", "a/b/", "a/c/")

modules = st.lists(st.sampled_from((*NAMES, "attribute")), min_size=1, max_size=4).map(".".join)


@st.composite
def statement(draw: st.DrawFn, depth: int) -> str:
    """One import; it goes up no further than the package."""
    name = draw(st.sampled_from(NAMES))
    below = draw(modules)
    dots = "." * draw(st.integers(1, depth))
    text = draw(
        st.sampled_from(
            [
                f"import grown.{below}",
                f"import grown.{below} as x, json",
                f"from grown import {name}, other",
                f"from grown.{below} import {name}",
                f"from grown.{below} import *",
                f"from {dots} import {name}",
                f"from {dots}{below} import (\n    {name},  # )\n    thing as y,\n)",
                f"from {dots}{below} import {name}, \\\n    thing",
                f"try: import grown.{below}\nexcept ImportError: pass",
                f"def f():\n    from {dots} import {name}",
                f"if TYPE_CHECKING:\n    from grown.{below} import {name}",
                f"x = 1; import grown.{below}",
                f"x = 'import grown.{name}'",
                f"'''\nimport grown.{name}\n'''",
            ]
        )
    )
    return f"{text}\n"


@st.composite
def packages(draw: st.DrawFn) -> dict[str, str]:
    # A module and a folder of the same name hide each other; which is a question of its own.
    drawn = draw(st.sets(st.sampled_from(FOLDERS))) | {""}
    folders = [folder for folder in FOLDERS if folder in drawn and (folder.count("/") < 2 or "a/" in drawn)]
    paths = [f"grown/{folder}__init__.py" for folder in folders]
    for folder in folders:
        names = draw(st.sets(st.sampled_from(NAMES)))
        paths += [f"grown/{folder}{name}.py" for name in sorted(names) if f"{folder}{name}/" not in folders]
    return {
        path: "".join(draw(st.lists(statement(path.count("/")), max_size=4)))
        for path in paths
    }  # fmt: skip


def by_grimp(root: Path) -> dict[str, set[str]]:
    sys.path.insert(0, str(root))
    try:
        importlib.invalidate_caches()
        graph = grimp.build_graph("grown", cache_dir=None)
    finally:
        sys.path.remove(str(root))
    files = {
        path.relative_to(root).as_posix(): ".".join(path.relative_to(root).with_suffix("").parts)
        for path in root.rglob("*.py")
    }
    file_of = {module.removesuffix(".__init__"): path for path, module in files.items()}
    result = {}
    for module, path in file_of.items():
        used = {file_of[other] for other in graph.find_modules_directly_imported_by(module)}
        if used := used - {path}:
            result[path] = used
    return result


@pytest.mark.req("CP-3")
@given(files=packages())
def test_a_package_is_seen_as_grimp_sees_it(files: dict[str, str]):
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        make_files(root, files)
        found = Files(files).analyse(Path(folder, "cache"))
        assert found.unanalysed == ()
        assert {path: set(used) for path, used in found.uses.items()} == by_grimp(root)
