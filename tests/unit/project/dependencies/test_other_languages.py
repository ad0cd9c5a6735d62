"""The languages of the extra: names that other tools resolve, as far as the tree alone says."""

import sys
from pathlib import Path

import pytest

from ringi.kernel.process.installation import extending_command
from ringi.project.dependencies import dependents, unknown_users
from ringi.project.dependencies.parser import extractor
from ringi.project.state import UnknownUsers
from tests.helpers import assert_not_loaded, modules_after
from tests.tables import each
from tests.unit.project.dependencies.trees import Files, uses

JSON_PATHS = '{"compilerOptions": {"baseUrl": ".", "paths": {"@/*": ["src/*"], "exact": ["src/x.ts"]}}}'
EXPORTS = """{"name": "lib", "exports": {
  ".": {"import": "./i.js", "require": "./i.cjs"}, "./feature/*": "./f/*.js"
}}"""

JAVASCRIPT = {
    "import": ({"a.js": 'import x from "./b";', "b.js": ""}, {"a.js": {"b.js"}}),
    "import for its effect": ({"a.js": "import './b.js'", "b.js": ""}, {"a.js": {"b.js"}}),
    "export from": (
        {"a.ts": 'export * from "./b"\nexport {x} from "./c"', "b.ts": "", "c.tsx": ""},
        {"a.ts": {"b.ts", "c.tsx"}},
    ),
    "require": (
        {"a.cjs": 'const b = require("./b")\nother("./c")', "b.js": "", "c.js": ""},
        {"a.cjs": {"b.js"}},
    ),
    "import()": (
        {
            "a.mjs": 'await import("./b.mjs"); import(`./c.js`); import(`./${d}`); import(e)',
            "b.mjs": "",
            "c.js": "",
        },
        {"a.mjs": {"b.mjs", "c.js"}},
    ),
    "types": (
        {"a.ts": 'import type {T} from "./b"\nimport c = require("./c")', "b.d.ts": "", "c.ts": ""},
        {"a.ts": {"b.d.ts", "c.ts"}},
    ),
    "jsx": ({"a.jsx": 'import B from "./B"; const x = <B>{"import"}</B>', "B.jsx": ""}, {"a.jsx": {"B.jsx"}}),
    "index": ({"a.ts": 'import "./lib"; import ".."', "lib/index.ts": ""}, {"a.ts": {"lib/index.ts"}}),
    "up": ({"x/a.js": 'import "../b"', "b.js": ""}, {"x/a.js": {"b.js"}}),
    "out": ({"x/a.js": 'import "../../b"; import "/b"', "b.js": ""}, {}),
    "ts behind js": (
        {"a.ts": 'import "./b.js"; import "./c.mjs"', "b.ts": "", "c.mts": ""},
        {"a.ts": {"b.ts", "c.mts"}},
    ),
    "any file": (
        {"a.js": 'import d from "./d.json"; import "./s.css"', "d.json": "{}", "s.css": ""},
        {"a.js": {"d.json", "s.css"}},
    ),
    "not in code": ({"a.js": '// import "./b"\nx = `import "./b"`', "b.js": ""}, {}),
    "paths": (
        {"a/a.ts": 'import "@/x"; import "exact"', "src/x.ts": "", "tsconfig.json": JSON_PATHS},
        {"a/a.ts": {"src/x.ts"}},
    ),
    "baseUrl": (
        {
            "a.ts": 'import "lib/y"',
            "src/lib/y.ts": "",
            "tsconfig.json": '{"compilerOptions": {"baseUrl": "src"}}',
        },
        {"a.ts": {"src/lib/y.ts"}},
    ),
    "comments in it": (
        {
            "a.ts": 'import "@/x"',
            "src/x.ts": "",
            "tsconfig.json": "// why\n" + JSON_PATHS.replace("],", "], /* , */").replace("]}}", "],},},"),
        },
        {"a.ts": {"src/x.ts"}},
    ),
    "extends": (
        {
            "p/a.ts": 'import "@/x"',
            "src/x.ts": "",
            "tsconfig.base.json": JSON_PATHS,
            "p/tsconfig.json": '{"extends": "../tsconfig.base"}',
        },
        {"p/a.ts": {"src/x.ts"}},
    ),
    "extends itself": ({"a.ts": 'import "@/x"', "tsconfig.json": '{"extends": "./tsconfig.json"}'}, {}),
    "package by name": (
        {
            "a/a.ts": 'import "@me/lib"',
            "lib/package.json": '{"name": "@me/lib", "main": "./main"}',
            "lib/main.ts": "",
        },
        {"a/a.ts": {"lib/main.ts"}},
    ),
    "package and a file": (
        {"a/a.ts": 'import "lib/deep/x"', "lib/package.json": '{"name": "lib"}', "lib/deep/x.js": ""},
        {"a/a.ts": {"lib/deep/x.js"}},
    ),
    "exports": (
        {
            "a/a.ts": 'import "lib"; import "lib/feature/f"',
            "lib/f/f.js": "",
            "lib/i.js": "",
            "lib/i.cjs": "",
            "lib/package.json": EXPORTS,
        },
        {"a/a.ts": {"lib/i.js", "lib/i.cjs", "lib/f/f.js"}},
    ),
    "imports": (
        {
            "src/a.js": 'import "#x/b"',
            "src/x/b.js": "",
            "package.json": '{"imports": {"#x/*": "./src/x/*.js"}}',
        },
        {"src/a.js": {"src/x/b.js"}},
    ),
    "main is the folder": (
        {"a.js": 'import "./lib"', "lib/package.json": '{"main": "."}', "lib/index.js": ""},
        {"a.js": {"lib/index.js"}},
    ),
}

