"""Python: what a name means is decided by the files of the snapshot, and nothing is run."""

import subprocess
import sys
from pathlib import Path

import pytest

from ringi.project.dependencies import SourceFile, analyse, dependents
from ringi.project.dependencies.python import LARGEST, RELATIVE, Broken, Lines, scan
from tests.helpers import make_files
from tests.tables import each
from tests.unit.project.dependencies.trees import Files, oid, uses

PACKAGE = {
    "app/__init__.py": "",
    "app/a.py": "",
    "app/b.py": "",
    "app/sub/__init__.py": "",
    "app/sub/c.py": "",
}


@pytest.mark.req("CP-3")
@each(
    ("source", "expected"),
    [
        ("import app", {"app/__init__.py"}),
        ("import app.a", {"app/a.py"}),
        ("import app.a as x, app.b", {"app/a.py", "app/b.py"}),
        ("from app import a", {"app/a.py"}),
        ("from app import a as x, b", {"app/a.py", "app/b.py"}),
        ("from app import something", {"app/__init__.py"}),
        ("from app import *", {"app/__init__.py"}),
        ("from app.a import *", {"app/a.py"}),
        ("from app.sub import c, other", {"app/sub/c.py", "app/sub/__init__.py"}),
        ("from app import (  # why\n  a,  # (one)\n  b as two,\n)\n", {"app/a.py", "app/b.py"}),
        ("from app import a, \\\n    b\n", {"app/a.py", "app/b.py"}),
        ("from app import(a)", {"app/a.py"}),
        ("import app.a; import app.b", {"app/a.py", "app/b.py"}),
        ("try: import app.a\nexcept ImportError: import app.b", {"app/a.py", "app/b.py"}),
        ("if TYPE_CHECKING:\n    from app.a import A", {"app/a.py"}),
        ("def f():\n    class C:\n        from app import a", {"app/a.py"}),
        ("match x:\n    case 1:\n        import app.a\n    case _: import app.b", {"app/a.py", "app/b.py"}),
        ("for x in y: pass\nelse: import app.a", {"app/a.py"}),
        ("x = 'import app.a'\n# import app.b\n'''\nimport app.b\n'''", set()),
        ("x = '''\nfrom app import ('''; import app.a", {"app/a.py"}),
        ("if x == '''\nfrom app import (''': import app.a", {"app/a.py"}),
        ("\ufeffimport app.a", {"app/a.py"}),
        ("import app.a\r\nimport app.b\r", {"app/a.py", "app/b.py"}),
        ("x = 'a\x0cb\u2028c'\nimport app.a", {"app/a.py"}),
        ("# -*- coding: latin-1 -*-\n# \u00e9\nimport app.a".encode("latin-1"), {"app/a.py"}),
        ("import json, numpy.linalg, app.missing.deeper", set()),
        ("from . import app", {"app/__init__.py"}),
        ("from .app.a import x", {"app/a.py"}),
        ("from .. import app", set()),
        ("from " + "." * 200 + "app import a", set()),
    ],
)
def test_an_import_means(source: str | bytes, expected: set[str], tmp_path: Path):
    assert uses(PACKAGE | {"main.py": source}, tmp_path).get("main.py", set()) == expected


