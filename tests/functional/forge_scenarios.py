"""Whole tasks on a forge: from an issue to a squashed merge, with a review that asks for a change.

Everything that a person does is done on the forge. The program runs as commands without a terminal.
"""

import json
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringi.approvals.forge import ForgeKind, Item, ItemKind
from tests.functional.desk import Desk
from tests.functional.run_desk import RunDesk, at_home, by_step, git
from tests.support import ci_steps
from tests.support.forge_hands import FakeHands, Hands
from tests.support.forge_server import ForgeServer

APPROVE = re.compile(r"^ */ringi approve ([0-9a-f]{12,})$", re.MULTILINE)
USERS = ("alice", "ringi", "ci")
MEMBERS = {"alice": "admin", "ringi": "write", "ci": "write"}
PATH = "acme/tally"
FILES = {
    "tally.py": '"""Counts words."""\n\n\ndef tally(text):\n    return len(text.split(" "))\n',
    "report.py": "from tally import tally\n\n\ndef report(text):\n    return f'{tally(text)} words'\n",
    "test_tally.py": "from tally import tally\n\nassert tally('a b') == 2\n",
    "README.md": "# Tally\n\nCounts words.\n",
    "docs/tutorial.md": "# Tutorial\n",
}
TEST = "python3 test_tally.py"


class Step(NamedTuple):
    title: str
    files: Mapping[str, str]
    """What they become."""
    again: Mapping[str, str] = {}
    """What they become if the words of the review are in the brief."""

    @property
    def paths(self) -> list[str]:
        return sorted({*self.files, *self.again})


class Scenario(NamedTuple):
    name: str
    title: str
    body: str
    steps: tuple[Step, ...]
    remark: tuple[str, int, str]
    """What the first review says: a path, a line, and words that ask for `again`."""

    @property
    def result(self) -> dict[str, str]:
        """The files that differ in the end."""
        return {path: text for step in self.steps for path, text in {**step.files, **step.again}.items()}

    @property
    def design(self) -> dict[str, Any]:
        """What the planner answers."""
        return {
            "summary": self.title,
            "acceptance_criteria": [{"given": "the package", "when": "its tests run", "then": "they pass"}],
            "target_paths": [{"path": path} for path in sorted(self.result)],
            "test_commands": [TEST],
            "steps": [{"title": step.title, "target_paths": step.paths} for step in self.steps],
        }

    @property
    def implementer(self) -> str:
        asked = f"grep -qF {shlex.quote(self.remark[2])} $1"
        return by_step(
            *(f"{_wrote(step.files)}if {asked}; then\n{_wrote(step.again)}:\nfi" for step in self.steps)
        )


def _wrote(files: Mapping[str, str]) -> str:
    return "".join(f"cat > {path} <<'END'\n{text}END\n" for path, text in files.items())


