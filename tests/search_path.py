"""Where tests find programs: a Python that starts at once, and none of the agents that the person uses."""

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

from ringi.agents.table import AGENTS

_HIDDEN: Final = tuple(Path(os.path.realpath(path)) for path in ("/tmp", "/dev", "/run"))
_OURS: Final = ("ringi",)


def search_path(usual: str) -> str:
    """A PATH for tests, made of the person's."""
    # One that cannot be entered is left out: a name that is found nowhere would be forbidden, not missing.
    folders = [folder for folder in usual.split(os.pathsep) if folder and os.access(folder, os.X_OK)]
    names = _names_of_agents()
    return os.pathsep.join([str(_plain_python()), *(_without(names, Path(folder)) for folder in folders)])


def in_sight(path: Path) -> bool:
    """Whether a command in a sandbox sees it: there are others in place of these folders."""
    return not any(path.is_relative_to(hidden) for hidden in _HIDDEN)


def _names_of_agents() -> frozenset[str]:
    """Whoever has agents installed, or this program, gets the same results as others."""
    found = {*_OURS}
    for agent in AGENTS.values():
        found |= {agent.name, *agent.processes, *agent.acp[:1]}
        found |= {*agent.presence.programs} if agent.presence else set()
    return frozenset(found)


def _without(names: Iterable[str], folder: Path) -> str:
    """The folder; if one of these programs is in it, another one with links to the rest."""
    if not any(os.access(folder / name, os.X_OK) for name in names):
        return str(folder)
    made = Path(tempfile.mkdtemp(dir=_visible_folder()))
    for entry in folder.absolute().iterdir():
        if entry.name not in names:
            (made / entry.name).symlink_to(entry)
    made.chmod(0o755)
    return str(made)


def _plain_python() -> Path:
    """A folder whose `python3` starts at once.

    The one on PATH may be a shim of twenty processes, and read what is installed beside it; tests of runs
    start it hundreds of times.
    """
    interpreter = Path(sys.executable).resolve()
    folder = _visible_folder() / "python"
    (folder / "bin").mkdir(parents=True)
    (folder / "pyvenv.cfg").write_text(f"home = {interpreter.parent}\n")
    (folder / "bin" / "python3").symlink_to(interpreter)
    return folder / "bin"


@cache
def _visible_folder() -> Path:
    """A folder that is there until the tests end, in sight of sandboxes."""
    clone = Path(__file__).resolve().parents[1]
    parent = clone / ".make" if in_sight(clone) else Path("/var/tmp")
    parent.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="ringi-tests-", dir=parent))
    folder.chmod(0o755)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
