"""Real tasks of SWE-bench as runs: the issue is the request, the real fix is played in steps by a command.

The tests of the fix come first, and fail. The parts of the fix follow, each a step of its own, and after the
last one they pass. `prepared` lays a project out, `carry_out` runs it as a person at a terminal would.
"""

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.context import TASKS, clones_in, git
from tools.tasks import REPOSITORIES, python_of

from tests.functional.run_desk import a_plan, a_step
from tests.functional.screens import Screen

_HUNK: Final = re.compile(r"^(?=@@ )", re.MULTILINE)
_FILE: Final = re.compile(r"^(?=diff --git )", re.MULTILINE)
_MOST_LINES: Final = 300
_LONGEST_SUMMARY: Final = 1_900
_CRITERIA: Final = (
    ("AC-01", "functional", "the code as it was", "the tests of the fix run", "they fail"),
    ("AC-02", "functional", "the finished branch", "the tests of the fix run", "they pass"),
    ("AC-03", "regression", "every step", "the other tests of these files run", "they pass as before"),
)


class RealTask(NamedTuple):
    name: str
    environment: str
    parts: Mapping[str, Sequence[str]]
    """Titles, and what of the real fix belongs to each: files, or hunks of a file as path:number."""
    without: str = ""
    """Tests that these dependencies fail, with and without the fix."""


REAL_TASKS: Final = (
    RealTask(
        "pallets__flask-4074",
        "flask-2.0",
        {
            "Name the parents of a request's blueprint": ["src/flask/helpers.py", "src/flask/wrappers.py"],
            "Register blueprints by their dotted names": ["src/flask/app.py", "src/flask/blueprints.py"],
        },
        without="test_blueprint_renaming",
    ),
    RealTask(
        "pallets__flask-4575",
        "flask-2.2",
        {
            "Let the application make redirects": ["src/flask/app.py"],
            "Redirect through the current application": ["src/flask/helpers.py", "src/flask/__init__.py"],
        },
    ),
    RealTask(
        "pallets__flask-4642",
        "flask-2.2",
        {
            "Say that app.run is ignored, in red": ["src/flask/app.py", "src/flask/debughelpers.py"],
            "Load the application of a nested group": ["src/flask/cli.py"],
        },
        without="test_sort",
    ),
    RealTask(
        "pallets__flask-4992",
        "flask-2.2",
        {
            "Let from_file take a mode": ["src/flask/config.py:1", "src/flask/config.py:2"],
            "Open the file in that mode": ["src/flask/config.py:3"],
        },
    ),
    RealTask(
        "psf__requests-5087",
        "requests",
        {
            "Give a response a place for its error": ["requests/models.py:1"],
            "Raise the error whenever the content is read": ["requests/models.py:2", "requests/models.py:3"],
        },
        without="test_use_proxy_from_environment",
    ),
    RealTask(
        "psf__requests-6028",
        "requests",
        {"Keep user and password of a proxy": ["requests/utils.py"]},
    ),
)


class Prepared(NamedTuple):
    root: Path
    """The project, on main at the commit that the issue was written for."""
    plan: Path
    role: str
    """The command that implements."""
    branch: str
    patches: tuple[bytes, ...]
    """What each step changes."""
    failing: str
    """The command that fails before the fix, and not after it."""

    def trees(self) -> list[str]:
        """What git makes of the patches, one after another; nothing of the project is touched."""
        index = {**os.environ, "GIT_INDEX_FILE": str(self.plan.with_name("index"))}

        def run(*words: str, stdin: bytes = b"") -> str:
            done = subprocess.run(["git", *words], cwd=self.root, env=index, input=stdin,
                                  capture_output=True, check=True)  # fmt: skip
            return done.stdout.decode().strip()

        run("read-tree", "main")
        found = []
        for patch in self.patches:
            run("apply", "--cached", "--whitespace=nowarn", stdin=patch)
            found.append(run("write-tree"))
        return found


def prepared(task: RealTask, mirror: Path, folder: Path, *, tested: bool = True) -> Prepared:
    """The project is `folder`/project; where sandboxes hide things, such as /tmp, is no place for it.

    If it is not `tested`, nothing stands for its tests: for what comes after them.
    """
    clones = clones_in(mirror, (TASKS, *REPOSITORIES), "show-runs")
    source = _Source(clones[TASKS], task.name)
    root = folder / "project"
    repository = next(name for name in REPOSITORIES if task.name.startswith(name.replace("/", "__")))
    _run(folder, "git", "clone", "-q", "--no-checkout", str(clones[repository]), str(root))
    _run(root, "git", "checkout", "-q", "-B", "main", source.base)
    pieces = _pieces(source.text("gold.patch"))
    steps = {"Test what the issue asks for": [source.text("test.patch")]}
    for title, names in task.parts.items():
        steps[title] = [pieces.pop(piece) for name in names for piece in _named(pieces, name)]
    assert not pieces, f"no step has {', '.join(pieces)}"
    patches = ["".join(parts) for parts in steps.values()]
    role = _role(folder / "roles", patches)
    request_id = "RQ-20260101-001"
    plan = _plan(task, source, dict(zip(steps, patches, strict=True)))
    if not tested:
        for step in plan["steps"]:
            step["commands"] = {"unit": ["true"], "e2e": ["true"]}
    file = folder / "planning.json"
    file.write_text(json.dumps(plan))
    (root / "requests").mkdir(exist_ok=True)
    (root / "requests" / f"{request_id}.md").write_text(_request(source, plan))
    return Prepared(
        root, file, role, plan["work_branch"], tuple(one.encode() for one in patches), _failing(task, source)
    )


