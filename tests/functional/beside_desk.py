"""A desk whose home does not lie below /tmp, which is another one in the sandbox."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringi.process import sandbox
from ringi.process.environment import SYSTEM_PATH
from tests.functional.desk import Desk
from tests.helpers import copied

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
    with tempfile.TemporaryDirectory(prefix="ringi-test-", dir="/var/tmp") as folder:
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
