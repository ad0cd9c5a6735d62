"""The projects of the walk: what somebody asks for there, what mends it, and how one knows that it is mended.

The sources are those of others (`tools/walk.py` has their versions and hashes). The fixes in `projects/` are
our own words for what later releases of them do.
"""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tools import walk as sources

from tests.walk.person import Answers, Person

HERE = Path(__file__).resolve().parent
PYTEST = ".venv/bin/pytest"


class Project(NamedTuple):
    name: str
    request: str
    example: str
    """What the person says if they are asked for one."""
    source: str
    tests: str
    """The files that the fix is in."""
    nothing: str
    """A test that calls what was asked for and looks at nothing."""
    judge: str
    """Fails if what was asked for is not there."""
    activated: bool = True
    """Whether the person has activated the project's environment, or types the path of its programs."""
    language: str = "python"
    repository: str = ""
    """Of a project that is not prepared but cloned, from the folder of clones that somebody named."""

    @property
    def test(self) -> str:
        if self.language == "javascript":
            return "npm test"
        return "pytest" if self.activated else PYTEST

    @property
    def comment(self) -> str:
        return "//" if self.language == "javascript" else "#"


PROJECTS: Mapping[str, Project] = {
    one.name: one
    for one in (
        Project(
            "pluggy",
            "A hook that raises StopIteration ends in a RuntimeError if a wrapper is around it; "
            "the StopIteration should come out",
            "with a wrapper around a hook that raises StopIteration, the call raises StopIteration",
            "src/pluggy/_callers.py",
            "testing/test_multicall.py",
            "\n\ndef test_stop_iteration_with_a_wrapper():\n    MC([], {})\n",
            "import pluggy\n"
            "hook, impl = pluggy.HookspecMarker('x'), pluggy.HookimplMarker('x')\n"
            "class Spec:\n    @hook\n    def f(self): ...\n"
            "class Stops:\n    @impl\n    def f(self): raise StopIteration('enough')\n"
            "class Wraps:\n    @impl(wrapper=True)\n    def f(self): return (yield)\n"
            "manager = pluggy.PluginManager('x')\n"
            "manager.add_hookspecs(Spec)\nmanager.register(Stops())\nmanager.register(Wraps())\n"
            "try:\n    manager.hook.f()\nexcept StopIteration:\n    raise SystemExit\n",
        ),
        Project(
            "markupsafe",
            "Reading markupsafe.__version__ warns with a UserWarning; make it a DeprecationWarning",
            "markupsafe.__version__ warns with DeprecationWarning",
            "src/markupsafe/__init__.py",
            "tests/test_markupsafe.py",
            "\n\ndef test_version_warns() -> None:\n    import markupsafe\n\n    markupsafe.escape('<')\n",
            "import warnings, markupsafe, markupsafe._speedups\n"
            "with warnings.catch_warnings(record=True) as seen:\n"
            "    warnings.simplefilter('always')\n    markupsafe.__version__\n"
            "raise SystemExit([one.category for one in seen] != [DeprecationWarning])\n",
            activated=False,
        ),
        Project(
            "humanize",
            'naturalsize(999999) says "1000.0 kB"; it should say "1.0 MB"',
            'naturalsize(999999) gives "1.0 MB"',
            "src/humanize/filesize.py",
            "tests/test_filesize.py",
            "\n\ndef test_naturalsize_rounds_up() -> None:\n    humanize.naturalsize(999_999)\n",
            "import humanize\nraise SystemExit(humanize.naturalsize(999999) != '1.0 MB')\n",
            activated=False,
        ),
        Project(
            "inflection",
            "camelize('', False) fails with an IndexError; it should return an empty string",
            "camelize('', False) returns ''",
            "inflection/__init__.py",
            "test_inflection.py",
            "\n\ndef test_camelize_nothing():\n    inflection.camelize('')\n",
            "import inflection\nraise SystemExit(inflection.camelize('', False) != '')\n",
        ),
        Project(
            "toolz",
            "tail(0, [1, 2, 3]) returns the whole list; it should return an empty one",
            "tail(0, [1, 2, 3]) returns []",
            "toolz/itertoolz.py",
            "toolz/tests/test_itertoolz.py",
            "\n\ndef test_tail_of_no_elements():\n    tail(0, [1, 2, 3])\n",
            "import toolz\nraise SystemExit(toolz.tail(0, [1, 2, 3]) != [])\n",
        ),
        Project(
            "shell-quote",
            "quote(['']) returns nothing at all; it should return '' in quotes, an empty argument",
            "quote(['']) returns two single quotes: ''",
            "index.js",
            "test/quote.js",
            "\ntest('quote nothing', function (t) {\n    quote(['']);\n    t.end();\n});\n",
            "process.exit(require('./').quote(['']) === \"''\" ? 0 : 1);\n",
            language="javascript",
        ),
    )
}


CLONES: Mapping[str, Project] = {
    one.name: one
    for one in (
        Project("click", "", "", "", "", "", "", repository="pallets/click 8.1.7"),
        Project("itsdangerous", "", "", "", "", "", "", repository="pallets/itsdangerous 2.1.2"),
    )
}
"""Larger ones, with their history. What is asked for is in `projects/`, in words that a small agent reads."""
MIRROR = os.environ.get("RINGI_WALK_MIRROR", "")


