"""The project keeps its own rules, and the rules can fail."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from tools import catalog, requirements_report

from ringi import errors
from tests.conventions import rules

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
TESTS = sorted((ROOT / "tests").rglob("test_*.py"))
ALL_OF_TESTS = sorted((ROOT / "tests").rglob("*.py"))
FOLDERS = ("src", "tests", "tools", "bench", "docs", "requirements", ".ci")
SUFFIXES = frozenset({".py", ".md", ".po", ".txt", ".in", ".toml", ".yaml", ".json", ""})

Rule = Callable[[str, str], Iterator[str]]


def text_files() -> Iterator[Path]:
    candidates = [*ROOT.iterdir(), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    for path in candidates:
        # Golden files may hold anything on purpose; in a linked work tree `.git` is a file with a path.
        if path.is_file() and path.suffix in SUFFIXES and not {"golden", ".git"} & {*path.parts}:
            yield path


def assert_kept(files: Iterable[Path], *kept: Rule) -> None:
    named = ((path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix()) for path in files)
    assert_none(offence for text, name in named for rule in kept for offence in rule(text, name))


def assert_none(found: Iterable[str]) -> None:
    """All of them are named: pytest would cut a long list."""
    offences = list(found)
    if offences:
        pytest.fail("\n".join(offences), pytrace=False)


def test_sources_keep_the_rules():
    assert_kept(
        SOURCES,
        rules.talking,
        rules.reaching,
        rules.fleeting,
        rules.environment,
        rules.broad_except,
        rules.writing,
        rules.unprepared,
    )


def test_every_test_can_fail_and_patches_nothing_of_the_program():
    assert_kept(TESTS, rules.unproven, rules.patched)
    assert_kept(set(ALL_OF_TESTS) - set(TESTS), rules.patched)


def test_tests_wait_long_enough_for_a_busy_machine():
    assert_kept(ALL_OF_TESTS, rules.impatient)


def test_no_text_hides_characters_or_names_a_path_of_one_machine():
    assert_kept(text_files(), rules.hidden, rules.machine_paths)


def test_requirements_name_no_place_to_download_from():
    files = sorted((ROOT / "requirements").iterdir())
    assert files
    assert [path.name for path in files if "://" in path.read_text() or "index" in path.read_text()] == []


def test_no_module_is_a_drawer_for_everything():
    assert_none(str(path) for path in SOURCES if path.stem in {"util", "utils", "helpers", "misc"})


def test_every_error_has_code_words_and_place():
    assert_none(rules.untold(errors.RingiError, errors.__doc__ or ""))


def test_every_mark_names_a_known_requirement():
    assert_none(requirements_report.proofs(ROOT).problems)


def test_japanese_is_complete():
    assert_none(catalog.check(ROOT))


# --- each rule finds what it is for, and only that ------------------------------------------------

HERE = "src/ringi/plans/x.py"


@pytest.mark.parametrize(
    ("rule", "name", "source"),
    [
        (rules.talking, HERE, "print(1)"),
        (rules.talking, HERE, "input()"),
        (rules.talking, HERE, "import click"),
        (rules.talking, HERE, "from click import echo"),
        (rules.talking, HERE, "sys.stdout.write('x')"),
        (rules.reaching, "src/ringi/mcp/list.py", "workspace.tree"),
        (rules.reaching, "src/ringi/cli/list.py", "app.workspace.commits().head()"),
        (rules.environment, HERE, "os.environ['X']"),
        (rules.environment, HERE, "os.getenv('X')"),
        (rules.environment, "src/ringi/cli/list.py", "from os import environ"),
        (rules.broad_except, HERE, "try: f()\nexcept: g()"),
        (rules.broad_except, HERE, "try: f()\nexcept Exception: raise"),
        (rules.broad_except, HERE, "try: f()\nexcept (OSError, Exception): g()"),
        (rules.broad_except, HERE, "try: f()\nexcept BaseException: g()"),
        (rules.writing, HERE, "os.rename(a, b)"),
        (rules.writing, HERE, "from os import unlink"),
        (rules.writing, HERE, "shutil.rmtree(a)"),
        (rules.writing, HERE, "path.write_text('x')"),
        (rules.writing, HERE, "open(path, 'w')"),
        (rules.writing, HERE, "path.open(mode='ab')"),
        (rules.unprepared, HERE, "msgspec.json.decode(data, type=Plan)"),
        (rules.unprepared, HERE, "msgspec.convert(raw, Plan)"),
        (rules.patched, HERE, "from ringi.plans import execute\nm.setattr(execute, 'covering', f)"),
        (
            rules.patched,
            HERE,
            "from ringi.plans import tool\nwith a() as p: p.setattr(tool.PlanTool, 'x', f)",
        ),
        (rules.patched, HERE, "mock.patch('ringi.plans.execute.covering', side_effect=f)"),
        (rules.patched, HERE, "from ringi.plans import execute\npatch.object(execute, 'covering')"),
        (rules.patched, HERE, "import ringi.cli\nmonkeypatch.setattr(ringi.cli.arguments, 'LEAST', 1)"),
        (rules.patched, HERE, "from ringi.x import y\nm.setattr(y.os, 'read', f)"),
        (rules.patched, HERE, "m.setattr('ringi.cli.arguments.LEAST', 1)"),
        (rules.patched, HERE, "from ringi.cli import arguments\nm.delattr(arguments, 'LEAST')"),
        (rules.patched, HERE, "def test_x():\n    from ringi.cli import arguments\n    arguments.LEAST = 1"),
        (rules.impatient, HERE, "thread.join(10)"),
        (rules.impatient, HERE, "process.communicate(timeout=5.0)"),
        (rules.impatient, HERE, "threading.Barrier(4, timeout=20)"),
        (rules.fleeting, "src/ringi/runs/x.py", "git.run('update-ref', 'HEAD', new)"),
        (rules.fleeting, "src/ringi/runs/x.py", "subprocess.run([program(), 'gc'])"),
        (rules.unproven, HERE, "def test_x():\n    f()"),
        (rules.unproven, HERE, "class TestX:\n    def test_x(self):\n        assert True"),
        (rules.hidden, HERE, "x = 'a\u202eb'"),
        (rules.hidden, HERE, "x = 'a\u200bb'"),
        (rules.hidden, HERE, "x = 1\r\n"),
        (rules.machine_paths, HERE, "see /" + "root/x"),
        (rules.machine_paths, HERE, "'/" + "work/main'"),
    ],
)
def test_rule_finds(rule: Rule, name: str, source: str):
    assert len(list(rule(source, name))) == 1


@pytest.mark.parametrize(
    ("rule", "name", "source"),
    [
        (rules.talking, "src/ringi/cli/list.py", "import click\nclick.echo('x')\nprint(1)"),
        (rules.talking, HERE, "self.print(1)\nfrom clicking import x"),
        (rules.environment, "src/ringi/kernel/system.py", "os.environ['X']"),
        (rules.environment, "src/ringi/cli/main.py", "os.environ['X']"),
        (rules.environment, HERE, "os.getpid()\nself.environ"),
        (rules.broad_except, "src/ringi/cli/main.py", "try: f()\nexcept Exception: g()"),
        (rules.broad_except, HERE, "try: f()\nexcept OSError: g()"),
        (rules.broad_except, HERE, "try: f()\nexcept BaseException:\n    g()\n    raise"),
        (rules.writing, "src/ringi/kernel/fs.py", "os.rename(a, b)"),
        (rules.writing, HERE, "open(path)\npath.open('rb')\ntext.replace('a', 'b')\nos.fspath(x)"),
        (rules.unprepared, HERE, "msgspec.json.decode(data)\nmsgspec.convert(raw, type=prepare(Plan))"),
        (rules.unprepared, rules.PREPARES, "msgspec.convert(raw, kind)"),
        (rules.patched, HERE, "import os\nfrom ringi import x\nm.setattr(os, 'read', f)\ntool.x = x"),
        (rules.patched, HERE, "m.setattr('tempfile.tempdir', '/t')\nsetattr(kind, 'x', 1)"),
        (rules.unproven, HERE, "def test_x():\n    with pytest.raises(ValueError): f()"),
        (
            rules.impatient,
            HERE,
            "thread.join(PATIENCE)\nevent.wait(0.02)\nchild.wait(60)\nrun(timeout=2)",
        ),
        (rules.fleeting, "src/ringi/runs/x.py", "git.write('update-ref', 'HEAD', new, refs=('HEAD',))"),
        (rules.fleeting, "src/ringi/runs/x.py", "git.run('rev-parse', 'HEAD')"),
        (rules.unproven, HERE, "def test_x():\n    assert_same(a, b)"),
        (rules.unproven, HERE, "def test_x():\n    world.check_all()"),
        (rules.unproven, HERE, "def test_x():\n    assert f()"),
        (rules.unproven, HERE, "TestX = Machine.TestCase"),
        (rules.hidden, HERE, "x = '稟議 é —'\n\ty\n"),
        (rules.machine_paths, HERE, "~/.cache/ringi/work/x and $HOME/root/ and work/"),
    ],
)
def test_rule_lets_pass(rule: Rule, name: str, source: str):
    assert list(rule(source, name)) == []


DRAWING = """Errors.