_FIXED = FILES["tally.py"].replace('text.split(" ")', "text.split()")
_TESTED = FILES["test_tally.py"] + "assert tally('a  b') == 2\n"
_CONSTANT = (
    'from tally import tally\n\nW = "{} words"\n\n\ndef report(text):\n    return W.format(tally(text))\n'
)
_README, _TUTORIAL = FILES["README.md"], FILES["docs/tutorial.md"]
SCENARIOS = (
    Scenario(
        "bug",
        "Two spaces count as a word",
        "`tally('a  b')` is 3.",
        (Step("Count words, not spaces", {"tally.py": _FIXED}, {"test_tally.py": _TESTED}),),
        ("tally.py", 5, "Where is the test?"),
    ),
    Scenario(
        "feature",
        "Count lines, too",
        "A function `lines(text)` would help.",
        (
            Step(
                "Add lines()",
                {"tally.py": FILES["tally.py"] + "\n\ndef lines(text):\n    return text.count('x')\n"},
                {"tally.py": FILES["tally.py"] + "\n\ndef lines(text):\n    return len(text.splitlines())\n"},
            ),
        ),
        ("tally.py", 9, "That counts the letter x"),
    ),
    Scenario(
        "refactoring",
        "Move the wording out of report()",
        "The words of the report should be a constant.",
        (
            Step(
                "Name the words of the report",
                {"report.py": _CONSTANT},
                {"report.py": _CONSTANT.replace("W", "WORDING")},
            ),
        ),
        ("report.py", 3, "A longer name, please"),
    ),
    Scenario(
        "readme",
        "Say how to call it",
        "The README and the docstring of `tally` should say what it returns.",
        (
            Step(
                "Document tally()",
                {
                    "README.md": _README + "Call `tally(text)`.\n",
                    "tally.py": FILES["tally.py"].replace("    return", '    """Of words."""\n    return'),
                },
                {"README.md": _README + "Call `tally(text)`; it returns the number of words.\n"},
            ),
        ),
        ("README.md", 4, "What does it return?"),
    ),
    Scenario(
        "tutorial",
        "A tutorial",
        "Show a newcomer the first call.",
        (
            Step(
                "Write the tutorial",
                {"docs/tutorial.md": _TUTORIAL + "\n1. Import it.\n"},
                {"docs/tutorial.md": _TUTORIAL + "\n1. `from tally import tally`\n2. `tally('a b')` is 2.\n"},
            ),
        ),
        ("docs/tutorial.md", 3, "Show the lines to type"),
    ),
    Scenario(
        "files",
        "Say terms instead of words",
        "It should say terms, everywhere.",
        (
            Step("Say terms in the report", {"report.py": FILES["report.py"].replace(" words", " terms")}),
            Step(
                "Say terms in the text",
                {"README.md": _README.replace("words", "terms")},
                {"docs/tutorial.md": _TUTORIAL + "\nIt counts terms.\n"},
            ),
        ),
        ("README.md", 3, "The tutorial, too"),
    ),
    Scenario(
        "all",
        "Count what a person calls words",
        "Spaces in a row must not count. Please with a test and in the documentation.",
        (
            Step(
                "Count words, not spaces",
                {"tally.py": _FIXED, "test_tally.py": _TESTED},
                {"test_tally.py": _TESTED + "assert tally('') == 0\n"},
            ),
            Step(
                "Say it in the report",
                {"report.py": FILES["report.py"].replace("words'", "words, not spaces'")},
            ),
            Step("Say it in the text", {"README.md": _README + "Spaces in a row count once.\n"}),
        ),
        ("test_tally.py", 4, "And no text at all?"),
    ),
)


class Task:
    """One scenario on one forge; `ringi` is the account whose token the program has, alice the person."""

    def __init__(self, root: Path, forge: ForgeServer, hands: Hands, scenario: Scenario) -> None:
        self.forge, self.hands, self.scenario = forge, hands, scenario
        planner = f"cat <<'END'\n{json.dumps(scenario.design)}\nEND"
        self.runs = RunDesk(root, implementer=scenario.implementer, planner=planner)
        self.desk = Desk(root)
        self.item = Item(ItemKind.ISSUE, hands.issue("alice", scenario.title, scenario.body))
        self.told = ""

    def ringi(self, *words: str, code: int) -> str:
        done = self.desk.process(*words)
        said = done.stdout + done.stderr
        assert done.returncode == code, said
        self.told += said
        return said

    @property
    def number(self) -> int:
        """Of the change."""
        offer = self.run.offer
        assert offer is not None
        return offer.number

    @property
    def run(self) -> Any:
        with self.runs.open() as workspace:
            found = workspace.planning.runs()
            assert len(found) == 1, self.told
            return found[0]

    def planned(self) -> None:
        """Asked for in an issue, planned, and approved there by a comment."""
        self.ringi("run", "--issue", str(self.item.number), "--review", "forge", code=3)
        said = self.hands.said(self.item, "ringi")
        found = APPROVE.search("".join(said))
        assert len(said) == 1, self.told
        assert found, said
        self.hands.comment(self.item, "alice", found[0].strip())

    def offered(self) -> str:
        """Made, and offered in a draft; its head."""
        self.ringi("watch", "--once", code=3)
        head = self.hands.head(self.number)
        assert self.hands.statuses(head)[0] == "pending"
        return head

    def reviewed(self) -> str:
        """A change is asked for on a line, and made; the new head."""
        before = self.hands.head(self.number)
        path, line, words = self.scenario.remark
        shown = self.hands.repo.git("show", f"{before}:{path}").splitlines()
        assert len(shown) >= line, shown
        self.hands.review(self.number, "alice", "request_changes", "", [self.scenario.remark])
        self.ringi("watch", "--once", code=3)
        after = self.hands.head(self.number)
        assert after != before, words
        return after

    def approved(self) -> None:
        self.hands.review(self.number, "alice", "approve")
        self.ringi("watch", "--once", code=0)
        head = self.hands.head(self.number)
        assert self.hands.statuses(head)[0] == "success", (self.hands.repo.statuses, self.told)
        for path, text in self.scenario.result.items():
            assert self.hands.repo.git("show", f"{head}:{path}") == text.strip()

    def secrets_in_the_open(self) -> list[str]:
        """Files of the program, the home and the project that have a token; and what was printed."""
        tokens = [user.token for user in self.forge.users.values()]
        found = [token for token in tokens if token in self.told]
        for path in self.desk.root.parent.rglob("*"):
            if path.is_file() and not path.is_symlink() and "forge" not in path.parts:
                data = path.read_bytes()
                found += [str(path) for token in tokens if token.encode() in data]
        return found

    def ci(self, folder: Path) -> ci_steps.Runner:
        """What the workflow runs, with a token that only reads, and the refs that forges keep of changes."""
        kind = "pull" if self.forge.kind is ForgeKind.GITHUB else "merge-requests"
        self.hands.repo.git("update-ref", f"refs/{kind}/{self.number}/head", self.hands.head(self.number))
        workflow = ci_steps.proposed(self.desk, self.forge.kind)
        token = self.forge.users["ci"].token
        return ci_steps.Runner(workflow, self.forge.kind, self.forge.url, self.hands.repo.path, token, folder)