GO = {
    "a package": (
        {
            "go.mod": "module example.org/m\n\ngo 1.22\n",
            "main.go": 'package main\nimport "example.org/m/lib"\nfunc main() { lib.F() }',
            "lib/a.go": "package lib\nfunc F() {}",
            "lib/b.go": "package lib",
            "lib/a_test.go": "package lib",
        },
        {"main.go": {"lib/a.go", "lib/b.go"}},
    ),
    "several imports": (
        {
            "go.mod": "module m",
            "main.go": 'package main\nimport (\n x "m/a"\n _ `m/b`\n "fmt"\n)',
            "a/a.go": "package a",
            "b/b.go": "package b",
        },
        {"main.go": {"a/a.go", "b/b.go"}},
    ),
    "two modules": (
        {
            "go.work": "use (\n./x\n./y\n)",
            "x/go.mod": "module o/x",
            "y/go.mod": 'module "o/x/y"',
            "x/x.go": 'package x\nimport "o/x/y/z"',
            "y/z/z.go": "package z",
        },
        {"x/x.go": {"y/z/z.go"}},
    ),
    "vendored": (
        {"go.mod": "module m", "a/a.go": 'package a\nimport "o/v"', "vendor/o/v/v.go": "package v"},
        {"a/a.go": {"vendor/o/v/v.go"}},
    ),
    "the same package": (
        {
            "a.go": "package p\nfunc A() { b(); x.c() }",
            "b.go": "package p\nfunc b() {}\ntype T struct{}\nvar v, w = 1, 2\nconst (\n k = 1\n)",
            "c.go": 'package p\n// b()\nfunc c() { _ = "b" }',
            "d.go": "package p\nvar _ = w + k",
            "a_test.go": "package p\nvar x T",
        },
        {"a.go": {"b.go"}, "d.go": {"b.go"}, "a_test.go": {"b.go"}},
    ),
}