@pytest.mark.req("CP-3")
@each(
    ("files", "path", "expected"),
    [
        # inside a package
        ({"app/a.py": "from . import b"}, "app/a.py", {"app/b.py"}),
        ({"app/a.py": "from .b import x"}, "app/a.py", {"app/b.py"}),
        ({"app/sub/c.py": "from .. import a"}, "app/sub/c.py", {"app/a.py"}),
        ({"app/sub/c.py": "from ..a import x"}, "app/sub/c.py", {"app/a.py"}),
        ({"app/sub/c.py": "from . import y"}, "app/sub/c.py", {"app/sub/__init__.py"}),
        ({"app/__init__.py": "from .a import x\nfrom . import y"}, "app/__init__.py", {"app/a.py"}),
        # a package does not look into its own folder
        ({"app/sub/c.py": "import a"}, "app/sub/c.py", set()),
        # source folders
        ({"src/lib/__init__.py": "", "main.py": "import lib"}, "main.py", {"src/lib/__init__.py"}),
        ({"src/one.py": "", "main.py": "import one"}, "main.py", {"src/one.py"}),
        ({"deep/er/lib/__init__.py": "", "main.py": "import lib"}, "main.py", {"deep/er/lib/__init__.py"}),
        ({"ns/part/x.py": "", "main.py": "import ns.part.x"}, "main.py", {"ns/part/x.py"}),
        ({"ns/p.py": "", "x/ns/q/__init__.py": "", "main.py": "import ns.p"}, "main.py", {"ns/p.py"}),
        # loose files: their own folder first
        ({"tools/x.py": "import help", "tools/help.py": "", "help.py": ""}, "tools/x.py", {"tools/help.py"}),
        ({"tools/run.py": "import app", "tools/app.py": ""}, "tools/run.py", {"tools/app.py"}),
        ({"tests/test_a.py": "import app.a"}, "tests/test_a.py", {"app/a.py"}),
        # the nearer of two projects
        (
            {"x/core/__init__.py": "", "y/core/__init__.py": "", "y/tests/t.py": "import core"},
            "y/tests/t.py",
            {"y/core/__init__.py"},
        ),
        (
            {"x/src/core/__init__.py": "", "y/src/core/__init__.py": "", "y/tests/t.py": "import core"},
            "y/tests/t.py",
            {"y/src/core/__init__.py"},
        ),
        (
            {"core/__init__.py": "", "tests/fixtures/core/__init__.py": "", "tests/t.py": "import core"},
            "tests/t.py",
            {"core/__init__.py"},
        ),
        # names of the standard library are not looked for far away
        ({"far/lib/__init__.py": "", "far/json.py": "", "main.py": "import json"}, "main.py", set()),
        ({"json.py": "", "main.py": "import json"}, "main.py", {"json.py"}),
        # stubs, and a package beside a module of its name
        ({"m.py": "", "m.pyi": "", "main.py": "import m"}, "main.py", {"m.py", "m.pyi"}),
        ({"m.py": "", "m/__init__.py": "", "main.py": "import m"}, "main.py", {"m/__init__.py"}),
        ({"m.pyi": "import app.a"}, "m.pyi", {"app/a.py"}),
        # pytest
        (
            {"conftest.py": "", "t/conftest.py": "", "t/u/test_x.py": "", "v/conftest.py": ""},
            "t/u/test_x.py",
            {"conftest.py", "t/conftest.py"},
        ),
        ({"conftest.py": "", "t/conftest.py": ""}, "t/conftest.py", {"conftest.py"}),
        ({"conftest.py": "", "x_test.py": ""}, "x_test.py", {"conftest.py"}),
        ({"conftest.py": "", "helper.py": ""}, "helper.py", set()),
        # a file that names itself
        ({"app/a.py": "import app.a\nfrom app.a import x"}, "app/a.py", set()),
    ],
)  # fmt: skip
def test_a_file_uses(files: dict[str, str], path: str, expected: set[str], tmp_path: Path):
    assert uses(PACKAGE | files, tmp_path).get(path, set()) == expected


@pytest.mark.req("CP-3")
@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("import app.a\nx = )\n", "line 2 is no Python that can be read"),
        ("import app.a\nprint 'two'\n", "line 2 is no Python that can be read"),
        (b"import app.a\nx = '\xe9'\n", "it is not utf-8"),
        ("import app.a\0", "it contains a null byte"),
        ("# coding: klingon\nimport app.a\n", "its encoding is not known: klingon"),
        ("# coding: punycode\nimport app.a\n", "its encoding is not known: punycode"),
        ("# coding: utf-7\nx = '+2AA-'\n", "it is not utf-7"),
        ("x = " + "(" * 100_000, "line 1 is no Python that can be read"),
        ("x = " + "-" * 100_000 + "1", "line 1 is no Python that can be read"),
        ("x = " + "1+" * 500_000 + "1", "it is nested too deeply"),
        ("#" * 2_500_000, "it has 2500000 bytes; up to 2097152 are analysed"),
    ],
)
def test_what_cannot_be_read_is_named_and_the_rest_is_analysed(source: str | bytes, why: str, tmp_path: Path):
    files = Files(PACKAGE | {"bad.py": source, "good.py": "import app.b"})
    found = files.analyse(tmp_path)
    assert [(item.file, item.why) for item in found.unanalysed] == [("bad.py", why)]
    assert found.uses == {"good.py": ("app/b.py",)}
    assert files.analyse(tmp_path) == found


def test_many_broken_files_do_not_hide_the_others(tmp_path: Path):
    good = {f"good{n}.py": "import app.a" for n in range(300)}
    bad = {f"bad{n}.py": f"x{n} = (" for n in range(40)}
    found = Files(PACKAGE | good | bad).analyse(tmp_path)
    assert {item.file for item in found.unanalysed} == set(bad)
    assert set(found.uses) == set(good)