Top                 the root
├── Group     2
│   └── Leaf        a leaf
└── Other     3
"""


def family() -> list[type[Exception]]:
    """Top, Group, Leaf, Other; a class nobody holds would vanish from its parent's list."""
    top = type("Top", (Exception,), {"code": "top", "message": "", "hint": "", "exit_code": 1})
    group = type("Group", (top,), {"code": "group", "exit_code": 2})
    leaf = type("Leaf", (group,), {"code": "leaf", "message": "m", "hint": "h"})
    other = type("Other", (top,), {"code": "other", "message": "m", "hint": "h", "exit_code": 3})
    return [top, group, leaf, other]


def test_errors_as_drawn_pass():
    kinds = family()
    assert list(rules.untold(kinds[0], DRAWING)) == []


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"code": "group"}, "Leaf has the code of Group: group"),
        ({"message": ""}, "Leaf has no message"),
        ({"hint": ""}, "Leaf has no hint"),
        ({"__name__": "Leaves"}, "Leaves is not in the drawing"),
    ],
)
def test_errors_are_told_apart(change: dict[str, str], complaint: str):
    kinds = family()
    for name, value in change.items():
        setattr(kinds[2], name, value)
    assert complaint in list(rules.untold(kinds[0], DRAWING))


def test_errors_without_an_own_code_are_found():
    kinds = family()
    del kinds[2].code
    assert list(rules.untold(kinds[0], DRAWING)) == ["Leaf has no code of its own"]


@pytest.mark.parametrize(
    ("drawing", "complaint"),
    [
        (DRAWING.replace("│   └── Leaf ", "├── Leaf "), "Leaf is drawn below Top"),
        (DRAWING.replace("Other     3", "Other     4"), "Other is drawn with the exit code 4"),
        (DRAWING + "└── Gone\n", "Gone is drawn and does not exist"),
    ],
)
def test_drawing_that_lies_is_found(drawing: str, complaint: str):
    kinds = family()
    assert list(rules.untold(kinds[0], drawing)) == [complaint]