JAVA = {
    "import": (
        {"a/A.java": "package a;\nimport b.B;\nclass A {}", "b/B.java": "package b;\npublic class B {}"},
        {"a/A.java": {"b/B.java"}},
    ),
    "static and nested": (
        {
            "A.java": "import static b.B.f;\nimport b.C.Inner;\nimport static b.D.*;",
            "b/B.java": "package b; interface B {}",
            "b/C.java": "package b; record C() {}",
            "b/D.java": "package b; enum D {}",
        },
        {"A.java": {"b/B.java", "b/C.java", "b/D.java"}},
    ),
    "a star": (
        {
            "A.java": "import b.*;\nclass A { B x; }",
            "s/b/B.java": "package b; class B {}",
            "s/b/C.java": "package b; class C {}",
        },
        {"A.java": {"s/b/B.java"}},
    ),
    "the same package": (
        {
            "p/A.java": 'package p; class A { B b; /* C */ String s = "D"; }',
            "q/B.java": "package p; class B {}",
            "p/C.java": "package p; class C {}",
            "p/D.java": "package p; @interface D {}",
        },
        {"p/A.java": {"q/B.java"}},
    ),
    "not its own": (
        {
            "a/A.java": "package a; import java.util.List; import b . /* x */ B ;",
            "b/B.java": "package b; class B {}",
        },
        {"a/A.java": {"b/B.java"}},
    ),
}

C = {
    "beside it": (
        {"src/a.c": '#include "b.h"\n#include "sub/c.h"', "src/b.h": "", "src/sub/c.h": "", "b.h": ""},
        {"src/a.c": {"src/b.h", "src/sub/c.h"}},
    ),
    "up": ({"src/a.cpp": '#include "../inc/b.hpp"', "inc/b.hpp": ""}, {"src/a.cpp": {"inc/b.hpp"}}),
    "the end of one path": (
        {"src/a.cc": '#include <lib/b.h>\n#  include "c.h"', "include/lib/b.h": "", "x/c.h": ""},
        {"src/a.cc": {"include/lib/b.h", "x/c.h"}},
    ),
    "the end of two": ({"src/a.c": "#include <b.h>", "x/b.h": "", "y/b.h": ""}, {}),
    "not the end of a name": ({"a.c": "#include <b.h>", "xb.h": ""}, {}),
    "among macros": (
        {"a.c": '#ifdef X\nBEGIN(\n#include "b.h"\n#endif\nEND }', "b.h": "#pragma once"},
        {"a.c": {"b.h"}},
    ),
    "the system's": ({"a.c": "#include <assert.h>", "x/assert.h": ""}, {}),
    "of the same name": ({"a.c": '#include "assert.h"', "x/assert.h": ""}, {"a.c": {"x/assert.h"}}),
    "in a comment": ({"a.c": '/*\n#include "b.h"\n*/', "b.h": ""}, {}),
}

TABLES = {"javascript": JAVASCRIPT, "go": GO, "java": JAVA, "c": C}


@pytest.mark.req("CP-3")
@pytest.mark.parametrize(
    ("language", "case"), [(language, case) for language, table in TABLES.items() for case in table]
)
def test_a_file_uses(language: str, case: str, tmp_path: Path):
    pytest.importorskip("tree_sitter_language_pack")
    files, expected = TABLES[language][case]
    assert uses(files, tmp_path) == expected


@pytest.mark.req("CP-3")
def test_dependents_through_several_files(tmp_path: Path):
    pytest.importorskip("tree_sitter_language_pack")
    files = {"a.ts": 'import "./b"', "b.ts": 'import "./c"', "c.ts": "", "d.ts": 'import "./a"', "e.py": ""}
    assert dependents(Files(files).analyse(tmp_path), ["c.ts"]) == ("a.ts", "b.ts", "d.ts")


@pytest.mark.req("CP-3")
def test_the_users_in_a_language_outside_the_table_are_unknown(tmp_path: Path):
    files = {"src/a.rs": "", "src/b.rs": "use crate::a;", "c.py": ""}
    found = Files(files).analyse(tmp_path)
    assert (found.uses, found.unanalysed) == ({}, ())
    unknown = UnknownUsers(1, "src/b.rs", "its language cannot be analysed")
    assert unknown_users(found, ["src/a.rs"], files) == unknown
    assert unknown_users(found, ["c.py"], files) is None