@pytest.mark.parametrize("large", [False, True])
def test_very_many_imports(large: bool, tmp_path: Path):
    count = 100_000 if large else 5_000
    source = "".join(f"import m{n}\n" for n in range(count))
    assert (len(source) > LARGEST) == large
    modules = {f"m{n}.py": "" for n in range(0, count, 1000)}
    assert uses(modules | {"main.py": source}, tmp_path) == {"main.py": set(modules)}


def test_files_and_names_with_odd_characters(tmp_path: Path):
    files = {
        "new\nline.py": "import caf\u00e9",
        "caf\u00e9.py": "",
        "a b/x.py": "from . import y",
        "a b/y.py": "",
    }
    assert uses(files, tmp_path) == {"new\nline.py": {"caf\u00e9.py"}, "a b/x.py": {"a b/y.py"}}


def test_cycles_and_transitive_dependents(tmp_path: Path):
    files = {"a.py": "import b", "b.py": "import c", "c.py": "import a", "d.py": "import c", "e.py": ""}
    found = Files(files).analyse(tmp_path)
    assert dependents(found, ["c.py"]) == ("a.py", "b.py", "d.py")
    assert dependents(found, ["a.py", "d.py"]) == ("b.py", "c.py")
    assert dependents(found, ["e.py", "gone.py"]) == ()


@pytest.mark.req("CP-10")
def test_only_files_of_the_snapshot_appear(tmp_path: Path):
    root = tmp_path / "root"
    make_files(root, {"main.py": "import lib, ignored", "lib.py": "", "ignored.py": "", ".venv/lib.py": ""})
    listed = [SourceFile(name, oid((root / name).read_bytes())) for name in ("main.py", "lib.py")]
    found = analyse(listed, lambda path: (root / path).read_bytes(), tmp_path / "cache")
    assert found.uses == {"main.py": ("lib.py",)}


@pytest.mark.req("CP-10")
def test_nothing_of_the_workspace_is_run_or_imported(tmp_path: Path):
    root, marker = tmp_path / "root", tmp_path / "marker"
    evil = f"open({str(marker)!r}, 'w').close()\n"
    names = (
        "json",
        "typing",
        "logging",
        "msgspec",
        "grimp",
        "tree_sitter",
        "tree_sitter_language_pack",
        "app/sub",
    )
    files = {f"{name}/__init__.py": evil for name in names}
    files |= {"sitecustomize.py": evil, "main.py": evil + "import app.sub, json", "app/__init__.py": evil}
    make_files(root, files | {"x.js": 'import "./y"'})
    script = (
        "import sys\nfrom pathlib import Path\nimport ringi.project.dependencies as d\n"
        "from tests.unit.project.dependencies.trees import oid\n"
        "before = list(sys.path)\nroot, cache = Path(sys.argv[1]), Path(sys.argv[2])\n"
        "names = [p.relative_to(root).as_posix() for p in root.rglob('*.*')]\n"
        "files = [d.SourceFile(n, oid((root / n).read_bytes())) for n in names]\n"
        "found = d.analyse(files, lambda n: (root / n).read_bytes(), cache)\n"
        "assert sys.path == before\nprint(sorted(found.uses['main.py']))\n"
    )
    setup = f"import sys; sys.path[:] = {[entry for entry in sys.path if entry]!r}\n"
    done = subprocess.run(
        [sys.executable, "-P", "-c", setup + script, root, tmp_path / "cache"],
        cwd=root, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.stderr) == ("['app/sub/__init__.py', 'json/__init__.py']\n", "")
    assert not marker.exists()


def test_the_scanner_of_grimp_says_where_imports_are():
    """Its insides are used, not its interface: this must fail when they change."""
    source = (
        "import a.b\nfrom . import c\nfrom ...d import (e,\n)\nif 1: import h, i.j\nfrom k import *\n'import'"
    )
    expected = {(1, "a"), (2, RELATIVE), (3, RELATIVE), (5, "h"), (5, "i"), (6, "k")}
    assert scan([source, "", "x = ("]) == [Lines(frozenset(expected)), Lines(frozenset()), Broken(1)]


def test_the_scanner_survives_the_deepest_that_fits():
    for link in ("+1", "()", ".b", "[0]"):
        source = "x = a" + link * ((LARGEST - 5) // len(link))
        assert scan([source]) == [Lines(frozenset())]
