"""What is shown within a budget, whatever the project says."""

from hypothesis import given
from hypothesis import strategies as st

from ringi.kernel.text import Text, visible
from ringi.kernel.tokens import tokens
from ringi.project.context import Definition, FileKind
from ringi.project.gather import add_named, context_of, project_facts
from ringi.project.ranking import Ranked
from ringi.project.source import ProjectSource

NAMES = st.sampled_from(
    [
        "README.md",
        "AGENTS.md",
        "CHANGES.rst",
        "Makefile",
        "src/a.py",
        "src/b.py",
        "tests/test_a.py",
        "表/行.py",
        "x y.txt",
    ]
)
LINES = st.lists(
    st.sampled_from(
        ["", "# Heading", "=====", "def rows():", "    return 1", "## x (source)", "報告書を表に変換します。"]
    )
    | st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), max_size=300),
    max_size=60,
)


@st.composite
def projects(draw: st.DrawFn) -> tuple[ProjectSource, list[Ranked]]:
    files = {path: tuple(map(visible, draw(LINES))) for path in sorted(draw(st.sets(NAMES)))}
    kinds = dict.fromkeys(files, FileKind.SOURCE)
    # What is known of a file may be of another version of it.
    lines = st.integers(1, 80)
    outlines = {
        path: tuple(
            Definition(f"rows{at}" if at % 2 else f"Rows.rows{at}", "function", line, max(line, draw(lines)))
            for at, line in enumerate(sorted(draw(st.lists(lines, max_size=6))))
        )
        for path in files
    }
    source = ProjectSource(kinds, files.__getitem__, outlines.__getitem__)
    ranked = [
        Ranked(
            path,
            1.0,
            draw(st.sampled_from(FileKind)),
            (Text("it fits"),),
            outlines[path][:2],
            draw(st.none() | st.just((3, 70))),
        )
        for path in files
    ]
    return source, ranked


@given(projects(), st.text(max_size=80), st.integers(0, 4000))
def test_the_budget_holds_and_every_path_exists(
    project: tuple[ProjectSource, list[Ranked]], request: str, budget: int
):
    source, ranked = project
    found = context_of(source, project_facts(source), request, add_named(source, ranked, request), budget)
    assert found.tokens == tokens(found.text) <= budget
    assert found.text == "" or found.text.endswith("\n")
    paths = {visible(path) for path in source.paths}
    ours = [line for line in found.text.split("\n") if line.startswith("## ")]
    assert {line.removeprefix("## ").rpartition(" (")[0] for line in ours} <= paths
    numbers = [line for line in found.text.split("\n") if line.startswith("  ")]
    assert all(line.split()[0].isdigit() for line in numbers)


@given(projects())
def test_with_room_every_best_file_is_there(project: tuple[ProjectSource, list[Ranked]]):
    source, ranked = project
    found = context_of(source, project_facts(source), "rows", ranked, 1_000_000)
    assert all(f"## {one.path} ({one.kind})\n" in found.text for one in ranked)
