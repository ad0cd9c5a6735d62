"""`make bench`: no figure is left out, and --quick judges none."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import ROOT

BENCH = ROOT / "bench"
HELPERS = {"__init__", "measure", "scratch", "other"}
"""Modules that take no figure of their own."""


def makers(file: Path) -> list[str]:
    """Functions that take figures."""
    found = (node for node in ast.parse(file.read_text()).body if isinstance(node, ast.FunctionDef))
    return [
        node.name for node in found
        if node.returns and ast.unparse(node.returns) in {"Iterator[Figure]", "Figure"}
    ]  # fmt: skip


def jobs() -> set[str]:
    tree = ast.parse((BENCH / "__main__.py").read_text())
    [listed] = [
        node.value for node in tree.body
        if isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "JOBS"
    ]  # fmt: skip
    assert isinstance(listed, ast.Tuple)
    return {ast.unparse(one) for one in listed.elts}


def test_every_module_is_reached():
    modules = {file.stem for file in BENCH.glob("*.py")} - HELPERS - {"__main__"}
    own = set(makers(BENCH / "__main__.py"))
    assert jobs() == {f"{name}.figures" for name in modules} | own


@pytest.mark.parametrize("file", sorted(BENCH.glob("*.py")), ids=lambda file: file.stem)
def test_every_figure_of_a_module_is_taken(file: Path):
    text = file.read_text()
    called = {ast.unparse(node.func) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)}
    assert file.stem not in HELPERS or [name for name in makers(file) if name != "ratio"] == []
    wanted = {name for name in makers(file) if name not in {"figures", "ratio"}}
    assert {name for name in wanted if name not in {one.rpartition(".")[2] for one in called}} <= jobs()


SCRIPT = """
import sys
sys.argv = ["bench", *{arguments!r}]
import bench.__main__ as bench
from bench.measure import Figure

def slow():
    yield Figure("too slow", 9.0, 1.0)

def broken():
    yield Figure("before", 1.0, 1.0)
    raise RuntimeError("no answer to initialize")

bench.JOBS = {jobs}
raise SystemExit(bench.main())
"""


@pytest.mark.parametrize(
    ("arguments", "jobs_", "code"),
    [
        (["--quick"], "(slow,)", 0),
        ([], "(slow,)", 1),
        (["--quick"], "(broken, slow)", 1),
        ([], "(broken, slow)", 1),
        (["--fast"], "(slow,)", 2),
    ],
)
def test_quick_judges_no_goal_and_fails_if_a_figure_cannot_be_taken(
    arguments: list[str], jobs_: str, code: int
):
    script = SCRIPT.format(arguments=arguments, jobs=jobs_)
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    if code == 2:
        return
    assert "too slow: 9.00" in done.stdout
    assert ("goal ≤" in done.stdout) is (arguments == [])
    assert ("no goal is judged" in done.stdout) is (arguments == ["--quick"])
    assert ("broken cannot be taken" in done.stdout) is ("broken" in jobs_)
    assert ("no answer to initialize" in done.stderr) is ("broken" in jobs_)


def test_it_has_what_it_needs_and_runs_before_a_change_is_taken():
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("\nbench:")[2].partition("\n\n")[0]
    assert "$(DEV)" in recipe
    assert "\nmake bench ARGS=--quick" in (ROOT / ".ci" / "run").read_text()