def carry_out(project: Prepared) -> str:
    """The plan and the finished steps are approved; answers with what was on the screen at the end."""
    words = ("run", "--plan", str(project.plan), "--with", project.role)
    with Screen.ringi(project.root, *words, columns=120, rows=60) as screen:
        screen.wait(r"Approve\? \[y/n\]")
        screen.type("y", enter=True)
        screen.wait(r"finished steps wait for you(.|\n)*pprove all", timeout=600)
        screen.type("a", enter=True)
        screen.wait("Acceptance criteria: ", timeout=600)
        assert screen.exit_code == 0, screen.framed()
        return screen.text


def finished(task: RealTask, mirror: Path, folder: Path) -> Prepared:
    """A project with the commits of a finished run on its branch."""
    project = prepared(task, mirror, folder)
    carry_out(project)
    return project


def _run(folder: Path, *words: str) -> None:
    subprocess.run(words, cwd=folder, check=True)


class _Source:
    """What the task's folder says."""

    def __init__(self, clone: Path, name: str) -> None:
        self._clone, self._name = clone, name
        base = re.search(r"base_commit: '?(\w+)", self.text("task.yaml"))
        assert base
        self.base = base[1]
        self.title, _, self.body = self.text("problem_statement.md").strip().partition("\n")
        self.failing: list[str] = json.loads(self.text("tests.json"))["FAIL_TO_PASS"]

    def text(self, file: str) -> str:
        """Issues have the line ends of a browser, patches those of the project."""
        text = git(self._clone, "show", f"HEAD:tasks/{self._name}/{file}").decode()
        return text.replace("\r\n", "\n") if file.endswith(".md") else text

    @property
    def files(self) -> list[str]:
        return sorted({test.partition("::")[0] for test in self.failing})


def _pieces(patch: str) -> dict[str, str]:
    """Each hunk as a patch of its own."""
    found = {}
    for file in filter(None, _FILE.split(patch)):
        head, *hunks = _HUNK.split(file)
        path = head.partition("+++ b/")[2].strip()
        for number, hunk in enumerate(hunks, 1):
            found[f"{path}:{number}"] = head + hunk
    return found


def _named(pieces: Mapping[str, str], name: str) -> list[str]:
    found = [piece for piece in pieces if name in {piece, piece.rpartition(":")[0]}]
    assert found, f"the fix has no {name}, only {', '.join(pieces)}"
    return found


def _role(folder: Path, patches: Sequence[str]) -> str:
    folder.mkdir()
    lines = ['case "$(head -n 5 "$RINGI_BRIEF")" in']
    for number, patch in enumerate(patches, 1):
        (folder / f"S{number:02}.patch").write_text(patch)
        lines.append(f"*S{number:02}*) git apply --whitespace=nowarn {folder}/S{number:02}.patch;;")
    (folder / "implementer").write_text("\n".join([*lines, "esac", ""]))
    return f"sh {folder}/implementer"


def _pytest(task: RealTask) -> str:
    path = "src" if "flask" in task.name else "."
    return f"PYTHONPATH={path} {python_of(task.environment)} -m pytest -q -p no:cacheprovider"


def _failing(task: RealTask, source: _Source) -> str:
    return f"{_pytest(task)} {shlex.join(source.failing)}"


def _plan(task: RealTask, source: _Source, steps: Mapping[str, str]) -> dict[str, Any]:
    failing = _failing(task, source)
    others = [word for test in source.failing for word in ("--deselect", test)]
    others += ["-k", f"not {task.without}"] if task.without else []
    before = f"{_pytest(task)} {shlex.join([*source.files, *others])}"
    last = len(steps)
    made = []
    for number, (title, patch) in enumerate(steps.items(), 1):
        unit = f"{failing}; test $? = 1" if number == 1 else failing if number == last else before
        made.append(
            a_step(
                number,
                title=title,
                intent=f"{title}, as the issue asks for: {source.title}",
                scope={"target_paths": sorted({*_paths(patch)}), "max_diff_lines": _MOST_LINES},
                commands={"unit": [unit], "e2e": [before]},
                links_to_ac=[*(["AC-01"] if number == 1 else []), *(["AC-02"] if number == last else []),
                             "AC-03"],
            )
        )  # fmt: skip
    names = ("id", "type", "given", "when", "then")
    criteria = [dict(zip(names, one, strict=True)) for one in _CRITERIA]
    summary = f"{source.title}\n{source.body}"[:_LONGEST_SUMMARY]
    return a_plan(
        *made,
        limits={"max_diff_lines": _MOST_LINES, "timeout_sec": 600},
        context={"summary": summary, "acceptance_criteria": criteria},
        gates={"require_e2e_for_regression_ac": True},
    )


def _paths(patch: str) -> Iterator[str]:
    return (found[1] for found in re.finditer(r"^diff --git a/\S+ b/(\S+)$", patch, re.MULTILINE))


def _request(source: _Source, plan: Mapping[str, Any]) -> str:
    """The issue is quoted: a heading in it is none of the request."""
    quoted = "\n".join(f"> {line}".rstrip() for line in source.body.splitlines())
    criteria = [
        f"- {id_}: Given {given}, When {when}, Then {then}" for id_, _, given, when, then in _CRITERIA
    ]
    paths = dict.fromkeys(path for step in plan["steps"] for path in step["scope"]["target_paths"])
    return "\n".join(
        [f"# {source.title}", "", quoted, "", "## Acceptance criteria", "", *criteria, "", "## Allowed paths",
         "", *(f"- {path}" for path in paths), ""]
    )  # fmt: skip
