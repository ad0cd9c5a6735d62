"""A clone of a project on a small forge, with a model that a test writes."""

import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

from ringi.app.api import Workspace, open_workspace
from ringi.approvals.forge import ForgeKind
from tests.fakes.people import SeatedPerson
from tests.functional.desk import Desk
from tests.functional.planning_desk import ScriptedModel, Talk
from tests.support.forge_server import ForgeServer, Note, Repo, Thing

FILES = {"calc.py": "def add(a, b):\n    return a - b\n", "test_calc.py": "import calc\n"}
Level = Literal["read", "write", "admin"]


class IssueDesk(Desk):
    """`ringi` is the account whose token is used; alice and bob may write, mallory may not."""

    def __init__(self, forge: ForgeServer, folder: Path) -> None:
        super().__init__(folder / "clone")
        self.forge = forge
        for login in ("alice", "bob", "mallory", "ringi"):
            forge.user(login)
        forge.user("ci[bot]", bot=True)
        members = {"alice": "admin", "bob": "write", "ringi": "write", "ci[bot]": "write"}
        self.repo: Repo = forge.project("acme/app", FILES, members, public=True)
        self.model = ScriptedModel(folder / "model")
        self.variables = {**forge.environment("ringi"), "RINGI_MODEL": self.model.name}
        self._clone()

    def _clone(self) -> None:
        words = ["git", "clone", "-q", self.forge.clone_url(self.repo, "ringi"), str(self.root)]
        subprocess.run(words, check=True, capture_output=True)
        self.git("remote", "set-url", "origin", self.repo.git_url)

    def ask(self, *words: str, **variables: str) -> tuple[int, Any]:
        """Without a terminal: the exit code and the document."""
        done = self.run(*words, **{**self.variables, **variables})
        assert "Traceback" not in done.stderr, done.stderr
        self.told = done.stderr
        return done.returncode, json.loads(done.stdout) if done.stdout.strip() else None

    def talk(self, *words: str) -> Talk:
        return Talk(self.root, words, self.variables, columns=120, rows=60)

    @contextmanager
    def opened(self) -> Iterator[Workspace]:
        environment = {**os.environ, **self.variables}
        with open_workspace(self.root, environment=environment, person=SeatedPerson()) as workspace:
            yield workspace

    def progress(self, thing: Thing) -> Note:
        """The one comment of ours."""
        [found] = [one for one in thing.comments if one.author.login == "ringi"]
        return found


@contextmanager
def issue_desk(kind: ForgeKind, folder: Path) -> Iterator[IssueDesk]:
    with ForgeServer(kind, folder / "forge") as forge:
        yield IssueDesk(forge, folder)