def merged_and_verified(task: Task, folder: Path) -> None:
    """Squashed by alice: green in CI, before and after; one byte more is red."""
    runner, repo = task.ci(folder), task.hands.repo
    code, said = runner.verified(task.hands.head(task.number), number=task.number, mode="agents")
    assert code == 0, said
    task.told += said
    before = repo.tip("main")
    merged = task.hands.squash(task.number, "alice")
    code, said = runner.verified(merged, before=before, mode="agents")
    assert code == 0, said
    for path in task.scenario.result:
        assert f"✓ {path}" in said
    path = next(iter(task.scenario.result))
    more = task.hands.push("main", {path: repo.git("show", f"main:{path}") + "\n\n"})
    assert more == repo.tip("main")
    # Somebody adds a byte and names the agent; without a word of the agent it would be a person's own change.
    repo.git("update-ref", "refs/heads/main", assisted(task, more))
    code, said = runner.verified(repo.tip("main"), before=before, mode="agents")
    assert (code, f"✗ {path}" in said) == (6, True), said


def assisted(task: Task, commit: str) -> str:
    repo = task.hands.repo
    tree, parent = repo.git("rev-parse", f"{commit}^{{tree}}"), repo.git("rev-parse", f"{commit}^")
    return repo.git("commit-tree", tree, "-p", parent, "-m", "One byte more\n\nAssisted-by: an agent")


@contextmanager
def at_a_clone(forge: ForgeServer, base: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of the project, by somebody who has the token of ringi."""
    for name in ("GH_TOKEN", "GITHUB_TOKEN", "GITLAB_TOKEN", "CI_JOB_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name, value in forge.environment("ringi").items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    repo, root = forge.repos[PATH], base / "project"
    subprocess.run(["git", "clone", "-q", str(repo.folder), str(root)], check=True)
    git(root, "remote", "set-url", "origin", repo.git_url)
    git(root, "config", "user.name", "Hanako")
    git(root, "config", "user.email", "hanako@example.invalid")
    yield root


@contextmanager
def on_a_small_forge(
    kind: ForgeKind, scenario: Scenario, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[Task, Path]]:
    with at_home(monkeypatch) as base, ForgeServer(kind, base / "forge") as forge:
        for login in USERS:
            forge.user(login)
        repo = forge.project(PATH, FILES, MEMBERS)
        with at_a_clone(forge, base, monkeypatch) as root:
            yield Task(root, forge, FakeHands(repo), scenario), base / "runner"
