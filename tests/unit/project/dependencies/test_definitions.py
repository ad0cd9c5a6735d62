"""What a file defines, by name, kind and lines."""

import gc
import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.project.dependencies.definitions import definitions, readers
from ringi.project.dependencies.references import SourceContent
from tests.tables import each

EXTRA = importlib.util.find_spec("tree_sitter_language_pack") is not None
needs_the_extra = pytest.mark.skipif(not EXTRA, reason="needs the extra `graph`")

SHOP = '''\
import os

LIMIT: int = 3


@cached
@typed(
    "x",
)
class Basket(list):
    """Things."""

    size = 1

    async def add(self, item):
        def helper():
            pass

        class Inner: ...

    class Line:
        def price(self): return 1


try:
    import fast
except ImportError:
    def fallback(): ...
if LIMIT:
    def sometimes(): ...
'''


def found(name: str, text: str | bytes) -> list[str]:
    data = text.encode() if isinstance(text, str) else text
    ((key, result),) = definitions(readers()(name), [SourceContent(name, data)])
    assert key == name
    return [f"{one.kind} {one.name} {one.line}-{one.end}" for one in result]


@pytest.mark.req("PP-1")
def test_python():
    assert found("shop.py", SHOP) == [
        "variable LIMIT 3-3",
        "class Basket 6-22",
        "method Basket.add 15-19",
        "class Basket.Line 21-22",
        "method Basket.Line.price 22-22",
        "function fallback 28-28",
        "function sometimes 30-30",
    ]


@each(
    "text",
    [
        b"def (",
        b"print 'old'\n",
        b"\0",
        b"\xff\xfe",
        b"# coding: klingon\n",
        b"(" * 100_000,
        b"-" * 100_000 + b"1",
        b"a" + b".b" * 200_000,
        b"x = '" + b"a" * 3_000_000 + b"'\ndef late(): ...\n",
    ],
)
def test_python_that_cannot_be_read_defines_nothing(text: bytes):
    assert not [line for line in found("a.py", text) if not line.startswith("variable")]


def test_other_encodings_of_python():
    assert found("a.py", "# coding: latin-1\ndef f():\n    'é'\n".encode("latin-1")) == ["function f 2-3"]
    assert found("a.py", b"\xef\xbb\xbfdef f(): ...\r\ndef g(): ...\r\n") == [
        "function f 1-1",
        "function g 2-2",
    ]


@given(st.binary(max_size=200) | st.text(max_size=200).map(str.encode))
def test_any_bytes_can_be_asked_about(data: bytes):
    for line in found("a.py", data):
        assert line


def test_the_collector_is_as_before():
    assert gc.isenabled()
    found("a.py", "def f(): ...")
    assert gc.isenabled()
    asked = definitions("python", [SourceContent("a", b""), SourceContent("b", b"")])
    next(asked)
    del asked
    assert gc.isenabled()


OTHERS = {
    "a.go": (
        ("package a\ntype T struct {\n\tx int\n}\nfunc (t *T[K]) M(a int) {\n\tf := func() {}\n}\n"
        "func F() {}\n"),
        ["type T 2-4", "method T.M 5-7", "function F 8-8"],
    ),
    "A.java": (
        ("class A {\n  A() {}\n  void m() {\n    new Object() { void inner() {} };\n  }\n"
        "  interface B {}\n}\n"),
        ["class A 1-7", "method A.A 2-2", "method A.m 3-5", "interface A.B 6-6"],
    ),
    "a.rs": (
        "struct S;\nimpl<X> T for S {\n    fn m(&self) {}\n}\nmod inner {\n    fn g() {}\n}\nmod other;\n",
        ["struct S 1-1", "impl S 2-4", "method S.m 3-3", "module inner 5-7", "function inner.g 6-6"],
    ),
    "a.c": (
        "struct s {\n int a;\n};\nstatic char *f(int a) {\n return 0;\n}\nint declared(void);\n",
        ["struct s 1-3", "function f 4-6"],
    ),
    "a.cpp": (
        "namespace n {\nclass A {\n  void m() {}\n};\n}\nint n::A::p() { return 1; }\nS &r() { }\n",
        ["module n 1-5", "class n.A 2-4", "method n.A.m 3-3", "function n.A.p 6-6", "function r 7-7"],
    ),
    "a.js": (
        "class A {\n  m() {}\n}\nconst k = async (a) => {\n};\nexports.f = function () {}\nfunction g() {}\n",
        ["class A 1-3", "method A.m 2-2", "function k 4-5", "function exports.f 6-6", "function g 7-7"],
    ),
    "a.ts": (
        "interface I { a(): void }\nexport enum E { A }\ntype T = string;\nabstract class Q {\n  w() {}\n}\n",
        ["interface I 1-1", "enum E 2-2", "type T 3-3", "class Q 4-6", "method Q.w 5-5"],
    ),
    "a.tsx": ("export function View() {\n  return <p/>\n}\n", ["function View 1-3"]),
    "a.rb": (
        "module M\n  class A\n    def m\n    end\n    def self.s\n    end\n  end\nend\n",
        ["module M 1-8", "class M.A 2-7", "method M.A.m 3-4", "method M.A.s 5-6"],
    ),
    "a.php": ("<?php\nclass B {\n  function m() {}\n}\nfunction f() {}\n",
              ["class B 2-4", "method B.m 3-3", "function f 5-5"]),
    "a.cs": ("class A {\n  void M() {}\n}\nstruct S {}\n", ["class A 1-3", "method A.M 2-2", "struct S 4-4"]),
}  # fmt: skip


@needs_the_extra
@pytest.mark.parametrize("name", OTHERS)
def test_other_languages(name: str):
    text, expected = OTHERS[name]
    assert found(name, text) == expected


@needs_the_extra
@pytest.mark.parametrize("name", OTHERS)
def test_broken_files_of_other_languages(name: str):
    text, _ = OTHERS[name]
    for data in (b"", b"\xff\xfe\0", text.encode()[: len(text) // 2], b"{" * 5000, text.encode() * 500):
        for line in found(name, data):
            first, _, last = line.rpartition(" ")[2].partition("-")
            assert 1 <= int(first) <= int(last) <= data.count(b"\n") + 1


@each("name", ["README.md", "a.txt", ".py", "py", "a.toml", "Makefile", "a/b.go/c"])
def test_what_defines_nothing(name: str):
    assert readers()(name) == ""
    assert found(name, "def f(): ...") == []
