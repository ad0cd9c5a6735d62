"""What a project says of itself."""

from collections.abc import Mapping

from ringi.project.about import about, changelog_of, layout, paragraphs_of, rules_of
from ringi.project.commands import test_commands as commands_of
from ringi.project.context import FileKind
from ringi.project.gather import project_facts
from ringi.project.source import ProjectSource
from tests.tables import each


def source(files: Mapping[str, str]) -> ProjectSource:
    kinds = {
        path: FileKind.TEST
        if "test" in path.rpartition("/")[2] and path.endswith((".py", ".go"))
        else FileKind.SOURCE
        for path in sorted(files)
    }
    return ProjectSource(kinds, lambda path: tuple(files[path].split("\n")), lambda _: ())


MARKDOWN = """\
<p align="center"><img src="logo.png"></p>

# Tool

[![CI](https://ci/badge.svg)](https://ci) [![PyPI](https://pypi/badge.svg)](https://pypi)

<!-- a comment
of two lines -->

**Tool** turns [reports](https://x) into tables.
It needs nothing else.

## Install
"""
RESTRUCTURED = """\
.. image:: https://x/logo.png
    :alt: Logo of the tool

====
Tool
====

|build| |docs|

.. |build| image:: https://x
.. _docs: https://y

Tool turns :ref:`reports` into tables, see `the page <https://z>`_ for more.

Install
-------
"""


@each(
    ("name", "text", "expected"),
    [
        ("README.md", MARKDOWN, "Tool turns reports into tables. It needs nothing else."),
        ("README.rst", RESTRUCTURED, "Tool turns reports into tables, see the page for more."),
        ("readme", "tool\n\nTurns reports into tables quickly.\n", "Turns reports into tables quickly."),
        (
            "README.md",
            "---\ntitle: x\n---\n# T\n\n報告書を表に変換する道具です。\n",
            "報告書を表に変換する道具です。",
        ),
        (
            "README.adoc",
            "= Tool\n:toc:\n\nTurns reports into tables quickly.\n",
            "Turns reports into tables quickly.",
        ),
        (
            "README.md",
            "# T\n\n```\nnot this one here\n```\n\n- nor this one here\n\nBut this one here.\n",
            "But this one here.",
        ),
        ("README.md", "# Only\n\n## Headings\n", ""),
        ("README.md", "", ""),
    ],
)
def test_the_first_paragraph_of_the_readme(name: str, text: str, expected: str):
    assert about(source({name: text})) == expected


def test_a_long_paragraph_is_cut_at_a_sentence():
    said = about(source({"README.md": "One sentence of many words. " * 40}))
    assert len(said) <= 500
    assert said.endswith("words.")
    assert len(about(source({"README.md": "word " * 400}))) <= 500


def test_without_a_readme_the_manifest_describes_it():
    assert (
        about(source({"pyproject.toml": '[project]\ndescription = "Reports as tables"\n'}))
        == "Reports as tables"
    )
    assert about(source({"package.json": '{\n  "description": "Reports"\n}'})) == "Reports"
    assert about(source({"main.c": ""})) == ""


def test_rules_and_change_log_are_found_whatever_their_case():
    found = source({"Contributing.md": "", "AGENTS.md": "", "docs/CHANGELOG.rst": "", "src/CHANGES.md": ""})
    assert rules_of(found) == ("AGENTS.md", "Contributing.md")
    assert changelog_of(found) == "docs/CHANGELOG.rst"
    assert (rules_of(source({})), changelog_of(source({}))) == ((), "")


@each(
    ("files", "expected"),
    [
        ({"changelog/12.bugfix.rst": "", "CHANGELOG.rst": "1\n" * 20}, "changelog/"),
        ({"docs/news/fragments/readme.md": "", "CHANGES": ""}, "docs/news/fragments/"),
        ({"newsfragments/core/+3.feature": ""}, "newsfragments/"),
        ({"src/changes/model.py": "", "CHANGES.md": ""}, "CHANGES.md"),
        ({"CHANGELOG.md": "See https://example.org/changes\n", "docs/changes.md": ""}, "docs/changes.md"),
        ({"CHANGELOG.md": "# Changelog\n"}, "CHANGELOG.md"),
    ],
)
def test_a_folder_of_fragments_is_the_change_log(files: dict[str, str], expected: str):
    assert changelog_of(source(files)) == expected


def test_a_heading_belongs_to_what_follows():
    lines = ["# One", "", "text", "more", "", "Two", "---", "", "end"]
    assert paragraphs_of(lines) == [(1, 3, 4), (6, 7, 9)]


