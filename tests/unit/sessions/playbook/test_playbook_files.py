"""Which of the files that were found a request names."""

import pytest
from msgspec.structs import replace

from ringi.project.context import Definition, FileKind, FoundFile, ProjectFacts
from ringi.sessions.playbook.case import Files, case_of, find_mentions
from tests.tables import each
from tests.unit.sessions.playbook.sessions import brief_of

READMES = ("docs/agents/README.md", "README.md", "README.ja.md", "docs/design/README.md")
SOURCES = ("src/flask/app.py", "src/flask/cli.py", "app.py")


def found(*paths: str) -> list[FoundFile]:
    return [FoundFile(path=path, kind=FileKind.DOC) for path in paths]


@pytest.mark.req("IP-3")
@each(
    ("text", "paths", "named"),
    [
        ("add an install section to README.md", READMES, ["README.md"]),
        ("README.mdにインストール手順を追加", READMES, ["README.md"]),
        ("the README says nothing", READMES, ["docs/agents/README.md"]),
        ("docs/design/README.md is old.", READMES, ["docs/design/README.md"]),
        ("translate README.ja.md", READMES, ["README.ja.md"]),
        ('File "/usr/lib/site-packages/flask/cli.py", line 3', SOURCES, ["src/flask/cli.py"]),
        ("app.py fails", SOURCES, ["app.py"]),
        ("cli.py fails", SOURCES, ["src/flask/cli.py"]),
        ("myapp.py and app.pyc fail", SOURCES, []),
        ("nothing of it", SOURCES, []),
    ],
)
def test_the_files_that_a_request_names(text: str, paths: tuple[str, ...], named: list[str]):
    assert [file.path for file in find_mentions(text, found(*paths))] == named


def code(path: str, *names: str, tests: tuple[str, ...] = ()) -> FoundFile:
    known = tuple(Definition(name, "class", line, line) for line, name in enumerate(names, 1))
    return FoundFile(path=path, kind=FileKind.SOURCE, definitions=known, tests=tests)


SHOP = (
    code("shop/rows.py", "Row", "make_row", "TotalError"),
    code("shop/sums.py", "SumField", "SumField.total", "Other.total"),
    code("shop/http.py", "HTTPBasket", "LIMIT_OF_ROWS"),
    FoundFile(path="tests/data/rows.txt", kind=FileKind.TEST),
    FoundFile(path="setup.py", kind=FileKind.OTHER),
)
FOLDERS = ("tests", "shop/tests", "web/tests")


def files(text: str, *found: FoundFile) -> Files:
    return case_of(brief_of(text, project=ProjectFacts(found=found or SHOP, tests=FOLDERS))).files


@pytest.mark.req("IP-3")
@each(
    ("text", "start"),
    [
        ("SumField loses rows\n\nI call `make_row` before.", ["shop/sums.py", "shop/rows.py"]),
        ("HTTPBasket loses rows", ["shop/http.py", "shop/rows.py"]),
        ("Sums are wrong\n\nI call HTTPBasket and SumField.", ["shop/rows.py"]),
        ("Sums are wrong\n\nI run `setup.py` with rows.txt.", ["shop/rows.py"]),
        ("Sums raise TotalError", ["shop/rows.py"]),
        ("Sums beyond LIMIT_OF_ROWS are wrong", ["shop/rows.py"]),
        ("Sums are wrong\n\n```\n$ python sums.py rows.py\n```\n", ["shop/rows.py"]),
        ("Sums of shop/sums.py are wrong", ["shop/sums.py"]),
        (
            "Sums are wrong\n\nSee https://example.org/blob/main/shop/sums.py#L3",
            ["shop/rows.py", "shop/sums.py"],
        ),
        (
            "Sums are wrong\n\n```diff\n--- a/shop/sums.py\n+++ b/shop/sums.py\n```\n",
            ["shop/rows.py", "shop/sums.py"],
        ),
        (
            (
                "Sums are wrong\n\nTraceback (most recent call last):\n"
                '  File "shop/sums.py", line 7\n  File "shop/http.py", line 1\n'
            ),
            ["shop/rows.py", "shop/http.py"],
        ),
        ("### Environment\nHTTPBasket\n### Problem\nsums are wrong", ["shop/rows.py"]),
    ],
)
def test_where_to_start(text: str, start: list[str]):
    assert [file.path for file in files(text).start] == start


def test_what_a_trace_names_is_looked_at_next():
    text = 'SumField is wrong\n\nTraceback (most recent call last):\n  File "shop/http.py", line 1\n'
    made = files(text)
    assert [file.path for file in made.start] == ["shop/sums.py", "shop/rows.py"]
    assert made.others[0].path == "shop/http.py"


@each(("score", "start"), [(0.95, ["a.py", "b.py"]), (0.8, ["a.py"]), (0.0, ["a.py"])])
def test_the_second_best_is_named_if_it_fits_nearly_as_well(score: float, start: list[str]):
    found = [FoundFile(path="a.py", kind=FileKind.SOURCE, score=1.0)]
    found += [FoundFile(path=path, kind=FileKind.SOURCE, score=score) for path in ("b.py", "c.py")]
    assert [file.path for file in files("Sums are wrong", *found).start] == start


@each(
    ("text", "start"),
    [
        ("Rename make_row to new_row", ["shop/rows.py", "docs/rows.md", "shop/http.py"]),
        ("Remove make_row", ["shop/rows.py", "docs/rows.md", "shop/http.py"]),
        ("Deprecate make_row", ["shop/rows.py", "shop/http.py"]),
        ("make_row is slow", ["shop/rows.py", "shop/http.py"]),
    ],
)
def test_a_name_that_goes_or_changes_is_changed_wherever_it_is(text: str, start: list[str]):
    found = (
        FoundFile(path="docs/rows.md", kind=FileKind.DOC, has=("make_row", "is")),
        FoundFile(path="shop/http.py", kind=FileKind.SOURCE, has=("make_row",)),
        replace(code("shop/rows.py", "make_row"), has=("make_row",)),
        FoundFile(path="shop/other.py", kind=FileKind.SOURCE, has=("is",)),
    )
    assert [file.path for file in files(text, *found).start] == start


def test_a_frame_of_another_package_is_none_of_ours():
    text = 'It fails\n\nTraceback (most recent call last):\n  File "/lib/urllib3/http.py", line 1\n'
    assert [file.path for file in files(text).start] == ["shop/rows.py"]


def test_definitions_that_the_title_names_are_shown_alone():
    found = code("shop/sums.py", "Other.total", "SumField.render")
    (start,) = files("`total` fails\n\nI call render() before.", found).start
    assert [one.name for one in start.definitions] == ["Other.total"]


@each(
    ("text", "test"),
    [
        ("shop/http.py is wrong", "`shop/tests`"),
        ("HTTPBasket is wrong, see test_http.py", "`shop/tests/test_http.py`"),
        ("SumField is wrong", "`shop/tests/test_sums.py`"),
    ],
)
def test_where_a_test_goes(text: str, test: str):
    found = (
        code("shop/sums.py", "SumField", tests=("shop/tests/test_sums.py",)),
        SHOP[2],
        *(FoundFile(path="shop/tests/test_http.py", kind=FileKind.TEST),)[: "test_http" in text],
    )
    project = ProjectFacts(found=found, tests=FOLDERS)
    assert case_of(brief_of(text, project=project)).slots["test"] == test