class Place:
    """One project in a folder of its own, a person in front of it, and nothing of anybody else."""

    def __init__(self, base: Path, project: Project) -> None:
        self.base = base
        self.project = project
        self.root = base / "src" / project.name
        if project.repository:
            clone_project(project, self.root)
            self.passing = sources.passing_tests(self.root, {"PATH": "/usr/bin:/bin"})
        else:
            copy_project(project.name, self.root)
            kept = sources.prepared(project.name) / "passing.json"
            self.passing = json.loads(kept.read_text(encoding="utf-8"))
        self.person = Person(
            base, self.root, Answers(project.example, project.test), activated=project.activated
        )
        self.agent = base / "agent"
        self.agent.mkdir()
        if (patch := HERE / "projects" / project.name / "fix.patch").exists():
            shutil.copy(patch, self.agent)
        (self.agent / "facts.json").write_text(json.dumps(project._asdict() | {"comment": project.comment}))
        self.first = self.person.git("rev-parse", "HEAD")

    def agent_command(self, script: str, *words: str) -> str:
        """A command that plays this script of `agents/`, with its own folder beside it."""
        shutil.copy(HERE / "agents" / script, self.agent)
        return " ".join(["python3", str(self.agent / script), *words])

    def is_mended(self) -> bool:
        """Whether the project now does what was asked for, by a look of our own."""
        words = ["node", "-e"] if self.project.language == "javascript" else [".venv/bin/python", "-c"]
        return self.person.run(*words, self.project.judge).returncode == 0

    def tests_lost(self) -> set[str]:
        """Tests that passed before anybody began and do not any more."""
        return set(self.passing) - set(sources.passing_tests(self.root, self.person.environment))


@contextmanager
def place_for(name: str) -> Iterator[Place]:
    """Below /var/tmp: sandboxes hide /tmp, and nobody has their projects there."""
    below = "/var/tmp" if Path("/var/tmp").is_dir() else None  # a folder of its own in it
    with tempfile.TemporaryDirectory(prefix="ringi-walk-", dir=below, ignore_cleanup_errors=True) as folder:
        yield Place(Path(folder).resolve(), {**PROJECTS, **CLONES}[name])


def clone_of(project: Project) -> Path | None:
    """Named as git or a mirror would."""
    name = project.repository.split()[0]
    for one in (name.replace("/", "+"), name, project.name):
        for end in (f"{one}/repo", f"{one}/.git", f"{one}.git", one):
            if MIRROR and (Path(MIRROR, end) / "objects").is_dir():
                return Path(MIRROR, end)
    return None


def clone_project(project: Project, root: Path) -> None:
    """At its tag, with an environment that has what its tests need and the project itself."""
    clone = clone_of(project)
    assert clone, f"there is no clone of {project.repository}"
    tag = project.repository.split()[1]
    git = ["git", "-c", "advice.detachedHead=false"]
    subprocess.run([*git, "clone", "-q", "--branch", tag, str(clone), str(root)], check=True)
    subprocess.run([*git, "switch", "-q", "-C", "main"], cwd=root, check=True)
    subprocess.run([*git, "remote", "remove", "origin"], cwd=root, check=True)
    (root / ".git" / "info" / "exclude").write_text(".venv/\n")
    kept = sources.prepared("inflection")
    shutil.copytree(kept / "project" / ".venv", root / ".venv", symlinks=True, copy_function=_link_packages)
    [packages] = (root / ".venv").glob("lib/python3*/site-packages")
    for path in packages.glob("*inflection*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    (packages / "project.pth").write_text(f"{root / 'src'}\n")
    move_environment(kept, root)


def copy_project(name: str, root: Path) -> None:
    """With its environment, which is then the one that an install in the new place would have made."""
    kept = sources.prepared(name)
    assert kept.is_dir(), f"{name} is not prepared: make walk"
    shutil.copytree(kept / "project", root, symlinks=True, copy_function=_link_packages)
    move_environment(kept, root)


def move_environment(kept: Path, root: Path) -> None:
    made_in = (kept / "made-in").read_bytes()
    places = [*(root / ".venv").glob("bin/*"), *(root / ".venv").glob("lib/python3*/site-packages/*")]
    places += (root / ".venv").glob("lib/python3*/site-packages/*.dist-info/*")
    for path in places:
        if path.is_file() and not path.is_symlink():
            content = path.read_bytes()
            if made_in in content and b"\0" not in content:
                mode = path.stat().st_mode
                path.unlink()  # it may be one file with the one that is kept
                path.write_bytes(content.replace(made_in, str(root).encode()))
                path.chmod(mode)


def _link_packages(source: str, target: str) -> None:
    """Installed packages are thousands of files that nobody writes to."""
    if "/site-packages/" in source:
        with contextlib.suppress(OSError):  # of another file system
            os.link(source, target)
            return
    shutil.copy2(source, target)
