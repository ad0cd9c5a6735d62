"""A desk whose home does not lie below /tmp, which is another one in the sandbox."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ringi.cli.recheck import Recheck
from ringi.config.load import load
from ringi.kernel.places import places_of
from ringi.kernel.process import sandbox
from ringi.kernel.process.environment import SYSTEM_PATH
from ringi.tree.commands import commands_in
from tests.functional.desk import Desk
from tests.helpers import copied, visible_folder

BWRAP = sandbox.find(SYSTEM_PATH)
WALLS = BWRAP is not None and sandbox.trouble(BWRAP) is None
walled = pytest.mark.skipif(not WALLS, reason="bubblewrap does not work here")


class HomeDesk(Desk):
    """With a home folder, and a folder for programs that is on the path."""

    def __init__(self, base: Path) -> None:
        super().__init__(base / "repo")
        self.home = base / "home"
        self.programs = base / "bin"

    def program(self, name: str, script: str) -> Path:
        path = self.programs / name
        path.write_text(script)
        path.chmod(0o755)
        return path


@contextmanager
def home_desk(monkeypatch: pytest.MonkeyPatch, repository: Path) -> Iterator[HomeDesk]:
    """With a copy of the repository."""
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir=visible_folder()) as folder:
        base = Path(folder).resolve()
        desk = HomeDesk(base)
        for made in (desk.home, desk.programs):
            made.mkdir()
        copied(repository, desk.root)
        monkeypatch.setenv("HOME", str(desk.home))
        for kind in ("STATE", "CACHE", "CONFIG", "DATA"):
            monkeypatch.delenv(f"XDG_{kind}_HOME", raising=False)
        monkeypatch.setenv("PATH", str(desk.programs), prepend=":")
        yield desk


def rechecked(desk: Desk, plan_id: str, **variables: str) -> list[Any]:
    """The results of the plan's checks, run again as during a review."""
    before = desk.json("show", "p1")["state"]["checks"]
    again = Recheck(desk.root, plan_id, {**os.environ, **variables})
    again.wait()
    assert again.why_not is None, str(again.why_not)
    after = desk.json("show", "p1")["state"]["checks"]
    assert after != before
    return list(after)


def run_command(desk: Desk, argv: list[str], **variables: str) -> str:
    """What a command of a plan prints, in the workspace and the sandbox."""
    environment = {**os.environ, **variables}
    config = load(desk.root, environment)
    commands = commands_in(desk.root, places_of(desk.root, environment), config, environment)
    return commands.run(argv, "", timeout_sec=60, sandboxed=True).text