@pytest.mark.parametrize("name", ["x.js", "x.ts", "x.tsx", "x.go", "x.java"])
def test_what_is_understood_only_in_part_says_so(name: str, tmp_path: Path):
    pytest.importorskip("tree_sitter_language_pack")
    found = Files({name: "\n}}} %%% ((("}).analyse(tmp_path)
    assert [(item.file, item.why) for item in found.unanalysed] == [
        (name, "only in part: line 2 is not understood")
    ]


@pytest.mark.parametrize(
    ("name", "data", "whys"),
    [
        ("x.java", "a<" * 20_000, {"its parser crashed on it", "it takes too long to parse"}),
        ("x.js", "`${" * 100_000, {"it takes too long to parse"}),
    ],
)
def test_a_parser_that_dies_takes_nothing_with_it(name: str, data: str, whys: set[str], tmp_path: Path):
    pytest.importorskip("tree_sitter_language_pack")
    files = Files(
        {
            name: data,
            "a.js": 'import "./b"',
            "b.js": "",
            "B.java": "class B extends A {}",
            "A.java": "class A {}",
        }
    )
    found = files.analyse(tmp_path)
    assert [item.file for item in found.unanalysed] == [name]
    assert found.unanalysed[0].why in whys
    assert found.uses == {"a.js": ("b.js",), "B.java": ("A.java",)}
    assert files.analyse(tmp_path) == found
    assert files.was_read == []


@pytest.mark.req("CP-10")
def test_without_the_extra_its_files_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    files = Files({"a.js": 'import "./b"', "b.js": "", "c.go": "package c", "d.py": "import e", "e.py": ""})
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "tree_sitter_language_pack", None)
        found = files.analyse(tmp_path)
    assert found.uses == {"d.py": ("e.py",)}
    assert [item.file for item in found.unanalysed] == ["a.js", "b.js", "c.go"]
    assert all(extending_command("graph") in item.why for item in found.unanalysed)
    files.analyse(tmp_path)
    assert sorted(files.was_read) == ["a.js", "b.js", "c.go"]  # asked again, for it may be there now


@each("name", ["package.json", "tsconfig.json"])
@each("data", ["{", "[" * 100_000, b"\xff", "/*" * 100_000])
def test_a_manifest_that_cannot_be_read_is_named(name: str, data: str | bytes, tmp_path: Path):
    found = Files({name: data, "a.py": "import b", "b.py": ""}).analyse(tmp_path)
    assert [(item.file, item.why) for item in found.unanalysed] == [(name, "it cannot be read")]
    assert found.uses == {"a.py": ("b.py",)}


@pytest.mark.parametrize(
    "document",
    ["[]", "1", "null", '{"name": 1, "exports": [["x"]], "imports": [], "compilerOptions": {"paths": []}}'],
)
@pytest.mark.parametrize("name", ["package.json", "tsconfig.json"])
def test_a_manifest_of_another_shape_says_nothing(name: str, document: str, tmp_path: Path):
    assert uses({name: document, "a.py": "import b", "b.py": ""}, tmp_path) == {"a.py": {"b.py"}}


def test_nothing_is_parsed_in_this_process(tmp_path: Path):
    pytest.importorskip("tree_sitter_language_pack")
    script = (
        "import sys\nfrom tests.unit.project.dependencies.trees import Files\nfrom pathlib import Path\n"
        "found = Files({'a.js': 'import \"./b\"', 'b.js': ''}).analyse(Path(sys.argv[1]))\n"
        "assert found.uses == {'a.js': ('b.js',)}"
    )
    setup = f"import sys; sys.path[:] = {sys.path!r}\n"
    assert_not_loaded(modules_after(setup + script, str(tmp_path)), "tree_sitter", "grimp")


def test_no_child_without_a_file(tmp_path: Path):
    assert list(extractor("go")([])) == []
