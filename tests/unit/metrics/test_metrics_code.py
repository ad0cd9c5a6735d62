"""Code quality from what is recorded: syntax of generated files, and coverage from reports of any kind."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ringi.app.api import Workspace
from ringi.metrics import coverage
from ringi.metrics.code import MOST_BYTES
from ringi.metrics.coverage import Coverage, NoCoverage, read_report
from ringi.metrics.document import FigureName
from ringi.metrics.view import basis
from ringi.policy.spec_kind import SpecKind
from ringi.project.dependencies.parser import is_installed
from ringi.tree.action_spec import ActionSpec
from tests.helpers import approve, create, open_scratch, proposed, write
from tests.tables import each

F = FigureName
COBERTURA = """<?xml version="1.0" ?>
<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">
<coverage version="7.6" lines-valid="40" lines-covered="30" line-rate="0.75"><packages/></coverage>
"""
COUNTED = """<coverage line-rate="0.5"><packages><package><classes><class><methods><method><lines>
<line number="1" hits="1"/></lines></method></methods><lines><line number="1" hits="2"/>
<line number="2" hits="0"/><line number="3" hits="1"/></lines></class></classes></package></packages>
</coverage>
"""


@pytest.mark.req("PP-26")
@pytest.mark.parametrize(
    ("name", "text", "covered", "lines"),
    [
        ("coverage.xml", COBERTURA, 30, 40),
        ("any.name", COUNTED, 2, 3),
        ("bom.xml", "\ufeff" + COBERTURA, 30, 40),
    ],
)
def test_reports_that_are_understood(tmp_path: Path, name: str, text: str, covered: int, lines: int):
    (tmp_path / name).write_text(text)
    found = read_report(tmp_path, name)
    assert isinstance(found, Coverage)
    assert (found.covered, found.lines) == (covered, lines)


BOMB = """<?xml version="1.0"?><!DOCTYPE coverage [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;">]><coverage lines-valid="1" lines-covered="1">&c;</coverage>"""
OUTSIDE = """<!DOCTYPE coverage [<!ENTITY x SYSTEM "file:///etc/passwd">]>
<coverage lines-valid="1" lines-covered="1">&x;</coverage>"""
HOSTILE = {
    "an XML bomb": BOMB,
    "an outside entity": OUTSIDE,
    "a parameter entity": '<!DOCTYPE coverage [<!ENTITY % p SYSTEM "file:///etc/hosts"> %p;]><coverage/>',
    "a half": COBERTURA[:150],
    "another document": "<html><body>no</body></html>",
    "no line": "<coverage/>",
    "an unknown encoding": COBERTURA.replace('version="1.0"', 'version="1.0" encoding="klingon"'),
    "deep": "<coverage>" + "<a>" * 200_000,
    "more than all": COBERTURA.replace('lines-covered="30"', 'lines-covered="41"'),
    "nothing to cover": COBERTURA.replace('"40"', '"0"').replace('"30"', '"0"'),
    "a list": "[1, 2]",
    "another format": "TN:\nSF:a.c\nLF:10\nLH:4\nend_of_record\n",
    "JSON": '{"totals": {"covered_lines": 9, "num_statements": 12}}',
    "deep JSON": '{"a":' * 50_000,
    "empty": "",
    "nulls": "\x00" * 1_000,
}


@pytest.mark.req("PP-26")
@each("text", HOSTILE.values())
def test_a_report_that_is_wrong_is_no_figure(tmp_path: Path, text: str):
    (tmp_path / "report").write_text(text)
    found = read_report(tmp_path, "report")
    assert isinstance(found, NoCoverage)
    assert "root:" not in str(found.why)


def _link_out(root: Path) -> None:
    (root.parent / "outside.xml").write_text(COBERTURA)
    (root / "report").symlink_to(root.parent / "outside.xml")


def _loop(root: Path) -> None:
    (root / "report").symlink_to("report")


def _huge(root: Path) -> None:
    with (root / "report").open("wb") as file:
        file.truncate(coverage.LARGEST + 1)


@pytest.mark.req("PP-26")
@pytest.mark.parametrize(
    "make",
    [_link_out, _loop, _huge, lambda root: (root / "report").mkdir(), lambda _: None],
    ids=["a link that leads out", "a loop", "huge", "a folder", "not there"],
)
def test_a_file_that_is_none_is_no_figure(tmp_path: Path, make: Callable[[Path], object]):
    root = tmp_path / "root"
    root.mkdir()
    make(root)
    assert isinstance(read_report(root, "report"), NoCoverage)


@pytest.mark.req("PP-26")
@given(st.binary(max_size=300))
def test_any_bytes_are_a_report_or_none(data: bytes):
    try:
        covered, lines = coverage._cobertura(data)
    except coverage._Wrong:
        return
    assert isinstance(covered, int)
    assert isinstance(lines, int)


@pytest.mark.req("PP-26")
def test_coverage_is_a_figure_with_the_time_of_its_report(tmp_path: Path):
    with open_scratch(tmp_path, RINGI_QUALITY_METRICS_COVERAGE_REPORT="coverage.xml") as workspace:
        missing = workspace.metrics().figure(F.TEST_COVERAGE)
        assert (missing.value, missing.note) == (None, "the file is not there")
        (workspace.places.root / "coverage.xml").write_text(COBERTURA)
        figure = workspace.metrics().figure(F.TEST_COVERAGE)
    assert (figure.value, figure.of) == (0.75, 40)
    assert figure.note


# ---------------------------------------------------------------- syntax

GOOD = {
    "a.py": "match x:\n    case 1: pass\n", "b.json": "[1]\n", "c.yaml": "a: [1, 2]\n", "d.toml": "a = 1\n",
    "tsconfig.json": "// a comment\n{}\n", "e.unknown": "((((",
}  # fmt: skip
BAD = {"a.py": "def (:\n", "b.json": "{,}\n", "c.yml": "a: [1\n", "d.toml": "a = = 1\n", "f.pyi": "class\n"}


def syntax(workspace: Workspace) -> tuple[float | None, int, int]:
    figure = workspace.metrics().figure(F.SYNTAX_ERRORS)
    return figure.value, figure.of, figure.without


@pytest.mark.req("PP-26")
def test_files_are_parsed_as_their_languages_want(tmp_path: Path):
    with open_scratch(tmp_path) as workspace:
        assert syntax(workspace) == (None, 0, 0)
        proposed(workspace, *(create(f"good/{name}", text) for name, text in GOOD.items()))
        assert syntax(workspace) == (0.0, 4, 0)
        proposed(workspace, *(create(f"bad/{name}", text) for name, text in BAD.items()))
        assert syntax(workspace) == (pytest.approx(5 / 9, abs=1e-6), 9, 0)


@pytest.mark.req("PP-26")
def test_of_too_many_files_the_newest_count_and_it_says_so(tmp_path: Path):
    large = f'"{"x" * 120_000}"\n'
    with open_scratch(tmp_path) as workspace:
        proposed(workspace, *(create(f"old/{number}.json", large) for number in range(9)))
        assert workspace.metrics().figure(F.SYNTAX_ERRORS).note == ""
        proposed(workspace, *(create(f"new/{number}.json", large) for number in range(66)))
        figure = workspace.metrics().figure(F.SYNTAX_ERRORS)
    fitting = MOST_BYTES // len(large)
    assert (figure.value, figure.of) == (0.0, fitting)
    assert fitting < 75
    assert f"files: {fitting}, only the newest" in str(basis(figure))


@pytest.mark.req("PP-26")
@pytest.mark.skipif(not is_installed(), reason="the extra graph is not installed")
def test_other_languages_by_their_grammars(tmp_path: Path):
    files = {"a.js": "let a = 1;\n", "b.ts": "function (\n", "c.go": "package a\n", "d.java": "class {{{\n"}
    with open_scratch(tmp_path) as workspace:
        proposed(workspace, *(create(name, text) for name, text in files.items()))
        assert syntax(workspace) == (0.5, 4, 0)


@pytest.mark.req("PP-26")
def test_what_was_wrong_before_is_nobodys_mistake(tmp_path: Path):
    with open_scratch(tmp_path, {"old.yaml": "{{ template }}: [\n", "new.yaml": "a: 1\n"}) as workspace:
        for name in ("old.yaml", "new.yaml"):
            plan = proposed(workspace, write(name, "{{ other }}: [\n"))
            approve(workspace, plan)
            workspace.plan.execute(plan)
        assert syntax(workspace) == (1.0, 1, 0)


@pytest.mark.req("PP-26")
def test_a_patch_is_judged_by_what_it_makes(tmp_path: Path):
    patch = "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-a = 1\n+a = (\n"
    with open_scratch(tmp_path, {"a.py": "a = 1\n"}) as workspace:
        plan = proposed(workspace, ActionSpec(SpecKind.PATCH, "a.py", patch))
        approve(workspace, plan)
        workspace.plan.execute(plan)
        assert syntax(workspace) == (1.0, 1, 0)


@pytest.mark.req("PP-26")
@pytest.mark.parametrize(
    "source",
    [
        "(" * 5_000,
        "a" + ".b" * 40_000,
        "-" * 60_000 + "1",
        "x = '\\N{' # \ud7ff",
        "\x00",
        "# coding: rot13\n",
    ],
    ids=["brackets", "attributes", "signs", "escapes", "null", "a strange encoding"],
)
def test_hostile_code_crashes_nothing(tmp_path: Path, source: str):
    with open_scratch(tmp_path) as workspace:
        proposed(workspace, create("hostile.py", source), create("fine.py", "a = 1\n"))
        _, files, _ = syntax(workspace)
    assert files == 2