@each(
    ("files", "expected"),
    [
        ({"Makefile": "all: x\n\ntest: all\n\tpytest\n", "tests/test_a.py": ""}, ("make test", "pytest")),
        ({"Makefile": "TEST := x\ntest := y\ncheck:\n\ttrue\n"}, ("make check",)),
        ({"justfile": "test *args:\n  x\n"}, ("just test",)),
        ({"package.json": '{"scripts": {"test": "vitest"}}', "pnpm-lock.yaml": ""}, ("pnpm test",)),
        ({"package.json": '{"scripts": {"test": "echo \\"Error: no test specified\\" && exit 1"}}'}, ()),
        ({"package.json": "[" * 100_000}, ()),
        ({"tox.ini": "[tox]\n[pytest]\n", "tests/test_a.py": ""}, ("pytest", "tox")),
        ({"tests/test_a.py": "", "uv.lock": ""}, ("uv run pytest",)),
        ({"test_a.py": "from a import b\n\nassert b() == 1\n", "uv.lock": ""}, ("uv run python test_a.py",)),
        ({"test_a.py": "assert 1\n", "test_b.py": "async def test_it():\n  pass\n"}, ("pytest",)),
        ({"test_a.py": "assert 1\n", "setup.cfg": "[tool:pytest]\n"}, ("pytest",)),
        ({"noxfile.py": "@nox.session\ndef tests(session):\n  pass\n"}, ("nox -s tests",)),
        ({"manage.py": "", "app/tests/test_a.py": ""}, ("python manage.py test",)),
        ({"Cargo.toml": ""}, ("cargo test",)),
        ({"go.mod": "", "a_test.go": ""}, ("go test ./...",)),
        ({"pom.xml": "", "mvnw": ""}, ("./mvnw test",)),
        ({"build.gradle.kts": ""}, ("gradle test",)),
        ({"x.sln": ""}, ("dotnet test",)),
        (
            {".github/workflows/ci.yml": "steps:\n  - run: python -m pytest -q\n  - run: echo $X\n"},
            ("python -m pytest -q",),
        ),
        ({"scripts/test.sh": ""}, ("scripts/test.sh",)),
        ({"README.md": ""}, ()),
        (
            {
                "package.json": '{"scripts": {"test": "x"}}',
                "src/a.py": "",
                "src/b.py": "",
                "src/a.js": "",
                "test_a.py": "",
            },
            ("pytest", "npm test"),
        ),
        (
            {"package.json": '{"scripts": {"test": "x"}}', "src/a.py": "", "src/a.js": "", "test_a.py": ""},
            ("npm test", "pytest"),
        ),
        (
            {"package.json": '{"scripts": {"test": "x"}}', "src/a.py": "", "tests/runtests.py": ""},
            ("python tests/runtests.py", "python -m unittest", "npm test"),
        ),
    ],
)
def test_commands_come_from_the_projects_own_files(files: dict[str, str], expected: tuple[str, ...]):
    assert commands_of(source(files), ()) == expected


def test_of_what_ci_runs_only_whole_commands_count_and_only_if_nothing_else_is_known():
    flow = "- run: tox -e ${{ matrix.x }}\n- run: tox -e docs\n  pytest-addopts: [x]\n- run: pytest -n 2\n"
    assert commands_of(source({".github/workflows/a.yml": flow}), ()) == ("pytest -n 2",)
    assert commands_of(source({".github/workflows/a.yml": flow, "go.mod": ""}), ()) == ("go test ./...",)


def test_what_the_rules_mention_comes_first():
    files = {"tox.ini": "", "tests/test_a.py": "", "CONTRIBUTING.md": "Run `tox` before `pytest`."}
    assert commands_of(source(files), ("CONTRIBUTING.md",)) == ("tox", "pytest")


def test_a_hundred_thousand_files():
    paths = [f"pkg{at // 1000}/part{at // 100}/module{at}.py" for at in range(100_000)]
    kinds = {**dict.fromkeys(paths, FileKind.SOURCE), "pkg1/tests/test_all.py": FileKind.TEST}
    found = project_facts(ProjectSource(kinds, lambda _: (), lambda _: ()))
    assert (found.languages, found.tests, found.test_commands) == (("Python",), ("pkg1/tests",), ("pytest",))


def test_what_the_names_say():
    files = {
        "pyproject.toml": "",
        "src/a.py": "",
        "src/b.py": "",
        "web/a.ts": "",
        "pkg/tests/test_a.py": "",
        ".hidden": "",
        ".github/x.yml": "",
    }
    found = layout(source(files))
    assert found.languages == ("Python", "TypeScript")
    assert found.manifests == ("pyproject.toml",)
    assert found.tests == ("pkg/tests",)
    assert found.entries == (".github/", "pkg/", "pyproject.toml", "src/", "web/")
    assert layout(source({"a_test.go": ""})).tests == ("a_test.go",)
