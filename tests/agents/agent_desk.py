"""A project, a home and a scripted model for one agent."""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from ringi import open_workspace
from tests.agents.cases import ASKED, TOLD, Case
from tests.agents.scripted_model import Script, ScriptedModel
from tests.functional.desk import RINGI
from tests.helpers import Person, answer

# Somebody without root's rights, for whom the files are still theirs.
PERSON = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
_LONGEST_SEC = 180


class AgentDesk:
    def __init__(
        self, case: Case, base: Path, model: ScriptedModel, variables: Mapping[str, str], *, root: bool
    ) -> None:
        self.case = case
        self.root = base / "repo"
        self.home = base / "home"
        self.model = model
        self.environment = variables
        self._prefix = () if root else PERSON

    def run(self, *words: str, start: tuple[str, ...] = tuple(RINGI)) -> subprocess.CompletedProcess[str]:
        """Without a terminal."""
        return subprocess.run(
            [*self._prefix, *start, *words],
            cwd=self.root,
            env=dict(self.environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LONGEST_SEC,
            check=False,
        )

    def ringi(self, *words: str) -> str:
        done = self.run(*words)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def agent(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Not beside Ringi: in the project itself."""
        return self.run(*words, start=())

    def comment(self, plan: str, path: str, line: int, text: str) -> None:
        with open_workspace(self.root, environment=self.environment, person=Person()) as workspace:
            workspace.plan.comment(plan, path, line, text)

    def apply(self, plan: str) -> None:
        with open_workspace(self.root, environment=self.environment, person=Person()) as workspace:
            request = workspace.plan.ask(plan)
            workspace.plan.approve(plan, "hanako", proof=answer(request))
            workspace.plan.execute(plan)

    def approve(self, plan: str) -> None:
        with open_workspace(self.root, environment=self.environment, person=Person()) as workspace:
            workspace.plan.approve(plan, "hanako", proof=answer(workspace.plan.ask(plan)))


@contextmanager
def agent_desk(
    case: Case, base: Path, *, root: bool = True, scripts: Mapping[str, Script] | None = None
) -> Iterator[AgentDesk]:
    project, home, programs = base / "repo", base / "home", base / "bin"
    for folder in (project / "app", home, programs):
        folder.mkdir(parents=True)
    (programs / case.name).symlink_to(case.program)
    (project / "app/hello.py").write_text("def hello():\n    return 'hello'\n")
    (project / "app/__init__.py").write_text("")
    (project / ".gitignore").write_text("__pycache__/\n")
    for words in (["init", "-qb", "main"], ["add", "."], ["commit", "-qm", "first"]):
        subprocess.run(["git", *_AUTHOR, *words], cwd=project, check=True)
    given = {TOLD: case.more(project), ASKED: case.work(project)} if scripts is None else scripts
    with ScriptedModel(given) as model:
        variables = {
            "HOME": str(home),
            "PATH": f"{programs}:{Path(sys.executable).parent}:/usr/bin:/bin",
            "PYTHONPATH": os.pathsep.join(sys.path),
            "PYTHONDONTWRITEBYTECODE": "1",
            "LANG": "C.UTF-8",
            "TERM": "xterm-256color",
            **case.settings(home, project, model.url),
        }
        yield AgentDesk(case, base, model, variables, root=root)


_AUTHOR = ("-c", "user.name=Hanako", "-c", "user.email=hanako@example.org")
