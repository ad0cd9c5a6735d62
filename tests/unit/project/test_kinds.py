"""What kind of file a path is."""

import pytest

from ringi.project.context import FileKind
from ringi.project.kinds import PairedTests, kinds_of
from tests.tables import each

KINDS = {
    FileKind.SOURCE: """
        app.py src/lib.rs django/test/client.py pkg/testing.py pkg/tools/make.py web/index.html cmd/main.go
        src/Latest.java packages/core/src/a.ts pkg/docs/views.py contest.py
    """,
    FileKind.TEST: """
        tests/test_a.py test_b.py pkg/a_test.go testing/plugin.py test/helper.rb conftest.py src/a.test.ts
        src/__tests__/a.js src/main/AppTest.java spec/a_spec.rb pkg/tests/data.json lib/testing/test_x.py
        lib/testing/helper.py pkg/sub/tests
    """,
    FileKind.DOC: "README.md README docs/conf.py CHANGES.rst galleries/a.py pkg/docs/a.svg x.txt",
    FileKind.OTHER: """
        setup.py pyproject.toml Makefile package-lock.json scripts/run.sh pkg/_vendor/six.py static/a.min.js
        requests/packages/urllib3/util.py requests/packages/__init__.py logo.png static/table-3.5.1.js
    """,
}


@pytest.mark.req("PP-1")
def test_kinds():
    expected = {path: kind for kind, paths in KINDS.items() for path in paths.split()}
    assert kinds_of(expected) == expected


@each(
    ("source", "test"),
    [
        ("src/shop/basket.py", "tests/test_basket.py"),
        ("src/shop/basket.py", "tests/unit/shop/basket_test.py"),
        ("sphinx/util/inspect.py", "tests/test_util_inspect.py"),
        ("sphinx/ext/autodoc/__init__.py", "tests/test_ext_autodoc.py"),
        ("src/basket.ts", "src/basket.test.ts"),
        ("src/main/java/Basket.java", "src/test/java/BasketTest.java"),
        ("pkg/basket.go", "pkg/basket_test.go"),
        ("lib/basket.rb", "spec/basket_spec.rb"),
        ("_pytest/_code/source.py", "testing/code/test_source.py"),
    ],
)
def test_a_test_and_its_source(source: str, test: str):
    kinds = {source: FileKind.SOURCE, "src/other.py": FileKind.SOURCE, test: FileKind.TEST}
    beside = PairedTests(kinds)
    assert beside.sources(test) == (source,)
    assert beside.tests(source) == (test,)
    assert beside.tests("src/other.py") == ()


def test_of_two_sources_the_nearer_one():
    paths = {"a/utils.py": FileKind.SOURCE, "b/utils.py": FileKind.SOURCE}
    beside = PairedTests(
        paths | {"b/tests/test_utils.py": FileKind.TEST, "b/tests/__utils__.py": FileKind.TEST}
    )
    assert beside.sources("b/tests/test_utils.py") == ("b/utils.py",)
    assert beside.tests("a/utils.py") == ()
    assert beside.tests("b/utils.py") == ("b/tests/test_utils.py",)


def test_what_a_test_is_compared_with_is_no_test():
    tests = [
        "tests/data/basket.png",
        "tests/basket.txt",
        "tests/shop/test_basket.py",
        "tests/cases/basket.yml",
    ]
    beside = PairedTests({"src/shop/basket.py": FileKind.SOURCE} | dict.fromkeys(tests, FileKind.TEST))
    assert beside.tests("src/shop/basket.py") == ("tests/shop/test_basket.py", "tests/cases/basket.yml")


def test_of_several_tests_the_nearest_comes_first():
    tests = ["tests/a/test_basket.py", "tests/shop/test_basket.py"]
    beside = PairedTests({"src/shop/basket.py": FileKind.SOURCE} | dict.fromkeys(tests, FileKind.TEST))
    assert beside.tests("src/shop/basket.py")[0] == "tests/shop/test_basket.py"
